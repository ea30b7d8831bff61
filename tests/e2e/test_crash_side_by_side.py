"""A process that is killed while two runs of one asset are side by side: the next start settles each of them."""

from __future__ import annotations

import pytest

from tests.e2e.projects import rows, stamps, write
from tests.e2e.test_crash import FIRST, SECOND, shop

__all__ = ["shop"]
pytestmark = [pytest.mark.spark, pytest.mark.crash]

ASSET = """
asset: each
strategy: every_instance
write: append
partition: {by: day, column: day}
sql: SELECT day, sum(amount) AS amount FROM {{ inlets.sales }} GROUP BY day
"""


@pytest.mark.parametrize("moment", ["computed", "put"])
def test_two_instances_that_were_killed_are_there_once(shop, moment):
    write(shop.folder, {"assets/each.yml": ASSET})
    shop.sell(FIRST)
    assert shop.start("each").ok
    shop.sell(SECOND)
    victim = shop.victim("each", moment)
    shop.await_(lambda: len(list(shop.home.glob(f"{moment}-*.*"))) == 2)
    victim.kill()
    summary = shop.start("each")
    assert [run.status for run in summary.runs] == ["success"] * 2
    assert sum(run.adopted is not None for run in summary.runs) == (2 if moment == "put" else 0)
    found = rows(shop.table("each"), "day", "amount")
    assert sorted((str(day), amount) for day, amount in found) == [
        ("2025-01-01", 15),
        ("2025-01-02", 7),
        ("2025-01-03", 3),
    ]
    assert len({stamp["app"] for stamp in stamps(shop.table("each"))}) == 2
    assert len({row.run for row in shop.history("each", "success")}) == 3
    assert shop.planned("each") == []
    assert shop.left("each") == []
    assert shop.start("each").runs == ()

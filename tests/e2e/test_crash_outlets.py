"""A process that is killed while its run is in some of its outlets: the next start publishes it in the others."""

from __future__ import annotations

import pytest

from sparkassets import Project
from tests.e2e.projects import rows, stamps, write
from tests.e2e.test_crash import FIRST, SECOND, Shop, shop

__all__ = ["shop"]
pytestmark = [pytest.mark.spark, pytest.mark.crash]

OUTLETS = ("small", "large")
FILES = {
    "assets/split.yml": """
        asset: split
        partition: {by: day, column: day}
        outlets:
          small: {sql: "SELECT * FROM {{ inlets.sales }} WHERE amount < 5"}
          large: {sql: "SELECT * FROM {{ inlets.sales }} WHERE amount >= 5"}
    """
}
LATE = [(6, "2025-01-02", 3), (7, "2025-01-03", 9)]


def held(shop: Shop) -> list[list[tuple[int, int]]]:
    """What each outlet holds."""
    return [rows(shop.table(name), "id", "amount") if shop.table(name).exists() else [] for name in OUTLETS]


def expected(*sales) -> list[list[tuple[int, int]]]:
    return [
        sorted((number, amount) for number, _, amount in sales if fits(amount))
        for fits in (lambda amount: amount < 5, lambda amount: amount >= 5)
    ]


@pytest.mark.parametrize(
    ("moment", "first"),
    [
        ("written@small", True),
        ("written@small", False),
        ("prepared@large", True),
        ("prepared@small", False),
        ("put", True),
        ("computed@large", True),
        ("written@large", True),
        ("recorded", True),
    ],
)
def test_the_next_start_publishes_what_is_missing_from_the_same_pins(shop, moment, first):
    write(shop.folder, FILES)
    shop.sell(FIRST)
    if first:
        assert shop.start("split").ok
    shop.sell(SECOND)
    shop.victim("split", moment).kill_and_wait_for_its_jvm()
    killed = shop.history("split", "claim")[-1].run
    begun = moment not in ("prepared@large", "prepared@small")
    assert killed in [marker["run"] for marker in stamps(shop.table("small"))] if begun else True
    shop.sell(LATE)  # what came since is not what the killed run had pinned
    summary = shop.start("split")
    assert summary.ok
    adopted = [run.adopted for run in summary.runs]
    assert adopted == ([killed, None] if begun and moment != "recorded" else [None])
    assert held(shop) == expected(*FIRST, *SECOND, *LATE)
    small, large = ([marker["run"] for marker in stamps(shop.table(name))] for name in OUTLETS)
    assert small == large == [row.run for row in shop.history("split", "success")]
    project = Project.load(shop.folder)
    for name in OUTLETS:
        assert [row.run for row in shop.history(name, "outlet")] == small
        assert shop.left(name) == []
        pins = [event["run"] for event in project.history.events(asset=name)]
        assert pins == small
    (origin,) = [each for each in project.lineage.trace("large", "2025-01-02").origins if each.kind == "run"]
    (other,) = [each for each in project.lineage.trace("small", "2025-01-02").origins if each.kind == "run"]
    assert origin.run == other.run
    assert [read.version for read in origin.reads] == [read.version for read in other.reads]
    assert shop.start("split").runs == ()

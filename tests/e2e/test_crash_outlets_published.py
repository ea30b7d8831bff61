"""A process that is killed while it publishes two outlets: each run is an iteration of both, or of none."""

from __future__ import annotations

import pytest

from sparkassets import Project
from tests.e2e.projects import rows, write
from tests.e2e.test_crash import FIRST, SECOND, Shop, shop

__all__ = ["shop"]
pytestmark = [pytest.mark.spark, pytest.mark.crash]

OUTLETS = ("small", "large")
FILES = {
    "assets/split.yml": """
        asset: split
        write: {publish: {keep: 2}}
        outlets:
          small: {sql: "SELECT * FROM {{ inlets.sales }} WHERE amount < 5"}
          large: {sql: "SELECT * FROM {{ inlets.sales }} WHERE amount >= 5"}
    """
}


def runs(shop: Shop) -> list[list[str]]:
    """The runs of the iterations that each outlet has, the newest first."""
    project = Project.load(shop.folder)
    return [[each.iteration.run for each in project.iterations(name)] for name in OUTLETS]


def held(shop: Shop) -> list[tuple[int, int]]:
    """What readers see in both."""
    return sorted(row for name in OUTLETS for row in rows(shop.table(name), "id", "amount"))


@pytest.mark.parametrize("moment", ["prepared@large", "written@small", "written@large", "recorded"])
def test_each_run_is_an_iteration_of_both(shop, moment):
    write(shop.folder, FILES)
    shop.sell(FIRST)
    assert shop.start("split").ok
    shop.sell(SECOND)
    shop.victim("split", moment).kill_and_wait_for_its_jvm()
    assert shop.start("split").ok
    assert held(shop) == sorted((number, amount) for number, _, amount in (*FIRST, *SECOND))
    small, large = runs(shop)
    assert small == large == [row.run for row in shop.history("split", "success")][::-1][:2]
    for name in OUTLETS:
        kept = {each.iteration.name for each in Project.load(shop.folder).iterations(name)}
        assert {each.name for each in (shop.table(name) / "_iterations").iterdir()} == kept
    assert shop.start("split").runs == ()

"""Branches of which the drivers are killed at every point: what is promoted is in the base once, and nothing else is.

In a shop that goes on selling, its code changes again and again in another checkout: a branch computes it, and is
promoted. Each of these is killed one point later than the time before, and then done again.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from sparkassets import Project
from tests.crash.driver import BRANCH, Verb
from tests.crash.processes import Figures, start
from tests.crash.shop import Shop
from tests.crash.test_kills import CRASH, MOST, check, judge, opened, settle

WHOLE = ("full_refresh, replace", "date_range, replace", "date_range, judged", "segments, replace")
CONTINUED = ("latest_only, append", "latest_only, upsert", "latest_only, append, two outlets")
NAMES = (*(found for name in WHOLE for found in (name, f"{name}, two outlets")), *CONTINUED)


def done(folder: Path, verb: Verb, figures: Figures, **killed: Any) -> bool:
    """Does it, killed at that point if there is one, and once more; whether it was killed."""
    was_killed = bool(killed) and figures.killed(start(folder, verb=verb, **killed))
    again = start(folder, verb=verb)
    assert again.ends() == "exited 0"
    figures.restarts += was_killed
    return was_killed


def promoted(shop: Shop, figures: Figures, *, adds: int, **killed: Any) -> bool:
    """The next code, run in a branch and promoted, of which both are killed at a point; whether one was."""
    dev, before = shop.code(adds), {name: shop.held(name) for name in shop.scenario.tables}
    was_killed = done(dev, "branch", figures, **killed)
    assert {name: shop.held(name) for name in shop.scenario.tables} == before
    was_killed |= done(dev, "promote", figures, **killed)
    shop.adds, shop.folder = adds, dev
    judge(shop, figures, start(dev, verb="promote"))
    if shop.scenario.judged:  # what is withheld of older code is not promoted, but tried by the new one
        settle(shop, figures)
    if "append" in shop.scenario.name:  # rows of two codes would stay in the branch
        assert start(dev, verb="drop").ends() == "exited 0"
    return was_killed


@CRASH
@pytest.mark.parametrize("name", NAMES)
def test_wherever_a_branch_is_killed_what_is_promoted_is_there_once(name, tmp_path, figures):
    shop = opened(tmp_path, name, figures)
    for hit in range(1, MOST):
        shop.sell()
        settle(shop, figures)
        if not promoted(shop, figures, adds=hit % 3 + 1, hit=hit):
            break
    else:
        pytest.fail("no driver came to its end")
    check(shop)


@pytest.mark.parametrize(("name", "point"), [(WHOLE[2], "write:half"), (CONTINUED[2], "commit:in")])
def test_a_sample_of_these(name, point, tmp_path, figures):
    shop, hit = opened(tmp_path, name, figures), Random(name).randint(8, 24)  # noqa: S311  nothing to keep secret
    for adds, killed in ((1, {"point": point}), (2, {"hit": hit})):
        shop.sell()
        settle(shop, figures)
        assert promoted(shop, figures, adds=adds, **killed)
    check(shop)


@pytest.mark.parametrize("hit", [pytest.param(hit, marks=[] if hit == 47 else CRASH) for hit in range(1, MOST)])
def test_wherever_it_is_killed_a_branch_can_be_dropped_again(hit, tmp_path, figures):
    shop = opened(tmp_path, "date_range, replace", figures)
    dev = shop.code(1)
    assert start(dev, verb="branch").ends() == "exited 0"
    if figures.killed(start(dev, verb="drop", hit=hit)) and Project.load(dev).branches.names():
        assert start(dev, verb="drop").ends() == "exited 0"
    assert Project.load(dev).branches.names() == []
    assert not (shop.table("_branches") / BRANCH).exists()
    check(shop)
    shop.folder = dev
    promoted(shop, figures, adds=1)
    check(shop)

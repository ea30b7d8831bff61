"""Drivers that are killed at every point of their work: the next start loses nothing and doubles nothing.

Each in a process of its own, with a real journal and real tables, and by SIGKILL. In a shop that goes on selling, every
driver dies one point later in its work than the one before, until one comes to its end; every second one is to settle
what it left. `make test` takes a sample.
"""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import pytest

from tests.crash.points import POINTS
from tests.crash.processes import Figures, Started, start
from tests.crash.shop import ONE, SCENARIOS, Shop

CRASH = pytest.mark.crash
SAMPLE = ("full_refresh, publish, two outlets", "date_range, replace", "latest_only, append", "every_instance, append")
WITHOUT_TABLE = ("full_refresh, replace", "date_range, upsert", "latest_only, publish, two outlets")
MOST = 90
"""Points that one start comes to, at most, after everything before was settled."""


def settle(shop: Shop, figures: Figures) -> Started:
    """A start that nobody kills, after which everything is as it must be."""
    began = time.monotonic()
    restart = start(shop.folder)
    assert restart.ends() == "exited 0"
    figures.restarts += 1
    figures.longest = max(figures.longest, time.monotonic() - began)
    judge(shop, figures, restart)
    return restart


def judge(shop: Shop, figures: Figures, last: Started) -> None:
    """Whether every table holds what it must."""
    wrong = shop.wrong()
    figures.lost += wrong.lost
    figures.doubled += wrong.doubled
    assert (wrong.lost, wrong.doubled) == (0, 0), last.output


def opened(home: Path, name: str, figures: Figures) -> Shop:
    """A shop of a scenario whose first sales are copied."""
    shop = Shop(home, SCENARIOS[name])
    shop.sell()
    settle(shop, figures)
    return shop


def check(shop: Shop) -> None:
    """What must hold in the end, after a start that had nothing to do.

    An iteration that is removed by half is removed with the next ones.
    """
    if shop.scenario.keeps:
        shop.sell()
        settle(shop, Figures())
    shop.check()
    last = start(shop.folder)
    assert last.ends() == "exited 0"
    assert last.output == ""


@CRASH
@pytest.mark.parametrize("name", SCENARIOS)
def test_wherever_a_driver_is_killed_the_next_start_loses_and_doubles_nothing(name, tmp_path, figures):
    shop = opened(tmp_path, name, figures)
    for hit in range(1, MOST):
        shop.sell()
        if not figures.killed(start(shop.folder, hit=hit)):
            break
        settle(shop, figures)
    else:
        pytest.fail("no driver came to its end")
    check(shop)


@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample_of_these(name, tmp_path, figures):
    shop = opened(tmp_path, name, figures)
    for hit in sorted(Random(name).sample(range(3, 24), 2)):  # noqa: S311  nothing to keep secret
        shop.sell()
        figures.killed(start(shop.folder, hit=hit))
        settle(shop, figures)
    check(shop)


@CRASH
@pytest.mark.parametrize("name", WITHOUT_TABLE)
def test_of_a_first_run_too(name, tmp_path, figures):
    for hit in range(1, MOST):
        shop = Shop(tmp_path / str(hit), SCENARIOS[name])
        shop.sell()
        killed = figures.killed(start(shop.folder, hit=hit))
        settle(shop, figures)
        check(shop)
        if not killed:
            return
    pytest.fail("no driver came to its end")


@pytest.mark.parametrize("name", [f"{mode}, two outlets" for mode in ("latest_only, publish", "latest_only, append")])
def test_the_first_run_of_two_outlets_that_is_in_one_is_completed_in_the_other_once(name, tmp_path, figures):
    shop = Shop(tmp_path, SCENARIOS[name])
    shop.sell()
    assert figures.killed(start(shop.folder, point="commit:in"))
    settle(shop, figures)
    check(shop)


@pytest.mark.parametrize(
    "point", [pytest.param(each, marks=[CRASH] if number % 6 else []) for number, each in enumerate(POINTS)]
)
def test_every_point_has_a_name_and_is_come_to(point, tmp_path, figures):
    name = "full_refresh, publish, two outlets" if "publish" in point else "date_range, judged"
    shop = Shop(tmp_path, SCENARIOS[name]) if "spec" in point else opened(tmp_path, name, figures)
    for _ in range(8):  # some are not of every start
        shop.sell()
        if point.startswith("fence"):
            assert figures.killed(start(shop.folder, point="claim:in"))
        driver = start(shop.folder, point=point)
        if figures.killed(driver):
            break
        judge(shop, figures, driver)
    else:
        pytest.fail(f"no driver came to {point}")
    settle(shop, figures)
    check(shop)


@CRASH
@pytest.mark.parametrize("name", [each.name for each in ONE])
def test_who_takes_over_is_killed_too_and_who_takes_over_from_that(name, tmp_path, figures):
    shop, random = opened(tmp_path, name, figures), Random(name)  # noqa: S311  nothing to keep secret
    for _ in range(5):
        shop.sell()
        for _ in range(3):
            figures.killed(start(shop.folder, hit=random.randint(8, 30)))
        settle(shop, figures)
    check(shop)


@CRASH
@pytest.mark.parametrize("name", [*SCENARIOS][1::2])
def test_of_three_drivers_side_by_side_any_may_be_killed_at_any_moment(name, tmp_path, figures):
    shop, random = opened(tmp_path, name, figures), Random(name)  # noqa: S311  nothing to keep secret
    for _ in range(4):
        shop.sell()
        armed = [start(shop.folder, hit=random.randint(5, 40), waits=5.0) for _ in range(2)]
        third = start(shop.folder, waits=5.0)
        shop.sell()
        time.sleep(random.random() / 4)
        third.kill()
        for each in (third, *armed):
            figures.killed(each)
        settle(shop, figures)
    check(shop)

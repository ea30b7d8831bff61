"""Drivers that are stopped in the midst of their work, are taken over, and go on: nothing is lost, nothing is doubled.

Their claims name other hosts, so that nobody can tell by their processes that they live: what a driver of another host
holds is taken once its lease is over. So it is for a container of the same name, or a machine that slept.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.crash.processes import Figures, start
from tests.crash.shop import SCENARIOS, Shop
from tests.crash.test_kills import check, judge, opened, settle
from tests.e2e.projects import write

CRASH = pytest.mark.crash
HELD = (
    "claim:in",
    "fold:done",
    "read:ready",
    "read:done",
    "write:half",
    "write:staged",
    "write:footers",
    "commit:ready",
)
"""Points at which a claim is held and nothing is committed."""
LATE = ("commit:in", "commit:told", "look:done", "record:ready", "record:staged", "record:in")
POINTS = (*HELD, *LATE)
BEHIND = ("commit:in",)
TWICE = ("fence:ready", "fence:in", "look:done", "record:ready")
SAMPLE = ("write:half", "record:staged")
AHEAD = 7 * 60
"""Seconds that the clock of the driver that is stopped is ahead."""


def leased(home: Path, name: str, figures: Figures) -> Shop:
    """A shop whose claims are held for a second."""
    shop = opened(home, name, figures)
    project = shop.scenario.files()["project.yml"].replace("retries: 0", "retries: 0, lease: 1s")
    write(shop.folder, {"project.yml": project})
    return shop


@pytest.mark.parametrize("point", [pytest.param(each, marks=[] if each in SAMPLE else [CRASH]) for each in POINTS])
@pytest.mark.parametrize(
    "name",
    [
        "latest_only, append",
        *(
            pytest.param(each, marks=CRASH)
            for each in (
                "date_range, replace, two outlets",
                "full_refresh, publish",
                "every_instance, append",
                "latest_only, upsert",
            )
        ),
    ],
)
def test_who_is_taken_over_while_it_is_stopped_goes_on_to_no_avail(name, point, tmp_path, figures):
    shop = leased(tmp_path, name, figures)
    shop.sell()
    zombie = start(shop.folder, point=point, act="stop", host="elsewhere", ahead=AHEAD)
    assert zombie.ends() == "stopped"
    settle(shop, figures)
    shop.sell()
    zombie.go_on()
    assert zombie.ends() == "exited 0"
    figures.stops += 1
    settle(shop, figures)
    check(shop)


@pytest.mark.parametrize("point", [pytest.param(each, marks=[] if each in BEHIND else [CRASH]) for each in POINTS])
@pytest.mark.parametrize(
    "name",
    [
        "latest_only, append",
        *(
            pytest.param(each, marks=CRASH)
            for each in (
                "date_range, replace, two outlets",
                "latest_only, publish, two outlets",
                "every_instance, append",
                "segments, upsert",
            )
        ),
    ],
)
def test_nor_when_others_have_written_since(name, point, tmp_path, figures):
    shop = leased(tmp_path, name, figures)
    shop.sell()
    zombie = start(shop.folder, point=point, act="stop", host="elsewhere", ahead=AHEAD)
    if zombie.ends() != "stopped":
        return  # it does not come to that
    for _ in range(2):
        settle(shop, figures)
        shop.sell()
    settle(shop, figures)
    zombie.go_on()
    assert zombie.ends() == "exited 0"
    figures.stops += 1
    settle(shop, figures)
    check(shop)


@pytest.mark.parametrize("point", [pytest.param(each, marks=[] if each == "fence:in" else [CRASH]) for each in TWICE])
@pytest.mark.parametrize(
    "name", [pytest.param("latest_only, append"), pytest.param("date_range, replace, two outlets", marks=CRASH)]
)
def test_nor_one_that_was_to_settle_what_another_left(name, point, tmp_path, figures):
    shop = leased(tmp_path, name, figures)
    shop.sell()
    assert figures.killed(start(shop.folder, point="commit:in", host="one", ahead=AHEAD))
    second = start(shop.folder, point=point, act="stop", host="two", waits=9.0)
    assert second.ends() == "stopped"
    for _ in range(2):
        settle(shop, figures)
        shop.sell()
    settle(shop, figures)
    second.go_on()
    assert second.ends() == "exited 0"
    figures.stops += 1
    settle(shop, figures)
    check(shop)


@CRASH
@pytest.mark.parametrize("name", SCENARIOS)
def test_two_stop_and_go_on_by_turns_wherever_they_are(name, tmp_path, figures):
    shop, random = leased(tmp_path, name, figures), Random(name)  # noqa: S311  nothing to keep secret
    for _ in range(3):
        shop.sell()
        first = start(shop.folder, hit=random.randint(6, 26), act="stop", host="one", ahead=AHEAD, waits=9.0)
        if first.ends() != "stopped":
            continue
        second = start(shop.folder, hit=random.randint(6, 30), act="stop", host="two", ahead=-AHEAD, waits=9.0)
        how = second.ends()
        first.go_on()
        assert first.ends() == "exited 0"
        figures.stops += 1
        if how == "stopped":
            second.go_on()
            assert second.ends() == "exited 0"
            figures.stops += 1
        settle(shop, figures)
    check(shop)


def test_on_one_host_a_driver_that_is_stopped_keeps_what_it_holds(tmp_path, figures):
    shop = opened(tmp_path, "date_range, replace", figures)
    shop.sell()
    stopped = start(shop.folder, point="commit:ready", act="stop")
    assert stopped.ends() == "stopped"
    assert start(shop.folder).ends() == "exited 0"
    assert shop.wrong().lost > 0
    stopped.go_on()
    assert stopped.ends() == "exited 0"
    figures.stops += 1
    judge(shop, figures, stopped)
    check(shop)

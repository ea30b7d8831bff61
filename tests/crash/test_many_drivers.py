"""Several drivers on one project: hosts and containers that see no processes of each other, clocks that differ."""

from __future__ import annotations

import shutil
import subprocess
import time
from datetime import timedelta
from random import Random

import pytest

from sparkassets import Project
from sparkassets.wiring.host import SystemClock
from tests.crash.driver import PlainProject
from tests.crash.processes import Server, start
from tests.crash.shop import SCENARIOS, Shop
from tests.crash.test_kills import check, opened, settle
from tests.crash.test_zombies import leased

UNSHARED = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc")
AHEAD = 7 * 60
LOOKS_SECONDS = 1.5
"""In which a driver looks at who holds what, and would have taken it."""


@pytest.fixture(scope="module")
def container():
    """Starts drivers in a namespace of processes of its own, on a host of the same name."""
    if (
        shutil.which("unshare") is None
        or subprocess.run([*UNSHARED, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("namespaces are not permitted here")
    within = Server(*UNSHARED)
    within.ready()
    yield within
    within.close()


@pytest.mark.parametrize("ours", [True, pytest.param(False, marks=pytest.mark.crash)])
def test_a_container_of_the_same_name_takes_nothing_of_ours_nor_we_of_its(ours, tmp_path, figures, container):
    shop = opened(tmp_path, "latest_only, append", figures)
    shop.sell()
    first, second = (None, container) if ours else (container, None)
    holder = start(shop.folder, by=first, point="commit:ready", act="stop")
    assert holder.ends() == "stopped"
    other = start(shop.folder, by=second)
    time.sleep(LOOKS_SECONDS)
    claims = [row.run for row in Project.load(shop.folder).history.rows(asset="copy", kinds=("claim",))]
    assert len(claims) == 2  # that of the first sales, and the one that is held
    holder.go_on()
    assert holder.ends() == "exited 0"
    assert other.ends() == "exited 0"
    assert claims[-1] in holder.output
    assert other.output == ""
    figures.stops += 1
    settle(shop, figures)
    check(shop)


def test_what_a_container_that_was_killed_held_is_taken_over_when_its_lease_is_over(tmp_path, figures, container):
    shop = leased(tmp_path, "latest_only, append", figures)
    for first, second in ((None, container), (container, None)):
        shop.sell()
        assert figures.killed(start(shop.folder, by=first, point="commit:in", ahead=AHEAD))
        last = start(shop.folder, by=second, ahead=-AHEAD)
        assert last.ends() == "exited 0"
        figures.restarts += 1
        assert (shop.wrong().lost, shop.wrong().doubled) == (0, 0)
    check(shop)


def test_drivers_whose_clocks_differ_by_minutes_take_turns(tmp_path, figures):
    shop = opened(tmp_path, "every_instance, append", figures)
    for host, ahead in (("one", AHEAD), ("two", -AHEAD), ("three", 0), ("one", AHEAD)):
        shop.sell()
        assert start(shop.folder, host=host, ahead=ahead).ends() == "exited 0"
        assert (shop.wrong().lost, shop.wrong().doubled) == (0, 0)
    shop.sell()
    both = [start(shop.folder, host=host, ahead=ahead, waits=5.0) for host, ahead in (("one", AHEAD), ("two", -AHEAD))]
    assert [each.ends() for each in both] == ["exited 0"] * 2
    assert (shop.wrong().lost, shop.wrong().doubled) == (0, 0)
    check(shop)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(each, marks=() if each in ("latest_only, append", "date_range, replace") else pytest.mark.crash)
        for each in SCENARIOS
    ],
)
def test_a_clock_that_jumps_at_every_look_at_it(name, tmp_path, monkeypatch):
    told, random = SystemClock.now, Random(name)  # noqa: S311  nothing to keep secret
    jumps = [0, 0, AHEAD, -AHEAD, 3600, -7200]
    monkeypatch.setattr(SystemClock, "now", lambda clock: told(clock) + timedelta(seconds=random.choice(jumps)))
    shop = Shop(tmp_path, SCENARIOS[name])
    for _ in range(5):
        shop.sell()
        PlainProject.load(shop.folder).run(check=False)
    assert (shop.wrong().lost, shop.wrong().doubled) == (0, 0)
    shop.check()
    assert PlainProject.load(shop.folder).state.verify().damages == ()

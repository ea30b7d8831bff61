"""Drivers with Spark, killed at the points that those without a JVM are: every strategy and write mode."""

from __future__ import annotations

import time
from random import Random

import pytest

from sparkassets import Project
from tests.crash.conftest import drivers, figures
from tests.crash.processes import start
from tests.crash.shop import SCENARIOS, Shop

__all__ = ["drivers", "figures"]
pytestmark = [pytest.mark.spark, pytest.mark.crash]
POINTS = (
    "claim:in",
    "read:done",
    "validate:done",
    "write:staged",
    "commit:ready",
    "commit:in",
    "commit:told",
    "record:in",
)
EACH = 2
PATIENCE_SECONDS = 120


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_next_start_loses_and_doubles_nothing(name, tmp_path, spark, figures):
    shop, random = Shop(tmp_path, SCENARIOS[name]), Random(name)  # noqa: S311  nothing to keep secret
    shop.sell()
    settle(shop, spark)
    for point in random.sample(POINTS, EACH):
        shop.sell()
        figures.killed(start(shop.folder, point=point, spark=True))
        began = time.monotonic()
        settle(shop, spark)
        figures.restarts += 1
        figures.longest = max(figures.longest, time.monotonic() - began)
        wrong = shop.wrong()
        figures.lost += wrong.lost
        figures.doubled += wrong.doubled
        assert (wrong.lost, wrong.doubled) == (0, 0)
    shop.check()


def settle(shop: Shop, spark) -> None:
    """Starts in this process, once the JVM of a driver that was killed is gone where it may still commit."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        summary = Project.load(shop.folder).run(spark, check=False)
        assert {run.status for run in summary.runs} <= {"success"}
        if not any(wait.reason.startswith("running: ") for wait in summary.waiting):
            return
        assert time.monotonic() < deadline
        time.sleep(0.2)

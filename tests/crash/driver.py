"""A driver as a process of its own, on real stores and tables, that dies or stops at a point of its work."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Literal

from sparkassets import Project
from sparkassets.app.adapters import Adapters
from sparkassets.core.results import Summary
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.processes import this_process
from sparkassets.runtime.leases import LeaseMonitor
from sparkassets.wiring.host import SystemClock, any_alive, host_identity
from tests.crash import points
from tests.crash.plain import PlainEngine, PlainOutlets, PlainTarget
from tests.crash.points import Act, Trigger

BRANCH = "b"
Verb = Literal["run", "branch", "promote", "drop"]
LOOK_SECONDS = 0.02
"""Between two looks at what another driver holds."""


@dataclass(frozen=True)
class Orders:
    """What one driver is to do, and where it ends.

    Attributes:
        home: Of all that is kept on disk.
        project: Makes what is driven.
        hit, point, act: Of its `Trigger`.
        log: Where it tells at which point it ended.
        said: Where it tells what its runs came to, and what it raised.
        host: The host that its claims name; empty is this one.
        ahead: Seconds that its clock is ahead.
        select: What may run; None means all.
        verb: What it does with branch `BRANCH`, where it is not a plain run.
        waits: Seconds for which it looks again while other drivers hold claims.
        hurry: Whether the journal is cared for at every start.
        spark: Whether its runs are Spark's.
    """

    home: Path
    project: Callable[[], Project]
    hit: int | None = None
    point: str = ""
    act: Act = "kill"
    log: Path | None = None
    said: Path | None = None
    host: str = ""
    ahead: int = 0
    select: tuple[str, ...] | None = None
    verb: Verb = "run"
    waits: float = 0.0
    hurry: bool = True
    spark: bool = False


class ShiftedClock(SystemClock):
    """A clock that is ahead; what has passed is told as ever."""

    def __init__(self, seconds: int) -> None:
        self._ahead = timedelta(seconds=seconds)

    def now(self) -> datetime:
        """This host's time."""
        return super().now() + self._ahead


class PlainProject(Project):
    """A project whose runs take no JVM."""

    def __init__(self, spec: ProjectSpec, *, engine: type[PlainEngine] = PlainEngine, **given: Any) -> None:
        super().__init__(spec, **given)
        given = self._context.adapters
        beside = given.for_project
        assert beside is not None
        self._context.adapters = replace(_plain(given, engine), for_project=lambda spec: _plain(beside(spec), engine))


def _plain(adapters: Adapters, engine: type[PlainEngine]) -> Adapters:
    return replace(adapters, open_engine=lambda _: (engine(), PlainOutlets()))


def seen_from(project: Project, host: str, *, ahead: int) -> None:
    """The same project on another host."""
    clock = ShiftedClock(ahead)
    made: Callable[[], LeaseMonitor] = partial(
        LeaseMonitor, host=host or host_identity(), process=this_process(), alive=any_alive, clock=clock
    )
    context = project._context
    context.adapters = replace(context.adapters, clock=clock, make_lease_monitor=made)


def drive(orders: Orders) -> None:
    """Runs what is due, as `sparkassets run` does, until nothing is and nobody else holds anything."""
    said = orders.said.open("w") if orders.said is not None else None
    if said is not None:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    points.points_of(PlainTarget)
    if orders.spark:
        points.of_spark()
    points.arm(Trigger(orders.hit, orders.point, orders.act, orders.log))
    if orders.hurry:
        points.hurry()
    project = orders.project()
    seen_from(project, orders.host, ahead=orders.ahead)
    deadline = time.monotonic() + orders.waits
    if orders.verb == "drop":
        project.branches.drop(BRANCH)
        return
    while True:
        summary = _started(project, orders)
        for run in summary.runs:
            print(run.run, run.status, run.error, run.adopted, flush=True)  # noqa: T201
        failed = [run for run in summary.runs if run.status == "failed"]
        if failed and not orders.waits:
            raise SystemExit(1)
        if not summary.runs and (not _held(summary) or time.monotonic() > deadline):
            return
        time.sleep(LOOK_SECONDS)


def _started(project: Project, orders: Orders) -> Summary:
    if orders.verb == "promote":
        return project.branches.promote(BRANCH, select=orders.select, rebuild=True, check=False)
    started = project.branches.open(BRANCH) if orders.verb == "branch" else project
    return started.run(select=orders.select, check=False)


def _held(summary: Summary) -> bool:
    """Whether something waits for another driver."""
    return any(wait.reason.startswith("running: ") for wait in summary.waiting)

"""A driver as a process of its own that stops at one moment: ``crashing.py PROJECT ASSET MOMENT MARKER [ROLLBACK]``.

The project, its journal, Spark and the target are real. When the moment has come the process writes the file MARKER and
does nothing more, so that whoever waits for that file can kill it there. (For ``writing`` the marker is a file
``writing-*`` in the JVM's folder for temporary files, as a task has no other means.) With ROLLBACK, the run of an older
iteration, that is made the newest again.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pyarrow.fs import FileSystem

import sparkassets.spark.engine
from sparkassets import Project
from sparkassets.core.results import RunResult
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.validations import RunJudgement
from sparkassets.delta import commit, staging
from sparkassets.ports import CommitStamp, Enlist, RunComputation, RunOrder, Target
from sparkassets.runtime.progress import SilentProgress
from sparkassets.spark.computation import SparkComputation
from sparkassets.spark.engine import SparkEngine, SparkTargetFactory
from sparkassets.spark.targets import driver_commit, judged_rows, staged_write, table_target

Moment = Literal[
    "claimed",
    "fenced",
    "prepared",
    "computed",
    "writing",
    "staged",
    "read",
    "readable",
    "put",
    "remembered",
    "merged",
    "written",
    "quarantined",
    "recorded",
    "retired",
    "removing",
]
"""``writing``: a task of Spark's job does not end, while others write their files; ``staged``: Spark has written all;
``read``: and the driver their footers; ``readable``: an iteration is a table by itself, and not yet at its
asset's path; ``put``: the entry of the log is written, and nobody was told; ``remembered``:
an upsert has told its memory, and not merged; ``merged``: the merge is committed, nobody was told; ``written``: the
commit is in the target, not in the journal; ``recorded``: it is in both, and the process did not get to its end;
``retired``: and which older iterations go, all of which are there; ``removing``: one of them is gone by half;
``prepared``: all that an outlet gets is computed, checked and judged; ``quarantined``: and what rules take out of it is
in the table beside it. ``written@train`` is the moment of one table."""

IN_A_TASK = "java_method('java.io.File', 'createTempFile', 'writing-', '.txt') IS NOT NULL"
"""For every row a file in the JVM's folder for temporary files."""

FOR_EVER = "java_method('java.lang.Thread', 'sleep', 600000L) IS NOT NULL"


def stop_here(marker: str) -> None:
    """Says that the moment has come, and in which thread, and waits to be killed."""
    Path(marker).touch()
    Path(f"{marker}.{threading.current_thread().name}").touch()
    time.sleep(600)


@dataclass(frozen=True)
class Stop:
    """Where the process comes to its end."""

    moment: str
    marker: str

    def at(self, moment: Moment, table: str = "") -> None:
        """Stops if this is the moment, of that table where one is said."""
        if self.moment in (moment, f"{moment}@{table}"):
            stop_here(self.marker)


class StoppingEngine(SparkEngine):
    """The real engine, which stops at one moment."""

    def __init__(self, *given: Any, stop: Stop) -> None:
        super().__init__(*given)
        self._stop = stop

    def compute(self, order: RunOrder, *, attempt: int) -> RunComputation:
        self._stop.at("claimed")
        return super().compute(order, attempt=attempt)


class StoppingTarget:
    """A real target, which stops at one moment."""

    def __init__(self, target: Target, stop: Stop, name: str) -> None:
        self._target = target
        self._stop = stop
        self._name = name
        self.read_segments = target.read_segments
        self.detect_unchanged = target.detect_unchanged
        self.transaction_version = target.transaction_version
        self.find_commits = target.find_commits
        self.remove_staged = target.remove_staged
        self.remove_iterations = target.remove_iterations

    def prepare(self, computation: RunComputation, *, stamp: CommitStamp) -> RunJudgement | None:
        judged = self._target.prepare(computation, stamp=stamp)
        self._stop.at("prepared", self._name)
        return judged

    def write(self, computation: RunComputation, *, stamp: CommitStamp) -> None:
        self._stop.at("computed", self._name)
        if self._stop.moment == "writing" and isinstance(computation, SparkComputation):
            endless = computation.frame.where(f"{IN_A_TASK} AND {FOR_EVER}")
            computation = replace(computation, frame=computation.frame.union(endless))
        self._target.write(computation, stamp=stamp)
        self._stop.at("written", self._name)

    def fence(self, computation: RunComputation | None, *, stamp: CommitStamp) -> None:
        self._target.fence(computation, stamp=stamp)
        self._stop.at("fenced", self._name)


class StoppingOutlets(SparkTargetFactory):
    """The real outlets, with targets that stop."""

    def __init__(self, engine: SparkEngine, *, stop: Stop) -> None:
        super().__init__(engine)
        self._stop = stop

    def open_target(self, asset: AssetSpec, *, app_id: str, enlist: Enlist) -> Target:
        return StoppingTarget(super().open_target(asset, app_id=app_id, enlist=enlist), self._stop, asset.name)


class StoppingProgress(SilentProgress):
    """Stops when a run has been recorded."""

    def __init__(self, marker: str) -> None:
        self._marker = marker

    def finished(self, result: RunResult) -> None:
        del result
        stop_here(self._marker)


def stop_while_the_driver_commits(stop: Stop) -> None:
    """Stops between Spark's last file and what comes after the commit."""
    read, put, create = staged_write.list_staged_files, commit._write_commit, driver_commit.create

    def staged_files(*given: Any, **named: Any) -> Any:
        stop.at("staged")
        files = read(*given, **named)
        stop.at("read")
        return files

    def then(made: Callable[..., None]) -> Callable[..., None]:
        def committed(*given: Any, **named: Any) -> None:
            made(*given, **named)
            stop.at("put")

        return committed

    staged_write.list_staged_files, commit._write_commit, driver_commit.create = staged_files, then(put), then(create)


def stop_after_the_quarantine(stop: Stop) -> None:
    """Stops between the commit of what rules take out and that of what they leave."""
    keep = judged_rows.keep_quarantined

    def kept(*given: Any, **named: Any) -> None:
        keep(*given, **named)
        stop.at("quarantined")

    judged_rows.keep_quarantined = kept


def stop_around_a_merge(stop: Stop) -> None:
    """Stops between what an upsert remembers and its commit, and after that."""
    commit = driver_commit.commit_staged

    def merged(staged: Any, **named: Any) -> None:
        if staged.merge is None:
            commit(staged, **named)
            return
        stop.at("remembered")
        commit(staged, **named)
        stop.at("merged")

    driver_commit.commit_staged = merged


def stop_around_iterations(stop: Stop) -> None:
    """Stops after an iteration is a table by itself, and while older ones are removed."""
    make, remove, delete = driver_commit.make_readable, table_target.discard_iterations, staging._delete_folder

    def made_readable(*given: Any, **named: Any) -> None:
        make(*given, **named)
        stop.at("readable")

    def removed(*given: Any, **named: Any) -> None:
        stop.at("retired")
        staging._delete_folder = deleted
        remove(*given, **named)

    def deleted(store: FileSystem, folder: str) -> None:
        files = [each.path for each in staging._list_files(store, folder) if each.is_file]
        store.delete_file(min(files))
        stop.at("removing")
        delete(store, folder)

    driver_commit.make_readable, table_target.discard_iterations = made_readable, removed


def main(folder: str, asset: str, moment: str, marker: str, rollback: str = "") -> None:
    stop = Stop(moment, marker)
    stop_while_the_driver_commits(stop)
    stop_around_a_merge(stop)
    stop_after_the_quarantine(stop)
    stop_around_iterations(stop)
    sparkassets.spark.engine.SparkEngine = partial(StoppingEngine, stop=stop)  # type: ignore[misc,assignment]
    sparkassets.spark.engine.SparkTargetFactory = partial(StoppingOutlets, stop=stop)  # type: ignore[misc,assignment]
    progress = StoppingProgress(marker) if moment == "recorded" else SilentProgress()
    project = Project.load(folder)
    if rollback:
        project.assets.roll_back(asset, rollback)
    else:
        project.run(select=[asset], progress=progress)


if __name__ == "__main__":
    main(*sys.argv[1:])  # type: ignore[arg-type]

"""Named points of a driver's work: at one of them its process kills itself, or stops until it is told to go on.

``arm()`` wraps the real functions of this process, once. A point is ``step:moment``, or ``step:moment@table``.
"""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from sparkassets.delta import commit, staging
from sparkassets.files import folders
from sparkassets.runtime import claimed_targets, ledger
from sparkassets.spark.targets import driver_commit, staged_write, table_target
from sparkassets.state import data_files, delta_store, maintenance, numbered_table

Act = Literal["kill", "stop"]

STEPS = {"claim": "claim", "success": "record", "failure": "fail", "observed": "observe", "spec": "spec"}
"""Kind of entry to the step that commits it."""
JOURNAL = [
    f"{step}:{moment}" for step in ("spec", "observe", "claim", "record") for moment in ("ready", "staged", "in")
]
"""About to be committed; its file is written; and committed, and nobody was told."""
POINTS = (
    *JOURNAL,
    "fold:ready",
    "fold:done",
    "fence:ready",
    "fence:in",
    "look:done",
    "read:ready",
    "read:done",
    "write:half",
    "write:staged",
    "write:footers",
    "validate:done",
    "commit:ready",
    "commit:in",
    "commit:told",
    "publish:readable",
    "publish:retiring",
    "publish:half",
    "publish:retired",
    "compact:ready",
    "compact:merged",
    "compact:in",
    "checkpoint:ready",
    "checkpoint:in",
    "snapshot:ready",
    "snapshot:staged",
    "snapshot:in",
    "sweep:ready",
    "sweep:half",
    "sweep:done",
)
"""All of them. ``write:half``: some of an attempt's files are there; ``write:staged``: all are; ``commit:told``: the
target's commit has returned; ``publish:readable``: an iteration is a table by itself, and not yet at its asset's path;
``publish:half``: of an iteration that is removed a file is gone. ``drop:file``, before each
file of a branch that is dropped, is not one of them."""


@dataclass
class Trigger:
    """What this process comes to its end at.

    Attributes:
        hit: Which point, by its number in this process; None for none.
        point: By its name, in place of a number.
        act: What happens there.
        log: Is told the point's name before that.
    """

    hit: int | None = None
    point: str = ""
    act: Act = "kill"
    log: Path | None = None
    count: int = 0
    step: threading.local = field(default_factory=threading.local)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def at(self, point: str, table: str = "") -> None:
        """This process has come to a point."""
        with self.lock:
            self.count += 1
            named = self.point and self.point in (point, f"{point}@{table}")
            if not named and self.count != self.hit:
                return
            self.point, self.hit = "", None
            if self.log is not None:
                self.log.write_text(point)
            if self.act == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)  # sent to the process it may stop us later


TRIGGER = Trigger()


def around(owner: Any, name: str, *, ready: str = "", done: str = "") -> None:
    """Makes a function or method a step with points before and after."""
    original = getattr(owner, name)

    def step(*given: Any, **named: Any) -> Any:
        if ready:
            TRIGGER.at(ready)
        result = original(*given, **named)
        if done:
            TRIGGER.at(done)
        return result

    setattr(owner, name, step)


def arm(trigger: Trigger) -> None:
    """From now on this process comes to its points."""
    global TRIGGER  # noqa: PLW0603  of a process that lives for one start of a driver
    TRIGGER = trigger
    _journal()
    around(ledger, "_fold_entries", ready="fold:ready", done="fold:done")
    around(claimed_targets.ClaimedTargets, "find_commits", done="look:done")
    around(staged_write, "list_staged_files", ready="write:staged", done="write:footers")
    for owner, name in ((commit, "_write_commit"), (driver_commit, "create")):
        around(owner, name, ready="commit:ready", done="commit:in")
    around(driver_commit, "make_readable", done="publish:readable")
    _removal()
    around(maintenance, "_merge", ready="compact:ready")
    around(maintenance, "commit_replacement", ready="compact:merged", done="compact:in")
    around(numbered_table.NumberedTable, "checkpoint", ready="checkpoint:ready", done="checkpoint:in")
    around(delta_store.DeltaStore, "save_snapshot", ready="snapshot:ready", done="snapshot:in")
    around(maintenance, "clean_up", ready="sweep:ready", done="sweep:done")
    around(maintenance, "_delete_old_entries", done="sweep:half")
    folders._DiskFolder.remove = _dropped  # type: ignore[method-assign]


def hurry() -> None:
    """Has the journal cared for at every start of a driver, in place of once in many."""
    ledger.MAINTAIN_EVERY, maintenance.FAN_IN, maintenance.TIDY_EVERY, numbered_table.LOG_KEPT = 4, 4, 4, 40
    ledger.SNAPSHOT_EVERY = maintenance.CHECKPOINT_EVERY = 6


def points_of(target: type[Any]) -> None:
    """Makes the steps of a target points, with its table's name."""
    _of_table(target, "fence", ready="fence:ready", done="fence:in")
    _of_table(target, "prepare", done="validate:done")
    _of_table(target, "write", done="commit:told")


def of_spark() -> None:
    """Makes the steps of Spark's engine and targets points; a merge is Spark's to commit."""
    from sparkassets.spark.engine import SparkEngine
    from sparkassets.spark.upserts import key_merge

    around(SparkEngine, "compute", ready="read:ready", done="read:done")
    around(key_merge, "commit_merge", ready="commit:ready", done="commit:in")
    points_of(table_target.TableTarget)


def _of_table(target: type[Any], name: str, *, done: str, ready: str = "") -> None:
    original = getattr(target, name)

    def step(self: Any, *given: Any, **named: Any) -> Any:
        if ready:
            TRIGGER.at(ready, self._asset.name)
        result = original(self, *given, **named)
        TRIGGER.at(done, self._asset.name)
        return result

    setattr(target, name, step)


def _journal() -> None:
    append, write = delta_store.DeltaStore.append, data_files.FileAccess.write

    def appended(self: Any, rows: Sequence[Any], *, after: int) -> None:
        TRIGGER.step.now = step = next((STEPS[row.kind] for row in rows if row.kind in STEPS), "other")
        TRIGGER.at(f"{step}:ready")
        append(self, rows, after=after)
        TRIGGER.at(f"{step}:in")

    def written(self: Any, data: Any, *, name: str, data_change: bool = True) -> Any:
        action = write(self, data, name=name, data_change=data_change)
        if name == "level-0":
            TRIGGER.at(f"{TRIGGER.step.now}:staged")
        elif name == "snapshot":
            TRIGGER.at("snapshot:staged")
        return action

    delta_store.DeltaStore.append, data_files.FileAccess.write = appended, written  # type: ignore[method-assign]


def _dropped(self: Any, name: str) -> None:
    """As a branch is removed: file by file, in any order."""
    files = sorted(each for each in (self._root / name).rglob("*") if each.is_file())
    for file in files if len(files) % 2 else reversed(files):
        TRIGGER.at("drop:file")
        file.unlink()
    shutil.rmtree(self._root / name, ignore_errors=True)


def _removal() -> None:
    delete, discard = staging._delete_folder, table_target.discard_iterations

    def deleted(store: Any, folder: str) -> None:
        found = [each.path for each in staging._list_files(store, folder) if each.is_file]
        if found:
            store.delete_file(min(found))
            TRIGGER.at("publish:half")
        delete(store, folder)

    def discarded(*given: Any, **named: Any) -> None:
        TRIGGER.at("publish:retiring")
        staging._delete_folder = deleted
        try:
            discard(*given, **named)
        finally:
            staging._delete_folder = delete
        TRIGGER.at("publish:retired")

    table_target.discard_iterations = discarded

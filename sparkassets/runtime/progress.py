"""What the runtime tells whoever watches: plans, starts and ends of runs."""

from __future__ import annotations

import contextlib
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol

from sparkassets.core.journal.entries import RunKind
from sparkassets.core.partitions import RangeSet
from sparkassets.core.phrases import few, joined
from sparkassets.core.planner.plan import Plan, PlannedRun, Waiting
from sparkassets.errors import SparkAssetsError, said

MOST_TOLD = 3
"""Failures that an error names."""

Status = Literal["success", "failed", "replanned", "cancelled", "superseded"]
"""``replanned``: it failed, was planned anew, and all that it was to compute was computed in the same invocation."""

GOOD: frozenset[Status] = frozenset({"success", "replanned", "superseded"})
"""What is no failure of the invocation."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """How one run ended.

    Attributes:
        blocks: None for an asset without partitions.
        rows: Written, where the target tells.
        error: First line of the cause, for people.
        hint: What to do about it.
        details: Name of the file that holds the whole of it.
        adopted: The run of a dead driver that was found in the target and recorded instead.
        partitions: Keys ``A..B`` of its blocks, where a `Project` gave it.
    """

    asset: str
    run: str
    kind: RunKind
    status: Status
    blocks: RangeSet | None
    reason: str
    seconds: float
    attempts: int = 1
    rows: int | None = None
    version: int | None = None
    error: str = ""
    hint: str = ""
    details: str = ""
    adopted: str | None = None
    partitions: tuple[str, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        rows = "" if self.rows is None else f", {self.rows:,} rows"
        error = f": {self.error}" if self.error else ""
        what = joined(self.asset, few(self.partitions))
        return f"<run {what}: {self.status} after {self.seconds:.1f} s{rows}{error}>"


@dataclass(frozen=True, slots=True)
class Explained:
    """What a run failed of, for people.

    Attributes:
        error: Its first line.
        hint: What to do about it.
        details: Name of the file that holds the whole of it; empty where none could be written.
    """

    error: str = ""
    hint: str = ""
    details: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """What one invocation did.

    Attributes:
        runs: In the order in which they ended.
        waiting: Of the last plan: why the rest did not run.
        faults: Sources that could not be looked at.
        interrupted: Stopped by a person or a signal.
        lost: Spark's JVM ended under it: this process can run nothing more.
    """

    runs: tuple[RunResult, ...]
    waiting: tuple[Waiting, ...]
    faults: tuple[tuple[str, str], ...] = ()
    interrupted: bool = False
    lost: bool = False

    @property
    def ok(self) -> bool:
        """Whether nothing failed that was not made good."""
        return not self.faults and all(run.status in GOOD for run in self.runs)

    @property
    def failures(self) -> tuple[str, ...]:
        """What failed, a sentence each: runs first, then sources that could not be looked at."""
        failed = (run for run in self.runs if run.status == "failed")
        return (
            *(f"{joined(run.asset, few(run.partitions))} failed: {run.error}" for run in failed),
            *(f"{few(assets)} could not be looked at: {fault}" for assets, fault in self.shared_faults),
        )

    @property
    def shared_faults(self) -> tuple[tuple[tuple[str, ...], str], ...]:
        """The faults, each with all that it is the same for, such as the tables of one volume."""
        shared: dict[str, list[str]] = {}
        for asset, fault in self.faults:
            shared.setdefault(fault, []).append(asset)
        return tuple((tuple(assets), fault) for fault, assets in shared.items())

    def __repr__(self) -> str:
        counts = Counter(run.status for run in self.runs)
        told = ", ".join(f"{count} {status}" for status, count in counts.items()) or "nothing was due"
        faults = (f"<source {asset}: {fault}>" for asset, fault in self.faults)
        stopped = "; interrupted" if self.interrupted else ""
        return "\n".join([f"<summary: {told}{stopped}>", *map(repr, self.runs), *faults, *map(repr, self.waiting)])


class RunFailedError(SparkAssetsError):
    """Some run of an invocation failed, or a source could not be looked at.

    Attributes:
        summary: What the invocation did, all of it.
    """

    def __init__(self, summary: Summary) -> None:
        hint = next((run.hint for run in summary.runs if run.status == "failed" and run.hint), None)
        super().__init__("; ".join([*summary.failures[:MOST_TOLD], *_rest(summary.failures)]), hint=hint)
        self.summary = summary


def _rest(failures: tuple[str, ...]) -> list[str]:
    return [f"and {len(failures) - MOST_TOLD} more"] if len(failures) > MOST_TOLD else []


class Progress(Protocol):
    """Is told what happens, on the driver's own thread; must return soon."""

    def planned(self, plan: Plan) -> None:
        """A plan with something to run was made."""

    def starting(self, what: str) -> None:
        """Something that takes seconds begins, such as the start of Spark."""

    def started(self, run: PlannedRun, run_id: str) -> None:
        """A run began."""

    def finished(self, result: RunResult) -> None:
        """A run ended."""


class Silent:
    """Tells nobody."""

    def planned(self, plan: Plan) -> None:
        """Ignored."""

    def starting(self, what: str) -> None:
        """Ignored."""

    def started(self, run: PlannedRun, run_id: str) -> None:
        """Ignored."""

    def finished(self, result: RunResult) -> None:
        """Ignored."""


class Unbroken:
    """Tells a progress as long as it does not raise: who watches may go, the work goes on."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def planned(self, plan: Plan) -> None:
        """A plan with something to run was made."""
        with self._telling():
            self._progress.planned(plan)

    def starting(self, what: str) -> None:
        """Something that takes seconds begins."""
        with self._telling():
            self._progress.starting(what)

    def started(self, run: PlannedRun, run_id: str) -> None:
        """A run began."""
        with self._telling():
            self._progress.started(run, run_id)

    def finished(self, result: RunResult) -> None:
        """A run ended."""
        with self._telling():
            self._progress.finished(result)

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001  whatever it is, it is not the runs' fault
            self._progress = Silent()
            with contextlib.suppress(Warning):
                warnings.warn(f"the progress raised {said(error)}; it is told no more", RuntimeWarning, stacklevel=4)

"""The result of each run of an invocation, and the summary of the invocation."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import Literal

from sparkassets.core.journal.withheld_records import describe_verdicts
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.phrases import few, join_nonempty
from sparkassets.core.planner.plan import AssetLateness, AssetNote, Waiting, note_table, waiting_table
from sparkassets.core.runs import ReportedRun
from sparkassets.errors import RunError
from sparkassets.frozen import frozen

Status = Literal["success", "failed", "skipped", "withheld", "replanned", "cancelled", "superseded"]
"""How a run ended.

``replanned``: the run failed, and all of its partitions were tried again in the same invocation.
``withheld``: validations let none of its partitions through; a run that is withheld in part is a success.
"""

GOOD: frozenset[Status] = frozenset({"success", "skipped", "withheld", "replanned", "superseded"})
"""Statuses that do not fail the invocation by themselves; withheld runs are judged by their partitions."""


@frozen
class RunResult(ReportedRun):
    """How one run ended.

    Attributes:
        seconds: From the start of its work to its record.
        held: Keys ``A..B`` of the withheld partitions; filled only by a `Project`.
        deleted: How many stored rows a merge by keys deleted.
        topic: Of a failure, the section of docs/troubleshooting.md about it.
    """

    run: str
    status: Status
    seconds: float
    attempts: int = 1
    held: tuple[str, ...] = field(default=(), compare=False)
    deleted: int = 0
    topic: str = RunError.topic

    @property
    def withheld_by(self) -> str:
        """The rules that withheld partitions, with their counts; empty where none are withheld."""
        return describe_verdicts([verdict for verdict in self.verdicts if verdict.outcome == "withheld"])

    def __repr__(self) -> str:
        rows = "" if self.rows is None else f", {self.rows:,} rows"
        error = f": {self.error or self.skipped}" if self.error or self.skipped else ""
        what = join_nonempty(self.asset, few(self.partition_keys))
        return f"<run {what}: {self.status} after {self.seconds:.1f} s{rows}{error}>"


@frozen
class Summary:
    """What one invocation did.

    Attributes:
        runs: Results in the order in which the runs ended.
        waiting: Why everything else did not run, from the last plan.
        faults: Sources that could not be observed: pairs of asset and error.
        interrupted: Stopped by a person or a signal.
        lost: Spark's JVM died: this process can run nothing more.
        notes: Remarks about the tables, from the last plan.
        late: Expected data that was missing at the end.
    """

    runs: tuple[RunResult, ...]
    waiting: tuple[Waiting, ...]
    faults: tuple[tuple[str, str], ...] = ()
    interrupted: bool = False
    lost: bool = False
    notes: tuple[AssetNote, ...] = ()
    late: tuple[AssetLateness, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether each failed or withheld run was retried, every source was observed and nothing waits for a person."""
        good = all(run.status in GOOD for run in self.runs) and not self.withheld
        return good and not self.faults and not self.stuck

    @property
    def stuck(self) -> tuple[Waiting, ...]:
        """Reasons of assets and partitions that do not run again before a person acts."""
        return tuple(wait for wait in self.waiting if wait.stuck)

    @property
    def withheld(self) -> tuple[RunResult, ...]:
        """The runs that withheld partitions which no later run computed again."""
        recomputed: dict[tuple[object, ...], PartitionSet] = {}
        withheld: list[RunResult] = []
        for run in reversed(self.runs) if any(run.withheld for run in self.runs) else ():
            if run.status in ("success", "withheld"):
                request = run.request
                # An instance is its own unit: the run of a later instance does not recompute an earlier one.
                key: tuple[object, ...] = (run.asset,)
                if request.is_instance:
                    key = (run.asset, request.interval, request.events)
                later = recomputed.get(key, NOTHING)
                withheld += [run] if run.withheld - later else []
                recomputed[key] = later | run.partitions
        return tuple(reversed(withheld))

    @property
    def failures(self) -> tuple[str, ...]:
        """One sentence for each problem: failed runs, withheld runs, waits for a person, then faults of sources."""
        failed = (run for run in self.runs if run.status == "failed")
        return (
            *(f"{join_nonempty(run.asset, few(run.partition_keys))} failed: {run.error}" for run in failed),
            *(f"{join_nonempty(run.asset, few(run.held))} is withheld: {run.withheld_by}" for run in self.withheld),
            *(f"{wait.asset} waits for a person: {wait.reason}" for wait in self.stuck),
            *(f"{few(assets)} could not be observed: {fault}" for assets, fault in self.shared_faults),
        )

    @property
    def shared_faults(self) -> tuple[tuple[tuple[str, ...], str], ...]:
        """The faults, each with all sources that share it, such as the tables of one volume."""
        shared: dict[str, list[str]] = {}
        for asset, fault in self.faults:
            shared.setdefault(fault, []).append(asset)
        return tuple((tuple(assets), fault) for fault, assets in shared.items())

    def __repr__(self) -> str:
        faults = (f"<source {asset}: {fault}>" for asset, fault in self.faults)
        return "\n".join([f"<{self._title()}>", *map(repr, self.runs), *faults, *map(repr, self.waiting)])

    def _title(self) -> str:
        counts = Counter(run.status for run in self.runs)
        counted = ", ".join(f"{count} {status}" for status, count in counts.items()) or "nothing was due"
        return f"summary: {counted}{'; interrupted' if self.interrupted else ''}"

    def _repr_html_(self) -> str:
        """Renders the summary as HTML tables for a notebook."""
        from sparkassets.core.notebook import HtmlTable, render_tables

        runs = [
            (
                run.asset,
                few(run.partition_keys),
                run.status,
                "" if run.rows is None else f"{run.rows:,}",
                f"{run.seconds:.1f}",
                run.error or run.skipped or (f"withheld: {run.withheld_by}" if run.withheld else ""),
            )
            for run in self.runs
        ]
        return render_tables(
            self._title(),
            HtmlTable("", ("asset", "partitions", "status", "rows", "seconds", "why"), runs),
            HtmlTable("could not be observed", ("asset", "reason"), self.faults),
            waiting_table("waits", [each for each in self.waiting if not each.quiet]),
            note_table(self.notes),
        )

"""How the runs of one invocation ended, and what it left waiting."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import Literal

from sparkassets.core.journal.withheld_records import describe_verdicts
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.phrases import few, join_nonempty
from sparkassets.core.planner.explain.lateness import AssetLateness
from sparkassets.core.planner.plan import AssetNote, Waiting, note_table, waiting_table
from sparkassets.core.runs import RequestedRun
from sparkassets.core.validations import RuleVerdict
from sparkassets.frozen import frozen

Status = Literal["success", "failed", "skipped", "withheld", "replanned", "cancelled", "superseded"]
"""``replanned``: it failed, and all that it was to compute, if anything, was tried again in the same invocation.

``withheld``: validations let nothing of it through; what is withheld in part is a success.
"""

GOOD: frozenset[Status] = frozenset({"success", "skipped", "withheld", "replanned", "superseded"})
"""What is no failure of the invocation by itself; what is withheld is judged by its blocks."""


@frozen
class RunResult(RequestedRun):
    """How one run ended.

    Attributes:
        rows: Written, where the target tells.
        error: First line of the cause, for people.
        hint: What to do about it.
        details: Name of the file that holds the whole of it.
        unchanged: Those of its blocks that came out as they were, and are no news to anybody.
        withheld: Those of its blocks that are not published, as their validations failed.
        verdicts: What its validations did.
        adopted: The run of a dead driver that was found in the target and recorded instead.
        skipped: Why it wrote nothing, as its code said; empty where it was not skipped.
        partitions: Keys ``A..B`` of its blocks, where a `Project` gave it.
        held: The same of those that are withheld.
    """

    run: str
    status: Status
    seconds: float
    attempts: int = 1
    rows: int | None = None
    version: int | None = None
    error: str = ""
    hint: str = ""
    details: str = ""
    adopted: str | None = None
    skipped: str = ""
    unchanged: PartitionSet = NOTHING
    withheld: PartitionSet = NOTHING
    verdicts: tuple[RuleVerdict, ...] = ()
    partitions: tuple[str, ...] = field(default=(), compare=False)
    held: tuple[str, ...] = field(default=(), compare=False)

    @property
    def withheld_by(self) -> str:
        """The rules for which some of its blocks are withheld, with what they counted; empty where none are."""
        return describe_verdicts([verdict for verdict in self.verdicts if verdict.outcome == "withheld"])

    def __repr__(self) -> str:
        rows = "" if self.rows is None else f", {self.rows:,} rows"
        error = f": {self.error or self.skipped}" if self.error or self.skipped else ""
        what = join_nonempty(self.asset, few(self.partitions))
        return f"<run {what}: {self.status} after {self.seconds:.1f} s{rows}{error}>"


@frozen
class Summary:
    """What one invocation did.

    Attributes:
        runs: In the order in which they ended.
        waiting: Of the last plan: why the rest did not run.
        faults: Sources that could not be looked at.
        interrupted: Stopped by a person or a signal.
        lost: Spark's JVM ended under it: this process can run nothing more.
        notes: Of the last plan: what is to be known of the tables that it wrote to.
        late: What people expect and was not there in the end.
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
        """Whether nothing failed, or is withheld, that was not made good, and nothing waits for a person to act."""
        good = all(run.status in GOOD for run in self.runs) and not self.withheld
        return good and not self.faults and not self.stuck

    @property
    def stuck(self) -> tuple[Waiting, ...]:
        """What does not run again before a person acts."""
        return tuple(wait for wait in self.waiting if wait.stuck)

    @property
    def withheld(self) -> tuple[RunResult, ...]:
        """The runs that withheld something which no later one has tried again."""
        tried: dict[tuple[object, ...], PartitionSet] = {}
        found: list[RunResult] = []
        for run in reversed(self.runs) if any(run.withheld for run in self.runs) else ():
            if run.status in ("success", "withheld"):
                request, of = run.request, (run.asset,)
                key = (*of, request.interval, request.events) if request.apart else of
                later = tried.get(key, NOTHING)
                found += [run] if run.withheld - later else []
                tried[key] = later | run.blocks
        return tuple(reversed(found))

    @property
    def failures(self) -> tuple[str, ...]:
        """What failed, a sentence each: runs first, what is withheld or waits for a person, then faults of sources."""
        failed = (run for run in self.runs if run.status == "failed")
        return (
            *(f"{join_nonempty(run.asset, few(run.partitions))} failed: {run.error}" for run in failed),
            *(f"{join_nonempty(run.asset, few(run.held))} is withheld: {run.withheld_by}" for run in self.withheld),
            *(f"{wait.asset} waits for a person: {wait.reason}" for wait in self.stuck),
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
        faults = (f"<source {asset}: {fault}>" for asset, fault in self.faults)
        return "\n".join([f"<{self._title()}>", *map(repr, self.runs), *faults, *map(repr, self.waiting)])

    def _title(self) -> str:
        counts = Counter(run.status for run in self.runs)
        counted = ", ".join(f"{count} {status}" for status, count in counts.items()) or "nothing was due"
        return f"summary: {counted}{'; interrupted' if self.interrupted else ''}"

    def _repr_html_(self) -> str:
        """The summary in a notebook."""
        from sparkassets.core.notebook import HtmlTable, render_tables

        runs = [
            (
                run.asset,
                few(run.partitions),
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
            HtmlTable("could not be looked at", ("asset", "reason"), self.faults),
            waiting_table("waits", [each for each in self.waiting if not each.quiet]),
            note_table(self.notes),
        )

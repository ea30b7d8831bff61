"""A plan is data: what `explain` prints is the very list that `run` executes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from sparkassets.core.instants import format_zoned, from_unix
from sparkassets.core.journal.state import AssetState, EventRef
from sparkassets.core.partitions import EVERYTHING, PartitionSet
from sparkassets.core.phrases import few, join_nonempty
from sparkassets.core.runs import RequestedRun, RunRequest
from sparkassets.core.sizes import duration_text, size_text
from sparkassets.core.spec.model import AssetSpec
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from sparkassets.core.notebook import HtmlTable
    from sparkassets.core.planner.explain.code_changes import CodeChange
    from sparkassets.core.planner.explain.lateness import AssetLateness


@frozen
class CostEstimate:
    """What a run is to cost.

    Attributes:
        bytes, files: That it reads of its inlets, by the versions and partitions that it is planned with; None where
            one of them cannot be told. All columns of the data files, compressed as they are.
        seconds, rows: By earlier runs of the asset; None where none is known.
        between: The seconds are between these, as `sparkassets.core.runs.costs.Forecast` has it.
        earlier: On how many runs that rests.
        unknown: Why not all can be told, one text an inlet.
        assumed: The run is not planned yet, and would read other versions than those that are there now.
    """

    bytes: int | None
    files: int | None
    seconds: float | None
    rows: int | None
    between: tuple[float, float] | None = None
    earlier: int = 0
    unknown: tuple[str, ...] = ()
    assumed: bool = False


@frozen
class CostTotals:
    """What several runs cost, as far as it is known.

    Attributes:
        seconds: Of all runs, one after the other.
        unknown: Which of these is not known of how many runs.
    """

    runs: int = 0
    bytes: int = 0
    files: int = 0
    seconds: float = 0.0
    rows: int = 0
    unknown: Mapping[str, int] = field(default_factory=dict)


@frozen
class PlannedRun(RequestedRun):
    """One run that is due: what a claim holds, and what people see of it besides.

    Attributes:
        events: What triggered it, ascending.
        recovers: Runs of drivers that are gone, whose outcome has to be settled first.
        partitions: Keys ``A..B`` of its blocks, where a `Project` gave it.
        estimate: What it is to cost, where somebody asked.
    """

    strategy: str
    write: str
    events: tuple[EventRef, ...] = ()
    recovers: tuple[str, ...] = ()
    partitions: tuple[str, ...] = field(default=(), compare=False)
    estimate: CostEstimate | None = field(default=None, compare=False)

    @classmethod
    def from_request(
        cls, request: RunRequest, *, asset: AssetSpec, state: AssetState, events: tuple[EventRef, ...] = ()
    ) -> PlannedRun:
        """The run of ``asset``, whose claims that never ended it settles first."""
        definition = asset.definition.id if asset.definition is not None else ""
        return cls(
            replace(request, events=tuple(ref.seq for ref in events) or request.events, definition=definition),
            strategy=asset.strategy.name if asset.strategy else "",
            write=asset.write.name if asset.write else "",
            events=events,
            recovers=tuple(link.entry.run for link in state.chains.get(request.slot, ())),
        )

    def __repr__(self) -> str:
        return f"<run {join_nonempty(self.asset, few(self.partitions))}: {self.reason}>"


@frozen
class Waiting:
    """Why an asset, or some of its partitions, does not run now.

    Attributes:
        until: When that changes by itself, Unix seconds; None when only an event can change it.
        blocks: The partitions it is about; everything for the whole asset.
        quiet: Nothing is wanted: up to date, manual, or not yet time.
        stuck: A person has to act before it runs again.
        partitions: Keys ``A..B`` of its blocks, where a `Project` gave it.
    """

    asset: str
    reason: str
    until: int | None = None
    blocks: PartitionSet = EVERYTHING
    quiet: bool = False
    partitions: tuple[str, ...] = field(default=(), compare=False)
    stuck: bool = False

    def __repr__(self) -> str:
        until = f" (until {format_zoned(from_unix(self.until), 'UTC')})" if self.until is not None else ""
        return f"<wait {join_nonempty(self.asset, few(self.partitions))}: {self.reason}{until}>"


@frozen
class AssetNote:
    """What people should know of an asset's table, whether it runs or not.

    Attributes:
        blocks: The partitions it is about; everything for the whole asset.
        partitions: Keys ``A..B`` of its blocks, where a `Project` gave it.
    """

    asset: str
    text: str
    blocks: PartitionSet = EVERYTHING
    partitions: tuple[str, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        return f"<note {join_nonempty(self.asset, few(self.partitions))}: {self.text}>"


@frozen
class Plan:
    """What would run at ``at`` (Unix seconds), and why the rest would not; every asset is named.

    Attributes:
        unseen: What is shown as a run saw it last, since a Spark session alone can look: asset to why.
        totals: What the runs are to cost in all, where somebody asked.
        changes: What other code has made of assets, where a `Project` gave it.
        late: What people expect and is not there, where a `Project` gave it.
    """

    at: int
    runs: tuple[PlannedRun, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    notes: tuple[AssetNote, ...] = ()
    unseen: Mapping[str, str] = field(default_factory=dict, compare=False)
    totals: CostTotals | None = field(default=None, compare=False)
    changes: tuple[CodeChange, ...] = field(default=(), compare=False)
    late: tuple[AssetLateness, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        return "\n".join(
            [
                f"<plan at {format_zoned(from_unix(self.at), 'UTC')}>",
                *map(repr, (*self.runs, *self.waiting, *self.notes)),
            ]
        )

    def _repr_html_(self) -> str:
        """The plan in a notebook."""
        from sparkassets.core.notebook import HtmlTable, render_tables

        runs = [(run.asset, few(run.partitions), run.reason, *_costs(run.estimate)) for run in self.runs]
        wanting = [each for each in self.waiting if not each.quiet]
        resting = [each for each in self.waiting if each.quiet]
        return render_tables(
            f"plan at {format_zoned(from_unix(self.at), 'UTC')}" + ("" if runs else ": nothing is due"),
            HtmlTable("runs", ("asset", "partitions", "reason", "reads", "takes"), runs),
            waiting_table("waits", wanting),
            waiting_table("nothing due", resting),
            note_table(self.notes),
        )


def waiting_table(heading: str, items: Sequence[Waiting]) -> HtmlTable:
    """Why assets do not run, for a notebook."""
    from sparkassets.core.notebook import HtmlTable

    until = ("" if each.until is None else format_zoned(from_unix(each.until), "UTC") for each in items)
    rows = [(each.asset, few(each.partitions), each.reason, when) for each, when in zip(items, until, strict=True)]
    return HtmlTable(heading, ("asset", "partitions", "reason", "until"), rows)


def note_table(notes: Sequence[AssetNote]) -> HtmlTable:
    """What is to be known of assets' tables, for a notebook."""
    from sparkassets.core.notebook import HtmlTable

    rows = [(note.asset, few(note.partitions), note.text) for note in notes]
    return HtmlTable("noticed", ("asset", "partitions", "what"), rows)


def _costs(estimate: CostEstimate | None) -> tuple[str, str]:
    """What a run reads and takes, where somebody asked."""
    if estimate is None:
        return "", ""
    reads = "unknown" if estimate.bytes is None else size_text(estimate.bytes)
    return reads, "unknown" if estimate.seconds is None else f"~{duration_text(estimate.seconds)}"

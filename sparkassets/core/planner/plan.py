"""The plan as data: `explain` prints the same list of runs that `run` executes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Literal

from sparkassets.core.instants import format_zoned, from_unix
from sparkassets.core.journal.asset_records import DefinitionOutput
from sparkassets.core.journal.state import AssetState, EventRef
from sparkassets.core.partitions import EVERYTHING, PartitionSet
from sparkassets.core.phrases import duration_text, few, join_nonempty, size_text
from sparkassets.core.runs import RequestedRun, RunRequest
from sparkassets.core.spec.model import AssetSpec, OnCodeChange
from sparkassets.frozen import frozen, replace

if TYPE_CHECKING:
    from sparkassets.core.definitions.differences import ColumnEffect
    from sparkassets.core.notebook import HtmlTable

ChangeCategory = Literal["none", "non-breaking", "breaking", "unknown"]
"""Effect of a change of code on consumers.

``none``: the same rows come out; ``non-breaking``: no consumer reads what it adds, removes or changes; ``breaking``;
``unknown``: the code does not tell, which counts as breaking.
"""


@frozen
class CostEstimate:
    """Estimated cost of one run.

    Attributes:
        bytes, files: Size and number of the inlets' data files at the pinned versions and partitions: all columns,
            compressed. None where the size of one inlet is unknown.
        seconds, rows: Forecast from earlier runs of the asset; None without earlier runs.
        between: Lower and upper bound of the seconds, see `sparkassets.core.run_costs.CostForecast`.
        earlier: Number of runs that the forecast rests on.
        unknown: Why an estimate is incomplete, one text for each inlet.
        assumed: The run is not planned yet and would read later versions than today's.
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
    """Known total cost of several runs.

    Attributes:
        seconds: Duration of all runs, one after the other.
        unknown: Number of runs for which a figure is unknown, by the name of the figure.
    """

    runs: int = 0
    bytes: int = 0
    files: int = 0
    seconds: float = 0.0
    rows: int = 0
    unknown: Mapping[str, int] = field(default_factory=dict)


@frozen
class PlannedRun(RequestedRun):
    """One run that is due: the request that a claim records, with details for people.

    Attributes:
        events: Events that triggered the run, ascending.
        recovers: Unfinished runs of vanished drivers whose outcome is settled first.
        partition_keys: Keys ``A..B`` of its partitions; filled only by a `Project`.
        estimate: Its estimated cost, if requested.
    """

    strategy: str
    write: str
    events: tuple[EventRef, ...] = ()
    recovers: tuple[str, ...] = ()
    partition_keys: tuple[str, ...] = field(default=(), compare=False)
    estimate: CostEstimate | None = field(default=None, compare=False)

    @classmethod
    def from_request(
        cls, request: RunRequest, *, asset: AssetSpec, state: AssetState, events: tuple[EventRef, ...] = ()
    ) -> PlannedRun:
        """Builds the planned run of ``asset``, which first settles the unfinished claims of its slot.

        The numbers of ``events``, if there are any, replace those of the request.
        """
        definition = asset.definition.id if asset.definition is not None else ""
        return cls(
            replace(request, events=tuple(ref.seq for ref in events) or request.events, definition=definition),
            strategy=asset.strategy.name if asset.strategy else "",
            write=asset.write.name if asset.write else "",
            events=events,
            recovers=tuple(link.entry.run for link in state.chains.get(request.run_slot, ())),
        )

    def __repr__(self) -> str:
        return f"<run {join_nonempty(self.asset, few(self.partition_keys))}: {self.reason}>"


@frozen
class Waiting:
    """Why an asset, or some of its partitions, does not run now.

    Attributes:
        until: When time alone ends the wait, Unix seconds; None when only an event can end it.
        partitions: The waiting partitions; everything for the whole asset.
        quiet: Nothing is wanted: up to date, manual, or not yet time.
        stuck: A person has to act before it runs again.
        partition_keys: Keys ``A..B`` of its partitions; filled only by a `Project`.
    """

    asset: str
    reason: str
    until: int | None = None
    partitions: PartitionSet = EVERYTHING
    quiet: bool = False
    partition_keys: tuple[str, ...] = field(default=(), compare=False)
    stuck: bool = False

    def __repr__(self) -> str:
        until = f" (until {format_zoned(from_unix(self.until), 'UTC')})" if self.until is not None else ""
        return f"<wait {join_nonempty(self.asset, few(self.partition_keys))}: {self.reason}{until}>"


@frozen
class AssetNote:
    """A remark about an asset's table for people, whether the asset runs or not.

    Attributes:
        partitions: The partitions that the remark is about; everything for the whole asset.
        partition_keys: Keys ``A..B`` of its partitions; filled only by a `Project`.
    """

    asset: str
    text: str
    partitions: PartitionSet = EVERYTHING
    partition_keys: tuple[str, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        return f"<note {join_nonempty(self.asset, few(self.partition_keys))}: {self.text}>"


@frozen
class CodeChange:
    """Partitions that other code than the asset's own computed, and the cost of computing them again.

    Attributes:
        partitions: Partitions that other code computed; everything for an asset without partitions.
        definition: Id of the asset's own definition.
        made: Present partitions by definition, the asset's own among them, in the order in which these came.
        newer: Whether the other code came after the asset's own: an older checkout runs, or a change was taken back.
        difference: Lines removed from (``-``) and added to (``+``) the newest of the other code.
        effect: Columns that the change touches.
        reached: Columns by asset that are made of these, upstream first; None for all. Only where the values pass on.
        readers: Those of the reached assets that read the table itself.
        runs: Number of runs that compute the partitions again.
        seconds: Duration of these runs by earlier ones; None without earlier runs.
        downstream: Partitions by asset that become due afterwards; everything for a whole asset.
    """

    asset: str
    on_code_change: OnCodeChange
    partitions: PartitionSet
    definition: str
    made: tuple[DefinitionOutput, ...]
    newer: bool
    difference: tuple[str, ...]
    category: ChangeCategory
    effect: ColumnEffect
    reached: Mapping[str, frozenset[str] | None]
    readers: tuple[str, ...]
    runs: int
    seconds: float | None
    downstream: Mapping[str, PartitionSet]


@frozen
class AssetLateness:
    """Expected data of an asset that is missing.

    Attributes:
        by: The newest deadline, Unix seconds.
        partitions: The missing partitions; everything for a run or an update.
        since: For a run, the instant after which it was expected, Unix seconds; 0 for any time.
    """

    asset: str
    by: int
    partitions: PartitionSet = EVERYTHING
    since: int = 0


@frozen
class Plan:
    """The runs that would start at ``at`` (Unix seconds) and, for all else, the reason why it would not run.

    Attributes:
        unseen: Assets that only a Spark session can observe and that are shown as last observed: asset to reason.
        totals: Total cost of the runs, if requested.
        changes: Code changes of assets; filled only by a `Project`.
        late: Expected data that is missing; filled only by a `Project`.
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
        """Renders the plan as HTML tables for a notebook."""
        from sparkassets.core.notebook import HtmlTable, render_tables

        runs = [(run.asset, few(run.partition_keys), run.reason, *_cost_texts(run.estimate)) for run in self.runs]
        loud = [item for item in self.waiting if not item.quiet]
        quiet = [item for item in self.waiting if item.quiet]
        return render_tables(
            f"plan at {format_zoned(from_unix(self.at), 'UTC')}" + ("" if runs else ": nothing is due"),
            HtmlTable("runs", ("asset", "partitions", "reason", "reads", "takes"), runs),
            waiting_table("waits", loud),
            waiting_table("nothing due", quiet),
            note_table(self.notes),
        )


@frozen
class RunQueue:
    """The due runs of one moment, each planned when it is taken.

    Attributes:
        runs: In the order of the plan.
        count: Number of runs.
        waiting: Number of reasons in the plan why something that is wanted does not run.
    """

    runs: Iterable[PlannedRun]
    count: int
    waiting: int

    @classmethod
    def from_plan(cls, plan: Plan) -> RunQueue:
        """The runs of a plan."""
        return cls(plan.runs, len(plan.runs), sum(not item.quiet for item in plan.waiting))


def waiting_table(heading: str, items: Sequence[Waiting]) -> HtmlTable:
    """Returns the notebook table of the reasons why assets do not run."""
    from sparkassets.core.notebook import HtmlTable

    until = ("" if item.until is None else format_zoned(from_unix(item.until), "UTC") for item in items)
    rows = [(item.asset, few(item.partition_keys), item.reason, when) for item, when in zip(items, until, strict=True)]
    return HtmlTable(heading, ("asset", "partitions", "reason", "until"), rows)


def note_table(notes: Sequence[AssetNote]) -> HtmlTable:
    """Returns the notebook table of the remarks about assets' tables."""
    from sparkassets.core.notebook import HtmlTable

    rows = [(note.asset, few(note.partition_keys), note.text) for note in notes]
    return HtmlTable("noticed", ("asset", "partitions", "what"), rows)


def _cost_texts(estimate: CostEstimate | None) -> tuple[str, str]:
    """Texts for the bytes that a run reads and the time that it takes; empty without an estimate."""
    if estimate is None:
        return "", ""
    reads = "unknown" if estimate.bytes is None else size_text(estimate.bytes)
    return reads, "unknown" if estimate.seconds is None else f"~{duration_text(estimate.seconds)}"

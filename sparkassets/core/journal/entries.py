"""The kinds of journal entries: each says what happened; `sparkassets.core.journal.fold` says what follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Any, Literal

from sparkassets.core.journal.backfill_requests import BackfillEntry
from sparkassets.core.journal.fold_specs import FoldSpec
from sparkassets.core.journal.iterations import RetiredEntry
from sparkassets.core.journal.marks import MarkEntry
from sparkassets.core.journal.table_findings import TargetEntry
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.runs import InletPin, RequestedRun
from sparkassets.core.validations import PartitionRowCount, RuleVerdict
from sparkassets.frozen import frozen

FailureCause = Literal["error", "timeout", "cancelled", "lost", "changed"]
"""``changed``: a source was no longer what the run was planned with, and what it is now is recorded; ``lost``: the run
only settled an older one, which had left nothing, and had nothing to compute."""

NOT_TRIED: frozenset[FailureCause] = frozenset({"cancelled", "changed", "lost"})
"""What says nothing about the blocks: these are planned as if the run had never been."""


@frozen
class SpecEntry:
    """The compiled schedule, partition and mapping of an asset, by which the fold goes from here on."""

    asset: str
    spec: FoldSpec

    @property
    def uri(self) -> str:
        """The asset's dataset."""
        return self.spec.uri


@frozen
class EventEntry:
    """An update that someone announced: somebody else, or a run that wrote more than its own asset.

    Attributes:
        asset: Whose dataset it is; None when several assets, or none, have the URI.
        parts: What was updated; everything for a dataset without partitions, or as a whole.
        id: By which whoever announces it tells it from others of the dataset; one that is known is not recorded again.
        at: When it happened, Unix seconds; None when it was recorded.
        run, interval: The run that announced it, and its data interval.
    """

    uri: str
    asset: str | None = None
    parts: PartitionSet = EVERYTHING
    extra: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None
    at: int | None = None
    run: str | None = None
    interval: tuple[int, int] | None = None


@frozen(array_like=True)
class ViewChanges:
    """What was found new of a view: of the partitions that values of a source's rows make.

    Attributes:
        changed: Those that rows came to, or went from, and that hold some.
        removed: Those that hold none any more.
    """

    changed: PartitionSet = NOTHING
    removed: PartitionSet = NOTHING

    def __bool__(self) -> bool:
        return bool(self.changed or self.removed)


@frozen
class ObservedEntry:
    """What was found new in a source.

    Attributes:
        changed, removed: Time whose data is new, changed, or gone.
        whole: The source as a whole was updated.
        cursor: Merged by key into the source's cursor; None deletes a key.
        views: What is new of views, by their identities.
    """

    asset: str
    uri: str
    changed: PartitionSet = NOTHING
    removed: PartitionSet = NOTHING
    whole: bool = False
    table_id: str | None = None
    version: int | None = None
    cursor: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    views: Mapping[str, ViewChanges] = field(default_factory=dict)

    @property
    def is_event(self) -> bool:
        """Whether anything was updated; a mere move of the position is none."""
        return self.whole or bool(self.changed) or bool(self.removed)


@frozen
class ClaimEntry(RequestedRun):
    """A driver's right to write an asset, until its lease is over; its own `seq` is the run's fence token.

    Attributes:
        planned: The planner's time, Unix seconds.
        processes: Those that may commit, as `sparkassets.processes` has them; the driver first, then what was enlisted.
    """

    run: str
    lease_seconds: int
    invocation: str
    host: str
    planned: int = 0
    processes: tuple[tuple[int, float], ...] = ()


@frozen
class RenewEntry:
    """The claims that a driver still holds: (asset, fence token).

    Attributes:
        enlisted: Processes that may commit for these claims from now on, besides those that did before.
    """

    claims: tuple[tuple[str, int], ...] = ()
    enlisted: tuple[tuple[int, float], ...] = ()


@frozen
class SuccessEntry:
    """A run is in its target: its event, its coverage and its watermarks, all in one.

    That of a multi-asset is no event: those of its outlets are (`OutletEntry`).

    Attributes:
        run, token: The run that was found in the target, and its claim.
        recorder: Fence token of the claim that recorded it; another one after a recovery.
        blocks: Everything for an asset without partitions.
        unchanged: Those of the blocks that came out as they were: current, and no news to anybody.
        withheld: Those of the blocks that are not published, as their validations failed.
        verdicts: What the validations did, of all outlets.
        counts: By the names of the rules that compare with the past: the rows of what was published.
        watermarks: Inlet to high value.
        seconds: From the start of its work to its record, by the recorder's clock.
        definition: What computed it; empty where nobody said.
        keys: Segments of open dimensions that it came to know, by column: it added them, or they came out of a run of
            all segments.
        outlets: The assets that it wrote, of a multi-asset.
        iteration: The name of what it published, where the asset keeps iterations.
        beside: That is of an earlier interval than what readers see, which stays.
        restores: The run whose iteration it made the newest again; it computed nothing.
        mark: Of a run that wrote its target itself: tells the version's commit from any other. All that the log holds
            up to that version is the run's.
        besides: What it changed of what is there besides its blocks.
    """

    asset: str
    uri: str
    run: str
    token: int
    recorder: int
    blocks: PartitionSet
    table_id: str | None = None
    version: int | None = None
    interval: tuple[int, int] | None = None
    pins: Mapping[str, InletPin] = field(default_factory=dict)
    events: tuple[int, ...] = ()
    watermarks: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    attempt: int = 1
    seconds: float = 0.0
    definition: str = ""
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unchanged: PartitionSet = NOTHING
    outlets: tuple[str, ...] = ()
    iteration: str = ""
    beside: bool = False
    restores: str = ""
    withheld: PartitionSet = NOTHING
    verdicts: tuple[RuleVerdict, ...] = ()
    counts: Mapping[str, tuple[PartitionRowCount, ...]] = field(default_factory=dict)
    mark: str = ""
    besides: PartitionSet = NOTHING

    @property
    def published_partitions(self) -> PartitionSet:
        """The blocks whose rows are in the target now."""
        return self.blocks - self.withheld if self.withheld else self.blocks

    @property
    def publishes_nothing(self) -> bool:
        """Whether validations withheld all of its blocks."""
        return bool(self.withheld) and not self.published_partitions

    @property
    def event_partitions(self) -> PartitionSet:
        """The blocks that its event tells of; nothing where it has none."""
        if self.outlets or self.beside:
            return NOTHING
        return (
            self.published_partitions - self.unchanged if self.unchanged else self.published_partitions
        ) | self.besides


@frozen
class OutletEntry:
    """What a run of a multi-asset left in one of its outlets: an event of its own.

    It stands in the same commit as the success of the run, before it: an outlet never has a run that another lacks.

    Attributes:
        asset, uri: The outlet.
        maker: The multi-asset.
        run, token, recorder, blocks, table_id, version, interval, pins, extra, definition, unchanged, withheld,
            iteration, beside, restores, mark, besides: As in `SuccessEntry`, of this outlet.
        epoch: Fence token of the claim that committed it, where that is a later one than the run's own: it published
            what was missing of a run that was in other outlets already. 0 where it is the run's.
    """

    asset: str
    uri: str
    maker: str
    run: str
    token: int
    recorder: int
    blocks: PartitionSet
    table_id: str | None = None
    version: int | None = None
    interval: tuple[int, int] | None = None
    pins: Mapping[str, InletPin] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    definition: str = ""
    unchanged: PartitionSet = NOTHING
    withheld: PartitionSet = NOTHING
    iteration: str = ""
    beside: bool = False
    restores: str = ""
    epoch: int = 0
    mark: str = ""
    besides: PartitionSet = NOTHING

    @property
    def published_partitions(self) -> PartitionSet:
        """The blocks whose rows are in the outlet now."""
        return self.blocks - self.withheld if self.withheld else self.blocks

    @property
    def event_partitions(self) -> PartitionSet:
        """The blocks that its event tells of; nothing where it has none."""
        return (
            self.published_partitions - self.unchanged if self.unchanged else self.published_partitions
        ) | self.besides


@frozen
class FailureEntry:
    """A run failed.

    Attributes:
        fenced: Whether it is certain that nothing of it can land any more; if not, the chain stays.
        error: First line for people.
        details: Where the whole story is, such as a log file's name.
        hint: What to do about it.
        divisions: How many more runs may look for the bad ones of the blocks; None where it did not fail of its data.
        bad: Those of the blocks that read a file which the error names, so that nobody has to look for them.
        asks: Older runs of the chain, of which a person has to tell whether they are in; it has fenced them, and wrote
            nothing itself.
        watermarks: As in `sparkassets.core.journal.recovery_questions.Question`.
    """

    asset: str
    run: str
    token: int
    blocks: PartitionSet
    cause: FailureCause
    error: str
    invocation: str
    fenced: bool = True
    attempts: int = 0
    details: str = ""
    hint: str = ""
    seconds: float = 0.0
    divisions: int | None = None
    bad: PartitionSet = NOTHING
    asks: tuple[str, ...] = ()
    watermarks: Mapping[str, str] = field(default_factory=dict)


@frozen
class SkippedEntry:
    """A run wrote nothing, as its code said that there is nothing to do; what it was claimed for is used up.

    Attributes:
        blocks: Everything for an asset without partitions.
        reason: What the code said.
        seconds: From the start of its work to its record, by the driver's clock.
    """

    asset: str
    run: str
    token: int
    blocks: PartitionSet
    reason: str
    invocation: str = ""
    attempts: int = 1
    seconds: float = 0.0


@frozen
class SegmentEntry:
    """Somebody said which segments of an open dimension there are (``added``), or that some are not any more.

    Attributes:
        column: Of the dimension.
    """

    asset: str
    column: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@frozen
class PauseEntry:
    """An asset stops running (``paused``), or goes on; what comes for it meanwhile is kept."""

    asset: str
    paused: bool


@frozen
class LateEntry:
    """People are told that an asset is late, or (``over``) that it is no more.

    Attributes:
        by: The deadline that it missed, Unix seconds.
        blocks: Which partitions were to be there by then; everything for a run of the asset.
    """

    asset: str
    by: int
    blocks: PartitionSet = EVERYTHING
    over: bool = False


@frozen
class TickPassedEntry:
    """A tick of an asset's timetable came, and nothing of the asset was out of date: what comes waits for the next.

    Attributes:
        cursor: The data interval of that tick, Unix seconds.
    """

    asset: str
    cursor: tuple[int, int]


Entry = (
    SpecEntry
    | EventEntry
    | ObservedEntry
    | ClaimEntry
    | RenewEntry
    | SuccessEntry
    | OutletEntry
    | FailureEntry
    | SkippedEntry
    | PauseEntry
    | MarkEntry
    | SegmentEntry
    | BackfillEntry
    | TargetEntry
    | RetiredEntry
    | LateEntry
    | TickPassedEntry
)


@frozen
class NumberedEntry:
    """An entry at its place in the journal.

    Attributes:
        seq: Ascending by one through the whole journal.
        at: When it was decided, by its driver's clock; for people, never for order. Aware, UTC.
    """

    entry: Entry
    seq: int
    at: datetime
    driver: str

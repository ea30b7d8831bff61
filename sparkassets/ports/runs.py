"""One run on its way: its order, the stamps of its commits, the commits that are found, and its errors."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import Any, Literal

from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.partitions.json_form import decode_partitions, encode_partitions
from sparkassets.core.partitions.segments import WHOLE
from sparkassets.core.runs import BranchPromotion, InletPin
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import EveryInstance, LatestOnly
from sparkassets.core.validations import (
    PastRowCounts,
    RuleVerdict,
    RunJudgement,
    judgement_from,
    judgement_to,
    verdicts_from,
)
from sparkassets.core.writes import row_counts
from sparkassets.errors import RunError
from sparkassets.frozen import frozen


@frozen
class RunOrder:
    """Everything that a worker needs to compute one run; equal for every attempt.

    Attributes:
        app_id: ``<journal table id>/<asset>``, the txnAppId of the target's commits.
        token: Fence token, the journal's number of the run's claim.
        partitions: The partitions to compute; everything for an asset without partitions.
        inlets: The inlets' specs by name; ``pins`` has the same keys.
        interval: The data interval, both aware UTC, or None.
        schedule_date: The earliest time at which the run may start.
        events: The events that caused the run by asset name or URI, as in ``events list --json``, with source runs.
        previous_interval: The data interval of the asset's latest success that began before this run's.
        rebuilds: Its rows and columns replace the whole table.
        restores: The name of an iteration that it makes the newest again, instead of computing.
        keeps_newest_iteration: It publishes an earlier interval than the newest iteration, which stays the newest.
        known_position: The table's id, and the version up to which its log is recorded; None before that.
        outlets: For a multi-asset, the order of each outlet, with its own ``asset`` and ``known_position``.
        files: For each inlet that is a file source, the observed cursor of the pinned partitions; checked before
            and after the read.
        changed_file_inlets: File inlets whose files changed since the claim.
        past: Earlier row counts, for rules that compare with them.
        accepted_partitions: Partitions that a person accepts, whatever the rules say.
        promotes: The branch whose rows it takes over, instead of computing.
        warehouse: The folder of the project's tables, and of its branches.
        discovered_partitions: The subset of ``partitions`` that nobody claimed: partitions of unknown segments that
            its function adds or its rows hold (``segments: runtime``).
        removed_segments: Removed segments by lower-case column: rows of them are left out.
        left_segments: Unknown segments that its rows hold, by column, which runs of their own compute.
        computed_partitions: The partitions that earlier runs of the asset have computed.
    """

    asset: AssetSpec
    run: str
    app_id: str
    token: int
    partitions: PartitionSet
    pins: Mapping[str, InletPin]
    inlets: Mapping[str, AssetSpec]
    interval: tuple[datetime, datetime] | None
    schedule_date: datetime
    events: Mapping[str, Sequence[Mapping[str, Any]]]
    previous_interval: tuple[datetime, datetime] | None = None
    rebuilds: bool = False
    restores: str = ""
    keeps_newest_iteration: bool = False
    known_position: tuple[str, int] | None = None
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    changed_file_inlets: tuple[str, ...] = ()
    past: PastRowCounts = field(default_factory=dict)
    accepted_partitions: PartitionSet = NOTHING
    promotes: BranchPromotion | None = None
    warehouse: str = ""
    discovered_partitions: PartitionSet = NOTHING
    removed_segments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    left_segments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    computed_partitions: PartitionSet = NOTHING
    outlets: tuple[RunOrder, ...] = ()

    @property
    def table_orders(self) -> tuple[RunOrder, ...]:
        """The orders of each table that the run writes: itself, or its outlets."""
        return self.outlets or (self,)

    @property
    def discovers_segments(self) -> bool:
        """Whether some open dimension has no known segment, so that the result defines them."""
        return any(WHOLE in segment for segment, _ in self.partitions.apart)

    @property
    def can_discover_segments(self) -> bool:
        """Whether rows of unknown segments are no error: the run takes them, or leaves them to a run of their own."""
        asset = self.asset
        return asset.partitioning.is_open and (not self._is_instance or bool(asset.segments_from_rows))

    @property
    def _is_instance(self) -> bool:
        return isinstance(self.asset.strategy, EveryInstance)

    def with_new_segments(self, keys: Mapping[str, Collection[str]]) -> RunOrder:
        """The same run with partitions of the unknown segments among ``keys``, by column.

        Segments that a person removed stay out. A run of ``every_instance`` keeps its partitions, and leaves unknown
        segments to runs of their own (``left_segments``).
        """
        if not keys or not self.can_discover_segments:
            return self
        segments_by_column = {
            column: {*segments} - {*self.removed_segments.get(column.lower(), ())} for column, segments in keys.items()
        }
        if self._is_instance:
            return self._leaving_segments(segments_by_column)
        return self.with_discovered_partitions(
            self.asset.partitioning.extend_with_segments(self.partitions, segments_by_column) - self.partitions
        )

    def _leaving_segments(self, keys: Mapping[str, Collection[str]]) -> RunOrder:
        """The same run with the unknown segments among ``keys`` added to ``left_segments``: other runs compute them."""
        known = self.segments_in_rows
        left = {column: tuple(sorted({*keys.get(column, ())} - {*known[column]})) for column in known}
        if not any(left.values()):
            return self
        more = {column: (*self.left_segments.get(column, ()), *some) for column, some in left.items()}
        outlets = tuple(replace(each, left_segments=more) for each in self.outlets)
        return replace(self, left_segments=more, outlets=outlets)

    @property
    def segments_in_rows(self) -> Mapping[str, tuple[str, ...]]:
        """Column to the known segments that rows may have besides the run's own, where no inlet lists the segments.

        A dimension is left out if none of its segments was known when the run was claimed.
        """
        return {
            each.column: (*each.keys, *self.left_segments.get(each.column, ()))
            for each in self.asset.partitioning.segments
            if each.column in self.asset.segments_from_rows and each.keys != (WHOLE,)
        }

    def with_discovered_partitions(self, discovered: PartitionSet) -> RunOrder:
        """The same run with these unclaimed partitions."""
        if not discovered:
            return self
        outlets = tuple(each.with_discovered_partitions(discovered) for each in self.outlets)
        return replace(
            self,
            partitions=self.partitions | discovered,
            discovered_partitions=self.discovered_partitions | discovered,
            outlets=outlets,
        )

    @property
    def has_rules(self) -> bool:
        """Whether rules judge its rows."""
        return not self.restores and any(each.asset.rules for each in self.table_orders)

    @property
    def is_atomic(self) -> bool:
        """Whether all of it is published or nothing: inputs are used up as a whole, or the table is rebuilt."""
        is_one_unit = (
            self.rebuilds or self.keeps_newest_iteration or self.discovers_segments or self.partitions.is_everything
        )
        appends = any(each.asset.write is not None and each.asset.write.only_adds for each in self.table_orders)
        return is_one_unit or appends or isinstance(self.asset.strategy, LatestOnly)

    def is_fully_withheld(self, withheld: PartitionSet) -> bool:
        """Whether withholding these partitions leaves nothing of the run."""
        published, partitioning = self.partitions - withheld, self.asset.partitioning.with_segments_of(self.partitions)
        return not published or (
            bool(withheld) and partitioning.can_list(published) and not partitioning.count(published)
        )

    def restrict_to(self, partitions: PartitionSet) -> RunOrder:
        """The same run with only these of its partitions."""
        return replace(
            self, partitions=partitions, outlets=tuple(each.restrict_to(partitions) for each in self.outlets)
        )


CommitKind = Literal["data", "fence", "layout"]
"""A ``layout`` commit changes no rows: it restores what a commit of rows could not keep, or moves rows to other files.

It has no transaction.
"""


class MeasuredRun:
    """Base of what carries the ``measures`` of a run: facts that must survive a crash, its judgement among them."""

    __slots__ = ()
    measures: Mapping[str, Any]

    @property
    def judgement(self) -> RunJudgement | None:
        """The judgement of the run's partitions; None if nothing was judged."""
        return judgement_from(self.measures)

    @property
    def withheld(self) -> PartitionSet:
        """The run's partitions that are not published."""
        found = self.judgement
        return NOTHING if found is None else found.withheld


@frozen
class CommitStamp(MeasuredRun):
    """The stamp in a target's commit, by which it is recognised.

    Attributes:
        version: ``txnVersion``: 2·token for a fence, 2·token + 1 for data or one's own fence.
        measures: Facts of the run that must survive a crash, such as watermarks.
    """

    app_id: str
    version: int
    token: int
    run: str
    attempt: int
    kind: CommitKind
    partitions: tuple[str, ...] = ()
    measures: Mapping[str, Any] = field(default_factory=dict)

    def with_unchanged(self, parts: PartitionSet, *, rows: int) -> CommitStamp:
        """The same for a run whose partitions ``parts`` came out unchanged; ``rows`` were not rewritten."""
        return replace(self, measures={**self.measures, "unchanged": encode_partitions(parts), "same_rows": rows})

    def with_judgement(self, judgement: RunJudgement, order: RunOrder) -> CommitStamp:
        """The same with the judgement of the run.

        If it withholds something, watermarks do not move, as the withheld rows must be read again. A run that publishes
        nothing announces no events, and makes no segments known.
        """
        measures = {**self.measures, **judgement_to(judgement)}
        dropped = {"watermarks"} if judgement.withheld else set[str]()
        if order.is_fully_withheld(judgement.withheld):
            measures["published"] = "nothing"
            dropped |= {"events", "keys", "found"}
        return replace(self, measures={key: value for key, value in measures.items() if key not in dropped})


@frozen
class DataCommit(MeasuredRun):
    """A data commit found in a target's history, or the end of a run that writes its target itself.

    Attributes:
        run, token, attempt: From its ``userMetadata``.
        version: The table's version; None for a target that is not a table.
        metrics: Delta's operation metrics (``numOutputRows`` and the like).
        operation: Delta's ``WRITE``, ``MERGE`` or ``DELETE``; it defines the meaning of the metrics.
        commit_mark, other_changed_partitions: As in `SuccessEntry`.
    """

    run: str
    token: int
    attempt: int
    version: int | None
    table_id: str | None
    measures: Mapping[str, Any]
    metrics: Mapping[str, int]
    operation: str = "WRITE"
    commit_mark: str = ""
    other_changed_partitions: PartitionSet = NOTHING

    @property
    def stamped_version(self) -> int:
        """The version of a commit found in a history."""
        if self.version is None:
            raise TypeError(f"{self.run} was not found in any history")
        return self.version

    @property
    def discovered_partitions(self) -> PartitionSet:
        """Partitions of unknown segments that it may hold although nobody claimed them."""
        return decode_partitions(self.measures["found"]) if "found" in self.measures else NOTHING

    @property
    def is_compared(self) -> bool:
        """Whether it says which partitions came out unchanged."""
        return "unchanged" in self.measures

    def with_unchanged(self, parts: PartitionSet) -> DataCommit:
        """The same with these partitions recorded as unchanged."""
        return replace(self, measures={**self.measures, "unchanged": encode_partitions(parts)})

    @property
    def unchanged_partitions(self) -> PartitionSet:
        """Partitions whose rows came out as they were in the table before it, by its ``measures``."""
        return decode_partitions(self.measures["unchanged"]) if self.is_compared else NOTHING

    @property
    def verdicts(self) -> tuple[RuleVerdict, ...]:
        """The verdicts of its inlets' rules, and of its own."""
        judgement, inlet_verdicts = self.judgement, verdicts_from(self.measures.get("inlets", ()))
        return inlet_verdicts if judgement is None else (*inlet_verdicts, *judgement.verdicts)

    @property
    def rows(self) -> Mapping[str, int]:
        """Numbers of rows by what the run did to them; unchanged rows count, although their files stayed."""
        counts = row_counts(self.operation, self.metrics)
        unchanged_rows = self.measures.get("same_rows", 0)
        return {**counts, "rows": counts.get("rows", 0) + unchanged_rows} if unchanged_rows else counts


class FenceConflictError(RunError):
    """Another writer committed to the target while it was being fenced: look again."""

    retryable = True
    topic = "conflicting-commit"


class HistoryGoneError(RunError):
    """The history cannot say whether a run is in: too short, or the table was restored. A person must decide.

    Attributes:
        restored_commit: The commit that a restore undid; None where the log shows none.
    """

    topic = "run-cannot-tell"

    def __init__(self, message: str, *, hint: str | None = None, found: DataCommit | None = None) -> None:
        super().__init__(message, hint=hint)
        self.restored_commit = found


class NewSegmentsError(RunError):
    """Rows are of unknown segments (``segments: runtime``): the run must be repeated with them.

    Attributes:
        keys: These segments, by column.
    """

    topic = "rows-of-new-segments"

    def __init__(self, message: str, *, hint: str | None = None, keys: Mapping[str, Sequence[str]]) -> None:
        super().__init__(message, hint=hint)
        self.keys = keys


class TargetMissingError(RunError):
    """The target does not exist, and without a computation its schema is unknown."""


class EngineLostError(RunError):
    """The engine is gone with all its work; this process can compute nothing more."""

    topic = "spark-was-lost"

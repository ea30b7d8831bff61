"""A compiled asset and its inlets: frozen values that every later stage reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from sparkassets.core.conditions import Condition
from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.instants import Duration
from sparkassets.core.partitions import (
    EVERYTHING,
    UNPARTITIONED,
    Partitioning,
    PartitionMapping,
    PartitionSet,
    SegmentMatch,
)
from sparkassets.core.source_formats import FORMATS, FileFormat
from sparkassets.core.spec.asset_services import DeadlineSpec, NotifyOn, NotifyRule, RunBudget
from sparkassets.core.spec.code_bodies import PythonBody, SqlBody
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.strategies import Strategy
from sparkassets.core.timetables import Timetable
from sparkassets.core.validations import ValidationRule, rules_digest
from sparkassets.core.writes import WriteMode
from sparkassets.errors import FileLocation
from sparkassets.frozen import frozen

OnUpdate = Literal["rerun", "ignore"]
OnRemoved = Literal["keep", "rerun"]
OnCodeChange = Literal["warn", "backfill", "forward_only"]
SchemaPolicy = Literal["strict", "add_columns", "evolve"]
Committer = Literal["auto", "spark"]
UnchangedPolicy = Literal["skip", "publish"]

NOWHERE = FileLocation("")
"""The location of what no file says."""


@frozen
class SourceSpec:
    """An asset that others write.

    Attributes:
        kind: ``delta``; ``tables`` for several Delta tables, whose path or name has fields; ``events`` when nothing is
            observed and only ``events add`` records updates; else the name of the format of its files.
        options: Options of Spark's reader, of the author.
        settle_seconds: Updates younger than this are ignored.
        registered: The format of its files, where a package registered it.
    """

    kind: str
    options: Mapping[str, str] = field(default_factory=dict)
    settle_seconds: int = 0
    registered: FileFormat | None = None

    @property
    def files(self) -> FileFormat | None:
        """The format of its files; None where it has tables or no data that can be read."""
        return self.registered or FORMATS.get(self.kind)

    @property
    def varies(self) -> bool:
        """Whether its path or name may stand for several files or tables."""
        return self.files is not None or self.kind == "tables"


@frozen
class PartitionRequirement:
    """How many of the mapped inlet partitions must be there.

    Attributes:
        kind: ``all``, ``any``, ``none`` or ``at_least``.
        count: The n of ``at_least``, else 0.
    """

    kind: Literal["all", "any", "none", "at_least"] = "all"
    count: int = 0


@frozen
class ReadAfter:
    """``read: {after: column}``: only rows above the watermark.

    Attributes:
        overlap: How far below the watermark reading begins: rows that came late are read, the others once more.
    """

    column: str
    overlap: Duration | None = None


@frozen
class ReadChanges:
    """``read: changes``: what was inserted, updated and deleted in a Delta table since the version read last."""


CHANGE_TYPE = "_change_type"
CHANGE_COLUMNS = {CHANGE_TYPE: "string", "_commit_version": "bigint", "_commit_timestamp": "timestamp"}
"""Columns of change rows besides the table's own, with their types, as in Delta's change feed."""


ReadMode = ReadAfter | ReadChanges


@frozen
class InletSpec:
    """One asset that another reads or waits for.

    Attributes:
        name: The asset that is read.
        uri: Its dataset; where it is mapped by values, the view that the values form.
        mapping: Which inlet time a partition needs; None where nothing maps their partitions, and all of it is read.
        matches: Which segments, where they do not match by column.
        view: The partitions that values of the inlet's rows form, where the inlet is mapped by value.
        read: None reads all of the mapped partitions.
        waits_only: Listed in the YAML, but neither the SQL nor the function's arguments name it.
        aligned: Its run of the same tick, or the last one before, is read (docs/design/schedules.md#aligned-inlets).
        fresh_within: How old its last update may be.
        on_update: Whether an update of it makes what was computed from it stale.
        tolerance: How long past due ``require`` is waited for.
        settle_seconds: How long ago its last update must be.
        on_removed: Whether rows made of a removed partition stay, or are computed again as if it were there, empty.
        rules: Validations of its rows before the run reads them.
        is_foreign_key_only: Neither the YAML nor the code names it, but foreign keys do: they alone read it.
    """

    name: str
    uri: str
    mapping: PartitionMapping | None
    require: PartitionRequirement = PartitionRequirement()
    read: ReadMode | None = None
    on_update: OnUpdate = "rerun"
    waits_only: bool = False
    aligned: bool = False
    fresh_within: Duration | None = None
    tolerance: Duration | None = None
    settle_seconds: int = 0
    on_removed: OnRemoved = "rerun"
    matches: tuple[SegmentMatch, ...] | None = None
    view: Partitioning | None = None
    rules: tuple[ValidationRule, ...] = ()
    is_foreign_key_only: bool = False
    location: FileLocation = NOWHERE

    @property
    def is_dispensable(self) -> bool:
        """Whether a partition may run without any partition of the inlet, at once or after the tolerance."""
        return self.view is None and not self.aligned and (self.require.kind == "none" or self.tolerance is not None)

    @property
    def requires_partitions(self) -> bool:
        """Whether a run waits until ``require`` is met; an aligned inlet waits for its own run instead."""
        return self.require.kind != "none" and not self.aligned

    @property
    def reads_present_rows(self) -> bool:
        """Whether a run reads the rows that are there, not only new ones or those of one run of the inlet."""
        return self.read is None and not self.aligned

    @property
    def by_values(self) -> str | None:
        """The column by whose values partitions are mapped; None where they are not mapped by value."""
        if self.view is None:
            return None
        return self.view.time.column if self.view.time is not None else self.view.segments[0].column


@frozen
class Schedule:
    """When the asset is considered.

    Attributes:
        timetable: Set when the schedule is a timetable.
        condition: Set when it is a condition over updates; None with no timetable means manual.
        text: As people write it; ``manual`` for neither; for the default condition, e.g. ``a | b``.
        default: No schedule was written: the condition is "any inlet with on_update: rerun".
    """

    timetable: Timetable | None = None
    condition: Condition | None = None
    text: str = "manual"
    default: bool = False

    def timetables(self) -> tuple[Timetable, ...]:
        """The timetables by which time alone makes it due: its own, or those in its condition.

        A timer that counts from a dataset's last update (``without``) is none of them.
        """
        if self.timetable is not None:
            return (self.timetable,)
        times = self.condition.times() if self.condition is not None else ()
        return tuple(leaf.timetable for leaf in times if leaf.without is None)


@frozen
class SegmentParams:
    """Params by segment: each run has the params of its segment.

    Attributes:
        places: Positions, in a tuple of segments, of the segments that select the params.
        params: By these segments, in that order.
    """

    places: tuple[int, ...]
    params: Mapping[tuple[str, ...], Mapping[str, object]]

    def params_of(self, segment: tuple[str, ...]) -> Mapping[str, object]:
        """The params of a tuple of segments.

        >>> SegmentParams((1,), {("a",): {"store": "a", "x": 1}}).params_of(("de", "a"))
        {'store': 'a', 'x': 1}
        """
        return self.params[tuple(segment[place] for place in self.places)]


@frozen
class ColumnSpec:
    """What an asset says of one of its columns.

    Attributes:
        type: Its Spark SQL type; empty where it is not declared.
    """

    type: str = ""
    description: str = ""
    location: FileLocation = field(default=NOWHERE, compare=False)


@frozen
class AssetSpec:
    """One asset, compiled.

    Attributes:
        uri: Identity of its data in events.
        storage: Where it is written or, for a source, read; None for a source that is only known by its events.
        tags: Words to select it by.
        file: The file that declares it, from the project's folder.
        segment_params: The params of each segment, where they go by segment.
        segments_from_rows: Columns of the open dimensions whose segments only rows of its runs make known.
        columns: Spark SQL type of every column by its name, in order; empty where the list of columns may be open.
        listed_columns: What is said of some or all of its columns, by their names, in order.
        private: Columns whose values are not shown.
        rules: Validations of its rows before they are published.
        strategy, write: None for a source.
        schema: What a run may change of its target's columns; one that replaces the whole table may change them anyway.
        unchanged: Whether a partition that came out the same is news to its consumers (``publish``) or not (``skip``).
        commit: Who commits to its table: Spark, or the driver wherever the table lets it.
        properties: Delta's own, of the table that a run makes; one that is there keeps its own.
        partitioned_by: The columns that name the folders of a table that a run makes; None leaves them to the run.
        definition: Detects changes of its code; None for a source.
        on_code_change: What happens to partitions that other code computed.
        sole_checkout: Whether no other code than this is meant to compute it, as in a branch: what comes back after it
            was changed is no older than that.
        pool: The pool of the project in which its runs take places; empty for none.
        priority: Due runs of a higher one are claimed first.
        spark_conf: Settings of Spark for its runs alone.
        budget: What one run may cost before it waits for a person.
        deadlines: By when its newest partition must be present.
        notify: Who is notified of its runs.
        start, end: Bounds of what is wanted, Unix seconds, half-open; None is open.
        reach: In a branch, the partitions that the base lets the asset have; everywhere else the declarations say that.
        views: Of a source, the mappings by value that others use: identity to the partitions that the values form.
        followed: Others read its changes, and these are not all new rows: a table that a run makes keeps a change feed.
        in_paths: Of files whose partitions are those of values in their rows: the partitions in their paths.
        outlets: Of a multi-asset the assets that its runs write, all of them or none; it has no data of its own then.
        written_by: Of an outlet the multi-asset whose runs write it; it has neither schedule nor strategy of its own.
    """

    name: str
    uri: str
    storage: StorageLocation | None
    location: FileLocation
    type: str = "dataset"
    description: str = ""
    owner: str = ""
    tags: tuple[str, ...] = ()
    file: str = ""
    extra: Mapping[str, object] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    listed_columns: Mapping[str, ColumnSpec] = field(default_factory=dict)
    private: frozenset[str] = frozenset()
    rules: tuple[ValidationRule, ...] = ()
    source: SourceSpec | None = None
    inlets: Mapping[str, InletSpec] = field(default_factory=dict)
    schedule: Schedule = Schedule()
    partitioning: Partitioning = UNPARTITIONED
    strategy: Strategy | None = None
    write: WriteMode | None = None
    schema: SchemaPolicy = "strict"
    unchanged: UnchangedPolicy = "publish"
    commit: Committer = "auto"
    properties: Mapping[str, str] = field(default_factory=dict)
    partitioned_by: tuple[str, ...] | None = None
    body: SqlBody | PythonBody | None = None
    params: Mapping[str, object] = field(default_factory=dict)
    segment_params: SegmentParams | None = None
    segments_from_rows: tuple[str, ...] = ()
    definition: AssetDefinition | None = None
    on_code_change: OnCodeChange = "warn"
    sole_checkout: bool = False
    timezone: str = "UTC"
    start: int | None = None
    end: int | None = None
    reach: PartitionSet = EVERYTHING
    paused: bool = False
    pool: str = ""
    priority: int = 0
    spark_conf: Mapping[str, str] = field(default_factory=dict)
    budget: RunBudget | None = None
    deadlines: DeadlineSpec | None = None
    notify: tuple[NotifyRule, ...] = ()
    retries: int = 1
    retry_delay_seconds: int = 30
    timeout_seconds: int = 7200
    lease_seconds: int = 600
    views: Mapping[str, Partitioning] = field(default_factory=dict)
    followed: bool = False
    in_paths: Partitioning | None = None
    outlets: tuple[str, ...] = ()
    written_by: str = ""

    @property
    def column_types(self) -> Mapping[str, str]:
        """The Spark SQL types that are declared, of all columns or of some, by their names."""
        return self.columns or {name: each.type for name, each in self.listed_columns.items() if each.type}

    @property
    def path_partitioning(self) -> Partitioning:
        """The partitions in the paths of a source of files."""
        return self.partitioning if self.in_paths is None else self.in_paths

    @property
    def judge_digest(self) -> str:
        """Digest of the code and the validations: a withheld partition is tried again once it changes."""
        code = self.definition.id if self.definition is not None else ""
        return f"{code}{rules_digest(self.rules)}"

    @property
    def written_assets(self) -> tuple[str, ...]:
        """The assets that hold what its runs write: itself, or its outlets."""
        return self.outlets or (self.name,)

    @property
    def listed_partition_names(self) -> tuple[str, ...]:
        """The dimensions whose values its code is given for the partitions of a run."""
        return tuple(each for each in self.partitioning.names if each not in self.segments_from_rows)

    def params_of(self, partitions: PartitionSet) -> Mapping[str, object]:
        """The params of a run of ``partitions``; where params go by segment, a run has one segment.

        A run without partitions, which only settles earlier runs, has the params of any segment.
        """
        if self.segment_params is None:
            return self.params
        slot = next(self.partitioning.slots(partitions), None)
        return (
            self.segment_params.params_of(slot[2])
            if slot is not None
            else next(iter(self.segment_params.params.values()))
        )

    def notifies_of(self, *kinds: NotifyOn) -> bool:
        """Whether a notification rule reports one of these."""
        return any(not {*kinds}.isdisjoint(rule.on) for rule in self.notify)

    @property
    def is_recomputable(self) -> bool:
        """Whether runs write it, and write what they wrote before once more in its place."""
        return self.write is not None and self.write.recomputable

    @property
    def appends(self) -> bool:
        """Whether runs write it, and what it holds cannot be computed again."""
        return self.write is not None and not self.write.recomputable

    @property
    def writes_itself(self) -> bool:
        """Whether code of the asset, or of its multi-asset, writes the target itself."""
        return self.write is not None and self.write.is_of_code

    @property
    def is_known_by_events(self) -> bool:
        """Whether it has no place that is looked at or read."""
        return self.storage is None and not self.outlets

    @property
    def runs_elsewhere(self) -> bool:
        """Whether it has no code here: its own job runs, and records itself by ``run_of``."""
        return self.writes_itself and self.body is None and not self.written_by

    @property
    def kept_iterations(self) -> int:
        """Least number of iterations that its table keeps; 0 where runs publish none."""
        return self.write.kept_iterations if self.write is not None else 0

    @property
    def publishes(self) -> bool:
        """Whether each of its runs writes an iteration beside the earlier ones."""
        return self.kept_iterations > 0

    @property
    def file_format(self) -> FileFormat:
        """The format of the files of a source.

        Raises:
            TypeError: It has no files.
        """
        if self.source is None or self.source.files is None:
            raise TypeError(f"{self.name} is not a file source")
        return self.source.files

    @property
    def is_named(self) -> bool:
        """Whether its table is one that a catalog knows by name."""
        return self.storage is not None and bool(self.storage.table)

    @property
    def local_zone(self) -> str:
        """The zone in which times of its runs are shown: that of its timetable, else its own."""
        return self.schedule.timetable.timezone if self.schedule.timetable is not None else self.timezone

"""The models of an asset file: columns, outlets, the write, and the asset as a whole."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field, Tag

from sparkassets.core.source_formats import FORMATS
from sparkassets.core.spec.inlet_models import InletMap
from sparkassets.core.spec.project_models import BudgetMap, NotifyValue, TagList
from sparkassets.core.spec.rule_maps import ColumnRuleList, RuleList
from sparkassets.core.spec.schedule_models import (
    DeadlineMap,
    DimensionValue,
    PartitionMap,
    RegisteredMap,
    ScheduleMap,
    SegmentsMap,
    SegmentStrategyMap,
    StrategyMap,
    kind_of_partition,
    kind_of_schedule,
    kind_of_strategy,
)
from sparkassets.core.spec.value_kinds import (
    ColumnType,
    ConditionList,
    ConditionMap,
    DurationText,
    FunctionText,
    IdentifierText,
    InstantText,
    Maybe,
    Natural,
    PartitionText,
    Plain,
    StrictMap,
    Text,
    ValueDescription,
    ZoneText,
    discriminate_by_kind,
    on_or_kind,
    require_list,
    require_map,
)
from sparkassets.core.spec.write_models import RegisteredWriteMap, WriteMap, _kind_of_write


class ColumnMap(StrictMap):
    """What is said of a column."""

    type: Maybe[ColumnType] = Field(default=None, description="Spark SQL type.")
    description: Text = Field(default="", description="Description for people; runs write it to the table.")
    checks: ColumnRuleList = Field(default=[], description="Validations of this column alone.")
    pii: bool = Field(default=False, description="Personal data: its values never appear in messages or reports.")


_Columns = dict[
    str,
    Annotated[
        Annotated[ColumnType, Tag("<text>")] | Annotated[ColumnMap, Tag("<map>")],
        discriminate_by_kind("a Spark SQL type such as bigint or decimal(12,2), or {type: string, pii: true}"),
    ],
]
_COLUMNS: Final = (
    "Columns, each with its Spark SQL type or a map of what is known of it. Where all of them have a type, there are "
    "no others."
)


_PROPERTIES: Final = (
    "Delta table properties, such as delta.logRetentionDuration, set when a run creates the table; an "
    "existing table keeps its own."
)


_Folders = Annotated[
    list[Annotated[str, ValueDescription("the name of a column")]],
    Field(json_schema_extra={"uniqueItems": True}),
    require_list("a list of columns such as [day, region]"),
]


_PARTITIONED_BY: Final = (
    "Delta partition columns of a new table; [] for none. Default: the column of daily or longer "
    "partitions, and segment columns if segments can be written separately. An existing table keeps "
    "its layout."
)


_TABLE: Final = (
    "Table in a catalog of the Spark session instead of a `path`: `catalog.schema.name`, `schema.name` or `name`."
)


class OutletMap(StrictMap):
    """One of several assets that a run writes, all of them or none."""

    path: Maybe[Text] = Field(
        default=None,
        description="Location of the data, relative to the project's folder; default: <warehouse>/<outlet>.",
    )
    table: Maybe[Text] = Field(default=None, description=_TABLE)
    uri: Maybe[Text] = Field(
        default=None, description="Identity of the dataset in events, and default location of its data."
    )
    columns: _Columns = Field(default={}, description=_COLUMNS)
    description: Text = Field(default="", description="Description for people.")
    extra: dict[str, Any] = Field(default={}, description="Metadata of any kind; no credentials.")
    properties: dict[str, Plain] = Field(default={}, description=_PROPERTIES)
    partitioned_by: Maybe[_Folders] = Field(default=None, description=_PARTITIONED_BY)
    validations: Annotated[RuleList, require_list("a list of maps such as {not_null: [id]}")] = Field(
        default=[], description="Rules that rows must pass; a partition that one outlet withholds is withheld in all."
    )
    sql: Maybe[Text] = Field(
        default=None,
        description="A SELECT, or the path of a .sql file; default: <outlet>.sql. Not for outlets of a function.",
    )


def needs_no_column(keys: AssetFile) -> bool:
    """Whether rows need no column for their partition: the write mode replaces no partition."""
    return keys.write in ("append", "self") or (isinstance(keys.write, WriteMap) and keys.write.publish is not None)


_FormatName = Annotated[IdentifierText, Field(json_schema_extra={"examples": ["delta", *FORMATS]})]


class AssetFile(StrictMap):
    """One asset."""

    asset: IdentifierText = Field(description="Its name, unique in the project.")
    type: Text = Field(default="dataset", description="Kind of asset: dataset, model, report, or any word.")
    description: Text = Field(default="", description="Description for people.")
    owner: Text = Field(
        default="", description="Person or team responsible for the asset; default: as in the project's `defaults`."
    )
    tags: TagList = Field(
        default=[], description="Words to select assets by, such as tag:finance; added to those of `defaults`."
    )
    extra: dict[str, Any] = Field(default={}, description="Metadata of any kind; no credentials.")
    columns: _Columns = Field(default={}, description=_COLUMNS)
    uri: Maybe[Text] = Field(
        default=None, description="Identity of the dataset in events, and default location of its data."
    )
    path: Maybe[Text] = Field(default=None, description="Location of the data; relative to the project's folder.")
    table: Maybe[Text] = Field(
        default=None,
        description=f"{_TABLE} For a Delta source, fields such as lake.raw_{{region}} match several tables.",
    )
    source: Maybe[
        Annotated[
            Annotated[Literal[True], Tag("<on>")] | Annotated[_FormatName, Tag("<text>")],
            discriminate_by_kind("true, delta, csv, json, parquet or a format of a package", on_or_kind),
        ]
    ] = Field(
        default=None,
        description=(
            "Marks data written by others and gives its format: delta, csv, json, parquet, or a "
            "format of an installed package. true means a Delta table if there is a `path` or "
            "`table`, otherwise a dataset known only by its events."
        ),
    )
    options: dict[str, Plain] = Field(default={}, description="Options of the file reader, or of the package's format.")
    inlets: Maybe[
        Annotated[
            Annotated[list[Annotated[str, ValueDescription("the name of an asset")]], Tag("<list>")]
            | Annotated[dict[str, InletMap | None], Tag("<map>")],
            discriminate_by_kind("a list of asset names, or a map of them to options"),
        ]
    ] = Field(
        default=None,
        description=(
            "Assets that it reads or waits for. Inlets that the code names need not be listed; those "
            "listed only here are waited for, but not read."
        ),
    )
    outlets: Maybe[
        Annotated[dict[IdentifierText, OutletMap | None], require_map("a map such as {train: {path: …}, test: {}}")]
    ] = Field(
        default=None,
        description=(
            "Assets that one run writes together, all or none: the function returns a dict of their "
            "rows, or each has its own SQL. Other assets read the outlets by name."
        ),
    )
    schedule: Maybe[
        Annotated[
            Annotated[str, Tag("<text>")]
            | Annotated[ConditionList, Tag("<list>")]
            | Annotated[ScheduleMap, Tag("<timetable>")]
            | Annotated[RegisteredMap, Tag("<registered>")]
            | Annotated[ConditionMap, Tag("<condition>")],
            discriminate_by_kind(
                'manual, a preset such as "@daily", a cron, or a condition over assets', kind_of_schedule
            ),
        ]
    ] = Field(default=None, description="When it runs; default: whenever an inlet is updated.")
    partition: Maybe[
        Annotated[
            Annotated[PartitionText, Tag("<text>")]
            | Annotated[PartitionMap, Tag("<map>")]
            | Annotated[SegmentsMap, Tag("<segments>")]
            | Annotated[list[DimensionValue], Field(json_schema_extra={"minItems": 1}), Tag("<list>")],
            discriminate_by_kind(
                "none, a map such as {by: day, column: day} or {segments: [de, nl], column: region}, or a list of maps",
                kind_of_partition,
            ),
        ]
    ] = Field(
        default=None,
        description=(
            "How the data is partitioned; each partition is tracked and computed on its own. @daily means {by: "
            "day}, auto the schedule's intervals. A list is the product of its dimensions, with at most one of "
            "time."
        ),
    )
    strategy: Maybe[
        Annotated[
            Annotated[Literal["full_refresh", "every_instance", "latest_only", "date_range", "segments"], Tag("<text>")]
            | Annotated[StrategyMap, Tag("<map>")]
            | Annotated[SegmentStrategyMap, Tag("<segments>")],
            discriminate_by_kind(
                "full_refresh, every_instance, latest_only, date_range, segments or {date_range: {…}}",
                kind_of_strategy,
            ),
        ]
    ] = Field(
        default=None,
        description=(
            "What a run processes. Default: date_range for time partitions, segments for partitions "
            "without time, latest_only with `read`, otherwise full_refresh."
        ),
    )
    write: Maybe[
        Annotated[
            Annotated[Literal["replace", "append", "self"], Tag("<text>")]
            | Annotated[WriteMap, Tag("<map>")]
            | Annotated[RegisteredWriteMap, Tag("<registered>")],
            discriminate_by_kind(
                "replace, append, self, {upsert: {keys: [column]}} or {publish: {keep: 10}}", _kind_of_write
            ),
        ]
    ] = Field(
        default=None,
        description=(
            "How rows are written: replace (the default) replaces the run's partitions or the whole "
            "table, append adds rows, upsert merges by key, publish writes a new iteration. self: the "
            "function or SQL statements write the target themselves, and the run records what "
            "changed. {mode: …}: a mode of an installed package."
        ),
    )
    schema_change: Literal["strict", "add_columns", "evolve"] = Field(
        default="strict",
        alias="schema",  # pydantic's models have an attribute of that name
        description=(
            "Column changes that a run may make: strict none, add_columns new columns, evolve also wider types."
        ),
    )
    unchanged: Maybe[Literal["skip", "publish"]] = Field(
        default=None,
        description=(
            "Whether recomputing a partition to the same rows counts as an update for consumers: "
            "publish yes, skip no (old and new rows are compared in any order). Default: as in the "
            "project's `defaults`."
        ),
    )
    validations: Annotated[RuleList, require_list("a list of maps such as {not_null: [id]}")] = Field(
        default=[], description="Rules that rows must pass; a partition that fails keeps its old rows."
    )
    commit: Literal["auto", "spark"] = Field(
        default="auto",
        description=(
            "Who commits to the table: auto is the driver if the table allows it, which is faster; spark "
            "is always Spark."
        ),
    )
    properties: dict[str, Plain] = Field(default={}, description=_PROPERTIES)
    partitioned_by: Maybe[_Folders] = Field(default=None, description=_PARTITIONED_BY)
    sql: Maybe[Text] = Field(default=None, description="A SELECT, or the path of a .sql file; default: <asset>.sql.")
    python: Maybe[FunctionText] = Field(
        default=None, description="Function that computes the rows, as package.module:function."
    )
    params: Annotated[
        Annotated[dict[str, Any], Tag("<map>")]
        | Annotated[list[dict[str, Any]], Field(json_schema_extra={"minItems": 1}), Tag("<list>")],
        discriminate_by_kind("a map, or a list of maps"),
    ] = Field(
        default={},
        description=(
            "Values of `params` in templates and functions. With `strategy: every_instance`, a list of maps: one for "
            "each segment of the column that it names, or, without declared segments, the list defines them."
        ),
    )
    on_code_change: Literal["warn", "backfill", "forward_only"] = Field(
        default="warn",
        description=(
            "What to do with partitions computed by an earlier version of the SQL, function or "
            "params: warn in plan and status, backfill them, or take them as they are (forward_only)."
        ),
    )
    timezone: Maybe[ZoneText] = Field(
        default=None, description="Time zone of its schedule, partitions and times; default: the project's."
    )
    start: Maybe[InstantText] = Field(
        default=None,
        description=(
            "Start of schedule and partitions. An interval or partition counts if it begins at or "
            "after it; consumers do not require anything earlier."
        ),
    )
    end: Maybe[InstantText] = Field(default=None, description="End of schedule and partitions.")
    settle: Maybe[DurationText] = Field(default=None, description="For a source: ignore updates more recent than this.")
    paused: bool = Field(default=False, description="Stop runs; events are still recorded.")
    pool: Maybe[IdentifierText] = Field(
        default=None, description="One of the project's `pools`, which bound how many runs share a thing."
    )
    priority: Annotated[int, Field(strict=True)] = Field(
        default=0, description="Of due runs, those with a higher priority are claimed first."
    )
    spark_conf: dict[Text, Plain] = Field(
        default={}, description="Spark settings of its runs, such as spark.sql.shuffle.partitions."
    )
    budget: Maybe[Annotated[BudgetMap, require_map("{bytes: 10GB, seconds: 3600}")]] = Field(
        default=None, description="A run estimated to cost more waits for `--over-budget`."
    )
    expect: Maybe[Annotated[DeadlineMap, require_map('{by: "08:00"}')]] = Field(
        default=None, description="When the newest partition or run must be there; after that, the asset is late."
    )
    notify: Maybe[NotifyValue] = Field(
        default=None, description="Notifications of this asset instead of the project's; [] for none."
    )
    retries: Maybe[Natural] = Field(
        default=None,
        description="Retries of a failed attempt before the run fails; default: as in the project's `defaults`.",
    )
    retry_delay: Maybe[DurationText] = Field(
        default=None, description="Pause before the first retry; doubled before each further one."
    )
    timeout: Maybe[DurationText] = Field(default=None, description="A run that takes longer is cancelled and fails.")
    lease: Maybe[DurationText] = Field(
        default=None, description="How long an unresponsive driver on another host keeps its claim on the asset."
    )

    @property
    def column_maps(self) -> dict[str, ColumnMap]:
        """What is said of each column; a type alone as a map."""
        return {name: ColumnMap(type=each) if isinstance(each, str) else each for name, each in self.columns.items()}

    @property
    def known_types(self) -> dict[str, str]:
        """The Spark SQL type of each column that has one."""
        types = {name: each if isinstance(each, str) else each.type for name, each in self.columns.items()}
        return {name: each for name, each in types.items() if each is not None}

    @property
    def types(self) -> dict[str, str]:
        """The Spark SQL type of each column where all have one, so that there are no others; else empty."""
        known_types = self.known_types
        return known_types if len(known_types) == len(self.columns) else {}

    @property
    def private(self) -> frozenset[str]:
        """The columns whose values are not shown."""
        return frozenset(name for name, each in self.columns.items() if not isinstance(each, str) and each.pii)

"""The models of an asset file: columns, outlets, the write, and the asset as a whole."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, Tag

from sparkassets.core.source_formats import FORMATS
from sparkassets.core.spec.inlet_models import InletMap
from sparkassets.core.spec.project_models import BudgetMap, NotifyValue
from sparkassets.core.spec.rule_maps import RuleList
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
    Count,
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
    kind_of,
    on_or_kind,
    require_list,
    require_map,
)


class ColumnMap(StrictMap):
    """A column with more than its type."""

    type: ColumnType = Field(description="Its Spark SQL type.")
    pii: bool = Field(default=False, description="Its values are about people: no message or report shows any.")


_Columns = dict[
    str,
    Annotated[
        Annotated[ColumnType, Tag("<text>")] | Annotated[ColumnMap, Tag("<map>")],
        discriminate_by_kind("a Spark SQL type such as bigint or decimal(12,2), or {type: string, pii: true}"),
    ],
]


_PROPERTIES: Final = (
    "Delta's own properties of its table, such as delta.logRetentionDuration: given when a run makes the table; one "
    "that is there keeps what it has."
)


_Folders = Annotated[
    list[Annotated[str, ValueDescription("the name of a column")]],
    Field(json_schema_extra={"uniqueItems": True}),
    require_list("a list of columns such as [day, region]"),
]


_PARTITIONED_BY: Final = (
    "Columns by which Delta keeps a new table in folders; [] for none. Default: that of days or longer partitions, and "
    "those of segments where one segment may be written without the others. A table that is there keeps its folders."
)


_TABLE: Final = (
    "In place of `path`: its name in a catalog of the Spark session, as `catalog.schema.name`, `schema.name` or `name`."
)


class OutletMap(StrictMap):
    """One of several assets that a run writes, all of them or none."""

    path: Maybe[Text] = Field(
        default=None, description="Where it is written, from the project's folder; <warehouse>/<outlet> by default."
    )
    table: Maybe[Text] = Field(default=None, description=_TABLE)
    uri: Maybe[Text] = Field(default=None, description="Its identity in events; where it is written by default.")
    columns: _Columns = Field(
        default={}, description="Column to Spark SQL type, or to a map of it and of what else it is."
    )
    description: Text = Field(default="", description="What it is, for people.")
    extra: dict[str, Any] = Field(default={}, description="Free facts about it; no credentials.")
    properties: dict[str, Plain] = Field(default={}, description=_PROPERTIES)
    partitioned_by: Maybe[_Folders] = Field(default=None, description=_PARTITIONED_BY)
    validations: Annotated[RuleList, require_list("a list of maps such as {not_null: [id]}")] = Field(
        default=[], description="What its rows must be like; what one outlet withholds is withheld in all."
    )
    sql: Maybe[Text] = Field(
        default=None,
        description="A file ending .sql, or the SELECT itself; <outlet>.sql by default. Not where a function makes it.",
    )


class HistoryMap(StrictMap):
    """Columns that a history adds."""

    valid_from: Text = Field(
        description="From when a row holds: a column of the result, else one that holds what `newest_by` says."
    )
    valid_to: Text = Field(description="Until when it held, which is NULL while it does; added.")
    current: Text = Field(description="Whether it holds still; added.")


class UpsertMap(StrictMap):
    """Options of the write."""

    keys: Annotated[
        list[Annotated[str, ValueDescription("the name of a column")]],
        Field(json_schema_extra={"minItems": 1, "uniqueItems": True}),
        require_list("a list of columns such as [id]"),
    ] = Field(description="Columns whose values no two rows share; of a partition, beside those that hold it.")
    newest_by: Maybe[
        Annotated[
            Annotated[Text, Tag("<text>")]
            | Annotated[
                list[Annotated[str, ValueDescription("the name of a column")]],
                Field(json_schema_extra={"minItems": 1, "uniqueItems": True}),
                Tag("<list>"),
            ],
            discriminate_by_kind("a column, or a list of columns"),
        ]
    ] = Field(
        default=None,
        description=(
            "Column whose highest value tells which row of a key counts, within a run and against what is there: a "
            "late row is ignored. A list is compared from left to right."
        ),
    )
    delete_when: Maybe[Text] = Field(
        default=None, description="A condition on the result's columns, in SQL; a row that fulfils it deletes its key."
    )
    keep_deletes: Maybe[DurationText] = Field(
        default=None,
        description="How long a deleted key is remembered, so that a late row does not bring it back; else for ever.",
    )
    history: Maybe[Annotated[HistoryMap, require_map("{valid_from: column, valid_to: column, current: column}")]] = (
        Field(default=None, description="Keeps what was: a row for each state of a key, with when it held.")
    )


class PublishMap(StrictMap):
    """Options of the write."""

    keep: Count = Field(
        description="How many iterations stay at least, the newest; and whatever is the newest of a partition."
    )


class WriteMap(StrictMap):
    """A write with options."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    upsert: Maybe[Annotated[UpsertMap, require_map("{keys: [column]}")]] = Field(
        default=None, description="Rows take the place of those with their keys, others come to what is there."
    )
    publish: Maybe[Annotated[PublishMap, require_map("{keep: 10}")]] = Field(
        default=None,
        description=(
            "A run's rows, or the files that a function writes, are an iteration of their own beside the earlier "
            "ones; what stands at the path is the newest."
        ),
    )


class RegisteredWriteMap(StrictMap):
    """A write mode that an installed package registered; the keys that are not here are its parameters."""

    model_config = ConfigDict(extra="allow")

    mode: Text = Field(description="Its name in the entry point group `sparkassets.writes`.")


def _kind_of_write(value: object) -> str | None:
    return "<registered>" if isinstance(value, dict) and "mode" in value else kind_of(value)


def write_map(value: object) -> type[BaseModel]:
    """The model of a write, chosen by its keys."""
    return RegisteredWriteMap if _kind_of_write(value) == "<registered>" else WriteMap


def needs_no_column(keys: AssetFile) -> bool:
    """Whether rows need no column for their partition: the write mode replaces no partition."""
    return keys.write in ("append", "self") or (isinstance(keys.write, WriteMap) and keys.write.publish is not None)


_FormatName = Annotated[IdentifierText, Field(json_schema_extra={"examples": ["delta", *FORMATS]})]


class AssetFile(StrictMap):
    """One asset."""

    asset: IdentifierText = Field(description="Its name, unique in the project.")
    type: Text = Field(default="dataset", description="dataset, model, report or any word.")
    description: Text = Field(default="", description="What it is, for people.")
    owner: Text = Field(default="", description="Who answers for it.")
    extra: dict[str, Any] = Field(default={}, description="Free facts about the asset; no credentials.")
    columns: _Columns = Field(
        default={}, description="Column to Spark SQL type, or to a map of it and of what else it is."
    )
    uri: Maybe[Text] = Field(default=None, description="Its identity in events; where it is written by default.")
    path: Maybe[Text] = Field(
        default=None, description="Where it is written, or where a source is; from the project's folder."
    )
    table: Maybe[Text] = Field(
        default=None,
        description=f"{_TABLE} Of a Delta source it may have fields, as lake.raw_{{region}}: all tables that fit.",
    )
    source: Maybe[
        Annotated[
            Annotated[Literal[True], Tag("<on>")] | Annotated[_FormatName, Tag("<text>")],
            discriminate_by_kind("true, delta, csv, json, parquet or a format of a package", on_or_kind),
        ]
    ] = Field(
        default=None,
        description=(
            "Others write it: delta, or the format of its files, csv, json, parquet or one of an installed package; "
            "true is a Delta table if there is a `path` or a `table`, else only its events are known."
        ),
    )
    options: dict[str, Plain] = Field(default={}, description="Options of the reader of files, or of that format.")
    inlets: Maybe[
        Annotated[
            Annotated[list[Annotated[str, ValueDescription("the name of an asset")]], Tag("<list>")]
            | Annotated[dict[str, InletMap | None], Tag("<map>")],
            discriminate_by_kind("a list of asset names, or a map of them to options"),
        ]
    ] = Field(
        default=None,
        description="What it reads or waits for; what its code names need not be here, what is only here is not read.",
    )
    outlets: Maybe[
        Annotated[dict[IdentifierText, OutletMap | None], require_map("a map such as {train: {path: …}, test: {}}")]
    ] = Field(
        default=None,
        description=(
            "Several assets that one run writes, all of them or none: the function returns a dict of their rows, "
            "or each has its own SQL. Others read them by their names, not by the asset's."
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
    ] = Field(default=None, description="When it is considered; by default whenever an inlet is updated.")
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
            "The slices that are tracked and computed on their own; @daily is {by: day}, auto the schedule's "
            "intervals. A list is the product of its dimensions, at most one of them time."
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
            "What a run processes; date_range with a partition, segments where that has no time, latest_only "
            "with a `read`, else full_refresh."
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
            "How rows land: instead of those of the run's partitions (or of all), added, by their keys, or as an "
            "iteration of their own; replace by default. self: the function or the SQL statements write the target "
            "themselves, and the run records what changed there. {mode: …}: as a package has it."
        ),
    )
    schema_change: Literal["strict", "add_columns", "evolve"] = Field(
        default="strict",
        alias="schema",  # pydantic's models have an attribute of that name
        description="May a run change its target's columns: none, only add some, or add some and widen types.",
    )
    unchanged: Maybe[Literal["skip", "publish"]] = Field(
        default=None,
        description=(
            "Whether a partition that came out the same when computed again is an update for consumers. publish: "
            "it is, as every success. skip: it is not; the rows before and after are compared, in any order. As in the "
            "project's `defaults`."
        ),
    )
    validations: Annotated[RuleList, require_list("a list of maps such as {not_null: [id]}")] = Field(
        default=[], description="What its rows must be like: of each partition that is not, the old rows stay."
    )
    commit: Literal["auto", "spark"] = Field(
        default="auto",
        description="Who commits to its table: the driver where the table lets it, which is quicker, or always Spark.",
    )
    properties: dict[str, Plain] = Field(default={}, description=_PROPERTIES)
    partitioned_by: Maybe[_Folders] = Field(default=None, description=_PARTITIONED_BY)
    sql: Maybe[Text] = Field(
        default=None, description="A file ending .sql, or the SELECT itself; <asset>.sql by default."
    )
    python: Maybe[FunctionText] = Field(default=None, description="A function, as package.module:function.")
    params: Annotated[
        Annotated[dict[str, Any], Tag("<map>")]
        | Annotated[list[dict[str, Any]], Field(json_schema_extra={"minItems": 1}), Tag("<list>")],
        discriminate_by_kind("a map, or a list of maps"),
    ] = Field(
        default={},
        description=(
            "What `params` holds in a template or function; a list has a map for each segment of a column that it "
            "names, or makes these, under every_instance."
        ),
    )
    on_code_change: Literal["warn", "backfill", "ignore"] = Field(
        default="warn",
        description=(
            "What was computed before its SQL, function or params changed: is named by plan and status, is computed "
            "again, or neither."
        ),
    )
    timezone: Maybe[ZoneText] = Field(default=None, description="Of its schedule, partition and times; the project's.")
    start: Maybe[InstantText] = Field(
        default=None,
        description=(
            "Where it begins; of schedule and partition both. An interval or a partition belongs when it begins at it "
            "or after; what lies before it is not required of it by what reads it."
        ),
    )
    end: Maybe[InstantText] = Field(default=None, description="Where it ends; of schedule and partition both.")
    settle: Maybe[DurationText] = Field(
        default=None, description="Of a source: what was updated more lately than this is left alone."
    )
    paused: bool = Field(default=False, description="Stops runs, not events.")
    budget: Maybe[Annotated[BudgetMap, require_map("{bytes: 10GB, seconds: 3600}")]] = Field(
        default=None, description="A run that is to cost more waits until it is run with `--over-budget`."
    )
    expect: Maybe[Annotated[DeadlineMap, require_map('{by: "08:00"}')]] = Field(
        default=None, description="By when its newest partition, or its newest run, has to be there; else it is late."
    )
    notify: Maybe[NotifyValue] = Field(
        default=None, description="Who is told of it, instead of those of the project; [] is nobody."
    )
    retries: Maybe[Natural] = Field(default=None, description="As in the project's `defaults`; so the next three.")
    retry_delay: Maybe[DurationText] = Field(default=None, description="Pause before a failed run is tried again.")
    timeout: Maybe[DurationText] = Field(default=None, description="A run that takes longer has failed.")
    lease: Maybe[DurationText] = Field(default=None, description="How long a silent driver keeps its claim.")

    @property
    def types(self) -> dict[str, str]:
        """The Spark SQL type of each column."""
        return {name: each if isinstance(each, str) else each.type for name, each in self.columns.items()}

    @property
    def private(self) -> frozenset[str]:
        """The columns whose values are not shown."""
        return frozenset(name for name, each in self.columns.items() if not isinstance(each, str) and each.pii)

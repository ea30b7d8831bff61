"""The two kinds of files as pydantic models: their keys and what they hold; the JSON Schema is made from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, Tag
from pydantic.fields import FieldInfo

from sparkassets.core.source_formats import FORMATS
from sparkassets.core.spec.rule_maps import RegisteredRuleMap, RuleMap, kind_of_rule
from sparkassets.core.spec.value_kinds import (
    ColumnType,
    ConditionList,
    ConditionMap,
    Count,
    Degrees,
    DurationText,
    FunctionText,
    GrainText,
    IdentifierText,
    InstantText,
    Maybe,
    Natural,
    PartitionText,
    Plain,
    SizeValue,
    SpanText,
    Text,
    TimesValue,
    ValueDescription,
    ZoneText,
    discriminate_by_kind,
    kind_of,
    off_or_kind,
    on_or_kind,
    require_list,
    require_map,
)
from sparkassets.core.spec.value_kinds import StrictMap as _Map
from sparkassets.core.suggestions import find_nearest
from sparkassets.core.timetables.parse import KINDS


class ColumnMap(_Map):
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
_Rules = list[
    Annotated[
        Annotated[RuleMap, Tag("<map>")] | Annotated[RegisteredRuleMap, Tag("<registered>")],
        discriminate_by_kind("a map such as {not_null: [id]}", kind_of_rule),
    ]
]


def written_keys(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The keys of a map as they are written in files."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


# --------------------------------------------------------------------------- project.yml


class DefaultsMap(_Map):
    """What assets do that do not say otherwise."""

    retries: Natural = Field(default=1, description="How often a failed run is tried again before it counts as failed.")
    retry_delay: DurationText = Field(
        default="30s", description="Pause before the first of these; twice as long before each next one."
    )
    timeout: DurationText = Field(default="2h", description="A run that takes longer is cancelled and has failed.")
    lease: DurationText = Field(
        default="10m", description="How long a silent driver on another host keeps its claim on an asset."
    )
    unchanged: Literal["skip", "publish"] = Field(
        default="publish",
        description=(
            "Whether a partition that came out the same when computed again is an update for consumers. skip holds "
            "for assets that replace or upsert rows: what a run appends or publishes is always one."
        ),
    )


class BudgetMap(_Map):
    """What one run may cost; without either it may cost anything."""

    bytes: Maybe[SizeValue] = Field(default=None, description="That it reads of its inlets at most, such as 10GB.")
    seconds: Maybe[Count] = Field(default=None, description="That it takes at most, by earlier runs.")


class OpenLineageMap(_Map):
    """How runs are told to OpenLineage, where that is set up."""

    namespace: Text = Field(description="Of the project's jobs; `OPENLINEAGE_NAMESPACE` goes before it.")


NotifyOn = Literal["failure", "withheld", "late", "recovery"]


class NotifyMap(_Map):
    """Who is told what."""

    on: Annotated[
        Annotated[NotifyOn, Tag("<text>")]
        | Annotated[list[NotifyOn], Field(min_length=1, json_schema_extra={"uniqueItems": True}), Tag("<list>")],
        discriminate_by_kind("failure, withheld, late, recovery, or a list of these"),
    ] = Field(
        default=["failure", "withheld", "late", "recovery"],
        description=(
            "failure: a run failed. withheld: rows did not pass their validations. late: not there when it was "
            "expected. recovery: one of these is over."
        ),
    )
    to: Maybe[
        Annotated[
            Annotated[Text, Tag("<text>")] | Annotated[list[Text], Field(min_length=1), Tag("<list>")],
            discriminate_by_kind("the name of a variable of the environment, or a list of names"),
        ]
    ] = Field(
        default=None,
        description=(
            "Variables of the environment that hold URLs as Apprise has them, such as ALERTS_URL; where NAME is not "
            "set, the file that NAME_FILE names is read. Never a URL itself."
        ),
    )
    python: Maybe[FunctionText] = Field(
        default=None, description="A function that is given the message, as package.module:function."
    )
    title: Maybe[Text] = Field(default=None, description="The message's title, a Jinja template.")
    template: Maybe[Text] = Field(default=None, description="The message's text, a Jinja template.")


class SinkMap(_Map):
    """A sink that an installed package registered; the keys that are not here are its parameters."""

    model_config = ConfigDict(extra="allow")

    sink: Text = Field(description="Its name in the entry point group `sparkassets.sinks`.")


_Sinks = Annotated[list[SinkMap], require_list("a list of maps such as {sink: <name>}")]
_Notify = Annotated[
    Annotated[NotifyMap, Tag("<map>")] | Annotated[list[NotifyMap], Tag("<list>")],
    discriminate_by_kind("{to: ALERTS_URL}, or a list of such maps"),
]


class DeadlineMap(_Map):
    """When the newest of an asset has to be there."""

    by: Text = Field(description="By this time of day, such as 08:00, on the asset's clock; or by each tick of a cron.")
    every: Maybe[DurationText] = Field(
        default=None, description="How often it has to be there by a time of day; 1d by default."
    )


class StateMap(_Map):
    """Where the journal is, by whom it is committed, and how long its entries are kept."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": ["catalog", "schema"]},
                {"required": ["path"]},
                {
                    "required": ["retention"],
                    "not": {"anyOf": [{"required": [key]} for key in ("catalog", "schema", "path")]},
                },
            ]
        }
    )

    catalog: Maybe[Text] = Field(default=None, description="Catalog of the schema that holds the state's two tables.")
    schema_: Maybe[Text] = Field(
        default=None, alias="schema", description="Schema that holds them; it is made where it is not there."
    )
    path: Maybe[Text] = Field(
        default=None, description="Instead of these, a folder or an object-store URI; with `retention` alone, ./state."
    )
    commit: Literal["auto", "spark"] = Field(
        default="auto",
        description="Who commits at a path: the driver, or a Spark session, for what the session alone can reach.",
    )
    retention: Maybe[DurationText] = Field(
        default=None,
        description=(
            "How long what happened can be asked for, such as 90d; at least 1d. What it came to is kept for ever. "
            "Without it everything is."
        ),
    )


StateValue = Annotated[
    Annotated[Text, Tag("<text>")] | Annotated[StateMap, Tag("<map>")],
    discriminate_by_kind("a folder, a URI or {catalog: <name>, schema: <name>}"),
]


_InScope = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9._@-]+$"),
    ValueDescription("a name of letters, digits, '.', '_', '-' and '@'"),
]


class SecretMap(_Map):
    """Where a secret is on Databricks."""

    scope: _InScope = Field(description="The scope of secrets that holds it.")
    key: _InScope = Field(description="Its key there.")


_Secrets = Annotated[
    dict[IdentifierText, SecretMap], require_map("a map such as {ALERTS_URL: {scope: ops, key: alerts_url}}")
]


class StoreMap(_Map):
    """How a bucket of S3 is reached."""

    endpoint: Maybe[Text] = Field(
        default=None, description="URL of its API, such as http://minio:9000, where it is not Amazon's."
    )
    region: Maybe[Text] = Field(default=None, description="Region that requests are signed for.")
    access_key: Maybe[Text] = Field(
        default=None,
        description=(
            "Name of the secret, or of the variable of the environment, that holds it; never the key itself. Without "
            "one, credentials are those of the environment."
        ),
    )
    secret_key: Maybe[Text] = Field(default=None, description="As `access_key`, which it belongs to.")
    session_token: Maybe[Text] = Field(default=None, description="As `access_key`, of temporary credentials.")
    anonymous: bool = Field(default=False, description="Makes requests without credentials, as public buckets take.")
    timeout: Maybe[DurationText] = Field(default=None, description="How long a request may take.")
    retries: Maybe[Natural] = Field(default=None, description="How often a request is made again that failed.")


_Storage = Annotated[dict[str, StoreMap], require_map("a map such as {s3://lake: {endpoint: …, region: …}}")]


class ProfileMap(_Map):
    """What differs where the project runs under one name, such as dev or prod."""

    state: Maybe[StateValue] = Field(default=None, description="Instead of the project's; no two profiles share one.")
    warehouse: Maybe[Text] = Field(default=None, description="Instead of the project's; no two profiles share one.")
    logs: Maybe[Text] = Field(default=None, description="Instead of the project's.")
    spark: dict[str, Plain] = Field(default={}, description="Beside the project's, and instead of those of one name.")
    max_parallel_runs: Maybe[Count] = Field(default=None, description="Instead of the project's.")
    variables: dict[IdentifierText, Plain] = Field(
        default={}, description="What `${NAME}` stands for in every file, whatever the environment has."
    )
    sinks: Maybe[_Sinks] = Field(default=None, description="Instead of the project's.")
    secrets: _Secrets = Field(default={}, description="Beside the project's, and instead of those of one name.")
    storage: _Storage = Field(default={}, description="Beside the project's, and instead of those of one bucket.")


_Package = Annotated[
    str,
    Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$"),
    ValueDescription("the name of a package"),
]


class ProjectFile(_Map):
    """project.yml."""

    project: IdentifierText = Field(description="Name of the project; its state belongs to it.")
    state: StateValue = Field(
        default="./state", description="Folder or object-store URI of the journal, or a schema of a catalog."
    )
    warehouse: Text = Field(
        default="./warehouse", description="An asset without `path` or `table` is written to <warehouse>/<asset>."
    )
    logs: Maybe[Text] = Field(
        default=None,
        description="Folder of what runs print and log; by default <state>/logs, or the user's cache folder.",
    )
    timezone: ZoneText = Field(default="UTC", description="Zone of the assets that name none.")
    assets: Annotated[
        list[Annotated[str, ValueDescription("a folder of asset files")]], require_list("a list of folders")
    ] = Field(default=["assets/"], description="Folders of asset files, from this file's folder.")
    python: Annotated[list[_Package], require_list("a list of packages")] = Field(
        default=[], description="Packages that functions may come from; nothing else is ever imported."
    )
    spark: dict[str, Plain] = Field(default={}, description="Settings of a session that sparkassets itself creates.")
    secrets: _Secrets = Field(
        default={},
        description=(
            "What `notify` and `${NAME}` in `spark` may name: the environment's variable NAME, or the file that "
            "NAME_FILE names, else this secret of Databricks; asked for when it is needed, and never stored."
        ),
    )
    storage: _Storage = Field(
        default={},
        description=(
            "How buckets are reached, by `s3://<bucket>`; `s3://` is every bucket that is not named. A key that is a "
            "name holds for the buckets of paths that begin with it: `s3://<name>@<bucket>/…`."
        ),
    )
    max_parallel_runs: Count = Field(default=4, description="Assets that run side by side.")
    budget: Maybe[Annotated[BudgetMap, require_map("{bytes: 10GB, seconds: 3600}")]] = Field(
        default=None, description="What a run may cost whose asset does not say itself."
    )
    openlineage: Maybe[
        Annotated[
            Annotated[Literal[False], Tag("<off>")] | Annotated[OpenLineageMap, Tag("<map>")],
            discriminate_by_kind("false or {namespace: <name>}", off_or_kind),
        ]
    ] = Field(default=None, description="False tells OpenLineage nothing, wherever it is set up.")
    notify: Maybe[_Notify] = Field(
        default=None, description="Who is told of failures, and of what is withheld or late, of assets that do not say."
    )
    sinks: _Sinks = Field(default=[], description="Who else is told what is committed to the journal; of packages.")
    defaults: DefaultsMap = Field(default=DefaultsMap(), description="What assets do that do not say otherwise.")
    profiles: Maybe[
        Annotated[dict[IdentifierText, ProfileMap], require_map("a map such as {dev: {state: …}, prod: {state: …}}")]
    ] = Field(default=None, description="What differs by where it runs; `--profile` or SPARKASSETS_PROFILE names one.")
    profile: Maybe[IdentifierText] = Field(default=None, description="The profile that holds where none is named.")


# --------------------------------------------------------------------------- an asset


class ReadMap(_Map):
    """Only what is new since the watermark."""

    after: Text = Field(description="Column whose highest processed value is the watermark.")
    overlap: Maybe[DurationText] = Field(
        default=None,
        description="From so far below the watermark on, for what comes late; with `write: upsert` alone.",
    )


class RequireMap(_Map):
    """A number of the mapped inlet partitions."""

    at_least: Count = Field(description="So many of them.")


_Lists = Annotated[list[Text], Tag("<list>")]
KeyMap = Mapping[str, list[str]]
"""The inlet's keys that each key needs."""
PartitionsMap = dict[str, str | list[str] | dict[str, list[str] | dict[str, list[str]]]]
"""A map of keys, or of dimensions to the options of each."""
_OneDimension = dict[
    str,
    Annotated[
        _Lists | Annotated[dict[str, list[Text]], Tag("<map>")], discriminate_by_kind("a list of keys such as [de, nl]")
    ],
]
_Dimensions = dict[
    str,
    Annotated[
        Annotated[Text, Tag("<text>")] | _Lists | Annotated[_OneDimension, Tag("<map>")],
        discriminate_by_kind("a list of keys such as [de, nl], all, latest, a column of the inlet or a map of keys"),
    ],
]


class InletMap(_Map):
    """How one asset reads or awaits another."""

    window: Maybe[
        Annotated[
            Annotated[DurationText, Tag("<text>")]
            | Annotated[
                list[DurationText],
                Field(min_length=2, max_length=2),
                ValueDescription("two durations, such as [-6d, 0d]"),
                Tag("<list>"),
            ],
            discriminate_by_kind("a duration such as 7d, or two of them such as [-6d, 0d]"),
        ]
    ] = Field(
        default=None,
        description="7d: the 7 days up to the partition's end. [-6d, 0d]: from 6 days before its start to its end.",
    )
    require: Maybe[
        Annotated[
            Annotated[Literal["all", "any", "none"], Tag("<text>")] | Annotated[RequireMap, Tag("<map>")],
            discriminate_by_kind("all, any, none or {at_least: n}"),
        ]
    ] = Field(default=None, description="How many of the mapped inlet partitions must be there; all by default.")
    partitions: Maybe[
        Annotated[
            Annotated[Literal["all", "latest", "aligned"], Tag("<text>")]
            | Annotated[list[Text], Field(min_length=1), Tag("<list>")]
            | Annotated[_Dimensions, Tag("<map>")],
            discriminate_by_kind("all, latest, aligned, {from: column}, a map of keys or a list of partitions"),
        ]
    ] = Field(
        default=None,
        description=(
            "Which of its partitions one of the asset needs; by default those that overlap it and have its segments. "
            "all: every one. latest: the newest that is there. [2025-01-01, …]: these, for every partition. "
            "{emea: [de, nl]}: for each key those of the inlet. "
            "{region: …}: for that dimension all, latest, the column of the inlet that is meant, or a map of keys. "
            "{from: column}: the rows whose values of that column are the partition's, however the inlet is divided. "
            "aligned: what its run of the same tick, or of the last one before, has written."
        ),
    )
    fresh_within: Maybe[DurationText] = Field(default=None, description="Its last update may be no older than this.")
    tolerance: Maybe[DurationText] = Field(
        default=None, description="How long past due `require` is waited for; then what is there is taken."
    )
    settle: Maybe[DurationText] = Field(default=None, description="It must have been quiet for so long.")
    read: Maybe[
        Annotated[
            Annotated[Literal["changes"], Tag("<text>")] | Annotated[ReadMap, Tag("<map>")],
            discriminate_by_kind("changes or {after: column}"),
        ]
    ] = Field(
        default=None,
        description=(
            "Only what is new since the last run. changes: what was inserted, updated and deleted in a Delta table, by "
            "its change feed. {after: column}: the rows above the highest value that was read before."
        ),
    )
    validations: Annotated[_Rules, require_list("a list of maps such as {not_null: [id]}")] = Field(
        default=[], description="What its rows must be like before any work; no run begins with others."
    )
    on_update: Maybe[Literal["rerun", "ignore"]] = Field(
        default=None,
        description=(
            "Whether an update makes stale what was computed from it. ignore is the default where the asset has time "
            "for an inlet without time, or its latest, but not under full_refresh; and for an aligned one."
        ),
    )
    on_removed: Maybe[Literal["keep", "rerun"]] = Field(
        default=None,
        description=(
            "What becomes of what was computed from a partition that was removed: it keeps its rows and says so, or is "
            "computed again without it, which counts as there then. keep is the default for files, else rerun."
        ),
    )


_Texts = Annotated[list[Annotated[str, ValueDescription("text")]], Field(json_schema_extra={"minItems": 1})]
_Crons = Annotated[
    Annotated[str, Tag("<text>")] | Annotated[_Texts, Tag("<list>")],
    discriminate_by_kind("a cron such as '0 6 * * *', or a list of them"),
]
_Moments = Annotated[
    Annotated[str, Tag("<text>")] | Annotated[_Texts, Tag("<list>")],
    discriminate_by_kind("a cron such as '0 6 * * *', or a list of crons or of instants"),
]


class ScheduleMap(_Map):
    """A timetable: one kind of rule with its modifiers."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": [kind]} for kind in KINDS if kind != "timetable"]}
    )

    cron: Maybe[_Crons] = Field(default=None, description="From each tick to the next; @daily and its like, or crons.")
    at: Maybe[_Moments] = Field(
        default=None,
        description="Exact times: each start and end of its own interval; open or close of an exchange's sessions.",
    )
    every: Maybe[SpanText] = Field(
        default=None,
        description=(
            "s, m, h: elapsed time from `start`, else 1970-01-01; d, w, mo, y: calendar time; "
            "session: from the opening to the close of each session of the exchange in `calendar`."
        ),
    )
    times: Maybe[TimesValue] = Field(
        default=None, description="Exact times: a list is any of its maps, a map is all of its keys."
    )
    sun: Maybe[Literal["sunrise", "sunset", "dawn", "dusk", "noon"]] = Field(
        default=None, description="Exact times: of the sun at a place; none on polar days and nights."
    )
    latitude: Maybe[Degrees] = Field(default=None, description="Of `sun`, degrees north.")
    longitude: Maybe[Degrees] = Field(default=None, description="Of `sun`, degrees east.")
    calendar: Maybe[Annotated[str, ValueDescription("a country such as DE or US-NY, or an exchange such as XNYS")]] = (
        Field(
            default=None,
            description="Open days: working days of a country or a part of one, or sessions of an exchange.",
        )
    )
    roll: Maybe[Literal["skip", "back", "forward"]] = Field(
        default=None, description="Drops ticks on closed days (default), or moves them to the open day before or after."
    )
    interval: Maybe[DurationText] = Field(default=None, description="How long the intervals of `cron` last.")
    delay: Maybe[DurationText] = Field(default=None, description="Runs start so much later; same interval.")
    window: Maybe[DurationText] = Field(default=None, description="The interval is so long, up to its end.")
    catchup: Maybe[Literal["all", "latest", "rollup"]] = Field(
        default=None, description="Each missed interval in order, only the newest, or one run that spans them all."
    )
    timezone: Maybe[ZoneText] = Field(default=None, description="Whose wall clock it follows; the asset's by default.")
    start: Maybe[InstantText] = Field(default=None, description="No interval begins before it; one may begin at it.")
    end: Maybe[InstantText] = Field(default=None, description="No interval begins at it or after.")


class RegisteredMap(_Map):
    """A timetable that an installed package registered; the keys that are not here are its parameters."""

    model_config = ConfigDict(extra="allow")

    timetable: Text = Field(description="Its name in the entry point group `sparkassets.timetables`.")
    delay: Maybe[DurationText] = Field(default=None, description="Runs start so much later; same interval.")
    window: Maybe[DurationText] = Field(default=None, description="The interval is so long, up to its end.")
    catchup: Maybe[Literal["all", "latest", "rollup"]] = Field(
        default=None, description="Each missed interval in order, only the newest, or one run that spans them all."
    )
    timezone: Maybe[ZoneText] = Field(default=None, description="Whose wall clock it follows; the asset's by default.")
    start: Maybe[InstantText] = Field(default=None, description="No interval begins before it; one may begin at it.")
    end: Maybe[InstantText] = Field(default=None, description="No interval begins at it or after.")


class PartitionMap(_Map):
    """A partition by time."""

    by: GrainText = Field(
        description="How long each is; a cron: from each of its ticks to the next; auto: as the schedule's intervals."
    )
    column: Maybe[Text] = Field(default=None, description="Column that holds the partition.")
    timezone: Maybe[ZoneText] = Field(default=None, description="Whose days and hours; the asset's by default.")
    start: Maybe[InstantText] = Field(
        default=None, description="No partition before it is wanted; one belongs when it begins at it or after."
    )
    end: Maybe[InstantText] = Field(
        default=None, description="None is wanted from there on; the asset's by default. +2d: so much ahead of now is."
    )
    offset: Maybe[DurationText] = Field(
        default=None, description="Days and longer slots begin so much later on the wall clock; their keys stay."
    )
    exclude: Maybe[
        Annotated[
            Annotated[str, Tag("<text>")]
            | Annotated[
                list[Annotated[str, ValueDescription("a cron, a day or a calendar")]],
                Field(json_schema_extra={"minItems": 1}),
                Tag("<list>"),
            ],
            discriminate_by_kind("a cron, a day such as 2025-12-24, a calendar such as DE or XNYS, or a list of these"),
        ]
    ] = Field(
        default=None,
        description="What is no partition: those whose keys are ticks of a cron, days, days that a calendar is closed.",
    )


def _kind_of_segments(value: object) -> str | None:
    return "<text>" if value == "runtime" else kind_of(value) if isinstance(value, list) else None


class SegmentsMap(_Map):
    """A partition by segments."""

    segments: Annotated[
        Annotated[Literal["runtime"], Tag("<text>")]
        | Annotated[
            list[Annotated[str, ValueDescription("text")]],
            Field(json_schema_extra={"minItems": 1, "uniqueItems": True}),
            Tag("<list>"),
        ],
        discriminate_by_kind("a list of keys such as [de, nl], or runtime", _kind_of_segments),
    ] = Field(description="The keys that are wanted, as texts; or runtime: those that come to be known.")
    column: Maybe[Text] = Field(
        default=None,
        description=(
            "Column that holds them, by which the segments of two assets match. Where no rows are replaced by segment "
            "it may be left out: the dimension is then called `segment`."
        ),
    )


class DateRangeMap(_Map):
    """Options of the strategy."""

    lookback: Maybe[DurationText] = Field(
        default=None, description="So much before every gap is computed again too, once."
    )
    max_partitions_per_run: Count = Field(
        default=366, description="What is due beyond that, lookback included, is another run."
    )


class SegmentOptionsMap(_Map):
    """Options of the strategy."""

    max_partitions_per_run: Count = Field(default=366, description="What is due beyond that is another run.")


class SegmentStrategyMap(_Map):
    """A strategy of segments alone, with options."""

    segments: Annotated[SegmentOptionsMap, require_map("a map of its options")] = Field(
        description="The missing and stale segments, as few runs as the cap allows."
    )


class StrategyMap(_Map):
    """A strategy with options."""

    date_range: Annotated[DateRangeMap, require_map("a map of its options")] = Field(
        description="What is missing or stale in a range of time, as few runs as the cap allows."
    )


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


class OutletMap(_Map):
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
    validations: Annotated[_Rules, require_list("a list of maps such as {not_null: [id]}")] = Field(
        default=[], description="What its rows must be like; what one outlet withholds is withheld in all."
    )
    sql: Maybe[Text] = Field(
        default=None,
        description="A file ending .sql, or the SELECT itself; <outlet>.sql by default. Not where a function makes it.",
    )


class HistoryMap(_Map):
    """Columns that a history adds."""

    valid_from: Text = Field(
        description="From when a row holds: a column of the result, else one that holds what `newest_by` says."
    )
    valid_to: Text = Field(description="Until when it held, which is NULL while it does; added.")
    current: Text = Field(description="Whether it holds still; added.")


class UpsertMap(_Map):
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


class PublishMap(_Map):
    """Options of the write."""

    keep: Count = Field(
        description="How many iterations stay at least, the newest; and whatever is the newest of a partition."
    )


class WriteMap(_Map):
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


class RegisteredWriteMap(_Map):
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


def partition_map(value: object) -> type[BaseModel]:
    """The model of a dimension of partitions, chosen by its keys."""
    if not isinstance(value, dict) or "by" in value:
        return SegmentsMap if isinstance(value, dict) and "segments" in value else PartitionMap
    meant = {find_nearest(str(key), ("by", "segments", *PartitionMap.model_fields)) for key in value}
    return SegmentsMap if "segments" in meant else PartitionMap


def strategy_map(value: object) -> type[BaseModel]:
    """The model of a strategy with options, chosen by its keys."""
    return SegmentStrategyMap if isinstance(value, dict) and "segments" in value else StrategyMap


def _kind_of_partition(value: object) -> str | None:
    kind = kind_of(value)
    return "<segments>" if kind == "<map>" and partition_map(value) is SegmentsMap else kind


WITHOUT_OPTIONS: Final = ("full_refresh", "every_instance", "latest_only")
"""The strategies that are a name and nothing else."""


def _kind_of_strategy(value: object) -> str | None:
    kind = kind_of(value)
    if isinstance(value, dict) and any(name in value for name in WITHOUT_OPTIONS):
        return None
    return "<segments>" if kind == "<map>" and strategy_map(value) is SegmentStrategyMap else kind


_Dimension = Annotated[
    Annotated[PartitionMap, Tag("<map>")] | Annotated[SegmentsMap, Tag("<segments>")],
    discriminate_by_kind("{by: day, column: day} or {segments: [de, nl], column: region}", _kind_of_partition),
]


def _kind_of_schedule(value: object) -> str | None:
    kind = kind_of(value)
    if isinstance(value, dict):
        if value.keys() & {"any", "all", "uri", "without"}:
            return "<condition>"
        return "<registered>" if "timetable" in value else "<timetable>"
    return kind


_FormatName = Annotated[IdentifierText, Field(json_schema_extra={"examples": ["delta", *FORMATS]})]


class AssetFile(_Map):
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
                'manual, a preset such as "@daily", a cron, or a condition over assets', _kind_of_schedule
            ),
        ]
    ] = Field(default=None, description="When it is considered; by default whenever an inlet is updated.")
    partition: Maybe[
        Annotated[
            Annotated[PartitionText, Tag("<text>")]
            | Annotated[PartitionMap, Tag("<map>")]
            | Annotated[SegmentsMap, Tag("<segments>")]
            | Annotated[list[_Dimension], Field(json_schema_extra={"minItems": 1}), Tag("<list>")],
            discriminate_by_kind(
                "none, a map such as {by: day, column: day} or {segments: [de, nl], column: region}, or a list of maps",
                _kind_of_partition,
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
                _kind_of_strategy,
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
    validations: Annotated[_Rules, require_list("a list of maps such as {not_null: [id]}")] = Field(
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
    notify: Maybe[_Notify] = Field(
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

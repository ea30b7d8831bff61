"""The models of `project.yml`: its keys, those of its profiles, and how a message is sent."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, Tag

from sparkassets.core.spec.project_spec import CiFindingKind
from sparkassets.core.spec.value_kinds import (
    Count,
    DurationText,
    FunctionText,
    IdentifierText,
    Maybe,
    Natural,
    Plain,
    SizeValue,
    StrictMap,
    Text,
    ValueDescription,
    ZoneText,
    discriminate_by_kind,
    off_or_kind,
    require_list,
    require_map,
)

TagList = Annotated[
    list[Annotated[str, Field(pattern=r"^[\w.-]+$"), ValueDescription("a word of letters, digits, '_', '-' and '.'")]],
    Field(json_schema_extra={"uniqueItems": True}),
    require_list("a list of words such as [finance, daily]"),
]


class FolderDefaultsMap(StrictMap):
    """Defaults for the assets whose files are in one folder."""

    owner: Maybe[Text] = Field(default=None, description="Owner of its assets; replaces that of an outer folder.")
    tags: TagList = Field(default=[], description="Tags of its assets, added to those of outer folders.")


class DefaultsMap(StrictMap):
    """Defaults for all assets."""

    owner: Text = Field(default="", description="Person or team responsible for assets without an `owner`.")
    spark_conf: dict[Text, Plain] = Field(
        default={},
        description="Spark settings of every run; replaced by entries of an asset's `spark_conf`.",
    )
    tags: TagList = Field(default=[], description="Tags that every asset has.")
    folders: Annotated[
        dict[Text, FolderDefaultsMap], require_map("a map such as {assets/sales: {owner: sales, tags: [daily]}}")
    ] = Field(default={}, description="Owner and tags by folder of asset files, relative to this file.")
    retries: Natural = Field(default=1, description="Retries of a failed attempt before the run fails.")
    retry_delay: DurationText = Field(
        default="30s", description="Pause before the first retry; doubled before each further one."
    )
    timeout: DurationText = Field(default="2h", description="A run that takes longer is cancelled and fails.")
    lease: DurationText = Field(
        default="10m", description="How long an unresponsive driver on another host keeps its claim on an asset."
    )
    unchanged: Literal["skip", "publish"] = Field(
        default="publish",
        description=(
            "Whether recomputing a partition to the same rows counts as an update for consumers. skip "
            "applies to assets that replace or upsert rows; appended or published rows always count."
        ),
    )


class BudgetMap(StrictMap):
    """What one run may cost; without either it may cost anything."""

    bytes: Maybe[SizeValue] = Field(
        default=None, description="Most bytes that a run may read from its inlets, such as 10GB."
    )
    seconds: Maybe[Count] = Field(
        default=None, description="Longest time that a run may take, estimated from earlier runs."
    )


class OpenLineageMap(StrictMap):
    """How runs are told to OpenLineage, where that is set up."""

    namespace: Text = Field(description="Namespace of the project's jobs; `OPENLINEAGE_NAMESPACE` takes precedence.")


NotifyOn = Literal["failure", "withheld", "waiting", "late", "recovery"]


class NotifyMap(StrictMap):
    """Who is told what."""

    select: Maybe[Text] = Field(
        default=None,
        description="Only for these assets, as `--select` has them, such as tag:finance; in the project's `notify`.",
    )
    on: Annotated[
        Annotated[NotifyOn, Tag("<text>")]
        | Annotated[list[NotifyOn], Field(min_length=1, json_schema_extra={"uniqueItems": True}), Tag("<list>")],
        discriminate_by_kind("failure, withheld, waiting, late, recovery, or a list of these"),
    ] = Field(
        default=["failure", "withheld", "waiting", "late", "recovery"],
        description=(
            "Events to notify of. failure: a run failed. withheld: rows failed their validations. "
            "waiting: a person has to act. late: not there when expected. recovery: one of these is resolved."
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
            "Names of environment variables or secrets that hold Apprise URLs, such as ALERTS_URL; if "
            "NAME is not set, the file named by NAME_FILE is read. Never a URL itself."
        ),
    )
    python: Maybe[FunctionText] = Field(
        default=None, description="Function that receives the message, as package.module:function."
    )
    digest: Maybe[Text] = Field(
        default=None,
        description=(
            "One message at this time of day in the project's zone, such as 08:00, or at the ticks of a cron, with "
            "everything since the one before. Default: a message at the end of each invocation."
        ),
    )
    title: Maybe[Text] = Field(default=None, description="Title of the message, a Jinja template.")
    template: Maybe[Text] = Field(default=None, description="Text of the message, a Jinja template.")


class SinkMap(StrictMap):
    """A sink that an installed package registered; the keys that are not here are its parameters."""

    model_config = ConfigDict(extra="allow")

    sink: Text = Field(description="Name in the entry point group `sparkassets.sinks`.")


_Sinks = Annotated[list[SinkMap], require_list("a list of maps such as {sink: <name>}")]


NotifyValue = Annotated[
    Annotated[NotifyMap, Tag("<map>")] | Annotated[list[NotifyMap], Tag("<list>")],
    discriminate_by_kind("{to: ALERTS_URL}, or a list of such maps"),
]


class StateMap(StrictMap):
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

    catalog: Maybe[Text] = Field(default=None, description="Catalog of the schema for the state's tables.")
    schema_: Maybe[Text] = Field(
        default=None, alias="schema", description="Schema for the state's tables; created if missing."
    )
    path: Maybe[Text] = Field(
        default=None, description="A folder or object-store URI instead of a catalog; default: ./state."
    )
    commit: Literal["auto", "spark"] = Field(
        default="auto",
        description=(
            "Who commits to a `path`: auto is the driver; spark is a Spark session, for stores that only "
            "Spark can reach."
        ),
    )
    retention: Maybe[DurationText] = Field(
        default=None,
        description=(
            "How long the history is kept, such as 90d; at least 1d. The current state is never "
            "dropped. Default: for ever."
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


class SecretMap(StrictMap):
    """Where a secret is on Databricks."""

    scope: _InScope = Field(description="Databricks secret scope.")
    key: _InScope = Field(description="Key in the scope.")


_Secrets = Annotated[
    dict[IdentifierText, SecretMap], require_map("a map such as {ALERTS_URL: {scope: ops, key: alerts_url}}")
]


class StoreMap(StrictMap):
    """How a bucket of S3 is reached."""

    endpoint: Maybe[Text] = Field(
        default=None, description="URL of the S3 API, such as http://minio:9000, if it is not Amazon's."
    )
    region: Maybe[Text] = Field(default=None, description="AWS region for signing requests.")
    access_key: Maybe[Text] = Field(
        default=None,
        description=(
            "Name of the secret or environment variable that holds the access key, never the key "
            "itself. Default: the environment's credentials."
        ),
    )
    secret_key: Maybe[Text] = Field(
        default=None, description="Name of the secret or environment variable that holds the secret key."
    )
    session_token: Maybe[Text] = Field(
        default=None,
        description="Name of the secret or environment variable that holds the token of temporary credentials.",
    )
    anonymous: bool = Field(default=False, description="Send unsigned requests, for public buckets.")
    timeout: Maybe[DurationText] = Field(default=None, description="Timeout of a request.")
    retries: Maybe[Natural] = Field(default=None, description="Retries of a failed request.")


_Storage = Annotated[dict[str, StoreMap], require_map("a map such as {s3://lake: {endpoint: …, region: …}}")]


class ProfileMap(StrictMap):
    """What differs where the project runs under one name, such as dev or prod."""

    state: Maybe[StateValue] = Field(default=None, description="Replaces the project's; every profile needs its own.")
    warehouse: Maybe[Text] = Field(default=None, description="Replaces the project's; every profile needs its own.")
    logs: Maybe[Text] = Field(default=None, description="Replaces the project's.")
    engine: Maybe[Literal["spark", "sail"]] = Field(default=None, description="Replaces the project's.")
    spark: dict[str, Plain] = Field(
        default={}, description="Added to the project's; replaces entries with the same name."
    )
    max_parallel_runs: Maybe[Count] = Field(default=None, description="Replaces the project's.")
    variables: dict[IdentifierText, Plain] = Field(
        default={}, description="Values of `${NAME}` in every file; they override the environment."
    )
    sinks: Maybe[_Sinks] = Field(default=None, description="Replaces the project's.")
    secrets: _Secrets = Field(default={}, description="Added to the project's; replaces entries with the same name.")
    storage: _Storage = Field(default={}, description="Added to the project's; replaces entries for the same bucket.")


class CiMap(StrictMap):
    """What `sparkassets ci` does where no option says otherwise."""

    fail_on: Annotated[list[CiFindingKind], require_list("a list such as [tests, runs]")] = Field(
        default=["tests", "runs", "schema"], description="Findings that fail it; [] for none."
    )
    sample: Count = Field(default=3, description="How many of the newest partitions of each changed asset it computes.")


_Package = Annotated[
    str,
    Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$"),
    ValueDescription("the name of a package"),
]


class ProjectFile(StrictMap):
    """project.yml."""

    project: IdentifierText = Field(description="Name of the project; its state belongs to it.")
    state: StateValue = Field(
        default="./state",
        description="Where the journal is kept: a folder, an object-store URI, or a catalog schema.",
    )
    warehouse: Text = Field(
        default="./warehouse",
        description="Folder or URI under which assets without `path` or `table` are written, as <warehouse>/<asset>.",
    )
    logs: Maybe[Text] = Field(
        default=None,
        description="Folder for the output and logs of runs; default: <state>/logs, or the user's cache folder.",
    )
    timezone: ZoneText = Field(default="UTC", description="Default time zone of assets.")
    assets: Annotated[
        list[Annotated[str, ValueDescription("a folder of asset files")]], require_list("a list of folders")
    ] = Field(default=["assets/"], description="Folders of asset files, relative to this file.")
    python: Annotated[list[_Package], require_list("a list of packages")] = Field(
        default=[], description="Packages that functions may be imported from; nothing else is ever imported."
    )
    engine: Maybe[Literal["spark", "sail"]] = Field(
        default=None,
        description=(
            "What computes in a session that sparkassets creates: spark, or sail, which needs no Java and is for "
            "development, CI and small data; `--engine` or SPARKASSETS_ENGINE takes precedence. Default: spark; "
            "`sparkassets test` takes sail where it is installed."
        ),
    )
    spark: dict[str, Plain] = Field(default={}, description="Spark settings of a session that sparkassets creates.")
    secrets: _Secrets = Field(
        default={},
        description=(
            "Secrets that `notify` and `${NAME}` in `spark` may use. The value comes from the "
            "environment variable NAME, the file named by NAME_FILE, or this Databricks secret; it is "
            "fetched when needed and never stored."
        ),
    )
    storage: _Storage = Field(
        default={},
        description=(
            "Connection settings by bucket, `s3://<bucket>`; `s3://` stands for every bucket not "
            "listed. A key that is a name applies to paths that use it: `s3://<name>@<bucket>/…`."
        ),
    )
    max_parallel_runs: Count = Field(default=4, description="How many assets may run at the same time.")
    pools: Annotated[dict[IdentifierText, Count], require_map("a map such as {warehouse_api: 2}")] = Field(
        default={}, description="How many runs of the assets with that `pool` may be claimed at once, by all drivers."
    )
    budget: Maybe[Annotated[BudgetMap, require_map("{bytes: 10GB, seconds: 3600}")]] = Field(
        default=None, description="Default budget of a run."
    )
    openlineage: Maybe[
        Annotated[
            Annotated[Literal[False], Tag("<off>")] | Annotated[OpenLineageMap, Tag("<map>")],
            discriminate_by_kind("false or {namespace: <name>}", off_or_kind),
        ]
    ] = Field(default=None, description="false sends nothing to OpenLineage, even if it is configured.")
    notify: Maybe[NotifyValue] = Field(
        default=None, description="Default notifications of failures, withheld partitions, and late assets."
    )
    sinks: _Sinks = Field(default=[], description="Sinks of installed packages that receive every journal commit.")
    ci: Annotated[CiMap, require_map("a map such as {fail_on: [tests, runs], sample: 3}")] = Field(
        default=CiMap(), description="Defaults of the options of `sparkassets ci`."
    )
    defaults: DefaultsMap = Field(default=DefaultsMap(), description="Defaults for all assets.")
    profiles: Maybe[
        Annotated[dict[IdentifierText, ProfileMap], require_map("a map such as {dev: {state: …}, prod: {state: …}}")]
    ] = Field(default=None, description="Settings by environment; `--profile` or SPARKASSETS_PROFILE selects one.")
    profile: Maybe[IdentifierText] = Field(default=None, description="Profile to use if none is selected.")

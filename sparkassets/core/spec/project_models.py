"""The models of `project.yml`: its keys, those of its profiles, and how a message is sent."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, Tag

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


class DefaultsMap(StrictMap):
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


class BudgetMap(StrictMap):
    """What one run may cost; without either it may cost anything."""

    bytes: Maybe[SizeValue] = Field(default=None, description="That it reads of its inlets at most, such as 10GB.")
    seconds: Maybe[Count] = Field(default=None, description="That it takes at most, by earlier runs.")


class OpenLineageMap(StrictMap):
    """How runs are told to OpenLineage, where that is set up."""

    namespace: Text = Field(description="Of the project's jobs; `OPENLINEAGE_NAMESPACE` goes before it.")


NotifyOn = Literal["failure", "withheld", "late", "recovery"]


class NotifyMap(StrictMap):
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


class SinkMap(StrictMap):
    """A sink that an installed package registered; the keys that are not here are its parameters."""

    model_config = ConfigDict(extra="allow")

    sink: Text = Field(description="Its name in the entry point group `sparkassets.sinks`.")


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


class SecretMap(StrictMap):
    """Where a secret is on Databricks."""

    scope: _InScope = Field(description="The scope of secrets that holds it.")
    key: _InScope = Field(description="Its key there.")


_Secrets = Annotated[
    dict[IdentifierText, SecretMap], require_map("a map such as {ALERTS_URL: {scope: ops, key: alerts_url}}")
]


class StoreMap(StrictMap):
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


class ProfileMap(StrictMap):
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


class ProjectFile(StrictMap):
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
    notify: Maybe[NotifyValue] = Field(
        default=None, description="Who is told of failures, and of what is withheld or late, of assets that do not say."
    )
    sinks: _Sinks = Field(default=[], description="Who else is told what is committed to the journal; of packages.")
    defaults: DefaultsMap = Field(default=DefaultsMap(), description="What assets do that do not say otherwise.")
    profiles: Maybe[
        Annotated[dict[IdentifierText, ProfileMap], require_map("a map such as {dev: {state: …}, prod: {state: …}}")]
    ] = Field(default=None, description="What differs by where it runs; `--profile` or SPARKASSETS_PROFILE names one.")
    profile: Maybe[IdentifierText] = Field(default=None, description="The profile that holds where none is named.")

"""The compiled project: frozen values that every later stage reads; nothing here is text that still needs parsing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Final, Literal

from sparkassets.core.conditions import UpdateLeaf
from sparkassets.core.partitions import Dependency, Partitioning
from sparkassets.core.sinks import SinkSpec
from sparkassets.core.spec.model import NOWHERE, AssetSpec, InletSpec
from sparkassets.core.validations import rules_digest
from sparkassets.errors import FileLocation, InputError, SpecProblem
from sparkassets.frozen import frozen

CiFindingKind = Literal["tests", "runs", "schema", "rows"]
"""A test failed; a run failed or withheld rows; a column went or got another type; rows differ from the base's."""
EngineName = Literal["spark", "sail"]
ENGINES: Final[tuple[EngineName, ...]] = ("spark", "sail")


@frozen
class SecretRef:
    """Where a secret is, and never what it is.

    Attributes:
        scope, key: Of Databricks.
        location: Where the project says so.
    """

    scope: str
    key: str
    location: FileLocation = NOWHERE


@frozen
class StoreOptions:
    """How a bucket is reached; names where credentials are stored, and never holds them.

    Attributes:
        bucket: Its name; empty for every bucket of S3 that has no options of its own.
        endpoint: The URL of its API, where that is not Amazon's.
        access_key, secret_key, session_token: Names of secrets or of variables of the environment; without them
            credentials are those of the environment.
        anonymous: Whether requests are not signed.
        timeout_seconds: Time limit of one request.
        retries: How often a request is made again that failed.
        location: Where the project says so.
    """

    bucket: str
    endpoint: str | None = None
    region: str | None = None
    access_key: str | None = None
    secret_key: str | None = None
    session_token: str | None = None
    anonymous: bool = False
    timeout_seconds: int | None = None
    retries: int | None = None
    location: FileLocation = NOWHERE


@frozen
class ProjectSpec:
    """The whole project, checked together.

    Attributes:
        root: Absolute folder of ``project.yml``.
        state, warehouse: Absolute local paths or object-store URIs; ``table://`` and a schema of a catalog for a state.
        state_by_spark: Whether a Spark session keeps the state.
        retention: How long the journal's entries are kept, in seconds; None for ever.
        folders: Absolute, of asset files.
        python: Packages that functions may come from.
        engine: What computes in a session that sparkassets creates; None where nobody asked for one.
        pools: How many runs each pool has places for.
        spark: Session settings, used only when sparkassets creates the session.
        openlineage: The namespace of its jobs there; None for that of the environment, False where no event is sent.
        assets: By name, every inlet before its consumers.
        warnings: What is probably not meant, in order of place.
        variables: Environment variables whose values are in the project; reports and records of failures show
            their names instead.
        named_variables: Variables that its files name, set or not, by which the cache detects a change.
        inputs: Digest of its files, by which the cache knows what was made of the same project.
        profile: The active profile; empty where there is none.
        profiles: All that there are.
        secrets: By the names that `notify` and ``${NAME}`` in ``spark`` have for them.
        given: The variables that the profile sets, with their values.
        logs: Where runs leave their logs, if the project says so; as `state`.
        storage: How buckets are reached, one for each bucket with options in the project.
        sinks: Of installed packages, in the order in which they receive commits.
        ci_fail_on, ci_sample: The findings that fail `sparkassets ci`, and how many partitions of an asset it computes.
    """

    name: str
    root: str
    state: str
    warehouse: str
    assets: Mapping[str, AssetSpec]
    timezone: str = "UTC"
    folders: tuple[str, ...] = ()
    python: tuple[str, ...] = ()
    engine: EngineName | None = None
    spark: Mapping[str, str] = field(default_factory=dict)
    max_parallel_runs: int = 4
    pools: Mapping[str, int] = field(default_factory=dict)
    retention: int | None = None
    openlineage: str | Literal[False] | None = None
    state_by_spark: bool = False
    warnings: tuple[SpecProblem, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    named_variables: frozenset[str] = frozenset()
    inputs: str = ""
    profile: str = ""
    profiles: tuple[str, ...] = ()
    secrets: Mapping[str, SecretRef] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    logs: str | None = None
    storage: tuple[StoreOptions, ...] = ()
    sinks: tuple[SinkSpec, ...] = ()
    ci_fail_on: tuple[CiFindingKind, ...] = ()
    ci_sample: int = 3

    @property
    def is_in_catalogs(self) -> bool:
        """Whether some of its tables are in catalogs, which a Spark session alone looks into."""
        return any(asset.is_named for asset in self.assets.values())

    def judge_of(self, asset: AssetSpec) -> str:
        """Digest of the code and the rules that judge an asset's runs, with the rules of its outlets."""
        return "".join([asset.judge_digest, *(rules_digest(self.assets[name].rules) for name in asset.outlets)])

    def dependency(self, asset: AssetSpec, inlet: InletSpec) -> Dependency:
        """How the partitions of an asset depend on the partitions of one of its inlets."""
        needed = self.assets[inlet.name].partitioning if inlet.view is None else inlet.view
        return Dependency(inlet.mapping, asset.partitioning, needed, inlet.matches)

    def partitioning(self, inlet: InletSpec) -> Partitioning:
        """The partitions that an inlet is mapped by: its own, or what values of its rows make."""
        return self.assets[inlet.name].partitioning if inlet.view is None else inlet.view

    def inlet_with_mapping(self, asset: AssetSpec, name: str) -> AssetSpec:
        """One of an asset's inlets, with the partitions that it is mapped by."""
        inlet = asset.inlets.get(name)
        read = self.assets[name]
        if inlet is None or inlet.view is None:
            return read
        return replace(read, partitioning=inlet.view, in_paths=read.partitioning, views={inlet.uri: inlet.view})

    def listened_uri(self, asset: str, leaf: UpdateLeaf) -> str:
        """The dataset whose events a leaf of that asset's condition means: of an inlet by values its view."""
        uri = leaf.ref if leaf.is_uri else self.assets[leaf.ref].uri
        views = (each for each in self.assets[asset].inlets.values() if each.view is not None)
        return next((each.uri for each in views if self.assets[each.name].uri == uri), uri)

    def asset(self, name: str) -> AssetSpec:
        """The asset of that name.

        Raises:
            InputError: There is none; with did-you-mean.
        """
        found = self.assets.get(name)
        if found is None:
            raise self.unknown_asset_error(name)
        return found

    def unknown_asset_error(self, name: str, *, hint: str | None = None) -> InputError:
        """The error that the project has no asset of that name; the hint is a suggestion by default."""
        from sparkassets.core.suggestions import did_you_mean  # for messages

        return InputError(f"no asset {name!r} in project {self.name!r}", hint=hint or did_you_mean(name, self.assets))

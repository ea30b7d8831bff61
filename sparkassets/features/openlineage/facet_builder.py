"""Builds the facets of events: those of a run, of its job, and of the datasets that it reads and writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Any

from sparkassets.core.derivation.asset_columns import asset_filters, derive_asset
from sparkassets.core.derivation.column_uses import ColumnComparison, ColumnUse, QueryDerivation, RowFilter
from sparkassets.core.instants import format_instant, from_unix
from sparkassets.core.journal.entries import ClaimEntry, PublishedEntry, SuccessEntry
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import UNPARTITIONED
from sparkassets.core.runs import InletPin
from sparkassets.core.spec.code_bodies import SqlBody
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.validations import RuleVerdict, qualified_rule_name
from sparkassets.core.writes import WriteMode
from sparkassets.features.openlineage.facets import (
    Facet,
    Facets,
    assertions_facet,
    columns_facet,
    facet,
    lifecycle_facet,
    metrics_facet,
    owners_facet,
    parent_facet,
    privacy_facet,
    schema_facet,
    statistics_facet,
    symlinks_facet,
    tests_facet,
)
from sparkassets.features.openlineage.names import (
    DatasetName,
    RunName,
    dataset_name,
    job_name,
    name_of_identity,
    run_id,
)
from sparkassets.features.openlineage.subset_conditions import input_condition, output_condition
from sparkassets.frozen import frozen

Columns = Mapping[str, str]
"""The columns of a table in order, each with its type."""
Schemas = Callable[[AssetSpec, int | None], Columns | None]
"""The columns of an asset's table at a version; None where they are not known."""


def _no_code(asset: AssetSpec) -> str:
    del asset
    return ""


def _no_schema(asset: AssetSpec, version: int | None) -> Columns | None:
    del version
    return asset.columns or None


@frozen
class FacetBuilder:
    """Builds the facets of events; facets that do not change are built once.

    Attributes:
        namespace: The namespace of all jobs.
        adapter: The version of sparkassets.
        engine: The version of Spark; empty if it is unknown.
        parent: The run that started this process, and the outermost one; None without an orchestrator.
        schemas: Looks up the columns of an asset's table at a version.
        code: Looks up the source of an asset's function; empty if it is unknown.
    """

    project: ProjectSpec
    namespace: str
    adapter: str = ""
    engine: str = ""
    parent: tuple[RunName, RunName] | None = None
    schemas: Schemas = _no_schema
    code: Callable[[AssetSpec], str] = _no_code
    _known: dict[tuple[str, str], Facets] = field(default_factory=dict)
    _derived: dict[tuple[object, ...], Facets] = field(default_factory=dict)
    _filtered: dict[tuple[object, ...], Mapping[str, RowFilter]] = field(default_factory=dict)
    _names: dict[str, DatasetName] = field(default_factory=dict)

    def run_facets(self, claim: ClaimEntry) -> Facets:
        """The facets of a run that follow from its claim: engine, parent, data interval, and id."""
        facets = {**self._engine_facet()}
        if claim.invocation:
            own = RunName(self.namespace, job_name(self.project.name), run_id(self.project.name, claim.invocation))
            root = self.parent[1] if self.parent is not None else own
            facets["parent"] = _parent(own, root)
        if claim.interval is not None:
            start, end = (format_instant(from_unix(each)) for each in claim.interval)
            facets["nominalTime"] = facet("NominalTimeRunFacet", nominalStartTime=start, nominalEndTime=end)
        facets["externalQuery"] = facet("ExternalQueryRunFacet", externalQueryId=claim.run, source="sparkassets")
        return facets

    def invocation_facets(self, invocation: str) -> Facets:
        """Run facets of a driver's invocation."""
        facets = {**self._engine_facet()}
        if self.parent is not None:
            facets["parent"] = _parent(*self.parent)
        facets["externalQuery"] = facet("ExternalQueryRunFacet", externalQueryId=invocation, source="sparkassets")
        return facets

    def validation_facets(self, entry: SuccessEntry) -> Facets:
        """Run facets with the results of the run's validations."""
        asset = self.project.assets.get(entry.asset)
        if asset is None:
            rules, partitioning = {}, UNPARTITIONED
        else:
            written = [self.project.assets[name] for name in asset.written_assets]
            ruled = [(each.name if each.written_by else "", each.rules) for each in written]
            ruled += [(inlet.name, inlet.rules) for inlet in asset.inlets.values()]
            rules = {qualified_rule_name(name, rule.name): rule for name, some in ruled for rule in some}
            partitioning = asset.partitioning
        found = tests_facet(rules, entry.verdicts, partitioning)
        return {"test": found} if found is not None else {}

    def error_facet(self, message: str) -> Facet:
        """The facet of an error message."""
        return facet("ErrorMessageRunFacet", message=message, programmingLanguage="PYTHON")

    def project_facets(self) -> Facets:
        """Job facets of the project as a whole."""
        return {"jobType": _job_type("PROJECT")}

    def job_facets(self, asset: AssetSpec | None) -> Facets:
        """Job facets of an asset; only the job type where the asset no longer exists."""
        if asset is None:
            return {"jobType": _job_type("ASSET")}
        return self._build_once("job", asset, self._job_facets)

    def _job_facets(self, asset: AssetSpec) -> Facets:
        """The facets of an asset that follow from its declaration: its type, documentation, owner and code."""
        facets: Facets = {"jobType": _job_type("ASSET")}
        if asset.description:
            facets["documentation"] = facet("DocumentationJobFacet", description=asset.description)
        if asset.owner:
            facets["ownership"] = owners_facet("OwnershipJobFacet", asset.owner)
        if isinstance(asset.body, SqlBody):
            facets["sql"] = facet("SQLJobFacet", query=asset.body.template, dialect="spark")
        elif source := self.code(asset):
            facets["sourceCode"] = facet("SourceCodeJobFacet", language="python", sourceCode=source)
        return facets

    def _engine_facet(self) -> Facets:
        if not self.engine:
            return {}
        more = {"openlineageAdapterVersion": self.adapter} if self.adapter else {}
        return {"processing_engine": facet("ProcessingEngineRunFacet", name="Spark", version=self.engine, **more)}

    def dataset_name_of(self, asset: AssetSpec) -> DatasetName:
        """The name of an asset's dataset."""
        if asset.name not in self._names:
            self._names[asset.name] = dataset_name(asset, namespace=self.namespace)
        return self._names[asset.name]

    def input_datasets(
        self,
        asset: AssetSpec,
        pins: Mapping[str, InletPin],
        *,
        highs: Mapping[str, str] = MappingProxyType({}),
        checked: bool = False,
        verdicts: Sequence[RuleVerdict] = (),
    ) -> list[Mapping[str, Any]]:
        """The datasets that a run of the asset reads; without inlets that are only waited for.

        Args:
            asset: The asset of the run.
            pins: The pin of each inlet.
            highs: By inlet, the watermark up to which the run has read; empty before it has.
            checked: Whether the run has finished, so that its inlets met their rules; the columns that it read are then
                included.
            verdicts: The verdicts of the inlets' rules.
        """
        found, filters = [], self._filters(asset, self._list_columns(pins, at_pins=checked))
        for name, pin in pins.items():
            inlet, source = asset.inlets.get(name), self.project.assets.get(name)
            if inlet is None or source is None or inlet.waits_only:
                continue
            mapped, high = self.project.inlet_with_mapping(asset, name), highs.get(name)
            condition = input_condition(inlet, mapped, pin, high=high, used=filters.get(name))
            facets = {**self._dataset_facets(source), **_version(pin.version)}
            facets |= self._schema(source, pin.version) if checked else {}
            more = _subset("InputSubsetInputDatasetFacet", "inputCondition", condition)
            about = [each for each in verdicts if each.inlet == name]
            if checked and (held := assertions_facet(inlet.rules, about)) is not None:
                more["dataQualityAssertions"] = held
            found.append(self._dataset(source, facets, inputFacets=more))
        return found

    def output_datasets(self, asset: AssetSpec) -> list[Mapping[str, Any]]:
        """The datasets that a run of the asset is to write."""
        written = (self.project.assets[name] for name in asset.written_assets)
        return [self._dataset(each, self._dataset_facets(each), outputFacets={}) for each in written]

    def written_dataset(
        self, entry: PublishedEntry, *, made_by: SuccessEntry, before: AssetState | None
    ) -> Mapping[str, Any] | None:
        """The dataset of one table that a run has written; None if its asset no longer exists.

        Args:
            entry: The journal's entry for the table.
            made_by: The journal's entry for the run; the same one for a run of one table.
            before: The state of the table's asset before the commit; None if it had none.
        """
        asset = self.project.assets.get(entry.asset)
        if asset is None:
            return None
        facets = {**self._dataset_facets(asset), **_version(entry.version), **self._schema(asset, entry.version)}
        facets |= self._column_lineage(asset, made_by.pins)
        if change := _lifecycle(entry, made_by, before, asset.write):
            facets["lifecycleStateChange"] = lifecycle_facet(change)
        if isinstance(entry, SuccessEntry) and (metrics := metrics_facet(asset.rules, entry.verdicts)) is not None:
            facets["dataQualityMetrics"] = metrics
        added, partitions = self._added_rows_filter(asset, made_by.pins), entry.published_partitions - entry.unchanged
        condition = output_condition(asset, partitions, iteration=made_by.iteration, added=added)
        more = _subset("OutputSubsetOutputDatasetFacet", "outputCondition", condition)
        if (statistics := statistics_facet(entry.extra)) is not None:
            more["outputStatistics"] = statistics
        return self._dataset(asset, facets, outputFacets=more)

    def _dataset(self, asset: AssetSpec, facets: Facets, **more: Facets) -> Mapping[str, Any]:
        name = self.dataset_name_of(asset)
        return {"namespace": name.namespace, "name": name.name, "facets": facets, **more}

    def _dataset_facets(self, asset: AssetSpec) -> Facets:
        """Dataset facets that do not depend on a version."""
        return self._build_once("dataset", asset, self._build_dataset_facets)

    def _build_dataset_facets(self, asset: AssetSpec) -> Facets:
        """The facets that follow from the declaration alone: type, storage, description, owner, other name."""
        facets: Facets = {}
        is_table = asset.source is None or asset.source.kind in ("delta", "tables")
        if is_table or (asset.source is not None and asset.source.files is not None):
            kind = "MODEL" if asset.type == "model" else "TABLE" if is_table else "FILE"
            facets["datasetType"] = facet("DatasetTypeDatasetFacet", datasetType=kind)
        if is_table:
            facets["storage"] = facet("StorageDatasetFacet", storageLayer="delta", fileFormat="parquet")
        if asset.description:
            facets["documentation"] = facet("DocumentationDatasetFacet", description=asset.description)
        if asset.owner:
            facets["ownership"] = owners_facet("OwnershipDatasetFacet", asset.owner)
        return facets | self._find_other_name(asset)

    def _find_other_name(self, asset: AssetSpec) -> Facets:
        """The facet of an asset that events identify by another URI than its place; else empty."""
        if asset.storage is None or asset.uri == asset.storage.given or "://" not in asset.uri:
            return {}
        other = name_of_identity(asset.uri, namespace=self.namespace)
        return {} if other == self.dataset_name_of(asset) else {"symlinks": symlinks_facet([other], "URI")}

    def _schema(self, asset: AssetSpec, version: int | None) -> Facets:
        columns = self.schemas(asset, version)
        descriptions = {name.lower(): each.description for name, each in asset.listed_columns.items()}
        tags = {"tags": privacy_facet(sorted(asset.private))} if asset.private else {}
        return {"schema": schema_facet(columns, descriptions), **tags} if columns else tags

    def _column_lineage(self, asset: AssetSpec, pins: Mapping[str, InletPin]) -> Facets:
        """The column lineage facet of an asset in SQL; empty if it is uncertain. Cached by the inlets' columns."""
        if not isinstance(asset.body, SqlBody):
            return {}
        read = self._list_columns(pins)
        key = (asset.name, *read.items())
        if key not in self._derived:
            found = derive_asset(asset, read.get)
            lineage = (
                columns_facet(found, lambda name: self.dataset_name_of(self.project.assets[name]))
                if found is not None
                else None
            )
            self._derived[key] = {"columnLineage": lineage} if lineage is not None else {}
        return self._derived[key]

    def _list_columns(self, pins: Mapping[str, InletPin], *, at_pins: bool = True) -> dict[str, tuple[str, ...] | None]:
        """All columns of each inlet: those at the pinned version, or else the declared ones; None if unknown."""
        read: dict[str, tuple[str, ...] | None] = {}
        for name, pin in pins.items():
            source = self.project.assets.get(name)
            schema = self.schemas if at_pins else _no_schema
            columns = schema(source, pin.version) if source is not None else None
            read[name] = None if source is None or columns is None else _with_partition_columns(columns, source)
        return read

    def _filters(self, asset: AssetSpec, read: Mapping[str, tuple[str, ...] | None]) -> Mapping[str, RowFilter]:
        """By inlet, the filter that its rows must pass to be used by the query; cached."""
        key = (asset.name, *read.items())
        if key not in self._filtered:
            self._filtered[key] = asset_filters(asset, read.get)
        return self._filtered[key]

    def _added_rows_filter(self, asset: AssetSpec, pins: Mapping[str, InletPin]) -> RowFilter | None:
        """A filter that all rows added by a run pass; None if there is none, or if the run replaces rows.

        It is the query's filter on its inlets, as far as that is on columns that the query copies unchanged.
        """
        if asset.write is None or not asset.write.only_adds:
            return None
        read = self._list_columns(pins)
        filters = self._filters(asset, read)
        found = derive_asset(asset, read.get) if filters else None
        if found is None:
            return None
        terms: list[ColumnComparison | RowFilter] = []
        for inlet, each in filters.items():
            names = {use.column.casefold(): name for name, use in _identity_columns(found, inlet)}
            own = each.rename_columns(names)
            terms += own.terms if own is not None else ()
        return RowFilter("AND", tuple(terms)) if terms else None

    def _build_once(self, what: str, asset: AssetSpec, make: Callable[[AssetSpec], Facets]) -> Facets:
        """The facets of this kind for the asset, built by ``make`` the first time."""
        key = what, asset.name
        if key not in self._known:
            self._known[key] = make(asset)
        return self._known[key]


def _identity_columns(found: QueryDerivation, inlet: str) -> Iterator[tuple[str, ColumnUse]]:
    """The columns that are copied unchanged from the inlet, each with its use."""
    for name, uses in found.columns.items():
        if uses is not None and len(uses) == 1:
            (use,) = uses
            if use.asset == inlet and use.how == "IDENTITY" and not use.masked:
                yield name, use


def _version(version: int | None) -> Facets:
    """The facet of a Delta table's version; empty without one."""
    return {} if version is None else {"version": facet("DatasetVersionDatasetFacet", datasetVersion=str(version))}


def _with_partition_columns(columns: Columns, source: AssetSpec) -> tuple[str, ...]:
    """The columns and those of the asset's partition, which a source's paths may supply."""
    lower = {name.casefold() for name in columns}
    return (*columns, *(each for each in source.partitioning.columns if each.casefold() not in lower))


def _parent(parent: RunName, root: RunName) -> Facet:
    return parent_facet(run=parent.run, job=(parent.namespace, parent.job), root=(root.run, (root.namespace, root.job)))


def _job_type(kind: str) -> Facet:
    return facet("JobTypeJobFacet", processingType="BATCH", integration="SPARKASSETS", jobType=kind)


def _subset(kind: str, key: str, condition: Mapping[str, Any] | None) -> Facets:
    if condition is None:
        return {}
    return {"subset": facet("BaseSubsetDatasetFacet", kind, **{key: condition})}


def _lifecycle(entry: PublishedEntry, made_by: SuccessEntry, before: AssetState | None, write: WriteMode | None) -> str:
    """The lifecycle change of the table, such as ``CREATE``; empty where only some of its rows changed.

    Empty as well for an iteration that readers do not see: for them the table has not changed.
    """
    if entry.table_id is None or made_by.is_hidden_iteration:
        return ""
    if before is None or before.table_id != entry.table_id:
        return "CREATE"
    whole = write is not None and write.takes_all and entry.partitions.is_everything
    return "OVERWRITE" if whole and not entry.unchanged else ""

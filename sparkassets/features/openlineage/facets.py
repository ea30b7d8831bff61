"""Facets of datasets and runs, those of data quality among them.

Facets of validations hold counts only, neither sample rows nor values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from sparkassets.core.derivation.column_uses import ColumnUses, QueryDerivation
from sparkassets.core.partitions import Partitioning
from sparkassets.core.validations import NotNullCheck, RuleVerdict, ValidationRule
from sparkassets.features.openlineage.names import DatasetName

Facet = Mapping[str, Any]
Facets = dict[str, Facet]

PRODUCER: Final = "https://pypi.org/project/sparkassets/"
"""Who makes the events."""
SPECIFICATION: Final = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"

_SCHEMAS: Final = {
    "BaseSubsetDatasetFacet": "1-0-0",
    "ColumnLineageDatasetFacet": "1-2-0",
    "DataQualityAssertionsDatasetFacet": "1-1-0",
    "DataQualityMetricsDatasetFacet": "1-0-1",
    "DatasetTypeDatasetFacet": "1-0-1",
    "DatasetVersionDatasetFacet": "1-0-1",
    "DocumentationDatasetFacet": "1-1-0",
    "DocumentationJobFacet": "1-1-0",
    "ErrorMessageRunFacet": "1-0-1",
    "ExternalQueryRunFacet": "1-0-2",
    "JobTypeJobFacet": "2-0-4",
    "LifecycleStateChangeDatasetFacet": "1-0-1",
    "NominalTimeRunFacet": "1-0-1",
    "OutputStatisticsOutputDatasetFacet": "1-0-2",
    "OwnershipDatasetFacet": "1-0-1",
    "OwnershipJobFacet": "1-0-1",
    "ParentRunFacet": "1-2-0",
    "ProcessingEngineRunFacet": "1-1-1",
    "SQLJobFacet": "1-1-0",
    "SchemaDatasetFacet": "1-2-0",
    "SourceCodeJobFacet": "1-0-1",
    "StorageDatasetFacet": "1-0-1",
    "SymlinksDatasetFacet": "1-0-1",
    "TagsDatasetFacet": "1-0-0",
    "TestRunFacet": "1-0-1",
}
"""The version of each schema that is kept to."""


def facet(schema: str, /, kind: str = "", **values: object) -> Facet:
    """A facet with its producer and the URL of its schema; ``kind`` is its name in the schema."""
    url = f"https://openlineage.io/spec/facets/{_SCHEMAS[schema]}/{schema}.json#/$defs/{kind or schema}"
    return {"_producer": PRODUCER, "_schemaURL": url, **values}


def schema_facet(columns: Mapping[str, str], descriptions: Mapping[str, str]) -> Facet:
    """The columns of a dataset, in order, each with its type and, by its name in lower case, its description."""
    fields = [
        {"name": name, "type": kind, "description": descriptions.get(name.lower())} for name, kind in columns.items()
    ]
    return facet("SchemaDatasetFacet", fields=[{key: each for key, each in one.items() if each} for one in fields])


def privacy_facet(columns: Iterable[str]) -> Facet:
    """A tag for each column with personal data."""
    tag = {"key": "pii", "value": "true", "source": "sparkassets"}
    return facet("TagsDatasetFacet", tags=[{**tag, "field": each} for each in columns])


def owners_facet(schema: str, owner: str) -> Facet:
    """Who owns it."""
    return facet(schema, owners=[{"name": owner}])


def parent_facet(*, run: str, job: tuple[str, str], root: tuple[str, tuple[str, str]] | None = None) -> Facet:
    """The run that started this one, and the outermost run; a job is a pair of namespace and name."""
    outermost, of_job = root or (run, job)
    return facet(
        "ParentRunFacet",
        run={"runId": run},
        job={"namespace": job[0], "name": job[1]},
        root={"run": {"runId": outermost}, "job": {"namespace": of_job[0], "name": of_job[1]}},
    )


def statistics_facet(extra: Mapping[str, Any]) -> Facet | None:
    """Rows, bytes and files written, as counted by the run's commit; None without any count."""
    names = {"rows": "rowCount", "bytes": "size", "files": "fileCount"}
    found = {counted: extra[name] for name, counted in names.items() if _is_count(extra.get(name))}
    return facet("OutputStatisticsOutputDatasetFacet", **found) if found else None


def lifecycle_facet(change: str) -> Facet:
    """The lifecycle change of the dataset, such as ``CREATE``."""
    return facet("LifecycleStateChangeDatasetFacet", lifecycleStateChange=change)


def symlinks_facet(names: Sequence[DatasetName], kind: str) -> Facet:
    """Other names of the dataset."""
    return facet(
        "SymlinksDatasetFacet",
        identifiers=[{"namespace": each.namespace, "name": each.name, "type": kind} for each in names],
    )


def columns_facet(found: QueryDerivation, name: Callable[[str], DatasetName]) -> Facet | None:
    """The input columns of each column, as far as they are certain; None without any.

    Args:
        found: The derivation of the query.
        name: Names the dataset of an asset.
    """
    fields = {column: {"inputFields": _inputs(uses, name)} for column, uses in found.columns.items() if uses}
    if not fields:
        return None
    columns = facet("ColumnLineageDatasetFacet", fields=fields)
    return {**columns, "dataset": _inputs(found.rows, name)} if found.rows else columns


def _inputs(uses: ColumnUses, name: Callable[[str], DatasetName]) -> list[Mapping[str, Any]]:
    """The columns that are used, each with all its transformations."""
    together: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for use in sorted(uses, key=lambda each: (each.asset, each.column, each.how, each.masked)):
        how = {"type": "DIRECT" if use.gives_values else "INDIRECT", "subtype": use.how, "masking": use.masked}
        together.setdefault((use.asset, use.column), []).append({**how, "description": ""})
    return [
        {"namespace": name(asset).namespace, "name": name(asset).name, "field": column, "transformations": found}
        for (asset, column), found in together.items()
    ]


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


_PUBLISHED: Final = frozenset({"passed", "warned", "accepted"})
"""Outcomes after which the rows are there as they were looked at."""


def tests_facet(
    rules: Mapping[str, ValidationRule], verdicts: Sequence[RuleVerdict], partitioning: Partitioning
) -> Facet | None:
    """The result of each rule on the partitions of a run, with one for each that is withheld; None without any.

    Args:
        rules: Of the asset and its outlets, by their names among those of the run.
        verdicts: Of the run.
        partitioning: Names the partitions.
    """
    if not verdicts:
        return None
    tests = [
        _test(one, rules.get(each.name), ",".join(partitioning.labels(one.partitions)) if each.details else "")
        for each in verdicts
        for one in each.by_partition
    ]
    return facet("TestRunFacet", tests=tests)


def _test(verdict: RuleVerdict, rule: ValidationRule | None, partition: str) -> Mapping[str, Any]:
    """One verdict as a test, which passes only if no row fails: rows that ``allow`` lets through fail it."""
    fine = verdict.outcome == "passed" and not verdict.failing
    return {
        "name": verdict.name,
        "status": "pass" if fine else "fail",
        "severity": "error" if verdict.severity == "fail" else "warn",
        **({"type": rule.check.kind} if rule is not None else {}),
        "actual": f"{verdict.failing} of {verdict.checked} rows",
        "params": {"outcome": verdict.outcome, **({"partition": partition} if partition else {})},
    }


def metrics_facet(rules: Sequence[ValidationRule], verdicts: Sequence[RuleVerdict]) -> Facet | None:
    """NULL counts by column, from rules that counted them in all published rows.

    A rule qualifies if it is about one column and all rows (no ``where``), and none of its partitions was withheld.
    """
    columns, rows = dict[str, Mapping[str, int]](), 0
    for rule in rules:
        match rule.check:
            case NotNullCheck(columns=(column,)) if not rule.where:
                own = [each for each in verdicts if each.rule == rule.name and not each.inlet]
                if own and all(each.outcome in _PUBLISHED for each in own):
                    rows = sum(each.checked for each in own)
                    columns[column] = {"nullCount": sum(each.failing for each in own)}
    return facet("DataQualityMetricsDatasetFacet", rowCount=rows, columnMetrics=columns) if columns else None


def assertions_facet(rules: Sequence[ValidationRule], verdicts: Sequence[RuleVerdict] = ()) -> Facet | None:
    """Which rules of an inlet held in a finished run and which did not; None without any result.

    Args:
        rules: The inlet's rules.
        verdicts: Their results. A rule of severity ``fail`` without ``allow`` that has none held, as the run would have
            failed otherwise.
    """
    bad = {each.rule: each.outcome != "passed" or each.failing > 0 for each in verdicts}
    reported = [rule for rule in rules if rule.name in bad or (rule.severity == "fail" and rule.allow is None)]
    if not reported:
        return None
    assertions = [_assertion(each, held=not bad.get(each.name, False)) for each in reported]
    return facet("DataQualityAssertionsDatasetFacet", assertions=assertions)


def _assertion(rule: ValidationRule, *, held: bool) -> Mapping[str, Any]:
    """A rule as an assertion, about a column if the rule is about a single one."""
    columns = getattr(rule.check, "columns", None) or [getattr(rule.check, "column", None)]
    one = columns[0] if len(columns) == 1 and isinstance(columns[0], str) else None
    about = {"column": one} if one else {}
    severity = "error" if rule.severity == "fail" else "warn"
    return {"assertion": rule.check.kind, "success": held, **about, "severity": severity, "name": rule.name}

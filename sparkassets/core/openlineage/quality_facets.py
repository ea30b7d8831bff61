"""Results of validations as facets: tests of a run, metrics of its output, assertions on its inputs.

Facets hold counts only, neither sample rows nor values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sparkassets.core.openlineage.facets import Facet, facet
from sparkassets.core.partitions import Partitioning
from sparkassets.core.validations import NotNullCheck, RuleVerdict, ValidationRule

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
        _test(one, rules.get(each.name), ",".join(partitioning.labels(one.blocks)) if each.details else "")
        for each in verdicts
        for one in each.by_partition
    ]
    return facet("TestRunFacet", tests=tests)


def _test(verdict: RuleVerdict, rule: ValidationRule | None, partition: str) -> Mapping[str, Any]:
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
    """NULL counts by column, from rules that counted them in all published rows."""
    columns, rows = dict[str, Mapping[str, int]](), 0
    for rule in rules:
        own = [each for each in verdicts if each.rule == rule.name and not each.inlet]
        if not own or rule.where or not isinstance(rule.check, NotNullCheck) or len(rule.check.columns) != 1:
            continue
        if all(each.outcome in _PUBLISHED for each in own):
            rows = sum(each.checked for each in own)
            columns[rule.check.columns[0]] = {"nullCount": sum(each.failing for each in own)}
    return facet("DataQualityMetricsDatasetFacet", rowCount=rows, columnMetrics=columns) if columns else None


def assertions_facet(rules: Sequence[ValidationRule], verdicts: Sequence[RuleVerdict] = ()) -> Facet | None:
    """Which rules of an inlet held in a finished run and which did not; None without any result.

    Args:
        rules: The inlet's rules.
        verdicts: Their results. A rule of severity ``fail`` without ``allow`` that has none held, as the run would have
            failed otherwise.
    """
    bad = {each.rule: each.outcome != "passed" or each.failing > 0 for each in verdicts}
    told = [rule for rule in rules if rule.name in bad or (rule.severity == "fail" and rule.allow is None)]
    if not told:
        return None
    assertions = [_assertion(each, held=not bad.get(each.name, False)) for each in told]
    return facet("DataQualityAssertionsDatasetFacet", assertions=assertions)


def _assertion(rule: ValidationRule, *, held: bool) -> Mapping[str, Any]:
    columns = getattr(rule.check, "columns", None) or [getattr(rule.check, "column", None)]
    one = columns[0] if len(columns) == 1 and isinstance(columns[0], str) else None
    about = {"column": one} if one else {}
    severity = "error" if rule.severity == "fail" else "warn"
    return {"assertion": rule.check.kind, "success": held, **about, "severity": severity, "name": rule.name}

"""What validations found is told by counts: as tests of the run, as figures of what it published, never with values."""

import json
from dataclasses import replace

from openlineage.client.generated.base import DatasetFacet, InputDatasetFacet, RunFacet

from sparkassets.core.journal.entries import SuccessEntry
from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.spec.model import InletSpec
from sparkassets.core.validations import (
    FailureAllowance,
    NotNullCheck,
    RangeCheck,
    RuleTally,
    RuleVerdict,
    ValidationRule,
)
from sparkassets.features.openlineage import facets
from sparkassets.features.openlineage.facet_builder import FacetBuilder
from tests.builders import asset, days, project, source
from tests.features.openlineage.checking import facet_of

NULLS = ValidationRule("not_null(a)", NotNullCheck(("a",)), severity="warn")
RANGE = ValidationRule("range(b)", RangeCheck("b", min=0))
DAYS = asset("a").partitioning


def verdict(rule, outcome, *, checked=900, failing=0):
    return RuleVerdict(
        rule.name, rule.severity, outcome, days("2025-01-05"), checked, failing, samples=({"a": "s3cret"},)
    )


def test_each_rule_is_a_test_of_the_run():
    rules = {rule.name: rule for rule in (NULLS, RANGE)}
    found = facets.tests_facet(rules, [verdict(NULLS, "warned", failing=12), verdict(RANGE, "passed")], DAYS)
    facet_of(RunFacet, found, "test")
    assert [
        (each["name"], each["status"], each["severity"], each["type"], each["actual"]) for each in found["tests"]
    ] == [
        ("not_null(a)", "fail", "warn", "not_null", "12 of 900 rows"),
        ("range(b)", "pass", "error", "range", "0 of 900 rows"),
    ]
    assert "s3cret" not in json.dumps(found)
    assert facets.tests_facet(rules, [], DAYS) is None


def test_what_is_null_is_counted_where_the_rows_were_published():
    found = facets.metrics_facet(
        [NULLS, RANGE], [verdict(NULLS, "warned", failing=12), verdict(NULLS, "passed", checked=100)]
    )
    facet_of(DatasetFacet, found, "metrics")
    assert (found["rowCount"], found["columnMetrics"]) == (1000, {"a": {"nullCount": 12}})
    assert facets.metrics_facet([NULLS], [verdict(NULLS, "withheld", failing=12)]) is None
    assert facets.metrics_facet([replace(NULLS, where="b > 1")], [verdict(NULLS, "passed")]) is None


def test_what_must_hold_of_an_inlet_held_once_the_run_is_in():
    allowed = ValidationRule("range(c)", RangeCheck("c", min=0), allow=FailureAllowance(rows=3))
    found = facets.assertions_facet([RANGE, NULLS, allowed])
    facet_of(InputDatasetFacet, found, "assertions")
    assert [(each["assertion"], each["column"], each["success"]) for each in found["assertions"]] == [
        ("range", "b", True)
    ]
    assert facets.assertions_facet([NULLS]) is None


def test_what_an_inlet_was_warned_of_did_not_hold():
    told = [replace(verdict(NULLS, "warned", failing=12), inlet="raw"), replace(verdict(RANGE, "passed"), inlet="raw")]
    found = facets.assertions_facet([RANGE, NULLS], told)
    facet_of(InputDatasetFacet, found, "assertions")
    assert [(each["assertion"], each["success"], each["severity"]) for each in found["assertions"]] == [
        ("range", True, "error"),
        ("not_null", False, "warn"),
    ]
    assert facets.metrics_facet([NULLS], told) is None
    assert [each["name"] for each in facets.tests_facet({}, told, DAYS)["tests"]] == [
        "raw: not_null(a)",
        "raw: range(b)",
    ]


def test_what_is_withheld_is_not_among_what_was_written():
    item = asset("a", InletSpec("s", "x-s", None, rules=(RANGE,)), rules=(NULLS,))
    builder = FacetBuilder(project(source("s"), item), "prod")
    both = SuccessEntry("a", "a", "r", 1, 1, days("2025-01-04..2025-01-05"), withheld=days("2025-01-05"))
    written = builder.written_dataset(both, made_by=both, before=None)
    parts = written["outputFacets"]["subset"]["outputCondition"]["partitions"]
    assert [each["identifier"] for each in parts] == ["2025-01-04"]
    whole = asset("a", by=None)
    none = SuccessEntry("a", "a", "r", 1, 1, EVERYTHING, withheld=EVERYTHING)
    written = FacetBuilder(project(whole), "prod").written_dataset(none, made_by=none, before=None)
    assert written["outputFacets"]["subset"]["outputCondition"] == {"type": "partition", "partitions": []}


def test_each_day_that_is_withheld_is_a_test_with_figures_of_its_own():
    first, second = days("2025-01-01"), days("2025-01-02")
    by_day = (RuleTally("not_null(a)", first, 9, 2), RuleTally("not_null(a)", second, 5, 1))
    told = replace(verdict(NULLS, "withheld", failing=3), partitions=first | second, checked=14, details=by_day)
    found = facets.tests_facet({}, [told], DAYS)["tests"]
    assert [(each["params"], each["actual"]) for each in found] == [
        ({"outcome": "withheld", "partition": "2025-01-01"}, "2 of 9 rows"),
        ({"outcome": "withheld", "partition": "2025-01-02"}, "1 of 5 rows"),
    ]

"""Which failures of an invocation the same invocation made good."""

from dataclasses import replace

import pytest

from sparkassets.core.partitions import EVERYTHING, NOTHING
from sparkassets.core.results import RunResult, Summary
from sparkassets.core.runs import RunRequest
from sparkassets.runtime.progress import RunFailedError
from sparkassets.runtime.run_results import settle_results
from tests.builders import days

ONE, TWO, BOTH = days("2025-01-01"), days("2025-01-02"), days("2025-01-01", "2025-01-02")


def results(*told):
    """Runs of (asset, status, partitions), in the order in which they ended."""
    return [
        RunResult(RunRequest(name, "scheduled", partitions), f"{name}-{n}", status, 1.0)
        for n, (name, status, partitions) in told
    ]


def statuses(*told):
    return [result.status for result in settle_results(results(*enumerate(told)))]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ([("a", "failed", BOTH), ("a", "success", BOTH)], ["replanned", "success"]),
        ([("a", "failed", BOTH), ("a", "success", ONE), ("a", "success", TWO)], ["replanned", "success", "success"]),
        ([("a", "failed", BOTH), ("a", "failed", ONE), ("a", "success", BOTH)], ["replanned"] * 2 + ["success"]),
        ([("a", "failed", BOTH), ("a", "success", ONE)], ["failed", "success"]),
        ([("a", "success", ONE), ("a", "failed", ONE)], ["success", "failed"]),
        ([("a", "failed", ONE), ("b", "success", ONE)], ["failed", "success"]),
        ([("a", "failed", EVERYTHING), ("a", "success", EVERYTHING)], ["replanned", "success"]),
        ([("a", "failed", EVERYTHING), ("a", "superseded", EVERYTHING)], ["failed", "superseded"]),
        ([("a", "failed", ONE), ("a", "success", ONE), ("a", "failed", ONE)], ["replanned", "success", "failed"]),
        ([("a", "cancelled", ONE), ("a", "success", ONE)], ["cancelled", "success"]),
        ([("a", "failed", NOTHING)], ["failed"]),
        ([("a", "failed", BOTH), ("a", "failed", ONE), ("a", "success", TWO)], ["replanned", "failed", "success"]),
        ([("a", "failed", BOTH), ("a", "failed", BOTH)], ["failed", "failed"]),
        ([("a", "failed", ONE), ("a", "failed", BOTH)], ["failed", "failed"]),
        ([("a", "failed", EVERYTHING), ("a", "failed", EVERYTHING)], ["failed", "failed"]),
        ([("a", "failed", BOTH), ("b", "failed", ONE), ("a", "success", TWO)], ["failed", "failed", "success"]),
    ],
)
def test_a_failure_is_made_good_by_later_runs_that_computed_all_of_it(told, expected):
    assert statuses(*told) == expected


def test_a_run_that_only_records_an_older_one_makes_nothing_good():
    failed, adopting = results((0, ("a", "failed", ONE)), (1, ("a", "success", ONE)))
    assert settle_results([failed, replace(adopting, adopted="a-0")])[0].status == "failed"


def test_only_what_stays_failed_is_an_error():
    kept = settle_results(
        results(*enumerate([("a", "failed", ONE), ("b", "failed", ONE), ("a", "success", ONE)])),
    )
    summary = Summary(kept, ())
    assert not summary.ok
    assert str(RunFailedError(summary)) == "b failed: "

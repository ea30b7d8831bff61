"""Tests of when assets run: what passes, and what is told of what does not."""

import pytest

from sparkassets.core.cases.reading import read_cases
from sparkassets.core.spec.yaml_document import SourceFile
from sparkassets.testing.case_runner import run_cases
from tests.builders import asset, project, source, timed

PROJECT = project(
    source("orders"),
    source("prices", by=None),
    asset("daily", "orders"),
    asset("best", "daily", "prices", by=None),
    asset("dump", by=None, schedule=timed("0 6 * * *")),
)


def case_result(*steps):
    text = "test: t\nsteps:\n" + "".join(f"  - {{{step}}}\n" for step in steps)
    cases = read_cases([SourceFile("a.yml", "tests/a.yml", text)], project=PROJECT, environment={})
    (result,) = run_cases(PROJECT, cases)
    return result.outcome, result.message


DAY = "at: 2025-03-02T07:00, events: [{asset: orders, partition: 2025-03-01}, {asset: prices}]"


def test_what_comes_as_expected():
    assert case_result(
        f"{DAY}, runs: {{daily: 2025-03-01, best: true, dump: 1}}",
        "at: 2025-03-02T08:00, runs: {}",
        "at: 2025-03-03T06:00, runs: {dump: true}",
    ) == ("passed", "")


def test_what_fails_holds_back_what_comes_after_it():
    assert case_result(
        f"{DAY}, fails: [daily], runs: {{daily: 2025-03-01, dump: true}}, waits: {{best: daily}}",
        "at: 2025-03-02T08:00, runs: {daily: 2025-03-01, best: true}",
    ) == ("passed", "")


@pytest.mark.parametrize(
    ("step", "lines"),
    [
        (
            f"{DAY}, runs: {{daily: 2025-03-01..2025-03-02, best: 2, prices: true}}",
            [
                "daily does not run for 2025-03-02",
                "best has 1 run; expected 2",
                "prices does not run; expected a run",
                "dump runs unexpectedly: a run",
            ],
        ),
        (
            f"{DAY}, waits: {{best: rain}}",
            ["best does not wait for 'rain', but: up to date since best-4"],
        ),
        (f"{DAY}, waits: {{prices: nothing}}", ["prices does not wait; expected it to wait for 'nothing'"]),
    ],
)
def test_what_does_not(step, lines):
    outcome, message = case_result(step)
    assert outcome == "failed"
    head, *rest = message.splitlines()
    assert head == "at 2025-03-02T07:00Z (a.yml:3:5):"
    assert [line.strip() for line in rest] == lines


def test_an_event_that_is_wrong():
    outcome, message = case_result("at: 2025-03-02, events: [{asset: orders, partition: 2025-13-01}]")
    assert outcome == "error"
    assert "a.yml:3:5:1: partition key '2025-13-01' is not a valid date" in message

"""Files of tests: what they say, and every mistake at its place."""

from dataclasses import replace

import pytest

from sparkassets.core.cases import RowCase, TimeCase
from sparkassets.core.cases.reading import read_cases
from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.spec.model import SourceSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.spec.yaml_document import SourceFile
from sparkassets.errors import SpecError
from tests.builders import asset, project, source

PROJECT = project(
    source("orders", columns={"day": "date", "amount": "double"}),
    asset("daily", "orders"),
    asset("whole", "daily", by=None),
)


def read(text):
    file = SourceFile("conf/tests/a.yml", "tests/a.yml", text)
    return read_cases([file], project=PROJECT, environment={})


def refused(text):
    with pytest.raises(SpecError) as raised:
        read(text)
    return [(each.location.line, each.location.column, each.message, each.hint) for each in raised.value.problems]


def test_a_test_of_rows():
    (case,) = read(
        "test: sums\nasset: daily\npartition: 2025-01-02\n"
        "given: {orders: [{day: 2025-01-02, amount: 3}]}\nexpect: [{day: 2025-01-02, total: 3}]\n"
    )
    assert isinstance(case, RowCase)
    assert PROJECT.assets["daily"].partitioning.labels(case.partitions) == ["2025-01-02"]
    assert case.at.isoformat() == "2025-01-03T00:00:00+00:00"
    assert case.given["orders"].rows == ({"day": "2025-01-02", "amount": 3},)
    assert case.given["orders"].columns == {"day": "date", "amount": "double"}
    assert case.expected.tables == {"daily": ({"day": "2025-01-02", "total": 3},)}


@pytest.mark.parametrize(
    ("by", "pattern", "kind"), [("day", "{day}.csv", "DATE"), ("hour", "{day:%H}.csv", "TIMESTAMP")]
)
def test_what_the_path_of_a_source_tells_is_a_column_of_given_rows(by, pattern, kind):
    place = StorageLocation(f"/lake/{pattern}", pattern)
    orders = replace(source("orders", by=by, columns={"amount": "double"}), storage=place, source=SourceSpec("csv"))
    landed = project(orders, asset("daily", "orders", by=by))
    key = "2025-01-02" if by == "day" else "2025-01-02T06"
    text = f"test: a\nasset: daily\npartition: {key}\ngiven: {{orders: [{{day: {key}, amount: 3}}]}}\nexpect: []\n"
    (case,) = read_cases([SourceFile("a.yml", "tests/a.yml", text)], project=landed, environment={})
    assert case.given["orders"].columns == {"amount": "double", "day": kind}


def test_of_what_has_no_partitions():
    (case,) = read("test: all\nasset: whole\ngiven: {daily: {file: days.csv}}\nexpect: {error: boom}\n")
    assert isinstance(case, RowCase)
    assert (case.partitions, case.expected.error) == (EVERYTHING, "boom")
    assert case.given["daily"].file.endswith("tests/days.csv")


def test_a_test_of_when_assets_run():
    (case,) = read(
        "test: waits\nsteps:\n  - at: 2025-01-03T06:00\n    events: [{asset: orders, partition: 2025-01-01}]\n"
        "    runs: {daily: 2025-01-01, whole: true}\n    waits: {whole: later}\n"
        "  - {at: 2025-01-04, runs: {whole: 2}}\n"
    )
    assert isinstance(case, TimeCase)
    first, second = case.steps
    assert first.events == ({"asset": "orders", "partition": "2025-01-01"},)
    assert first.runs is not None
    assert PROJECT.assets["daily"].partitioning.labels(first.runs["daily"]) == ["2025-01-01"]
    assert first.runs["whole"] is None
    assert second.runs == {"whole": 2}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "test: a\n",
            [(1, 1, "missing key 'asset' in test 'a'", "a test has 'asset', 'given' and 'expect', or 'steps'")],
        ),
        ("test: a\nasset: dayly\nexpect: []\n", [(2, 8, "unknown asset 'dayly'", "did you mean 'daily'?")]),
        ("test: a\nasset: orders\nexpect: []\n", [(2, 8, "'orders' is a source, which no run computes", None)]),
        (
            "test: a\nasset: daily\ngiven: {orders: []}\nexpect: []\n",
            [(1, 1, "the test lacks 'partition': asset 'daily' has partitions", "write partition: A..B")],
        ),
        (
            "test: a\nasset: daily\npartition: 2025-01-02\nexpect: []\n",
            [(1, 1, "'given' lacks the rows of 'orders', which 'daily' reads", "write orders: [] for none")],
        ),
        (
            "test: a\nasset: daily\npartition: 2025-01-02\ngiven: {orders: [{dya: 1}], order: []}\nexpect: []\n",
            [
                (4, 19, "'orders' does not declare a column 'dya'", "did you mean 'day'?"),
                (4, 29, "'daily' does not read 'order'", "did you mean 'orders'?"),
            ],
        ),
        (
            "test: a\nasset: daily\npartition: 2025-01-02\ngiven: {orders: {row: []}}\nexpect: {error: x}\n",
            [
                (4, 18, "unknown key 'row' in 'orders'", "did you mean 'rows'?"),
            ],
        ),
        (
            "test: a\nsteps: [{at: 2025-01-02, runs: {daily: false}}, {at: 2025-01-01}]\nasset: daily\n",
            [
                (2, 8, "the times of the steps must increase", None),
                (2, 40, "'daily' in 'runs' is false; expected partitions, true, or how many runs there are", None),
                (3, 1, "'asset' is not allowed beside 'steps'", None),
            ],
        ),
        (
            "test: a\nsteps: [{at: 2025-01-02}]\n---\ntest: a\nsteps: [{at: 2025-01-02}]\n",
            [(4, 7, "the test 'a' is defined twice; first at conf/tests/a.yml:1:7", None)],
        ),
        ("- a\n", [(1, 1, "expected a map of keys that begins with 'test: <name>'", None)]),
        (
            "test: a\nsteps: [{at: soon, runs: {daily: 2025}, events: [{partition: x}]}]\n",
            [],
        ),
    ],
)
def test_what_is_wrong_is_told_at_its_place(text, told):
    found = refused(text)
    if told:
        assert found == told
    else:
        assert len(found) == 2

"""What `diff --branch` prints of a comparison."""

from __future__ import annotations

import json

import pytest

from sparkassets.cli.app import run_command
from sparkassets.core.documents.table_difference import (
    AssetDifference,
    ColumnDifference,
    RowComparison,
    RowCounts,
    RowDifference,
)
from tests.builders import asset, days, project, source

SPEC = project(source("s"), asset("a", "s"), asset("n", "s"), asset("t", "a", by=None))
CHANGED = RowDifference("changed", {"shop": "nl", "revenue": "200"}, {"shop": "nl", "revenue": "205"})
ADDED = RowDifference("added", None, {"shop": "fr", "revenue": None})
ROWS = RowComparison(
    ("shop",),
    has_duplicate_keys=False,
    partitions=(
        (days("2025-01-01"), RowCounts(changed=1, same=11)),
        (days("2025-01-02"), RowCounts(added=1, same=2)),
        (days("2025-01-03"), RowCounts(same=3)),
    ),
    samples=(CHANGED, ADDED),
)
FOUND = [
    AssetDifference(
        "a",
        ColumnDifference({"kind": "string"}, {"old": "int"}, {"n": ("int", "bigint")}),
        days("2025-01-05"),
        rows=ROWS,
    ),
    AssetDifference("n", only_branch=days("2025-01-01")),
]


class Compared:
    spec = SPEC

    @property
    def branches(self) -> Compared:
        return self

    def diff(self, name: str, *, select: object, samples: int) -> list[AssetDifference]:
        assert (name, select, samples) == ("dev", None, 5)
        return FOUND


@pytest.fixture
def compared(monkeypatch):
    monkeypatch.setattr("sparkassets.cli.commands.diff.open_project", lambda _: Compared())


@pytest.mark.usefixtures("compared")
def test_partitions_columns_and_rows_are_told(capsys):
    assert run_command(["diff", "--branch", "dev"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "asset partitions added removed changed same",
        "a 2025-01-01 0 0 1 11",
        "a 2025-01-02 1 0 0 2",
        "a all 1 0 1 16",
        "a: + column kind string",
        "a: - column old int",
        "a: ~ column n int -> bigint",
        "a: 2025-01-05 is in the base only",
        "a: ~ shop=nl, revenue=200 -> 205",
        "a: + shop=fr, revenue=NULL",
        "n: 2025-01-01 is in the branch only",
    ]


@pytest.mark.parametrize(
    ("counts", "told"),
    [(RowCounts(added=1, removed=1), True), (RowCounts(added=2), False), (RowCounts(removed=2, same=1), False)],
)
def test_rows_without_keys_are_told_where_one_may_have_changed(counts, told, capsys, monkeypatch):
    rows = RowComparison((), has_duplicate_keys=False, partitions=((days("2025-01-01"), counts),), samples=())
    found = [AssetDifference("a", ColumnDifference({}, {}, {}), rows=rows)]
    monkeypatch.setattr(Compared, "diff", lambda *_, **__: found)
    monkeypatch.setattr("sparkassets.cli.commands.diff.open_project", lambda _: Compared())
    assert run_command(["diff", "--branch", "dev"]) == 0
    text = "a: no keys are declared, so a changed row counts as removed and added; a `unique` rule declares keys\n"
    assert (text in capsys.readouterr().out) is told


@pytest.mark.usefixtures("compared")
def test_as_data(capsys):
    assert run_command(["diff", "--branch", "dev", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert first["rows"]["by"] == ["shop"]
    assert {key: first["rows"][key] for key in ("added", "removed", "changed", "same")} == {
        "added": 1,
        "removed": 0,
        "changed": 1,
        "same": 16,
    }
    assert first["rows"]["samples"][1] == {"change": "added", "before": None, "after": {"shop": "fr", "revenue": None}}
    assert (second["rows"], second["only_in_base"]) == (None, None)

"""Partitions as asset-centric proposals write them: without columns, of functions that write no table by them."""

import json
from pathlib import Path

import pytest

from sparkassets import Project

CODE = """
import json
from pathlib import Path

from sparkassets import PartitionByInterval, PartitionByProduct, PartitionBySequence, asset

SEEN = Path(__file__).parent.parent / "seen.jsonl"


def note(asset, context):
    partitions = context["partitions"]
    assert partitions is context.partitions and partitions["current"] == tuple(partitions)
    keys = [[partition.key for partition in partitions] for partitions in (partitions["current"], partitions["past"])]
    with SEEN.open("a") as file:
        file.write(json.dumps([asset, partitions["definition"], *keys]) + "\\n")


@asset(write="self", uri="x-shop://hourly", partition=PartitionByInterval("@hourly"), start="2025-03-01",
       schedule="@hourly", strategy="date_range")
def hourly_data(context):
    note("hourly_data", context)


@asset(write="self", uri="x-shop://regions", partition=PartitionBySequence(["us", "eu"]), schedule="@daily")
def regions(context):
    note("regions", context)


@asset(write="self", uri="x-shop://both", schedule="@daily", start="2025-03-01",
       partition=PartitionByProduct([PartitionByInterval("@daily"), PartitionBySequence(["us", "eu"])]))
def both(context):
    note("both", context)
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "conf/assets").mkdir(parents=True)
    (tmp_path / "jobs").mkdir()
    (tmp_path / "conf/project.yml").write_text("project: shop\npython: [jobs]\n")
    (tmp_path / "jobs/made.py").write_text(CODE)
    return tmp_path


def seen(folder: Path, at: str) -> dict[str, list]:
    (folder / "seen.jsonl").write_text("")
    Project.load(folder / "conf").run(at=at)
    rows = [json.loads(line) for line in (folder / "seen.jsonl").read_text().splitlines()]
    assert len({row[0] for row in rows}) == len(rows)
    return {row[0]: row[1:] for row in rows}


def test_partitions_without_columns_are_current_and_past(folder):
    hours = [f"2025-03-01T{hour:02}" for hour in range(24)]
    first = seen(folder, "2025-03-02T00:00Z")
    assert first == {
        "hourly_data": ["by hour in UTC", hours, []],
        "regions": ["by segment", ["eu", "us"], []],
        "both": ["by day in UTC, by segment", ["2025-03-01,eu", "2025-03-01,us"], []],
    }
    second = seen(folder, "2025-03-02T01:00Z")
    assert second == {"hourly_data": ["by hour in UTC", ["2025-03-02T00"], hours]}
    third = seen(folder, "2025-03-03T00:00Z")
    assert third["regions"] == ["by segment", ["eu", "us"], ["eu", "us"]]
    assert third["both"][1:] == [["2025-03-02,eu", "2025-03-02,us"], ["2025-03-01,eu", "2025-03-01,us"]]

"""Files of which only their rows tell that no segment but those of the run is in them."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets.core.partitions import SegmentPartition
from sparkassets.delta import partition_files as module
from sparkassets.delta.file_split import split_files
from sparkassets.delta.partition_files import examine_mixed_files
from tests.builders import partitioned

REGIONS = SegmentPartition("region", ("de", "it", "nl"))
BY_REGION = replace(partitioned("day"), segments=(REGIONS,))


@pytest.fixture
def table(tmp_path):
    """Days of which the first has listed regions alone, the second one that is not listed, the third rows of none."""
    lines = [(1, "de"), (1, "it"), (1, "nl"), (2, "de"), (2, "fr"), (2, "nl"), (3, "de"), (3, None), (3, "nl")]
    rows = {"day": [date(2025, 1, day) for day, _ in lines], "region": pa.array([region for _, region in lines])}
    write_deltalake(tmp_path, pa.table(rows), partition_by=["day"])
    return DeltaTable(tmp_path)


def inside(table, keys, partitioning=BY_REGION):
    """The days of the files inside, and of the mixed ones."""
    parts = partitioning.parse(keys)
    path = table.table_uri.removeprefix("file://").rstrip("/")
    lying = split_files(table, parts, partitioning=partitioning)
    found = examine_mixed_files(path, table, lying, parts, partitioning=partitioning)
    return tuple(sorted(str(file.partition["day"]) for file in files) for files in (found.inside, found.mixed))


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("2025-01-01,*", (["2025-01-01"], [])),
        ("2025-01-01..2025-01-03,*", (["2025-01-01"], ["2025-01-02", "2025-01-03"])),
        ("2025-01-01,de", ([], ["2025-01-01"])),
        ("2025-01-04,*", ([], [])),
    ],
)
def test_a_file_is_inside_where_all_of_its_rows_are(table, keys, expected):
    assert inside(table, keys) == expected


def test_a_middle_segment_that_is_left_out_is_found_by_reading(table):
    parts = BY_REGION.parse("2025-01-01,de") | BY_REGION.parse("2025-01-01,nl")
    lying = split_files(table, parts, partitioning=BY_REGION)
    path = table.table_uri.removeprefix("file://").rstrip("/")
    assert len(examine_mixed_files(path, table, lying, parts, partitioning=BY_REGION).mixed) == 1


def test_files_of_very_many_rows_are_not_read(table, monkeypatch):
    monkeypatch.setattr(module, "_MOST_ROWS", 2)
    assert inside(table, "2025-01-01,*") == ([], ["2025-01-01"])


def test_only_files_that_may_be_inside_are_read(table, monkeypatch):
    read = []
    real = module.DataFiles.read_rows
    monkeypatch.setattr(
        module.DataFiles, "read_rows", lambda self, files, *, kept: read.extend(files) or real(self, files, kept=kept)
    )
    inside(table, "2025-01-01..2025-01-02,de")
    assert not read
    inside(table, "2025-01-01..2025-01-02,*")
    assert sorted(path[:14] for path in read) == ["day=2025-01-01", "day=2025-01-02"]

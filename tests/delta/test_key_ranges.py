"""Files that may hold keys of a range, by the log's statistics."""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets.delta.file_split import TableFiles
from sparkassets.delta.key_ranges import find_files_in_ranges


@pytest.fixture
def files(tmp_path):
    """Three files: keys 0 to 9, 10 to 19, 20 to 29, of a day each."""
    for number in range(3):
        keys = list(range(10 * number, 10 * number + 10))
        rows = {
            "id": pa.array(keys, pa.int32()),
            "text": [f"k{key:02}" for key in keys],
            "share": [key / 2 for key in keys],
            "day": [date(2024, 1, 1 + number)] * 10,
        }
        write_deltalake(tmp_path, pa.table(rows), mode="append", partition_by=["day"])
    return TableFiles.load_files(DeltaTable(tmp_path))


@pytest.mark.parametrize(
    ("ranges", "days"),
    [
        ({}, {1, 2, 3}),
        ({"id": ("9", "10")}, {1, 2}),
        ({"ID": ("12", "13")}, {2}),
        ({"id": ("30", "40")}, set()),
        ({"text": ("k19", "k20")}, {2, 3}),
        ({"day": ("2024-01-02", "2024-01-02")}, {2}),
        ({"id": ("0", "29"), "day": ("2024-01-03", "2024-01-09")}, {3}),
        ({"share": ("0", "0")}, {1, 2, 3}),
        ({"missing": ("0", "0")}, {1, 2, 3}),
    ],
)
def test_statistics_tell_which_files_a_range_meets(files, ranges, days):
    found = find_files_in_ranges(files, ranges)
    assert {file.partition["day"].day for file in found} == days

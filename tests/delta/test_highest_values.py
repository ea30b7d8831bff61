"""The greatest value of a column, by the log's statistics."""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets.delta.file_split import TableFiles, find_highest

FIRST, LAST = date(2024, 1, 1), date(2024, 1, 2)


@pytest.fixture
def add(tmp_path):
    """Adds a file with these keys, and returns the table's files."""

    def add_file(*keys: int | None, day: date = FIRST) -> TableFiles:
        texts, shares = [f"k{key}" for key in keys], [0.5 for _ in keys]
        rows = {"id": pa.array(keys, pa.int32()), "text": texts, "share": shares, "day": [day for _ in keys]}
        write_deltalake(tmp_path, pa.table(rows), mode="append", partition_by=["day"])
        return TableFiles.load_files(DeltaTable(tmp_path))

    return add_file


@pytest.mark.parametrize(
    ("column", "highest"),
    [("id", "19"), ("ID", "19"), ("day", "2024-01-02"), ("text", None), ("share", None), ("no", None)],
)
def test_the_log_tells_the_greatest_value_where_it_is_exact(add, column, highest):
    add(1, 19)
    assert find_highest(add(7, day=LAST), column) == highest


def test_a_file_without_values_leaves_the_greatest_one_open(add):
    assert find_highest(add(3), "id") == "3"
    assert find_highest(add(None), "id") is None

"""Bounds of a footer are those that pyarrow tells, and take no pandas."""

import subprocess
import sys
from datetime import UTC, date, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkassets.delta.bounds import read_bounds

INSTANTS = datetime(1965, 1, 1, 3, 4, 5, 678_000, UTC), datetime(2025, 1, 2, 3, 4, 5, 678_000, UTC)
LOCAL = [each.replace(tzinfo=None) for each in INSTANTS]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        *((pa.timestamp(unit, "UTC"), list(INSTANTS)) for unit in ("ms", "us")),
        *((pa.timestamp(unit), LOCAL) for unit in ("ms", "us", "ns")),
        (pa.date32(), [date(2025, 1, 1), date(2025, 1, 2)]),
        (pa.string(), ["a", "b"]),
        (pa.int64(), [1, 2]),
        (pa.float64(), [0.5, 1.5]),
        (pa.bool_(), [False, True]),
    ],
    ids=str,
)
def test_they_are_what_pyarrow_tells(kind, values, tmp_path):
    pq.write_table(pa.table({"x": pa.array(values, kind)}), tmp_path / "x.parquet")
    told = pq.ParquetFile(tmp_path / "x.parquet").metadata.row_group(0).column(0).statistics
    assert read_bounds(told) == (told.min, told.max)


def test_instants_take_no_pandas(tmp_path):
    values = pa.array(list(INSTANTS), pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"x": values}), tmp_path / "x.parquet")
    code = (
        "import sys; from pyarrow.parquet import ParquetFile; from sparkassets.delta.bounds import read_bounds; "
        "told = ParquetFile(sys.argv[1]).metadata.row_group(0).column(0).statistics; print(read_bounds(told)[1].year); "
        "sys.exit('pandas' in sys.modules)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "x.parquet")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "2025\n"

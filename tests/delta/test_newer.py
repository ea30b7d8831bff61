"""Which files can hold newer rows: none that does is left out, and of others as many as bounds tell."""

import tempfile
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkassets.core.instants import Duration
from sparkassets.delta.file_split import NewerRows, TableFiles
from tests.depth import examples

_MIDNIGHT = datetime(2025, 3, 30, tzinfo=UTC)
_INSTANTS = st.integers(-3, 3).flatmap(
    lambda days: st.sampled_from([0, 1, 999, 1000, 999_999]).map(
        lambda micros: _MIDNIGHT + timedelta(days=days, microseconds=micros)
    )
)
KINDS = {
    "long": (pa.int64(), st.sampled_from([-(2**63), -1, 0, 1, 2**53, 2**53 + 1, 2**63 - 1]), str),
    "byte": (pa.int8(), st.integers(-3, 3), str),
    "date": (pa.date32(), st.integers(-3, 3).map(lambda days: date(2025, 3, 30) + timedelta(days)), str),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        _INSTANTS,
        lambda value: value.isoformat(timespec="microseconds").replace("+00:00", "Z"),
    ),
    "timestamp_ntz": (
        pa.timestamp("us"),
        _INSTANTS.map(lambda value: value.replace(tzinfo=None)),
        lambda value: value.isoformat(timespec="microseconds"),
    ),
    "string": (pa.string(), st.sampled_from(["", "a", "ab", "é", "\U0001f600", "z" * 40, "z" * 40 + "a"]), str),
    "decimal": (pa.decimal128(20, 2), st.sampled_from([Decimal("0.01"), Decimal("123456789012345678.91")]), str),
}


def newer_files(path: str, column: str, low: str, overlap: Duration | None = None) -> list[str]:
    return [file.path for file in NewerRows(column, low, overlap).find_files(TableFiles.load_files(DeltaTable(path)))]


def written(files, kind, *, folders=False):
    """A table with a file for each list of values, and their paths."""
    path = tempfile.mkdtemp()
    paths = []
    for values in files:
        rows = pa.table({"At": pa.array(values, kind), "n": [1] * len(values)})
        write_deltalake(path, rows, mode="append", partition_by=["At"] if folders else None)
        now = {add["path"] for add in pa.table(DeltaTable(path).get_add_actions(flatten=True)).to_pylist()}
        (new,) = now - {each for each, _ in paths}
        paths.append((new, values))
    return path, paths


@settings(max_examples=examples(80), deadline=None)
@given(st.data(), st.sampled_from(sorted(KINDS)), st.sampled_from([None, "1h", "1d", "1mo2d"]))
def test_no_file_with_a_newer_row_is_left_out(data, name, span):
    kind, values, text = KINDS[name]
    files = data.draw(st.lists(st.lists(st.none() | values, min_size=1, max_size=3), min_size=1, max_size=4))
    low = data.draw(values)
    path, paths = written(files, kind)
    overlap = Duration.parse(span) if span and name.startswith(("date", "time")) else None
    found = newer_files(path, "at", text(low), overlap)
    bound = low
    if overlap is not None:
        start = low if isinstance(low, datetime) else datetime.combine(low, datetime.min.time())
        bound = start - timedelta(days=31 * overlap.months + overlap.days, seconds=overlap.seconds)
        bound = bound if isinstance(low, datetime) else bound.date()
    for place, held in paths:
        known = [value for value in held if value is not None]
        if any(value > bound or (overlap is not None and value == bound) for value in known):
            assert place in found
        elif known and overlap is None and name in {"long", "byte", "date"}:
            assert place not in found


def test_a_value_of_the_folders_tells_as_well():
    path, paths = written([[1], [2], [3]], pa.int64(), folders=True)
    assert set(newer_files(path, "At", "1")) == {place for place, values in paths if values != [1]}


@pytest.mark.parametrize(
    ("column", "low"), [("At", "no number"), ("n.At", "1"), ("other", "1"), ("At", "1.5")], ids=lambda each: each
)
def test_where_it_cannot_be_told_all_files_may_hold_some(column, low):
    path, paths = written([[1], [2]], pa.int64())
    assert set(newer_files(path, column, low)) == {place for place, _ in paths}

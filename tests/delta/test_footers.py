from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from sparkassets.delta.bounds import find_bounds_format
from sparkassets.delta.file_statistics import FileStatistics, read_footers

GREATEST = "\U0010ffff"
TEXT = st.text(f"a~\x7f\x80é\uffff😀{GREATEST}", max_size=80)

COLUMNS: Mapping[str, tuple[Any, pa.DataType, st.SearchStrategy[Any]]] = {
    "flag": ("boolean", pa.bool_(), st.booleans()),
    "small": ("byte", pa.int8(), st.integers(-128, 127)),
    "whole": ("long", pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "text": ("string", pa.string(), TEXT),
    "raw": ("binary", pa.binary(), st.binary(max_size=5)),
    "day": ("date", pa.date32(), st.dates()),
    "exact": ("decimal(38,10)", pa.decimal128(38, 10), st.decimals(-(10**27), 10**27, places=10)),
    "cents": ("decimal(9,2)", pa.decimal128(9, 2), st.decimals(-(10**6), 10**6, places=2)),
    "at": ("timestamp", pa.timestamp("us", "UTC"), st.datetimes(timezones=st.just(UTC))),
    "local": ("timestamp_ntz", pa.timestamp("us"), st.datetimes()),
    "a.b": ("integer", pa.int32(), st.integers(-5, 5)),
    "Ünï": ("short", pa.int16(), st.integers(-5, 5)),
}
"""By name the type in the log, the type in the file, and values."""


def log_type(stored: pa.DataType) -> Any:
    """The type as the log has it."""
    if pa.types.is_struct(stored):
        return struct(*(field(one.name, log_type(one.type)) for one in stored))
    if pa.types.is_list(stored):
        return {"type": "array", "elementType": log_type(stored.value_type), "containsNull": True}
    if pa.types.is_map(stored):
        return {"type": "map", "keyType": "string", "valueType": "integer", "valueContainsNull": True}
    return next(name for name, type_, _ in COLUMNS.values() if type_ == stored)


def field(name: str, type_: Any, **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": type_, "nullable": True, "metadata": metadata}


def struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def footer(table: pa.Table, **options: Any) -> pq.FileMetaData:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **options)
    return pq.ParquetFile(pa.BufferReader(sink.getvalue())).metadata


def statistics_of(
    table: pa.Table,
    *,
    schema: Mapping[str, Any] | None = None,
    layout: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """The statistics of a file with these rows; numbers as they are written."""
    schema = schema or struct(*(field(one.name, log_type(one.type)) for one in table.schema))
    told_by = FileStatistics(schema, layout=layout, properties=properties or {})
    return json.loads(told_by.build_json(footer(table, **options)), parse_float=Decimal)  # type: ignore[no-any-return]


def ints(**columns: Sequence[int | None]) -> pa.Table:
    return pa.table({name: pa.array(values, pa.int32()) for name, values in columns.items()})


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Rows of some of the columns, some of them in structures, in one row group or in several."""
    names = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, unique=True))
    count = draw(st.integers(0, 4))
    found = {}
    for name in names:
        _, type_, values = COLUMNS[name]
        found[name] = pa.array(draw(st.lists(st.none() | values, min_size=count, max_size=count)), type_)
    inner = draw(st.lists(st.sampled_from(names), unique=True))
    if inner:
        nulls = draw(st.lists(st.booleans(), min_size=count, max_size=count))
        found["in.ner"] = pa.StructArray.from_arrays(
            [found[name] for name in inner], names=inner, mask=pa.array(nulls, pa.bool_())
        )
    return pa.table(found)


def plain(values: Sequence[Any], stored: pa.DataType) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """What Delta has of one column, from its values: least, greatest, nulls; under the key ``it``."""
    if pa.types.is_struct(stored):
        low, high, nulls = {}, {}, {}
        for one in stored:
            inside = [None if each is None else each[one.name] for each in values]
            for side, found in zip((low, high, nulls), plain(inside, one.type), strict=True):
                if "it" in found:
                    side[one.name] = found["it"]
        bounded = any(pa.types.is_struct(one.type) or bounded_type(one.type) for one in stored)
        return ({"it": low}, {"it": high}, {"it": nulls}) if bounded else ({}, {}, {"it": nulls})
    there = [each for each in values if each is not None]
    nulls = {"it": len(values) - len(there)}
    if not there or not bounded_type(stored):
        return {}, {}, nulls
    low, high = min(there), max(there)
    return {"it": written(low, stored, low=True)}, {"it": written(high, stored, low=False)}, nulls


def bounded_type(stored: pa.DataType) -> bool:
    return not (pa.types.is_boolean(stored) or pa.types.is_binary(stored))


def written(value: Any, stored: pa.DataType, *, low: bool) -> Any:
    if isinstance(value, datetime):
        rest = value.replace(microsecond=value.microsecond // 1000 * 1000, tzinfo=None)
        return rest.isoformat(timespec="milliseconds") + ("Z" if stored.tz else "")
    if isinstance(value, date):
        return value.isoformat()
    return value[:32] if isinstance(value, str) and low else value


@given(tables(), st.integers(1, 5))
def test_footers_tell_what_the_rows_do(table, rows_in_a_group):
    low, high, nulls = {}, {}, {}
    for name in table.column_names:
        found = plain(table.column(name).to_pylist(), table.schema.field(name).type)
        for side, one in zip((low, high, nulls), found, strict=True):
            if "it" in one:
                side[name] = one["it"]
    got = statistics_of(table, row_group_size=rows_in_a_group)
    assert got["numRecords"] == table.num_rows
    assert got["nullCount"] == nulls
    assert got.get("minValues", {}) == low
    assert not_less(got.get("maxValues", {}), high)


def not_less(got: Any, wanted: Any) -> bool:
    """Equal, but for text that is longer than what is kept."""
    if isinstance(wanted, dict):
        return wanted.keys() >= got.keys() and all(
            not_less(got[name], each) if name in got else text_beyond(each) for name, each in wanted.items()
        )
    return got >= wanted if text_beyond(wanted) else got == wanted


def text_beyond(value: Any) -> bool:
    return isinstance(value, str) and len(value.encode("utf-16-le")) > 64


AS_DELTA_WRITES = {
    "": "",
    "a" * 32: "a" * 32,
    "a" * 33: "a" * 32 + "\x7f",
    "a" * 32 + "~b": "a" * 32 + "\x7f",
    "a" * 32 + "\x7f" * 5: "a" * 32 + GREATEST,
    "a" * 32 + "\x80": "a" * 32 + GREATEST,
    "a" * 31 + "😀": "a" * 31 + "😀",
    "a" * 31 + "😀" * 10: "a" * 31 + "😀" + GREATEST,
    "😀" * 40: "😀" * 16 + GREATEST,
    "é" * 33: "é" * 32 + GREATEST,
    "a" * 32 + GREATEST + "b": "a" * 32 + GREATEST + "\x7f",
    "a" * 32 + GREATEST * 3: "a" * 32 + GREATEST * 3,
    "a" * 32 + GREATEST * 40: None,
    "a" * 63 + GREATEST: "a" * 32 + "\x7f",
    GREATEST * 17: GREATEST * 17,
    GREATEST * 32: GREATEST * 32,
    GREATEST * 33: None,
}


@pytest.mark.parametrize(("text", "upper"), AS_DELTA_WRITES.items())
def test_the_upper_bound_of_a_long_text_is_the_one_that_delta_makes(text, upper):
    assert statistics_of(pa.table({"t": [text]}))["maxValues"] == ({} if upper is None else {"t": upper})


@given(TEXT, st.integers(0, 40))
def test_bounds_of_text_hold_the_text(text, prefix):
    form = find_bounds_format("string", pa.string(), prefix=prefix)
    raw = text.encode()
    assert json.loads(form.low(raw)).encode() <= raw
    assert (high := form.high(raw)) is None or json.loads(high).encode() >= raw


def test_text_is_kept_as_long_as_the_table_says():
    got = statistics_of(pa.table({"t": ["abcdef"]}), properties={"delta.dataSkippingStringPrefixLength": "3"})
    assert (got["minValues"], got["maxValues"]) == ({"t": "abc"}, {"t": "abc\x7f"})


@given(st.lists(st.floats(width=32), min_size=1))
def test_a_float_is_written_in_as_few_digits_as_mean_the_same(numbers):
    schema = struct(field("f", "float"))
    got = statistics_of(pa.table({"f": pa.array(numbers, pa.float32())}), schema=schema)
    there = [each for each in numbers if not math.isnan(each)]
    found = got["minValues"].get("f")
    if there:
        assert pa.scalar(float(found), pa.float32()).as_py() == min(there)
    else:
        assert found is None
    assert got["maxValues"] == {}  # Arrow takes no notice of NaN, which is the greatest to Delta


def test_an_instant_goes_down_to_the_millisecond_as_its_readers_know():
    at = datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    got = statistics_of(pa.table({"at": pa.array([at, at + timedelta(microseconds=1)], pa.timestamp("us", "UTC"))}))
    assert got["minValues"] == {"at": "1969-12-31T23:59:59.999Z"}
    assert got["maxValues"] == {"at": "1970-01-01T00:00:00.000Z"}


def test_seconds_milliseconds_and_nanoseconds_are_instants_too():
    for unit in ("ms", "us", "ns"):
        got = statistics_of(
            pa.table({"at": pa.array([1_500], pa.timestamp("ms", "UTC")).cast(pa.timestamp(unit, "UTC"))}),
            schema=struct(field("at", "timestamp")),
        )
        assert got["minValues"] == {"at": "1970-01-01T00:00:01.500Z"}


def test_instants_of_another_calendar_have_no_bounds():
    table = pa.table({"day": pa.array([date(1500, 1, 1)], pa.date32())})
    marked = table.replace_schema_metadata({"org.apache.spark.legacyDateTime": ""})
    assert statistics_of(table)["minValues"] == {"day": "1500-01-01"}
    assert statistics_of(marked)["minValues"] == {}


def test_all_digits_of_a_decimal_are_there():
    value = Decimal("12345678901234567890.0123456789")
    table = pa.table({"d": pa.array([value], pa.decimal128(38, 10))})
    assert statistics_of(table)["minValues"] == {"d": value}


def test_a_list_or_map_has_its_nulls_where_it_is_certain_that_it_is_never_empty():
    lists = pa.array([[1], [2, 3]], pa.list_(pa.int32()))
    maps = pa.array([[("k", 1)], [("l", 2)]], pa.map_(pa.string(), pa.int32()))
    assert statistics_of(pa.table({"l": lists, "m": maps})) == {"numRecords": 2, "nullCount": {"l": 0, "m": 0}}
    empty = pa.array([[1], []], pa.list_(pa.int32()))
    assert statistics_of(pa.table({"l": empty, "x": ints(x=[1, 2])["x"]}))["nullCount"] == {"x": 0}


def test_what_comes_after_a_list_or_map_is_not_mistaken_for_it():
    pairs = pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int32()))
    deep = pa.array([[{"a": 5, "b": [6]}]], pa.list_(pa.struct([("a", pa.int32()), ("b", pa.list_(pa.int32()))])))
    table = pa.table({"m": pairs, "d": deep, "x": pa.array([7], pa.int32())})
    assert statistics_of(table)["minValues"] == {"x": 7}


def test_a_column_with_a_dot_is_not_a_field_of_a_structure():
    table = pa.table(
        {"a": pa.array([{"b": 1}], pa.struct([("b", pa.int32())])), "a.b": pa.array([2], pa.int32())},
    )
    assert statistics_of(table)["minValues"] == {"a": {"b": 1}, "a.b": 2}


def test_a_column_that_the_file_was_written_without_is_null_in_all_rows():
    schema = struct(field("x", "integer"), field("new", "string"), field("s", struct(field("y", "date"))))
    got = statistics_of(ints(x=[1, 2]), schema=schema)
    assert got == {
        "numRecords": 2,
        "minValues": {"x": 1},
        "maxValues": {"x": 2},
        "nullCount": {"x": 0, "new": 2, "s": {"y": 2}},
    }


def test_names_are_compared_without_case():
    assert statistics_of(ints(ORIGIN=[1]), schema=struct(field("origin", "integer")))["minValues"] == {"origin": 1}


def test_a_column_of_another_type_in_the_file_has_no_bounds():
    assert statistics_of(ints(x=[1]), schema=struct(field("x", "string"))) == {
        "numRecords": 1,
        "minValues": {},
        "maxValues": {},
        "nullCount": {"x": 0},
    }


def test_text_in_the_order_of_a_language_has_no_bounds():
    collated = field("t", "string", __COLLATIONS={"t": "spark.UTF8_LCASE"})
    assert statistics_of(pa.table({"t": ["b"]}), schema=struct(collated)) == {"numRecords": 1, "nullCount": {"t": 0}}


def test_without_statistics_only_the_rows_are_counted():
    assert statistics_of(ints(x=[1, 2]), write_statistics=False) == {
        "numRecords": 2,
        "minValues": {},
        "maxValues": {},
        "nullCount": {},
    }


def test_files_of_one_schema_after_another():
    told_by = FileStatistics(struct(field("a", "integer"), field("b", "integer")), layout=(), properties={})
    files = [footer(ints(b=[number], a=[-number])) for number in range(2)] + [footer(ints(a=[7])), footer(ints(b=[8]))]
    assert [json.loads(told_by.build_json(each))["minValues"] for each in files] == [
        {"a": 0, "b": 0},
        {"a": -1, "b": 1},
        {"a": 7},
        {"b": 8},
    ]


def test_a_file_without_rows():
    assert statistics_of(ints(x=[])) == {"numRecords": 0, "minValues": {}, "maxValues": {}, "nullCount": {"x": 0}}


def test_footers_are_read_in_the_order_of_their_paths(tmp_path):
    for count in (3, 1, 2):
        folder = tmp_path / f"day=a b%3A{count}"
        folder.mkdir()
        pq.write_table(ints(x=range(count)), folder / "part-0.parquet")
    store = SubTreeFileSystem(str(tmp_path), LocalFileSystem())
    found = read_footers(store, [f"day=a b%3A{count}/part-0.parquet" for count in (2, 3, 1)])
    assert [each.num_rows for each in found] == [2, 3, 1]
    assert read_footers(store, []) == []


def test_a_file_that_is_no_parquet_is_named(tmp_path):
    (tmp_path / "part-0.parquet").write_text("torn")
    store = SubTreeFileSystem(str(tmp_path), LocalFileSystem())
    with pytest.raises(OSError, match=r"cannot read the footer of 'part-0.parquet': Parquet file size is 4 bytes"):
        read_footers(store, ["part-0.parquet"])

"""Statistics from footers are those that Delta wrote into its log for the very same files."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from sparkassets.delta.file_statistics import KEEPS_BOUNDS, FileStatistics, read_footers
from tests.integration.skipping import WIDE

pytestmark = pytest.mark.spark

GREATEST = "\U0010ffff"
TEXT = st.text(f"a~\x7f\x80é\uffff😀{GREATEST}", max_size=80) | st.sampled_from(["", "a" * 33, "é" * 2000, "z" * 6000])
FLOATS = st.floats(width=32) | st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf])
INSTANTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001 - bounds are naive
COLUMNS: Mapping[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "tinyint": st.integers(-128, 127),
    "smallint": st.integers(-(2**15), 2**15 - 1),
    "int": st.integers(-(2**31), 2**31 - 1),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "float": FLOATS,
    "double": FLOATS | st.floats(),
    "decimal(9,2)": st.decimals(-(10**6), 10**6, places=2),
    "decimal(18,6)": st.decimals(-(10**11), 10**11, places=6),
    "decimal(38,10)": st.decimals(-(10**27), 10**27, places=10),
    "string": TEXT,
    "binary": st.binary(max_size=6000),
    "date": st.dates(),
    "timestamp": INSTANTS,
    "timestamp_ntz": st.datetimes(),
    "array<int>": st.lists(st.none() | st.integers(0, 9), max_size=2),
    "map<string,int>": st.dictionaries(st.sampled_from("ab"), st.none() | st.integers(0, 9), max_size=2),
}
NAMES = ("plain", "a.b", "Upper", "quo`te", 'quo"te', "unié", "da-sh", "日本", "b", "c")


@pytest.fixture(scope="module")
def session(spark):
    """Delta's writer keeps in its files what is to be read from them."""
    own = spark.newSession()
    for key, value in {**KEEPS_BOUNDS, "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}.items():
        own.conf.set(key, value)
    return own


def written(table: Path) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Path, Delta's statistics and ours, of each file that was ever added."""
    meta: dict[str, Any] = {}
    store = SubTreeFileSystem(str(table), LocalFileSystem())
    for log in sorted(table.glob("_delta_log/*.json")):
        actions = [json.loads(line) for line in log.read_text().splitlines()]
        meta = next((each["metaData"] for each in actions if "metaData" in each), meta)
        for add in (each["add"] for each in actions if "add" in each):
            (footer,) = read_footers(store, [unquote(add["path"])])
            ours = FileStatistics(
                json.loads(meta["schemaString"]), layout=meta["partitionColumns"], properties=meta["configuration"]
            )
            yield add["path"], add["stats"], ours.build_json(footer)


def differences(theirs: Any, ours: Any, where: tuple[str, ...] = ()) -> list[str]:
    """Where they differ, but for the nulls that no footer tells; columns are named by their type."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        names = sorted(theirs.keys() | ours.keys())
        return [each for name in names for each in differences(theirs.get(name), ours.get(name), (*where, name))]
    if where[-1].startswith(("float", "double")) and where[0] != "nullCount" and same(theirs, ours, name=where[-1]):
        return []
    untold = ours is None and where[0] == "nullCount" and where[-1].startswith(("array", "map"))
    return [] if theirs == ours or untold else [f"{'/'.join(where)}: {theirs!r}, not {ours!r}"]


def same(theirs: Decimal, ours: Decimal, *, name: str) -> bool:
    """Java before 19 does not always write as few digits as would do."""
    form = "f" if name.startswith("float") else "d"
    return struct.pack(form, float(theirs) + 0.0) == struct.pack(form, float(ours) + 0.0)


def check(table: Path) -> int:
    """How many files were compared."""
    count = 0
    for path, theirs, ours in written(table):
        count += 1
        found = differences(json.loads(theirs, parse_float=Decimal), json.loads(ours, parse_float=Decimal))
        assert found == [], path
    return count


@st.composite
def frames(draw: st.DrawFn) -> tuple[str, list[tuple[Any, ...]]]:
    """A schema, some of it in structures, and rows."""
    columns: list[tuple[str, str, st.SearchStrategy[Any]]] = []
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=4, unique=True)):
        type_ = draw(st.sampled_from(sorted(COLUMNS)))
        columns.append((f"{type_.partition('<')[0].partition('(')[0]}_{name}", type_, COLUMNS[type_]))
    for depth in range(draw(st.integers(0, 2))):
        inner = columns[: draw(st.integers(1, len(columns)))]
        type_ = f"struct<{', '.join(f'{quoted(name)}: {each}' for name, each, _ in inner)}>"
        values = st.tuples(*(st.none() | values for _, _, values in inner))
        columns = [*columns[len(inner) :], (f"struct_{depth}", type_, values)]
    rows = st.lists(st.tuples(*(st.none() | values for _, _, values in columns)), min_size=1, max_size=6)
    return ", ".join(f"{quoted(name)} {type_}" for name, type_, _ in columns), draw(rows)


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@given(frames())
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_footers_tell_what_delta_writes(session, tmp_path_factory, made):
    schema, rows = made
    table = tmp_path_factory.mktemp("random") / "table"
    session.createDataFrame(rows, schema).coalesce(1).write.format("delta").save(str(table))
    assert check(table) == 1


@pytest.fixture(scope="module")
def four_files_a_part(session, tmp_path_factory):
    """A table by Delta, its files of many row groups each, with a column that came later."""
    table = tmp_path_factory.mktemp("wide") / "table"
    session.conf.set("parquet.block.size", "4096")
    for first in range(0, 4000, 1000):
        frame = session.sql(WIDE.format(first=first, last=first + 1000))
        frame = frame.drop("late") if first == 0 else frame
        frame.write.format("delta").partitionBy("part").option("mergeSchema", "true").mode("append").save(str(table))
    session.conf.unset("parquet.block.size")
    return table


def test_footers_of_many_row_groups_tell_what_delta_writes(four_files_a_part):
    path = next(iter(four_files_a_part.glob("part=*/*.parquet")))
    (footer,) = read_footers(LocalFileSystem(), [str(path)])
    assert footer.num_row_groups > 1
    assert check(four_files_a_part) == 12

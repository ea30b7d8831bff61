from __future__ import annotations

import os
from dataclasses import replace
from datetime import date, datetime

import pytest

from sparkassets.core.partitions import EVERYTHING, NOTHING, Partitioning, SegmentPartition, TimePartition
from sparkassets.core.patterns import FileSlot, fingerprint
from sparkassets.core.runs import InletPin
from sparkassets.core.source_formats import FileFormat
from sparkassets.core.spec.model import AssetSpec, SourceSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.errors import FileLocation, RunError, SourceError
from tests.integration.orders import computed, execute, order, span, sql, stamp_of, table, target

pytestmark = pytest.mark.spark

COPY = "SELECT * FROM {{ inlets.landing }}"


def landing(folder, pattern="{day:%Y%m%d}.csv", *, kind="csv", by="day", zone="UTC", options=None, **more):
    partition = TimePartition(by, zone, column="day") if by else None
    place = StorageLocation(f"{folder}/{pattern}", pattern)
    source = SourceSpec(kind, options or {})
    return AssetSpec(
        "landing",
        "x-landing",
        place,
        FileLocation("landing.yml", 1, 1),
        source=source,
        partitioning=Partitioning(partition),
        **more,
    )


def put(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def seen(asset, folder, files, *, keys=None):
    """A pin of these files and their fingerprints, as observed: slot key to the names of its files."""
    found = {}
    for key, names in files.items():
        start = "" if key == "" else str(asset.partitioning.time.parse_key(key)[0])
        stats = [(name, (folder / name).stat()) for name in names]
        found[start] = fingerprint((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats)
    parts = span(asset, keys) if keys else EVERYTHING
    return {"pins": {"landing": InletPin(asset.uri, 1, parts=parts)}, "files": {"landing": found}}


def test_the_field_of_the_path_is_a_column_and_text_stays_text(engine, tmp_path):
    source = landing(tmp_path, columns={"delay": "string", "flight": "int"})
    put(tmp_path, {"20130101.csv": "flight,delay\n1,NA\n2,5\n", "20130102.csv": "flight,delay\n3,\n"})
    files = seen(source, tmp_path, {"2013-01-01": ["20130101.csv"], "2013-01-02": ["20130102.csv"]})
    run = order(table("copy", tmp_path / "w", **sql(COPY, "landing")), source, **files)
    assert sorted(map(str, computed(engine, run))) == sorted(
        map(str, [(1, "NA", date(2013, 1, 1)), (2, "5", date(2013, 1, 1)), (3, None, date(2013, 1, 2))])
    )


def test_a_registered_format_is_read_by_its_expressions_and_has_the_field_of_the_path(engine, tmp_path):
    expressions = ("CAST(left(value, 2) AS int) AS id", "trim(substring(value, 3)) AS name")
    fixed = FileFormat("fixed", "text", columns="own", expressions=expressions)
    source = landing(tmp_path, "{day:%Y%m%d}.txt", columns={"id": "int", "name": "string"})
    source = replace(source, source=SourceSpec("fixed", {"width": "2"}, registered=fixed))
    put(tmp_path, {"20130101.txt": " 1ann \n12bob\n", "20130102.txt": " 3 c\n"})
    files = seen(source, tmp_path, {"2013-01-01": ["20130101.txt"], "2013-01-02": ["20130102.txt"]})
    run = order(table("copy", tmp_path / "w", **sql(COPY, "landing")), source, **files)
    assert sorted(computed(engine, run)) == [
        (1, "ann", date(2013, 1, 1)),
        (3, "c", date(2013, 1, 2)),
        (12, "bob", date(2013, 1, 1)),
    ]


def test_only_pinned_files_are_read(engine, tmp_path):
    source = landing(tmp_path)
    put(tmp_path, {f"2013010{day}.csv": f"n\n{day}\n" for day in (1, 2, 3)})
    files = seen(source, tmp_path, {"2013-01-02": ["20130102.csv"]}, keys="2013-01-02")
    run = order(table("copy", tmp_path / "w", **sql(COPY, "landing")), source, **files)
    put(tmp_path, {"20130104.csv": "n\n4\n"})
    assert computed(engine, run) == [("2", date(2013, 1, 2))]


def test_names_that_need_care(engine, tmp_path):
    source = landing(tmp_path, "a b+c/{day}/*.csv")
    files = {"a b+c/2013-01-01/x [1]%20#?.csv": "n\n1\n", "a b+c/2013-01-02/üu\u0308,{y}\n'z'.csv": "n\n2\n"}
    put(tmp_path, files)
    first, second = (name.removeprefix("a b+c/") for name in files)
    files = seen(source, tmp_path / "a b+c", {"2013-01-01": [first], "2013-01-02": [second]})
    run = order(table("copy", tmp_path / "w", **sql(COPY, "landing")), source, **files)
    assert computed(engine, run) == [("1", date(2013, 1, 1)), ("2", date(2013, 1, 2))]


def test_hours_are_instants(engine, tmp_path):
    source = landing(tmp_path, "{day:%Y%m%d%H}.json", kind="json", by="hour", zone="Europe/Amsterdam")
    put(tmp_path, {"2013010106.json": '{"n": 1}', "2013010107.json": '{"n": 2}'})
    files = seen(source, tmp_path, {"2013-01-01T06": ["2013010106.json"], "2013-01-01T07": ["2013010107.json"]})
    run = order(table("copy", tmp_path / "w", **sql(COPY, "landing")), source, **files)
    assert computed(engine, run) == [(1, datetime(2013, 1, 1, 5)), (2, datetime(2013, 1, 1, 6))]  # noqa: DTZ001


@pytest.mark.parametrize(("keys", "expected"), [("*", [0, 1, 2]), ("*,de", [0, 1]), ("2013-01-01,de,7", [0])])
def test_fields_of_segments_are_columns(engine, tmp_path, keys, expected):
    """Strings, or of their declared type; files of other partitions, and of others than the known, are not read."""
    source = landing(tmp_path, "region={region}/{shop}_{day:%Y%m%d}.csv", columns={"n": "int", "shop": "int"})
    dimensions = SegmentPartition("region", ("a b", "de")), SegmentPartition("shop", ("12", "7"))
    partitioning = Partitioning(source.partitioning.time, dimensions)
    source = replace(source, partitioning=partitioning)
    drawn = [("de", "7", 1), ("de", "7", 2), ("a b", "12", 1), ("xx", "7", 1)]
    names = [f"region={region.replace(' ', '%20')}/{shop}_2013010{day}.csv" for region, shop, day in drawn]
    put(tmp_path, {name: f"n\n{number}\n" for number, name in enumerate(names)})
    found = {}
    for number in expected:
        region, shop, day = drawn[number]
        stat, start = (tmp_path / names[number]).stat(), partitioning.time.parse_key(f"2013-01-0{day}")[0]
        key = FileSlot((region, shop), start).key
        found[key] = fingerprint([(names[number], stat.st_size, stat.st_mtime_ns)])
    pin = InletPin(source.uri, 1, parts=partitioning.parse(keys))
    copy = table("copy", tmp_path / "w", **sql(COPY, "landing"))
    run = order(copy, source, pins={"landing": pin}, files={"landing": found})
    rows = [(number, date(2013, 1, drawn[number][2]), drawn[number][0], int(drawn[number][1])) for number in expected]
    assert sorted(computed(engine, run)) == rows


def test_a_column_of_that_name_in_the_files_gives_way(engine, tmp_path):
    source = landing(tmp_path, columns={"n": "int", "day": "date"})
    put(tmp_path, {"20130105.csv": "day,n\n5,1\n"})
    files = seen(source, tmp_path, {"2013-01-05": ["20130105.csv"]})
    run = order(table("copy", tmp_path / "w", **sql(COPY, "landing")), source, **files)
    assert computed(engine, run) == [(1, date(2013, 1, 5))]


def test_a_value_that_is_not_of_the_declared_type_fails_with_file_and_value(engine, tmp_path):
    source = landing(tmp_path, columns={"delay": "int"})
    put(tmp_path, {"20130101.csv": "flight,delay\n1,5\n2,NA\n"})
    files = seen(source, tmp_path, {"2013-01-01": ["20130101.csv"]})
    run = order(table("copy", tmp_path / "w", **sql(COPY, "landing")), source, **files)
    with pytest.raises(RunError) as error:
        execute(engine, run)
    assert str(error.value) == (
        f"copy: [FAILED_READ_FILE.NO_HINT] Encountered error while reading file file://{tmp_path}/20130101.csv. "
        'For input string: "NA"\n  hint: a value does not have the type that `columns` of the source declares: fix '
        "the file, or declare the column as string and use try_cast"
    )
    assert not error.value.retryable


def test_a_null_value_is_an_option(engine, tmp_path):
    source = landing(tmp_path, columns={"delay": "int"}, options={"nullValue": "NA"})
    put(tmp_path, {"20130101.csv": "delay\n5\nNA\n"})
    files = seen(source, tmp_path, {"2013-01-01": ["20130101.csv"]})
    query = "SELECT count(*), count(delay) FROM {{ inlets.landing }}"
    assert computed(engine, order(table("copy", tmp_path / "w", **sql(query, "landing")), source, **files)) == [(2, 1)]


def test_headers_that_differ_are_not_read_by_position(engine, tmp_path):
    source = landing(tmp_path)
    put(tmp_path, {"20130101.csv": "a,b\n1,2\n", "20130102.csv": "b,a\n4,3\n"})
    files = seen(source, tmp_path, {"2013-01-01": ["20130101.csv"], "2013-01-02": ["20130102.csv"]})
    run = order(table("copy", tmp_path / "w", **sql(COPY, "landing")), source, **files)
    differs = "differs from that of the first file in column 1 of 2"
    with pytest.raises(RunError, match=rf"^copy: the header of /.*2013010[12]\.csv {differs}$"):
        execute(engine, run)


def test_a_declared_column_that_is_not_in_the_header_is_named(engine, tmp_path):
    source = landing(tmp_path, columns={"delay": "int"})
    put(tmp_path, {"20130101.csv": "flight,dealy\n1,5\n"})
    files = seen(source, tmp_path, {"2013-01-01": ["20130101.csv"]})
    with pytest.raises(RunError) as error:
        engine.compute(order(table("copy", tmp_path / "w", **sql(COPY, "landing")), source, **files), attempt=1)
    assert str(error.value) == (
        f"the file {tmp_path}/20130101.csv of 'landing' has no column 'delay' in its header of 2 columns\n"
        "  hint: did you mean 'dealy'?"
    )
    assert error.value.is_data_error  # of fewer days it may succeed
    put(tmp_path, {"20130101.csv": "flight;delay\n1;5\n"})
    files = seen(source, tmp_path, {"2013-01-01": ["20130101.csv"]})
    with pytest.raises(RunError, match=r"in its header of 1 column\n  hint: .* probably ';': options: \{sep: ';'\}$"):
        engine.compute(order(table("copy", tmp_path / "w", **sql(COPY, "landing")), source, **files), attempt=1)


def test_files_that_changed_since_the_plan_are_not_read(engine, tmp_path):
    source = landing(tmp_path)
    put(tmp_path, {"20130101.csv": "n\n1\n", "20130102.csv": "n\n2\n"})
    files = seen(source, tmp_path, {"2013-01-01": ["20130101.csv"], "2013-01-02": ["20130102.csv"]})
    put(tmp_path, {"20130102.csv": "n\n22\n"})
    with pytest.raises(
        SourceError, match=r"^the files of 'landing' changed before they were read: 2013-01-02\n"
    ) as error:
        engine.compute(order(table("copy", tmp_path / "w", **sql(COPY, "landing")), source, **files), attempt=1)
    assert not error.value.retryable


def test_files_that_change_while_they_are_read_are_not_written(engine, tmp_path):
    source = landing(tmp_path)
    put(tmp_path, {"20130101.csv": "n\n1\n"})
    files = seen(source, tmp_path, {"2013-01-01": ["20130101.csv"]})
    copy = table("copy", tmp_path / "w", **sql(COPY, "landing"))
    run = order(copy, source, **files)
    computation = engine.compute(run, attempt=1)
    changed = tmp_path / "20130101.csv"
    os.utime(changed, ns=(0, changed.stat().st_mtime_ns + 1))
    with pytest.raises(SourceError, match=r"changed before they were read: 2013-01-01\n"):
        target(engine, run).write(computation, stamp=stamp_of(run, computation))
    assert target(engine, run).transaction_version() is None


def test_a_folder_that_vanished_is_named(engine, tmp_path):
    source = landing(tmp_path / "gone")
    files = {"files": {"landing": {"1": "x"}}, "pins": {"landing": InletPin("x", 1)}}
    with pytest.raises(SourceError, match=r"^the source 'landing' vanished: '.*/gone' is no longer there$"):
        engine.compute(order(table("copy", tmp_path / "w", **sql(COPY, "landing")), source, **files), attempt=1)


def test_no_files_are_no_rows_if_the_columns_are_declared(engine, tmp_path):
    run = {"pins": {"landing": InletPin("x", 1, parts=NOTHING)}, "files": {"landing": {}}}
    copy = table("copy", tmp_path / "w", **sql(COPY, "landing"))
    with pytest.raises(RunError, match=r"^the source 'landing' has no files for this run, so its columns are unknown"):
        engine.compute(order(copy, landing(tmp_path), **run), attempt=1)
    computation = engine.compute(order(copy, landing(tmp_path, columns={"n": "int"}), **run), attempt=1)
    assert computation.schema.simpleString() == "struct<n:int,day:date>"


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_folders_that_name_a_column_are_columns_as_in_spark(engine, spark, tmp_path, kind):
    folder = tmp_path / "in"
    frame = spark.sql("SELECT 1 AS n, 'nl' AS country UNION ALL SELECT 2, 'de'")
    frame.write.partitionBy("country").format(kind).option("header", "true").save(str(folder))
    source = landing(folder, "", kind=kind, by=None, columns={"n": "int"})
    names = [str(path.relative_to(folder)) for path in folder.glob("*/*") if path.name[0] not in "._"]
    copy = table("copy", tmp_path / "w", **sql("SELECT country, n FROM {{ inlets.landing }}", "landing"))
    run = order(copy, source, **seen(source, folder, {"": names}))
    assert sorted(computed(engine, run)) == [("de", 2), ("nl", 1)]


def test_parquet_without_partitions(engine, spark, tmp_path):
    folder = tmp_path / "in"
    spark.range(3).write.parquet(str(folder))
    source = landing(folder, "", kind="parquet", by=None, columns={"id": "bigint"})
    names = [path.name for path in folder.iterdir() if path.name[0] not in "._"]
    files = seen(source, folder, {"": names})
    copy = table("copy", tmp_path / "w", **sql("SELECT count(*) FROM {{ inlets.landing }}", "landing"))
    assert computed(engine, order(copy, source, **files)) == [(3,)]
    wrong = landing(folder, "", kind="parquet", by=None, columns={"id": "int"})
    with pytest.raises(RunError, match=r"^the column 'id' of 'landing' is declared as int, but it is bigint$"):
        engine.compute(order(copy, wrong, **files), attempt=1)

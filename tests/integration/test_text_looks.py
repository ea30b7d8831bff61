"""The days in CSV and JSON files are those of the rows that Spark reads from them, whatever the files are like."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from sparkassets import Project
from sparkassets.core.partitions import Partitioning, SegmentPartition, TimePartition
from sparkassets.core.spec.model import AssetSpec, SourceSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.errors import FileLocation, SourceError
from sparkassets.spark.text_contents import SparkTextFileReader
from tests.integration.orders import rows

pytestmark = pytest.mark.spark

DAYS = Partitioning(TimePartition("day", "UTC", column="happened"))
MONTHS = Partitioning(TimePartition("month", "Europe/Berlin", column="at"))
COLUMNS = {"happened": "date", "at": "timestamp", "region": "string", "n": "string"}


def source(folder: Path, kind: str = "csv", options: dict[str, str] | None = None, **more: object) -> AssetSpec:
    path = str(more.pop("path", f"{folder}/**/*.{kind}*"))
    given = {"partitioning": Partitioning(None), "columns": COLUMNS, **more}
    spec = SourceSpec(kind, options or {}, 0)
    return AssetSpec("raw", "raw", StorageLocation(path, "raw"), FileLocation("raw.yml"), source=spec, **given)


def days(engine, asset, view=DAYS, *paths):
    found = SparkTextFileReader(lambda: engine.workplace).read_contents(asset, view, paths)
    return {path: (view.labels(each.parts), dict(each.excluded_values)) for path, each in found.items()}


@pytest.fixture
def engine(engine):
    engine.start()
    return engine


QUOTES = 'happened,n\n2025-01-01,"say ""hi"""\n2025-01-02,"a ""b"", c"\n2025-01-03,d\n'
LINES = 'n,happened\n"a\nb ""c""\n",2025-01-01\nx,2025-01-02\n'


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ('\ufeffhappened,n\n"2025-01-01",1\n2025-01-02,"a,b"\n', {}, ["2025-01-01..2025-01-02"]),
        ("n|happened\n1|2025-01-01\n2|\n3|2025-01-03\n", {"sep": "|"}, ["2025-01-01", "2025-01-03"]),
        ("n,happened\n1,2025-01-01\n-,-\n", {"nullValue": "-"}, ["2025-01-01"]),
        (QUOTES, {"escape": '"'}, ["2025-01-01..2025-01-03"]),
        (LINES, {"multiLine": "true", "escape": '"'}, ["2025-01-01..2025-01-02"]),
        ("#no\nhappened,n\n#2025-01-05,1\n2025-01-01,1\n", {"comment": "#"}, ["2025-01-01"]),
        ("happened,n\n01.02.2025,1\n", {"dateFormat": "dd.MM.yyyy"}, ["2025-02-01"]),
        ("n,HAPPENED\n1,2025-01-01\n", {}, ["2025-01-01"]),
        ("2025-01-01,2025-01-01 10:00,de,1\n", {"header": "false"}, ["2025-01-01"]),
        ("n,happened\n", {}, []),
        ("\n", {}, []),
    ],
)
def test_days_of_csv(engine, tmp_path, text, options, expected):
    columns = COLUMNS if options.get("header") else {"happened": "date"}
    columns = {"HAPPENED": "date"} if "HAPPENED" in text else columns
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    (found, _), *_ = days(engine, source(tmp_path, options=options, columns=columns), DAYS, "a.csv").values()
    assert found == expected


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ('{"happened": "2025-01-01"}\n\n{"n": 1}\nno json\n', {}, ["2025-01-01"]),
        ('[\n{"happened":\n"2025-01-01"}]\n', {"multiLine": "true"}, ["2025-01-01"]),
        ("{'happened': '2025-01-01'} \n", {}, ["2025-01-01"]),
    ],
)
def test_days_of_json(engine, tmp_path, text, options, expected):
    (tmp_path / "a.json").write_text(text)
    (found, _), *_ = days(engine, source(tmp_path, "json", options), DAYS, "a.json").values()
    assert found == expected


def test_each_file_is_told_by_itself_also_where_headers_differ(engine, tmp_path):
    (tmp_path / "a+b %20.csv").write_text("happened,n\n2025-01-01,1\nsoon,2\n")
    (tmp_path / "ä.csv.gz").write_bytes(gzip.compress(b"happened,n\n2025-01-02,1\n"))
    asset = source(tmp_path, columns={"happened": "date"})
    expected = {"a+b %20.csv": (["2025-01-01"], {"happened": ["NULL"]}), "ä.csv.gz": (["2025-01-02"], {})}
    assert days(engine, asset, DAYS, "a+b %20.csv", "ä.csv.gz") == expected
    (tmp_path / "c.csv").write_text("n,happened,m\n1,2025-01-03,1\n")
    expected["c.csv"] = (["2025-01-03"], {})
    assert days(engine, asset, DAYS, *expected) == expected
    (tmp_path / "d.csv").write_text("secret\n1\n")
    with pytest.raises(SourceError) as error:
        days(engine, asset, DAYS, *expected, "d.csv")
    assert "d.csv of 'raw' has no column 'happened' in its header of 1 column" in str(error.value)
    assert "secret" not in str(error.value)


def test_times_in_zones_and_segments_of_paths(engine, tmp_path):
    view = Partitioning(MONTHS.time, (SegmentPartition("shop", ("a", "b")),))
    layout = Partitioning(None, view.segments)
    for shop, at in (("a", "2025-01-31T23:30:00Z"), ("b", "2025-03-01 00:30:00+01:00")):
        (tmp_path / shop).mkdir()
        (tmp_path / shop / "x.csv").write_text(f"at\n{at}\n")
    asset = source(tmp_path, path=f"{tmp_path}/{{shop}}/*.csv", partitioning=layout, columns={"at": "timestamp"})
    found = days(engine, asset, view, "a/x.csv", "b/x.csv")
    assert found == {"a/x.csv": (["2025-02,a"], {}), "b/x.csv": (["2025-03,b"], {})}


def test_no_session_reads_nothing(tmp_path):
    assert SparkTextFileReader(lambda: None).read_contents(source(tmp_path), DAYS, ["a.csv"]) is None


def test_a_run_reads_every_day_of_files_with_quotes(spark, tmp_path):
    conf = tmp_path / "conf"
    (conf / "assets").mkdir(parents=True)
    (conf / "project.yml").write_text("project: p\nstate: ../state\nwarehouse: ../lake\ndefaults: {retries: 0}\n")
    raw = "asset: raw\nsource: csv\npath: ../in/*.csv\noptions: {escape: '\"', multiLine: true}\n"
    (conf / "assets/raw.yml").write_text(raw + "columns: {happened: date}\n")
    text = "asset: daily\ninlets: {raw: {partitions: {from: happened}}}\npartition: {by: day, column: happened}\n"
    (conf / "assets/daily.yml").write_text(text + "sql: SELECT happened, n FROM {{ inlets.raw }}\n")  # noqa: S608  a test's own
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.csv").write_text(QUOTES)
    (tmp_path / "in/b.csv").write_text('happened,n\n2025-02-01,"a\nb ""c"""\n2025-02-02,d\n')
    with Project.load(conf) as project:
        project.run(spark)
        asset = project.spec.assets["daily"]
    found = [(str(day), n) for day, n in rows(spark, asset)]
    assert found == [
        ("2025-01-01", 'say "hi"'),
        ("2025-01-02", 'a "b", c'),
        ("2025-01-03", "d"),
        ("2025-02-01", 'a\nb "c"'),
        ("2025-02-02", "d"),
    ]

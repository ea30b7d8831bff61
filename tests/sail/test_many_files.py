"""Sources of many files, whose rows do not name their file on Sail: read in one scan where that gives the same rows."""

import gc
import json
from datetime import datetime
from pathlib import Path

import pytest

from sparkassets.project import load_project
from sparkassets.spark import reader_gaps
from sparkassets.spark.file_reader import read_files
from sparkassets.spark.pinned_files import PinnedFiles
from tests.e2e.projects import write

pytestmark = pytest.mark.sail

HOURS = """
asset: hours
source: {kind}
path: landing/{{hour:%Y%m%dT%H}}.{kind}
timezone: UTC
partition: {{by: hour, column: hour}}
"""


@pytest.fixture
def folders_of_links(monkeypatch, tmp_path):
    """Lists the folders of links that there are."""
    (tmp_path / "links").mkdir()
    monkeypatch.setattr(reader_gaps.tempfile, "tempdir", str(tmp_path / "links"))
    return lambda: list((tmp_path / "links").iterdir())


def read_hours(spark, folder: Path, source: str, *texts: str, kind: str = "csv"):
    """The rows of a file for each hour of a day, from midnight on."""
    write(folder, {"project.yml": "project: sky\nengine: sail\nassets: [.]\n", "hours.yml": source.format(kind=kind)})
    write(folder, {f"landing/20250101T{hour:02}.{kind}": text for hour, text in enumerate(texts)})
    asset = load_project(folder, {}).assets["hours"]
    return read_files(spark, PinnedFiles(asset).list_files(), asset=asset)


def at(hour: int) -> datetime:
    return datetime(2025, 1, 1, hour)  # noqa: DTZ001 - as Spark gives instants back


def test_texts_are_read_in_one_scan_of_links_which_go_with_the_frame(spark, tmp_path, folders_of_links):
    texts = ("id,name\n1,a\n2,\n", '"id",name\n3,"b\nc"\n', "id,name\r\n4,d\r\n", "id,name\n")
    frame = read_hours(spark, tmp_path, HOURS, *texts).filter("id < 9")
    (folder,) = folders_of_links()
    assert {link.resolve() for link in folder.rglob("*.csv")} == {*(tmp_path / "landing").iterdir()}
    expected = [("1", "a", at(0)), ("2", None, at(0)), ("3", "b\nc", at(1)), ("4", "d", at(2))]
    assert sorted(map(tuple, frame.collect())) == expected
    assert frame.columns == ["id", "name", "hour"]
    del frame
    gc.collect()
    assert not folders_of_links()


def test_json_is_read_in_one_scan_with_its_types(spark, tmp_path, folders_of_links):
    texts = [json.dumps({"id": number, "hour": 99, "price": "1.50"}) for number in range(3)]
    source = HOURS + "columns: {{id: int, price: 'decimal(9,2)', seen: date}}\n"
    frame = read_hours(spark, tmp_path, source, *texts, kind="json")
    assert folders_of_links()
    assert [field.dataType.simpleString() for field in frame.schema] == ["int", "decimal(9,2)", "date", "timestamp"]
    assert sorted((row.id, str(row.price), row.seen, row.hour) for row in frame.collect()) == [
        (number, "1.50", None, at(number)) for number in range(3)
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (HOURS + "columns: {{id: int, flag: boolean}}\n", [(1, True, at(0)), (2, False, at(1))]),
        (HOURS + "options: {{nullValue: 'true'}}\n", [("1", None, at(0)), ("2", "false", at(1))]),
    ],
)
def test_types_and_texts_of_null_take_a_scan_for_each_file(spark, tmp_path, folders_of_links, source, expected):
    frame = read_hours(spark, tmp_path, source, "id,flag\n1,true\n", "id,flag\n2,false\n")
    assert sorted(map(tuple, frame.collect()), key=str) == expected
    assert not folders_of_links()


def test_headers_that_are_written_otherwise_are_the_same_and_others_are_refused(spark, tmp_path):
    texts = ('id,"a\nb"\n1,x\n', 'id,"a\nb"\n2,y\n')
    assert read_hours(spark, tmp_path, HOURS, *texts).count() == 2
    with pytest.raises(Exception, match=r"the header of .*T01\.csv differs"):
        read_hours(spark, tmp_path, HOURS, 'id,"a\nb"\n1,x\n', 'id,"a\nc"\n2,y\n')

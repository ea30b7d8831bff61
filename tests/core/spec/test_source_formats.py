"""Formats that packages register: a source names one with its options, and is compiled to a value."""

from dataclasses import dataclass

import pytest

from sparkassets.core.source_formats import FORMATS, FileFormat
from tests.core.spec.in_memory import compiled, errors


@dataclass
class Xml:
    row_tag: str
    reader: str = "xml"

    def reader_options(self):
        return {"rowTag": self.row_tag, "mode": "FAILFAST"}


@dataclass
class Padded:
    width: int = 3
    reader = "text"
    empty_is_rowless = False

    def expressions(self, columns):
        if self.width < 0:
            raise LookupError("no width")
        return [f"CAST(left(value, {self.width}) AS {kind}) AS {name}" for name, kind in columns.items()]


@dataclass
class Options:
    reader = "text"

    def reader_options(self):
        return "header"


@dataclass
class Unread:
    of: str = ""


INSTALLED = {"xml": Xml, "padded": Padded, "options": Options, "unread": Unread}


def files(source):
    return {"a.yml": f"asset: a\n{source}\npath: landing/{{day}}.x\npartition: {{by: day, column: day}}\n"}


def test_a_format_is_a_value_with_its_options():
    source = compiled(files("source: xml\noptions: {row_tag: order}"), sources=INSTALLED).assets["a"].source
    options = {"rowTag": "order", "mode": "FAILFAST"}
    assert source.files == FileFormat("xml", "xml", options, columns="declared")
    assert (source.kind, source.varies, source.files.is_rowless(0)) == ("xml", True, True)


def test_expressions_know_the_declared_columns_and_make_the_types():
    text = "source: padded\ncolumns: {id: int}"
    form = compiled(files(text), sources=INSTALLED).assets["a"].file_format
    assert form.expressions == ("CAST(left(value, 3) AS int) AS id",)
    assert (form.columns, form.is_rowless(0)) == ("own", False)


def test_a_name_of_sparkassets_is_its_own_whatever_is_installed():
    source = compiled(files("source: csv"), sources={"csv": Xml}).assets["a"].source
    assert source.files is FORMATS["csv"]


def test_a_value_in_the_list_is_all_that_a_format_of_sparkassets_takes(monkeypatch):
    orc = FileFormat("orc", "orc", columns="own", empty_is_rowless=False)
    monkeypatch.setitem(FORMATS, "orc", orc)
    assert compiled(files("source: orc\noptions: {mergeSchema: true}")).assets["a"].file_format == orc


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("source: xlm", "a.yml:2:9: unknown source format 'xlm'; installed: options, padded, unread, xml"),
        ("source: xlm", "hint: did you mean 'xml'?"),
        ("source: xml", "a.yml:2:9: source format 'xml' needs the key 'row_tag'"),
        (
            "source: xml\noptions: {rowtag: a}",
            "a.yml:3:11: unknown key 'rowtag' of source format 'xml'; expected row_tag, reader",
        ),
        (
            "source: padded\noptions: {width: x}",
            "a.yml:3:18: 'width' of source format 'padded' is 'x'; expected a valid",
        ),
        ("source: padded\noptions: {width: -1}", "a.yml:2:9: source format 'padded' failed: LookupError: no width"),
        ("source: options", "source format 'options' has the reader options 'header'; expected texts by name"),
        ("source: unread", "source format 'unread' is a Unread; expected an object with the text 'reader'"),
        ("source: events", "a.yml:2:9: unknown source format 'events'"),
        ("source: tables", "a.yml:2:9: unknown source format 'tables'"),
        ("source: xml\ntable: a.b", "a source of xml files"),
    ],
)
def test_what_is_refused(source, expected):
    assert expected in errors(files(source), sources=INSTALLED)

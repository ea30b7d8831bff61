"""The Python of docs/python.md does what is said, and its table names what there is."""

import re
import sys
from types import ModuleType, SimpleNamespace

import pytest

import sparkassets
from sparkassets import Project, RunError
from tests.documents import blocks, page

pytestmark = pytest.mark.usefixtures("shop", "engine")
LOOK, RUN, SINK = blocks("docs/python.md", "python")


def test_looking_and_announcing(capsys):
    exec(compile(LOOK.text, "docs/python.md", "exec"), {})  # noqa: S102  our own page
    assert capsys.readouterr().out.splitlines() == [
        "daily_revenue 2 partitions missing",
        "best_shops waits for daily_revenue 2025-01-01..2025-01-02, which runs first",
        "['orders']",
    ]


def test_running(monkeypatch):
    session = SimpleNamespace(getActiveSession=lambda: None)
    monkeypatch.setitem(sys.modules, "pyspark", ModuleType("pyspark"))
    monkeypatch.setitem(sys.modules, "pyspark.sql", SimpleNamespace(SparkSession=session))
    done = {}
    exec(compile(RUN.text, "docs/python.md", "exec"), done)  # noqa: S102  our own page
    assert [run.asset for run in done["summary"].runs] == ["daily_revenue", "best_shops"]


def test_a_sink_is_told_of_a_failure(engine, capsys):
    def broken(order):
        raise RunError("no such shop")

    engine.hooks["daily_revenue", "compute"] = broken
    done = {}
    exec(compile(SINK.text, "docs/python.md", "exec"), done)  # noqa: S102  our own page
    assert not done["project"].run(check=False).ok
    assert capsys.readouterr().out == "daily_revenue: no such shop\n"


def test_the_methods_are_there():
    rows = re.findall(r"^\| (`.*?) \|", page("docs/python.md"), flags=re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`(?:Project\.)?(\w+)\(", row)]
    assert len(named) > 12
    assert all(callable(getattr(Project, name, None)) for name in named)


def test_the_errors_are_there():
    errors = page("docs/python.md").partition("\nErrors are ")[2]
    for name in re.findall(r"`(\w+Error)`", errors):
        assert issubclass(getattr(sparkassets, name), sparkassets.SparkAssetsError)

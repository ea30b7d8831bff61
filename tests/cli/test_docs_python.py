"""The Python of docs/python.md does what is said, and its table names what there is."""

import re
import sys
from types import ModuleType, SimpleNamespace
from typing import Generic

import pytest

import sparkassets
from sparkassets import Project, RunError
from tests.documents import code_blocks, page

pytestmark = pytest.mark.usefixtures("shop", "engine")
LOOK, RUN, SINK = code_blocks("docs/python.md", "python")


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


def test_every_method_is_in_the_tables():
    rows = re.findall(r"^\| (`.*?) \|", page("docs/python.md"), flags=re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(?:Project\.)?([\w.]+)\(", row)}
    assert named == {name for name, _ in methods()} - {"events.watch"}  # which is for tools


def test_a_project_has_few_members_and_describes_each():
    project = Project.load("conf")
    members = [name for name in dir(project) if not name.startswith("_")]
    assert len(members) <= 20
    assert len(Project.__mro__) == 3  # itself, the same without files, and object
    for name, method in methods():
        first = (method.__doc__ or "").splitlines()[0]
        assert first.rstrip(".:").count(" ") >= 2, name
    for name in NAMESPACES:
        found = type(getattr(project, name))
        assert found.__bases__ in {(object,), (Generic,)}, f"{name} inherits"
        assert found.__name__.endswith("Commands")


NAMESPACES = (
    "assets",
    "backfills",
    "branches",
    "events",
    "history",
    "lineage",
    "notifications",
    "partitions",
    "queries",
    "state",
)


def methods():
    """Each public method of a project and of its namespaces, by the name that it is called by."""
    project = Project.load("conf")
    for name in dir(project):
        found = getattr(project, name)
        if name in NAMESPACES:
            inner = ((each, getattr(found, each)) for each in dir(found) if not each.startswith("_"))
            yield from ((f"{name}.{each}", method) for each, method in inner)
        elif not name.startswith("_") and callable(found):
            yield name, found


def test_the_errors_are_there():
    errors = page("docs/python.md").partition("\nErrors are ")[2]
    for name in re.findall(r"`(\w+Error)`", errors):
        assert issubclass(getattr(sparkassets, name), sparkassets.SparkAssetsError)

"""Registered timetables are looked for among the installed packages, and what is wrong with them is told."""

import pytest

from sparkassets.core.timetables import TimetableError
from sparkassets.core.timetables.registered import REGISTRY
from sparkassets.errors import SpecError
from sparkassets.plugins import InstalledFactories
from sparkassets.project import load_project
from sparkassets.project.compile_trace import CompileTrace

POINTS = """\
[sparkassets.timetables]
gone = no_such_module_anywhere:Timetable
number = math:pi
twice = math:floor
quits = quits_at_import:Timetable
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    for name, points in (("one", POINTS), ("two", "[sparkassets.timetables]\ntwice = math:ceil\n")):
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(points)
    (tmp_path / "quits_at_import.py").write_text("import sys\n\nsys.exit(0)\n")
    monkeypatch.syspath_prepend(tmp_path)
    return InstalledFactories(REGISTRY)


def test_all_names_are_known_without_importing_anything(installed):
    assert {"gone", "number", "twice"} <= set(installed)
    assert "gone" in installed
    assert "harvest" not in installed


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "gone",
            (
                "timetable 'gone' (no_such_module_anywhere:Timetable) cannot be imported: "
                "ModuleNotFoundError: No module named 'no_such_module_anywhere'\n"
                "  hint: the installed package 'one' registers it"
            ),
        ),
        (
            "quits",
            (
                "timetable 'quits' (quits_at_import:Timetable) cannot be imported: SystemExit: 0\n"
                "  hint: the installed package 'one' registers it"
            ),
        ),
        ("number", "timetable 'number' (math:pi) cannot be called; expected a class or function"),
        (
            "twice",
            ("timetable 'twice' is registered by several packages: one, two\n  hint: uninstall all but one of them"),
        ),
    ],
)
def test_what_is_wrong_with_a_package(name, message, installed):
    with pytest.raises(TimetableError) as refused:
        installed[name]
    assert str(refused.value) == message


def test_nothing_is_looked_for_until_a_project_names_a_timetable():
    trace = CompileTrace()
    installed = InstalledFactories(REGISTRY, searched=trace.record_packages)
    assert not trace.packages
    assert "harvest" not in installed
    assert trace.packages


def test_a_project_is_told_at_its_place(installed, tmp_path):
    folder = tmp_path / "conf"
    folder.mkdir()
    (folder / "project.yml").write_text("project: p\nassets: [.]\n")
    (folder / "a.yml").write_text("asset: a\nsql: SELECT 1 AS one\nschedule: {timetable: gone}\n")
    with pytest.raises(SpecError, match=r"a\.yml:3:23: timetable 'gone' .* cannot be imported"):
        load_project(folder, {})

"""A timetable and more of another package: built as a wheel of its own, installed, named in a project."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "jobs/payday"


def build(folder, *, version="1.0", day_shift=0):
    """Builds the package in a copy and unpacks its wheel, which is what installing a pure wheel into a target does."""
    source = shutil.copytree(SOURCE, folder / f"source-{version}")
    project = source / "pyproject.toml"
    project.write_text(project.read_text().replace('version = "1.0"', f'version = "{version}"'))
    code = (source / "payday.py").read_text()
    (source / "payday.py").write_text(code.replace("min(self.day,", f"min(self.day + {day_shift},"))
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / version)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    shutil.rmtree(source)
    (wheel,) = (folder / version).glob("*.whl")
    target = folder / "installed"
    shutil.rmtree(target, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    return target


def project(folder, schedule):
    conf = folder / "conf"
    conf.mkdir()
    (conf / "project.yml").write_text("project: pay\nassets: [.]\n")
    (conf / "salaries.yml").write_text(f"asset: salaries\nsql: SELECT 1 AS paid\nschedule: {schedule}\n")
    return folder


def sparkassets(*arguments, cwd, target=None):
    environment = {**os.environ, "XDG_CACHE_HOME": str(cwd / "cache"), "NO_COLOR": "1", "COLUMNS": "200"}
    environment["PYTHONPATH"] = str(target) if target else ""
    command = [str(Path(sys.executable).with_name("sparkassets")), *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    return build(tmp_path_factory.mktemp("wheel"))


def test_each_kind_of_thing_that_it_registers_is_known(target, tmp_path):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/project.yml").write_text(
        "project: pay\nassets: [.]\nsinks: [{sink: payment_log, file: paid.jsonl}]\n"
    )
    (tmp_path / "conf/assets.yml").write_text(
        "asset: payments\nsource: fixed_width\npath: in/{day}.txt\noptions: {places: 'account:1-18'}\n"
        "partition: {by: day, column: day}\ncolumns: {account: string}\n---\n"
        "asset: paid\nsql: SELECT account FROM {{ inlets.payments }}\nschedule: {timetable: payday, day: 15}\n"
        "strategy: full_refresh\n"
        "write: {mode: supplement, keys: [account]}\nvalidations: [{check: iban, column: account}]\n"
    )
    shown = sparkassets("validate", cwd=tmp_path, target=target)
    assert shown.returncode == 0, shown.stderr


def test_its_runs_are_foretold(target, tmp_path):
    home = project(tmp_path, "{timetable: payday, day: 15, timezone: Europe/Berlin, delay: 9h}")
    arguments = ("preview", "--from", "2025-03-01T00:00Z", "--count", "2", "--json")
    shown = sparkassets(*arguments, cwd=home, target=target)
    assert shown.returncode == 0, shown.stderr
    assert [(run["run_after"], run["data_interval"]) for run in json.loads(shown.stdout)] == [
        ("2025-03-14T08:00:00Z", {"start": "2025-02-13T23:00:00Z", "end": "2025-03-13T23:00:00Z"}),
        ("2025-04-15T07:00:00Z", {"start": "2025-03-13T23:00:00Z", "end": "2025-04-14T22:00:00Z"}),
    ]


def test_a_new_version_of_the_package_is_used_at_once(tmp_path):
    home = project(tmp_path, "{timetable: payday, day: 10}")
    arguments = ("preview", "--from", "2025-03-01T00:00Z", "--count", "1", "--json")
    for version, shift, expected in (("1.0", 0, "2025-03-10T00:00:00Z"), ("2.0", 1, "2025-03-11T00:00:00Z")):
        target = build(tmp_path, version=version, day_shift=shift)
        shown = sparkassets(*arguments, cwd=home, target=target)
        assert [run["run_after"] for run in json.loads(shown.stdout)] == [expected], shown.stderr


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (
            "{timetable: payday, day: 32}",
            (
                "conf/salaries.yml:3:23: timetable 'payday' rejected its parameters: 'day' is 32; expected 1 to "
                "31\n    schedule: {timetable: payday, day: 32}\n                          ^^^^^^\n"
            ),
        ),
        (
            "{timetable: payday, dya: 3}",
            (
                "conf/salaries.yml:3:31: unknown key 'dya' of timetable 'payday'; expected day\n"
                "    schedule: {timetable: payday, dya: 3}\n"
                "                                  ^^^\n"
                "  hint: did you mean 'day'?\n"
            ),
        ),
        (
            "{timetable: paday, day: 3}",
            (
                "conf/salaries.yml:3:23: unknown timetable 'paday'; installed: payday\n"
                "    schedule: {timetable: paday, day: 3}\n"
                "                          ^^^^^\n"
                "  hint: did you mean 'payday'?\n"
            ),
        ),
    ],
)
def test_what_is_wrong_is_told_at_its_place(schedule, expected, target, tmp_path):
    shown = sparkassets("validate", cwd=project(tmp_path, schedule), target=target)
    assert shown.returncode == 2
    assert expected in shown.stderr


def test_a_package_that_is_not_installed(tmp_path):
    shown = sparkassets("validate", cwd=project(tmp_path, "{timetable: harvest, day: 15}"))
    assert shown.returncode == 2
    assert "unknown timetable 'harvest'; installed: " in shown.stderr

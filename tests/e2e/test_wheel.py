"""The wheel, installed where nothing else of this repository is, and what `deploy` makes cron start."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.e2e.projects import ORDERS, called, document, environment, orders

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The command of the wheel, in an environment that knows nothing of this repository."""
    work = tmp_path_factory.mktemp("wheel")
    shutil.copytree(REPOSITORY / "sparkassets", work / "source" / "sparkassets")
    for name in ("README.md", "LICENSE", "pyproject.toml"):
        shutil.copy(REPOSITORY / name, work / "source")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", work / "dist"]
    subprocess.run(build, cwd=work / "source", env=environment(), check=True, capture_output=True)
    shutil.rmtree(work / "source")
    (wheel,) = (work / "dist").iterdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", work / "env"], check=True, capture_output=True)
    python = work / "env" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "install", "--no-deps", "--no-index", wheel], env=environment(), check=True, capture_output=True
    )
    packages = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    # what it depends on is borrowed; a .pth file of the other folder, such as that of an editable install, is not read
    Path(packages, "borrowed.pth").write_text(sysconfig.get_path("purelib"), "utf-8")
    return wheel, python


@pytest.mark.spark
def test_the_wheel_is_all_that_the_line_of_cron_takes(installed, tmp_path):
    _, python = installed
    command = python.with_name("sparkassets")
    where = subprocess.run(
        [python, "-c", "import sparkassets; print(sparkassets.__file__)"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert Path(where).is_relative_to(python.parents[1])
    assert called("init", cwd=tmp_path, command=command).returncode == 0
    assert called("validate", cwd=tmp_path, command=command).returncode == 0
    (due,) = document(called("plan", "--json", cwd=tmp_path, command=command))["runs"]
    assert (due["asset"], due["partitions"]["ranges"]) == ("daily_revenue", ["2025-01-01..2025-01-02"])
    assert called("deploy", "cron", "--out", "my cron", cwd=tmp_path, command=command).returncode == 0
    line = (tmp_path / "my cron/crontab").read_text().splitlines()[-1].split(maxsplit=5)[5]
    known = {
        name: environment()[name]
        for name in ("HOME", "SPARKASSETS_CACHE", "SPARK_SUBMIT_OPTS")
        if name in environment()
    }
    bare = {"PATH": "/usr/bin:/bin", "SHELL": "/bin/sh", **known}
    done = subprocess.run(["/bin/sh", "-c", line], cwd="/", env=bare, check=False)
    log = (tmp_path / "my cron/shop.log").read_text()
    assert done.returncode == 0, log
    assert "2 runs: 2 success" in log
    assert orders(tmp_path) == ORDERS


def test_the_wheel_holds_the_package_and_nothing_else(installed):
    wheel, _ = installed
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"sparkassets"}
    assert {"sparkassets/py.typed", "sparkassets/cli/scaffold/project.yml"} <= set(names)


def test_the_wheel_says_where_files_of_others_are_from(installed):
    wheel, _ = installed
    archive = zipfile.ZipFile(wheel)
    home = "sparkassets/report/static/vendor/"
    files = {name.removeprefix(home) for name in archive.namelist() if name.startswith(home)}
    origin = archive.read(f"{home}README.md").decode()
    assert files - {"README.md"}
    assert all(f"`{name}`" in origin for name in files - {"README.md"})


def test_the_newest_release_of_the_changelog_is_that_of_the_wheel(installed):
    wheel, _ = installed
    text = (REPOSITORY / "CHANGELOG.md").read_text("utf-8")
    unreleased, newest = re.findall(r"^## (.+)", text, flags=re.MULTILINE)[:2]
    assert unreleased == "Unreleased"
    assert re.fullmatch(r"(\S+) \(\d{4}-\d\d-\d\d\)", newest)[1] == wheel.name.split("-")[1]

"""What `make` says where something that it needs is missing: one line, and a non-zero exit."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
TOOLS = ("make", "sh", "sed", "grep", "head", "tail", "rm", "touch")
UNREACHABLE = "http://someone:secret@127.0.0.1:9/simple"


@pytest.fixture
def clone(tmp_path):
    """A clone as far as making an environment goes, on a machine with neither Java nor Python."""
    clone = tmp_path / "clone"
    (clone / "bin").mkdir(parents=True)
    shutil.copytree(REPOSITORY / ".ci", clone / ".ci")
    for name in ("Makefile", "pyproject.toml", "uv.lock"):
        shutil.copy(REPOSITORY / name, clone / name)
    for tool in TOOLS:
        (clone / "bin" / tool).symlink_to(shutil.which(tool))
    return clone


def put(clone, name, script):
    tool = clone / "bin" / name
    tool.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    tool.chmod(0o755)


def java(version):
    return f"""echo 'openjdk version "{version}" 2024-01-16' >&2"""


def make(clone, target="demo", **environment):
    """The one line that ``make`` leaves on stderr, without its own words around it."""
    environment["PATH"] = str(clone / "bin")
    done = subprocess.run(["make", target], cwd=clone, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    (line,) = done.stderr.splitlines()
    start, _, said = line.partition("*** ")
    assert start.startswith("Makefile:")
    return said.removesuffix(".  Stop.")


@pytest.mark.parametrize("target", ["demo", "test", "crash", "bench"])
def test_no_java(clone, target):
    assert make(clone, target) == (
        "no Java: install Java 17, 21 or 25, or let JAVA_HOME point to it (the java on the PATH is not there)"
    )


def test_no_java_where_java_home_points(clone):
    put(clone, "java", java("17.0.9"))
    assert make(clone, JAVA_HOME="/nowhere") == (
        "no Java: install Java 17, 21 or 25, or let JAVA_HOME point to it (JAVA_HOME=/nowhere is not there)"
    )


def test_a_java_that_only_says_where_to_get_one(clone):
    put(clone, "java", "echo 'Unable to locate a Java Runtime.' >&2; exit 1")
    assert make(clone) == (
        "no Java: install Java 17, 21 or 25, or let JAVA_HOME point to it (the java on the PATH does not run)"
    )


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.21", "18.0.2", "23", "170.1"])
def test_wrong_java(clone, version):
    put(clone, "java", java(version))
    assert make(clone) == f"wrong Java: Spark needs 17, 21 or 25, the java on the PATH is {version}"


@pytest.mark.parametrize("version", ["17", "17.0.9", "21.0.2", "21-ea"])
def test_right_java_and_no_python(clone, version):
    put(clone, "java", java(version))
    put(clone, "python3", "exit 1")  # what an older one answers
    assert make(clone) == (
        "no Python 3.11 or newer: install one, or name it with make PYTHON=/path/to/python"
        " (tried: python3.13 python3.12 python3.11 python3 python)"
    )


def test_a_python_that_cannot_make_environments(clone):
    put(clone, "java", java("21"))
    put(clone, "python3", 'case "$2" in *ensurepip*) exit 1 ;; esac')
    assert make(clone) == (
        "python3 cannot make virtual environments: install its venv module (Debian, Ubuntu: apt install python3-venv)"
    )


def test_no_network(clone):
    put(clone, "java", java("17"))
    said = make(clone, PYTHON=sys.executable, PIP_INDEX_URL=UNREACHABLE, PIP_RETRIES="0", PIP_CONFIG_FILE="/dev/null")
    assert said == "no network: uv could not be fetched from http://127.0.0.1:9/simple (details in .venv.log)"
    assert not (clone / ".venv" / ".ready").exists()

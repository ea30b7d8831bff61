"""Real projects on disk, with their state, and an engine without Spark."""

import json
import re
from functools import partial

import pytest

from sparkassets.cli import main
from tests.e2e.projects import write
from tests.runtime.fakes import FakeEngine, FakeOutlets, FakeTargets


@pytest.fixture
def engine(monkeypatch):
    """Stands in for Spark in every invocation of one test."""
    made = FakeEngine()
    monkeypatch.setattr("sparkassets.spark.engine.SparkEngine", lambda *_: made)
    monkeypatch.setattr("sparkassets.spark.engine.SparkTargetFactory", FakeOutlets)
    monkeypatch.setattr("sparkassets.wiring.catalogs.DeltaTargetObserver", FakeTargets)  # its tables are nowhere
    return made


@pytest.fixture
def make_conf(tmp_path, monkeypatch):
    """Writes the files of a project, by their paths below the folder ``conf`` of the current folder; returns it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))
    return partial(write, tmp_path / "conf")


@pytest.fixture
def shop(tmp_path, monkeypatch, capsys):
    """The project that `init` writes, in the folder ``conf`` of the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))
    assert main(["init"]) == 0
    capsys.readouterr()
    return tmp_path / "conf"


@pytest.fixture
def run_cli(capsys):
    """Runs a command: (exit code, stdout, stderr).

    The last line of a mistake in the input is left out: test_docs_troubleshooting.py says that it names a section.
    """

    def run(*args):
        code = main(args)
        captured = capsys.readouterr()
        err = re.sub(r"  help: docs/troubleshooting\.md#\S+\n\Z", "", captured.err) if code == 2 else captured.err
        return code, captured.out, err

    return run


@pytest.fixture
def run_json(run_cli):
    """Runs a command with --json, which must succeed: its document."""

    def run(*args):
        code, out, err = run_cli(*args, "--json")
        assert code == 0, err
        return json.loads(out)

    return run

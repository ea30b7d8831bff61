"""What functions change of the process is set again once none runs; tested without Spark."""

import locale
import logging
import os
import sys
import warnings
from pathlib import Path

import pytest

from sparkassets.spark.process_state import _RunningFunctions, preserve_process_state, restore_process_state


def process():
    root = logging.getLogger()
    return (
        Path.cwd(),
        dict(os.environ),
        sys.getrecursionlimit(),
        list(warnings.filters),
        locale.setlocale(locale.LC_ALL),
        (root.level, list(root.handlers), root.manager.disable),
    )


def misbehave():
    os.chdir("/")
    os.environ["LEFT_BEHIND"] = "1"
    os.environ["CHANGED"] = "2"
    os.environ.pop("TAKEN_AWAY", None)
    sys.setrecursionlimit(12_345)
    warnings.simplefilter("error", BytesWarning)
    locale.setlocale(locale.LC_ALL, "C")
    logging.getLogger().setLevel(1)
    logging.getLogger().addHandler(logging.NullHandler())
    logging.disable(50)


@pytest.fixture(autouse=True)
def _of_its_own(monkeypatch, tmp_path):
    """Functions of other tests that never end run on in this process, and are given up."""
    monkeypatch.setattr("sparkassets.spark.process_state._RUNNING", _RunningFunctions())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TAKEN_AWAY", "1")
    monkeypatch.setenv("CHANGED", "1")


def never():
    return False


def test_all_is_set_again():
    before = process()
    with preserve_process_state(never):
        misbehave()
        assert process() != before
    assert process() == before


def test_also_when_it_raises():
    before = process()
    with pytest.raises(SystemExit):
        ends_the_process()
    assert process() == before


def ends_the_process():
    with preserve_process_state(never):
        misbehave()
        sys.exit(1)


def test_who_runs_beside_it_is_left_alone():
    before = process()
    with preserve_process_state(never):
        os.environ["OWN"] = "1"
        with preserve_process_state(never):
            misbehave()
        assert (os.environ["OWN"], os.environ["LEFT_BEHIND"]) == ("1", "1")
    assert process() == before


def test_one_that_nobody_waits_for_any_more_does_not_count():
    before = process()
    over = preserve_process_state(lambda: True)
    over.__enter__()
    with preserve_process_state(never):
        misbehave()
    assert process() == before
    over.__exit__(None, None, None)
    assert process() == before


def test_what_was_changed_beside_one_is_set_again_when_nobody_waits_for_that_any_more():
    before, waits = process(), True
    over = preserve_process_state(lambda: not waits)
    over.__enter__()
    with preserve_process_state(never):
        misbehave()
    restore_process_state()
    assert process() != before
    waits = False
    restore_process_state()
    assert process() == before
    over.__exit__(None, None, None)
    assert process() == before


def test_what_the_process_itself_changes_beside_one_that_was_given_up_stays(tmp_path):
    (tmp_path / "own").mkdir()
    waits = True
    over = preserve_process_state(lambda: not waits)
    over.__enter__()
    misbehave()
    waits = False
    restore_process_state()
    os.chdir(tmp_path / "own")
    os.environ["CHANGED"] = "own"
    over.__exit__(None, None, None)
    assert (Path.cwd(), os.environ["CHANGED"]) == (tmp_path / "own", "own")


def test_one_that_begins_as_another_is_given_up_finds_the_process_as_it_was():
    before, waits = process(), True
    over = preserve_process_state(lambda: not waits)
    over.__enter__()
    misbehave()
    waits = False
    with preserve_process_state(never):
        assert process() == before
        misbehave()
    assert process() == before
    over.__exit__(None, None, None)
    assert process() == before


def test_where_nothing_runs_nothing_is_undone():
    with preserve_process_state(never):
        pass
    os.environ["OWN"] = "1"
    restore_process_state()
    assert os.environ.pop("OWN") == "1"


def test_a_folder_that_is_gone_does_not_keep_the_rest(tmp_path, monkeypatch):
    folder = tmp_path / "gone"
    folder.mkdir()
    os.chdir(folder)
    with preserve_process_state(never):
        misbehave()
        folder.rmdir()
    assert os.environ["CHANGED"] == "1"
    assert Path.cwd() == Path("/")

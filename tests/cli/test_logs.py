"""The logs of failures: all that a person needs, in a folder that does not grow."""

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from sparkassets.errors import RunError
from sparkassets.features.telemetry.run_logs import LOG_CHARACTERS, LOGS_KEPT, remove_old_logs
from sparkassets.wiring.watchers import explain_failure
from tests.builders import project


class HidesError(Exception):
    @property
    def __class__(self):
        raise SystemExit(3)

    def __str__(self):
        raise SystemExit(4)


def test_the_first_line_the_hint_and_the_whole_story(tmp_path):
    error = RunError("no column 'amonut'\nin this table", hint="did you mean 'amount'?")
    error.__cause__ = ValueError("password=abc123 was wrong")
    told = explain_failure(replace(project(), state=str(tmp_path)), "daily-1", error)
    assert (told.error, told.hint) == ("no column 'amonut'", "did you mean 'amount'?")
    story = Path(told.details).read_text()
    assert "in this table" in story
    assert "password=*** was wrong" in story
    assert Path(told.details) == tmp_path / "logs/daily-1.log"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (lambda: SystemExit(2), "SystemExit: 2"),
        (HidesError, "HidesError, whose text is not available"),
        (lambda: RunError(""), ""),
        (lambda: ExceptionGroup("both", [ValueError("a")]), "ExceptionGroup: both (1 sub-exception): ValueError: a"),
    ],
)
def test_whatever_the_error_is_it_is_told(tmp_path, error, text):
    told = explain_failure(replace(project(), state=str(tmp_path)), "daily-1", error())
    assert told.error == text
    assert Path(told.details).read_text()


def test_the_newest_logs_are_kept_and_nothing_else_is_touched(tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/notes.txt").write_text("mine")
    now = time.time()
    for number in range(LOGS_KEPT + 20):
        told = explain_failure(replace(project(), state=str(tmp_path)), f"daily-{number:04}", RunError("boom"))
        os.utime(told.details, (now - 5_000 + number, now - 5_000 + number))
    remove_old_logs(tmp_path / "logs")
    logs = sorted(path.name for path in (tmp_path / "logs").glob("*.log"))
    assert len(logs) == LOGS_KEPT
    assert (logs[0], logs[-1]) == ("daily-0020.log", f"daily-{LOGS_KEPT + 19:04}.log")
    assert (tmp_path / "logs/notes.txt").read_text() == "mine"


def test_of_a_long_story_the_middle_is_left_out(tmp_path):
    told = explain_failure(
        replace(project(), state=str(tmp_path)), "daily-1", RunError("begin " + "x" * 3 * LOG_CHARACTERS + " end")
    )
    story = Path(told.details).read_text()
    assert len(story) <= LOG_CHARACTERS + 10
    assert story.rstrip().endswith(" end")
    assert "begin" in story


def test_where_none_can_be_written_the_line_is_told_all_the_same(tmp_path):
    (tmp_path / "logs").write_text("a file")
    assert explain_failure(replace(project(), state=str(tmp_path)), "daily-1", RunError("boom")).details == ""

"""Progress and logs for programs: lines of JSON or of text on stderr, and nothing on stdout."""

import json
import logging
import warnings

import pytest

from sparkassets.cli.progress_events import open_events
from sparkassets.core.planner.plan import PlannedRun, Waiting
from sparkassets.core.results import RunResult, Summary
from sparkassets.core.runs import RunRequest
from sparkassets.core.validations import RuleVerdict
from tests.builders import asset, days, project, source

PROJECT = project(source("s"), asset("a", "s"), variables={"TOKEN": "s3cr3t-of-the-receiver"})
REQUEST = RunRequest("a", "scheduled", days("2025-01-01..2025-01-02"), reason="2 partitions are missing")
FAILED = RunResult(REQUEST, run="a-1", status="failed", seconds=1.5, error="no s3cr3t-of-the-receiver")


def play(events):
    """An invocation with one run that fails."""
    run = PlannedRun(REQUEST, "date_range", "replace")
    events.planned(1, 1)
    events.starting("Spark")
    events.started(run, "a-1")
    logging.getLogger("jobs.x").info("read %d rows", 5)
    events.finished(FAILED)
    events.report_end(Summary((FAILED,), ()))


def lines(capsys, style):
    with open_events(PROJECT, style) as events:
        play(events)
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err.splitlines()


def test_an_event_a_line(capsys):
    told = [json.loads(line) for line in lines(capsys, "progress")]
    assert [each["event"] for each in told] == ["planned", "starting", "run_started", "run_ended", "ended"]
    assert all(each["at"].endswith("Z") for each in told)
    planned, starting, started, ended, over = told
    assert (planned["runs"], planned["waiting"], starting["what"]) == (1, 1, "Spark")
    assert started["partitions"] == {"ranges": ["2025-01-01..2025-01-02"], "count": 2}
    assert (ended["run"], ended["status"], ended["error"]) == ("a-1", "failed", "no ${TOKEN}")
    assert (over["ok"], over["failed"], over["late"]) == (False, 1, 0)


def test_logs_as_json_have_what_functions_log_and_the_levels(capsys):
    told = [json.loads(line) for line in lines(capsys, "json")]
    assert [(each["level"], each["logger"], each.get("event")) for each in told] == [
        ("INFO", "sparkassets", "planned"),
        ("INFO", "sparkassets", "starting"),
        ("INFO", "sparkassets", "run_started"),
        ("INFO", "jobs.x", None),
        ("ERROR", "sparkassets", "run_ended"),
        ("ERROR", "sparkassets", "ended"),
    ]
    assert (told[3]["message"], told[4]["asset"]) == ("read 5 rows", "a")
    assert "s3cr3t" not in json.dumps(told)


def test_logs_as_text(capsys):
    told = lines(capsys, "text")
    assert told[3].endswith("Z INFO jobs.x: read 5 rows")
    assert told[4].endswith("Z ERROR sparkassets: failed a 2025-01-01..2025-01-02 after 1.5 s: no ${TOKEN}")


def test_what_is_withheld_or_waits_for_a_person_is_said_where_it_is_an_error(capsys):
    verdict = RuleVerdict("not_null(id)", "fail", "withheld", days("2025-01-01"), 9, 2)
    held = RunResult(
        REQUEST, "a-1", "success", 1.5, withheld=days("2025-01-01"), verdicts=(verdict,), held=("2025-01-01",)
    )
    with open_events(PROJECT, "text") as events:
        events.finished(held)
        events.report_end(Summary((held,), (Waiting("s", "its changes are not available", stuck=True),)))
    run, over = capsys.readouterr().err.splitlines()
    assert run.endswith(
        "Z ERROR sparkassets: success a 2025-01-01..2025-01-02 after 1.5 s, withheld: not_null(id): 2 of 9 rows"
    )
    assert over.endswith(
        "Z ERROR sparkassets: 1 runs, 0 failed, 1 waiting: a 2025-01-01 is withheld: not_null(id): 2 of 9 rows, "
        "s waits for a person: its changes are not available"
    )


def test_an_exception_that_is_logged_is_one_line_of_json(capsys):
    with open_events(PROJECT, "json"):
        try:
            int("https://u:hunter2@h/x")
        except ValueError:
            logging.getLogger("jobs").exception("lost")
    (line,) = capsys.readouterr().err.splitlines()
    assert "'https://u:***@h/x'" in json.loads(line)["exception"]


@pytest.mark.parametrize("style", ["json", "text", "progress"])
def test_logging_is_as_it_was_afterwards(style):
    root = logging.getLogger()
    before = list(root.handlers), root.level, warnings.showwarning
    with open_events(PROJECT, style):
        pass
    assert (list(root.handlers), root.level, warnings.showwarning) == before

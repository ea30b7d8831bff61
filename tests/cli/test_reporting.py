"""Progress: plain lines in a pipe, bars on a terminal."""

import io
import os
from datetime import UTC, datetime
from functools import partial

import pytest

from sparkassets.cli.output import Terminal
from sparkassets.cli.progress import BarReporter, LineReporter, make_reporter
from sparkassets.core.planner.plan import PlannedRun
from sparkassets.core.results import RunResult
from sparkassets.core.runs import RunRequest
from tests.builders import asset, days, project, source

SHOP = project(source("flights"), asset("delays", "flights"), timezone="Europe/Berlin")
NOW = partial(datetime, 2025, 1, 5, 5, 0, 7, tzinfo=UTC)
STAMP = "2025-01-05T06:00:07+01:00"
REQUEST = RunRequest("delays", "scheduled", days("2025-01-01..2025-01-03"), reason="3 partitions missing")
RUN = PlannedRun(REQUEST, "date_range", "replace")


def ended(status="success", **more):
    return RunResult(REQUEST, "delays-1", status, 3.14159, **more)


def report_progress(progress):
    with progress:
        progress.starting("Spark")
        progress.planned(1, 0)
        progress.started(RUN, "delays-1")
        progress.finished(ended(rows=1234))


def test_lines():
    stream = io.StringIO()
    report_progress(LineReporter(SHOP, Terminal(stream), NOW))
    assert stream.getvalue() == (
        f"{STAMP} starting Spark\n"
        f"{STAMP} started delays 2025-01-01..2025-01-03: 3 partitions missing; delays-1\n"
        f"{STAMP} success delays 2025-01-01..2025-01-03: 1,234 rows, 3.1 s\n"
    )


@pytest.mark.parametrize(
    ("more", "line"),
    [
        (
            {"status": "failed", "error": "ValueError: x\x1b[0m"},
            "failed delays 2025-01-01..2025-01-03: 3.1 s, ValueError: x?[0m\n",
        ),
        ({"rows": 1}, "success delays 2025-01-01..2025-01-03: 1 row, 3.1 s\n"),
        ({"rows": 1, "deleted": 2_000}, "success delays 2025-01-01..2025-01-03: 1 row, 2,000 deleted, 3.1 s\n"),
        (
            {"adopted": "delays-0"},
            "success delays 2025-01-01..2025-01-03: 3.1 s, recorded delays-0, which had already committed\n",
        ),
    ],
)
def test_how_a_run_ended(more, line):
    stream = io.StringIO()
    LineReporter(SHOP, Terminal(stream), NOW).finished(ended(**more))
    assert stream.getvalue() == f"{STAMP} {line}"


def test_the_end_is_announced_past_the_buffer(tmp_path):
    with (tmp_path / "out").open("w+") as stream:
        LineReporter(SHOP, Terminal(stream), NOW).stopping("stopping")
        assert os.pread(stream.fileno(), 100, 0) == f"{STAMP} stopping\n".encode()


def test_bars_show_what_runs_and_leave_what_ended():
    stream = io.StringIO()
    progress = BarReporter(SHOP, Terminal(stream, width=100, colour=True))
    with progress:
        progress.planned(1, 0)
        progress.started(RUN, "delays-1")
        progress._progress.refresh()
        during = stream.getvalue()
        progress.stopping("stopping soon")
        progress._progress.refresh()
        stopping = stream.getvalue()
        progress.finished(ended(rows=1234))
    assert "delays 2025-01-01..2025-01-03" in during
    assert "0/1" in during
    assert "stopping soon" in stopping
    assert "\x1b[32msuccess\x1b[0m delays 2025-01-01..2025-01-03: 1,234 rows, 3.1 s" in stream.getvalue()


@pytest.mark.parametrize(("width", "kind"), [(None, LineReporter), (80, BarReporter)])
def test_bars_are_for_terminals(width, kind, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(make_reporter(SHOP, Terminal(io.StringIO(), width=width), NOW), kind)


def test_a_dumb_terminal_gets_lines(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(make_reporter(SHOP, Terminal(io.StringIO(), width=80), NOW), LineReporter)

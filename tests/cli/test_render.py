"""Plans and summaries as people read them."""

import io

import pytest

from sparkassets.cli.output import Terminal
from sparkassets.cli.plan_tables import print_plan, print_summary, print_waiting
from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.results import RunResult, Summary
from sparkassets.core.runs import RunRequest
from tests.builders import Story, asset, days, project, source

SHOP = project(source("flights"), asset("delays", "flights"), asset("report", "delays", by=None), asset("manual"))


@pytest.fixture
def story():
    story = Story(SHOP, now="2025-01-09")
    story.observed("flights", "2025-01-01..2025-01-03", "2025-01-06")
    return story


def shown(function, value, **terminal):
    stream = io.StringIO()
    function(value, SHOP, Terminal(stream, **terminal))
    return stream.getvalue()


def test_a_plan_says_what_runs_and_below_why_the_rest_does_not(story):
    lines = shown(print_plan, story.plan()).splitlines()
    assert lines[:5] == [
        "plan at 2025-01-09T00:00Z",
        "",
        "runs 1 asset:",
        "  asset   partitions                          reason",
        "  delays  2025-01-01..2025-01-03, 2025-01-06  4 partitions missing",
    ]
    assert lines[5:7] == ["", "waits:"]
    assert any(line.startswith("  report") and "which runs first" in line for line in lines[7:])
    assert lines[-3] == "nothing due:"
    assert lines[-1] == "  manual  manual: runs only by `sparkassets backfill`"


def test_quiet_lines_are_dimmed_where_there_is_colour(story):
    text = shown(print_plan, story.plan(), colour=True)
    assert "\x1b[2mnothing due:\x1b[0m" in text
    assert "\x1b[2mmanual: runs only by `sparkassets backfill`\x1b[0m" in text


def test_a_plan_with_nothing_due(story):
    story.run_all()
    assert "\n\nnothing is due\n" in shown(print_plan, story.plan())


@pytest.mark.parametrize("width", [80, 120])
def test_a_plan_fits_the_terminal(story, width):
    assert max(len(line) for line in shown(print_plan, story.plan(), width=width).splitlines()) <= width


def result(name, status, **more):
    partitions = days("2025-01-01..2025-01-03") if name == "delays" else EVERYTHING
    return RunResult(RunRequest(name, "scheduled", partitions, reason="why"), f"{name}-1", status, 1.25, **more)


def test_a_summary_counts_rows_and_seconds():
    done = Summary((result("delays", "success", rows=1234567), result("report", "success", rows=3)), ())
    assert shown(print_summary, done).splitlines() == [
        "  asset   partitions              status        rows  seconds",
        "  delays  2025-01-01..2025-01-03  success  1,234,567      1.2",
        "  report                          success          3      1.2",
        "",
        "2 runs: 2 success",
    ]


def test_a_failure_has_its_first_line_and_the_name_of_the_log():
    failed = result("delays", "failed", error="ValueError: bad day", details="/state/logs/delays-1.log")
    waits = Waiting("report", "waits for delays, which failed: ValueError: bad day")
    lines = shown(print_summary, Summary((failed,), (waits,))).splitlines()
    assert lines[2:] == [
        "",
        "1 run: 1 failed",
        "",
        "delays failed: ValueError: bad day",
        "  details: /state/logs/delays-1.log",
        "  help: docs/troubleshooting.md#run-failed",
        "",
        "waits:",
        "  asset   reason",
        "  report  waits for delays, which failed: ValueError: bad day",
    ]


def test_a_failure_names_its_asset_once():
    failed = result("delays", "failed", error="delays: the result has no column 'day'")
    lines = shown(print_summary, Summary((failed,), ())).splitlines()
    assert lines[-2] == "delays failed: the result has no column 'day'"


def test_each_kind_of_failure_names_its_section_once():
    failed = [
        result(name, "failed", error="late", topic=topic)
        for name, topic in (("a", "runs"), ("b", "waiting"), ("c", "runs"))
    ]
    lines = shown(print_summary, Summary(tuple(failed), ())).splitlines()
    assert lines[-2:] == ["  help: docs/troubleshooting.md#runs", "  help: docs/troubleshooting.md#waiting"]


def test_nothing_due_is_one_line_and_quiet_assets_are_not_listed():
    assert shown(print_summary, Summary((), (Waiting("manual", "manual", quiet=True),))) == "nothing was due\n"


def test_what_waits_is_listed_though_nothing_was_due():
    text = shown(print_summary, Summary((), (Waiting("delays", "waits for flights"),)))
    assert text == "nothing was due\n\nwaits:\n  asset   reason\n  delays  waits for flights\n"


def test_a_source_that_vanished_is_said_once():
    fault = ("flights", "/data/flights is gone")
    text = shown(print_summary, Summary((), (Waiting(*fault),), (fault,)))
    assert text == (
        "nothing was due\n\nsources and tables that could not be observed:\n  asset    reason\n  flights  "
        "/data/flights is gone\n"
    )


def test_an_interrupted_invocation_says_so():
    assert shown(print_summary, Summary((), (), interrupted=True)) == "interrupted before any run ended\n"
    before_the_end = Waiting("delays", "running: delays-1 since 2025-01-09T00:00Z")
    stopped = Summary((result("delays", "cancelled"),), (before_the_end,), interrupted=True)
    assert shown(print_summary, stopped).endswith("\n1 run: 1 cancelled; interrupted\n")


def test_an_adopted_run_is_called_so():
    text = shown(print_summary, Summary((result("report", "success", adopted="report-0"),), ()))
    assert "  report  adopted      1.2" in text


def test_what_was_made_good_is_told_as_planned_anew():
    changed = result("delays", "replanned", error="the files of 'flights' changed before they were read")
    text = shown(print_summary, Summary((changed, result("delays", "success")), ()))
    assert "planned again" in text.splitlines()[1]
    assert "\n2 runs: 1 success, 1 planned again\n" in text
    assert "delays failed" not in text


def test_what_is_wrong_with_many_in_the_same_way_is_one_line():
    away = "the folder /mnt/lake is missing"
    text = shown(print_summary, Summary((), (), (("delays", away), ("report", away), ("flights", "vanished"))))
    assert text.splitlines()[-2:] == [f"  delays, report  {away}", "  flights         vanished"]
    summary = Summary((), (), tuple((f"a{n}", away) for n in range(9)))
    assert summary.failures == (f"a0, a1, a2 and 6 more could not be observed: {away}",)


def test_assets_that_wait_for_the_same_share_a_row():
    named = ("delays", "report", "manual", "flights")
    items = [Waiting(name, "waits for raw: no data yet") for name in named]
    items += [Waiting("delays", "failed", None, days(day)) for day in ("2025-01-01", "2025-01-03")]
    stream = io.StringIO()
    print_waiting(items, SHOP, Terminal(stream, width=100), quiet=True)
    rows = [" ".join(line.split()) for line in stream.getvalue().splitlines()]
    assert rows[3:] == [
        "delays, report, manual and 1 more waits for raw: no data yet",
        "delays 2025-01-01, 2025-01-03 failed",
    ]

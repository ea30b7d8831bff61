"""What the Python API answers, as a notebook shows it: keys and times, never seconds since 1970."""

from xml.etree import ElementTree as ET

import pytest

import sparkassets
from sparkassets import BackfillRequest, Project, RunFailedError, RunResult, Summary
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.runs import RunRequest
from sparkassets.runtime.driver import Driver
from tests.builders import days

AT = "2025-01-03T06:00"


@pytest.fixture
def loaded(shop):
    (shop / "assets/nightly.yml").write_text("asset: nightly\nschedule: '0 7 * * *'\nsql: SELECT 1 AS n\n")
    return Project.load(shop)


def test_a_plan(loaded):
    assert repr(loaded.plan(at=AT)).splitlines()[:3] == [
        "<plan at 2025-01-03T06:00Z>",
        "<run nightly: 0 7 * * * at 2025-01-02T07:00Z>",
        "<run daily_revenue 2025-01-01..2025-01-02: 2 partitions missing>",
    ]
    plan = loaded.backfills.plan(BackfillRequest("daily_revenue", "2025-01-01..2025-01-09"), at=AT)
    assert plan.runs[0].partition_keys == ("2025-01-01..2025-01-02",)
    assert repr(plan.waiting[0]).startswith("<wait daily_revenue 2025-01-03..2025-01-09: not over before ")


def test_a_status_a_preview_an_alignment_and_an_explanation(loaded):
    told = {item.asset: repr(item) for item in loaded.status(at=AT)}
    assert told["daily_revenue"] == "<status of daily_revenue: 2 missing>"
    assert repr(loaded.assets.preview("nightly", start=AT, count=2)[0]) == (
        "<next of nightly: 2025-01-03T07:00Z, 2025-01-04T07:00Z>"
    )
    assert repr(loaded.assets.align("nightly", "@daily", at=AT)) == (
        "<run of 2025-01-02T00:00Z takes the one of 2025-01-01T07:00Z: execution delta 17:00:00, case 2>"
    )
    assert repr(loaded.explain("daily_revenue", at=AT)).splitlines()[:2] == [
        "+ daily_revenue",
        "  + runs now 2025-01-01..2025-01-02: 2 partitions missing",
    ]


def cells(html):
    """The rows of all tables, headings included, and no text besides what is in cells and paragraphs."""
    root = ET.fromstring(html)  # noqa: S314  our own, which has to be well-formed
    assert {each.tag for each in root.iter()} <= {"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td"}
    return [[cell.text or "" for cell in row] for row in root.iter("tr")]


def test_a_plan_and_a_status_are_tables_in_a_notebook(loaded):
    plan = loaded.plan(at=AT)
    rows = cells(plan._repr_html_())
    assert rows[0] == ["asset", "partitions", "reason"]
    assert ["daily_revenue", "2025-01-01..2025-01-02", "2 partitions missing"] in rows
    assert ["best_shops", "waits for daily_revenue 2025-01-01..2025-01-02, which runs first"] in rows
    assert "takes" in cells(loaded.plan(at=AT, estimate=True)._repr_html_())[0]

    status = loaded.status(at=AT)
    rows = cells(status._repr_html_())
    assert rows[0] == ["asset", "partitions", "state", "last", "next"]
    assert [row[0] for row in rows[1:]] == [each.asset for each in status]
    assert status["daily_revenue"].missing == 2
    assert len(status) == 4
    assert repr(status).splitlines()[0] == "<status at 2025-01-03T06:00Z>"


def test_a_summary_is_a_table_in_a_notebook_that_shows_text_as_text():
    failed = result("failed", rows=1_000, error="<script>alert(1)</script> & \u202e")
    html = Summary((failed,), (Waiting("best_shops", "waits"),), faults=(("orders", "<b>"),))._repr_html_()
    assert "<script" not in html
    rows = cells(html)
    assert ["daily_revenue", "failed", "1,000", "1.2", "<script>alert(1)</script> & \\u202e"] in rows
    assert ["orders", "<b>"] in rows
    assert ["best_shops", "waits"] in rows


def result(status, **more):
    request = RunRequest("daily_revenue", "scheduled", days("2025-01-01..2025-01-02"))
    return RunResult(request, "daily_revenue-1", status, 1.25, **more)


@pytest.fixture
def ends(monkeypatch):
    """Lets the next invocation end so."""

    def put(*runs, **more):
        monkeypatch.setattr(Driver, "run_works", lambda *_: Summary(runs, (Waiting("best_shops", "waits"),), **more))

    return put


FAILED = "daily_revenue 2025-01-01..2025-01-02 failed: no such column"


@pytest.mark.parametrize(
    "call", [Project.run, lambda project, **more: project.backfills.run(BackfillRequest("nightly"), **more)]
)
def test_a_failure_is_raised_unless_one_looks_oneself(loaded, ends, call):
    ends(result("failed", error="no such column", hint="did you mean 'amount'?"), result("success", rows=5))
    with pytest.raises(RunFailedError) as raised:
        call(loaded)
    assert str(raised.value) == f"{FAILED}\n  hint: did you mean 'amount'?"
    assert (raised.value.exit_code, len(raised.value.summary.runs)) == (1, 2)
    summary = call(loaded, check=False)
    assert not summary.ok
    assert repr(summary).splitlines() == [
        "<summary: 1 failed, 1 success>",
        "<run daily_revenue 2025-01-01..2025-01-02: failed after 1.2 s: no such column>",
        "<run daily_revenue 2025-01-01..2025-01-02: success after 1.2 s, 5 rows>",
        "<wait best_shops: waits>",
    ]


def test_a_source_that_cannot_be_looked_at_is_a_failure_too(loaded, ends):
    ends(faults=(("orders", "not a Delta table"),))
    with pytest.raises(RunFailedError, match=r"^orders could not be observed: not a Delta table$"):
        loaded.run()


def test_many_failures_are_counted(loaded, ends):
    ends(*[result("failed", error="no such column")] * 5)
    with pytest.raises(RunFailedError) as raised:
        loaded.run()
    assert str(raised.value) == "; ".join([FAILED] * 3 + ["and 2 more"])


def test_what_was_interrupted_or_superseded_did_not_fail(loaded, ends):
    ends(result("cancelled"), result("superseded"), interrupted=True)
    assert repr(loaded.run()).splitlines()[0] == "<summary: 1 cancelled, 1 superseded; interrupted>"


def test_all_public_names_are_there():
    for name in sparkassets.__all__:
        assert getattr(sparkassets, name).__name__ == name

"""`latest_only` by intervals: one run from the newest interval that ran to now, whatever was missed in between."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.instants import DAY, from_unix
from sparkassets.core.strategies import LatestOnly
from sparkassets.core.writes import AppendWrite
from sparkassets.errors import SpecError
from sparkassets.project import load_project
from tests.builders import Story, asset, at, project, source, timed


def make_story(schedule: object = "@daily", **bounds: object) -> Story:
    return Story(
        project(
            source("s", by=None),
            asset("a", "s", by=None, schedule=timed(schedule, **bounds), strategy=LatestOnly(), write=AppendWrite()),
        ),
        now="2025-01-03",
    )


def ran(story: Story) -> list[tuple[int, int] | None]:
    return [run.request.interval for run in story.run_all()]


def test_a_run_goes_from_the_newest_interval_that_ran_to_now():
    story = make_story()
    story.observed("s")
    assert ran(story) == [(at("2025-01-02"), at("2025-01-03"))]
    story.now = "2025-01-07T09:00"
    (run,) = story.plan().runs
    assert run.request.interval == (at("2025-01-03"), at("2025-01-07"))
    assert "spans 4 intervals since 2025-01-03T00:00Z (catchup: rollup)" in run.reason
    assert ran(story) == [(at("2025-01-03"), at("2025-01-07"))]
    assert ran(story) == []


def test_catchup_latest_skips_what_it_missed():
    story = make_story({"cron": "@daily", "catchup": "latest"})
    story.observed("s")
    ran(story)
    story.now = "2025-01-07"
    assert ran(story) == [(at("2025-01-06"), at("2025-01-07"))]


@given(st.lists(st.tuples(st.integers(1, 5), st.booleans()), min_size=1, max_size=12))
def test_no_day_is_left_out_and_none_is_read_twice(steps):
    """Whatever days pass between invocations, and whichever runs fail."""
    told, now, done = make_story(start=at("2025-01-01")), at("2025-01-01"), []
    told.observed("s")
    for invocation, (passed, fails) in enumerate(steps):
        now += passed * DAY
        told.now = from_unix(now).isoformat()
        for run in told.plan(invocation=str(invocation)).runs:
            claim = told.claim(run, invocation=str(invocation))
            if fails:
                told.fail("a", claim, invocation=str(invocation))
            else:
                told.succeed("a", claim)
                done.append(run.request.interval)
    last = steps[-1][1]
    assert not done or done[0][0] == at("2025-01-01")
    assert [end for _, end in done[:-1]] == [start for start, _ in done[1:]]
    assert last or done[-1][1] == now


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("schedule: manual", "a.yml:2:11: strategy 'latest_only' needs an inlet with 'read'"),
        ("schedule: {cron: '@daily', catchup: all}", "'latest_only' runs once for all missed intervals"),
        (
            "schedule: '@daily'\npartition: {by: day, column: day}",
            "strategy 'latest_only' follows a watermark and excludes partitions",
        ),
    ],
)
def test_what_has_no_watermark_is_refused(tmp_path, text, message):
    (tmp_path / "project.yml").write_text("project: p\nassets: [.]\n")
    (tmp_path / "a.yml").write_text(f"asset: a\nstrategy: latest_only\nwrite: append\nsql: SELECT 1 AS n\n{text}\n")
    with pytest.raises(SpecError, match=message):
        load_project(tmp_path, {})

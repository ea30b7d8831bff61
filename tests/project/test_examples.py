"""The examples of the grammar are valid as they stand."""

from pathlib import Path

import pytest

from sparkassets.project import load_project
from tests.builders import Story

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir()))
def test_an_example_is_valid_as_it_stands(example):
    assert load_project(EXAMPLES / example, {}).assets


def test_hours_of_a_day_of_one_warehouse_follow_it():
    story = Story(load_project(EXAMPLES / "08_hour_x_warehouse", {}))
    partitioning = story.project.assets["dwh_spend_analysis"].partitioning
    story.observed("dwh_daily_spend", "2025-01-01")
    assert [partitioning.labels(run.partitions) for run in story.run_all()] == [
        ["2025-01-01T00..2025-01-01T23,engineering-dwh", "2025-01-01T00..2025-01-01T23,marketing-dwh"]
    ]
    story.observed("dwh_daily_spend", "2025-01-01,marketing-dwh")
    (run,) = story.run_all()
    assert partitioning.labels(run.partitions) == ["2025-01-01T00..2025-01-01T23,marketing-dwh"]
    assert run.reason == "24 stale: dwh_daily_spend changed"


def test_a_partner_is_called_when_a_file_came_or_a_day_has_passed_without_any():
    story = Story(load_project(EXAMPLES / "17_upstream_may_not_come", {}))
    calls = []
    for hour in range(4 * 24):
        story.now = story.clock = f"2025-03-{4 + hour // 24:02}T{hour % 24:02}:00"
        if hour in (6, 54):  # Monday's file on Tuesday at six, Wednesday's on Thursday, and Tuesday's never
            story.observed("partner_orders", "2025-03-03" if hour == 6 else "2025-03-05")
        for run in story.plan().runs:
            if run.asset == "partner_calls":
                story.succeed(run.asset, story.claim(run))
                calls.append((hour, run.reason))
    assert [(hour, reason.partition(" at ")[0]) for hour, reason in calls] == [
        (6, "partner_orders updated"),
        (30, "1d without partner_orders"),
        (54, "partner_orders updated"),
        (78, "1d without partner_orders"),
    ]

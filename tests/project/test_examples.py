"""The examples of the grammar are valid as they stand."""

from pathlib import Path

import pytest

from sparkassets.project import load
from tests.builders import Story

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir()))
def test_an_example_is_valid_as_it_stands(example):
    assert load(EXAMPLES / example, {}).assets


def test_hours_of_a_day_of_one_warehouse_follow_it():
    story = Story(load(EXAMPLES / "08_hour_x_warehouse", {}))
    partitioning = story.project.assets["dwh_spend_analysis"].partitioning
    story.observed("dwh_daily_spend", "2025-01-01")
    assert [partitioning.labels(run.blocks) for run in story.run_all()] == [
        ["2025-01-01T00..2025-01-01T23,engineering-dwh", "2025-01-01T00..2025-01-01T23,marketing-dwh"]
    ]
    story.observed("dwh_daily_spend", "2025-01-01,marketing-dwh")
    (run,) = story.run_all()
    assert partitioning.labels(run.blocks) == ["2025-01-01T00..2025-01-01T23,marketing-dwh"]
    assert run.reason == "24 stale: dwh_daily_spend changed"

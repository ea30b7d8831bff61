"""The fifteen examples of the grammar: those that stand are valid, the others are refused by the keys still to come.

A key that comes to stand must leave its example's list here: nothing is accepted and ignored, and nothing that works
is refused.
"""

import re
import shutil
from pathlib import Path

import pytest

from sparkassets.errors import SpecError
from sparkassets.project import load
from tests.builders import Story

EXAMPLES = Path(__file__).parents[1] / "examples"
TO_COME = {
    "01_daily_sales": {"table"},
    "03_cdc_upsert": {"table"},
    "04_model_scoring": {"table"},
    "05_debounced_dimension": {"table"},
    "06_regulatory_report": {"table"},
    "07_model_per_customer": {"table"},
    "08_hour_x_warehouse": {"table"},
    "10_fact_x_dimension": {"table"},
    "11_audit_log": {"table"},
    "12_cron_to_cron": {"table"},
    "13_streaming_table": {"table"},
    "14_multi_asset": {"table"},
}


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir()))
def test_an_example_is_valid_or_refused_by_what_is_to_come(example):
    if example not in TO_COME:
        assert load(EXAMPLES / example, {}).assets
        return
    with pytest.raises(SpecError) as refused:
        load(EXAMPLES / example, {})
    assert all("not supported yet" in problem.message for problem in refused.value.problems)
    named = {_subject(problem.message) for problem in refused.value.problems}
    assert named == TO_COME[example]


@pytest.mark.parametrize(
    "example",
    [
        "01_daily_sales",
        "02_rolling_users",
        "04_model_scoring",
        "05_debounced_dimension",
        "06_regulatory_report",
        "08_hour_x_warehouse",
        "10_fact_x_dimension",
        "11_audit_log",
        "12_cron_to_cron",
        "13_streaming_table",
    ],
)
def test_an_example_over_a_catalogs_table_is_valid_over_a_path(example, tmp_path):
    assert over_paths(example, tmp_path).assets


def test_hours_of_a_day_of_one_warehouse_follow_it(tmp_path):
    story = Story(over_paths("08_hour_x_warehouse", tmp_path))
    partitioning = story.project.assets["dwh_spend_analysis"].partitioning
    story.observed("dwh_daily_spend", "2025-01-01")
    assert [partitioning.labels(run.blocks) for run in story.run_all()] == [
        ["2025-01-01T00..2025-01-01T23,engineering-dwh", "2025-01-01T00..2025-01-01T23,marketing-dwh"]
    ]
    story.observed("dwh_daily_spend", "2025-01-01,marketing-dwh")
    (run,) = story.run_all()
    assert partitioning.labels(run.blocks) == ["2025-01-01T00..2025-01-01T23,marketing-dwh"]
    assert run.reason == "24 stale: dwh_daily_spend changed"


def over_paths(example, folder):
    """The project of an example whose catalog's tables, which are not supported yet, are at paths instead."""
    copied = shutil.copytree(EXAMPLES / example, folder / example)
    for file in copied.glob("*.yml"):
        file.write_text(re.sub(r"^table: \S+\.(\w+)", r"path: lake/\1", file.read_text(), flags=re.MULTILINE))
    return load(copied, {})


def _subject(message: str) -> str:
    found = re.search(r"cannot be '(\w+)'", message) or re.search(r"'(\w+)'", message)
    return found[1] if found else message.removesuffix(" is not supported yet")

"""Code that returns a column which a strict table does not have waits for a person before anything is started."""

from __future__ import annotations

from typing import Any

import pytest

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.documents.report import ReportHistory, build_report
from sparkassets.core.planner.batch.requested_runs import plan_rebuild
from sparkassets.core.planner.explain.status import asset_status
from sparkassets.core.query_text import normal_form
from sparkassets.core.spec.code_bodies import SqlBody
from sparkassets.core.strategies import LatestOnly
from sparkassets.core.writes import AppendWrite, UpsertWrite
from sparkassets.runtime.requested_works import BackfillWork
from tests.builders import HERE, Story, asset, project, source

OLD, NEW = "SELECT day, n FROM {{ inlets.s }}", "SELECT day, n, upper(shop) AS note FROM {{ inlets.s }}"
ADDS = "the code adds column 'note', which the table does not have"
KEY = f"set `schema: add_columns` in {HERE.file} to allow the change"
REBUILD = "`sparkassets backfill a --rebuild` recomputes the table with the new columns"
SAID = f"{ADDS}: {KEY}; {REBUILD}"


class Tables:
    """The columns of tables, and which were asked for."""

    def __init__(self, *columns: str, **more: tuple[str, ...]) -> None:
        self.columns = {"a": columns, **more}
        self.asked: list[str] = []

    def __call__(self, table: Any) -> tuple[str, ...] | None:
        self.asked.append(table.name)
        return self.columns.get(table.name)


def make_assets(sql: str, **more: Any) -> tuple[Any, ...]:
    first = source("s", **({"by": more["by"]} if "by" in more else {}))
    body = {"body": SqlBody(sql, HERE), "definition": AssetDefinition.build(text=normal_form(sql))}
    return first, asset("a", "s", **{**body, **more}), asset("b", "a", **({"by": more["by"]} if "by" in more else {}))


def changed(sql: str = NEW, **more: Any) -> Story:
    """One day is computed by the old code; another one is due by the new."""
    story = Story(project(*make_assets(OLD, **more)), now="2025-02-01")
    story.observed("s", *([] if "by" in more else ["2025-01-01"]))
    story.run_all()
    story.change(*make_assets(sql, **more))
    story.observed("s", *([] if "by" in more else ["2025-01-02"]))
    return story


def test_the_run_waits_for_a_person_with_the_commands_and_what_reads_it_waits():
    story, tables = changed(), Tables("day", "n")
    plan = story.plan(stored_columns=tables)
    assert plan.runs == ()
    (wait,) = [each for each in plan.waiting if each.asset == "a"]
    assert (wait.reason, wait.stuck, story.keys("a", wait.partitions)) == (SAID, True, ["2025-01-02"])
    assert story.waits("b", stored_columns=tables) == ["waits for a 2025-01-02, held by its columns"]


@pytest.mark.parametrize("columns", [(), ("day", "n", "NOTE")])
def test_a_table_that_has_the_column_or_cannot_be_looked_at_is_left_to_the_run(columns):
    assert changed().due(stored_columns=Tables(*columns)) == {"a": ["2025-01-02"]}


def test_nobody_looks_at_the_table_of_code_that_is_as_it_was():
    story, tables = changed(OLD), Tables("day", "n")
    assert story.due(stored_columns=tables) == {"a": ["2025-01-02"]}
    assert tables.asked == []


@pytest.mark.parametrize("more", [{"schema": "add_columns"}, {"schema": "evolve"}])
def test_what_schema_allows_runs(more):
    assert changed(**more).due(stored_columns=Tables("day", "n")) == {"a": ["2025-01-02"]}


def test_a_star_is_what_the_inlet_has_where_that_is_known():
    sql = "SELECT *, 1 AS note FROM {{ inlets.s }}"
    assert changed(sql).waits("a", stored_columns=Tables("day", "n", s=("day", "n"))) == [SAID]
    assert changed(sql).due(stored_columns=Tables("day", "n")) == {"a": ["2025-01-02"]}


def test_where_a_column_is_dropped_too_no_key_lets_a_run_do_it():
    said = f"{ADDS} and does not return column 'm' of the table: {REBUILD}"
    assert changed().waits("a", stored_columns=Tables("day", "n", "m")) == [said]


def test_a_run_that_replaces_the_whole_table_changes_its_columns():
    assert changed(by=None).due(stored_columns=Tables("day", "n")) == {"a": []}


def test_an_append_to_a_table_without_partitions_waits_and_no_rebuild_is_offered():
    story = changed(by=None, write=AppendWrite(), strategy=LatestOnly())
    by_hand = "appended rows cannot be recomputed: write to another table, or alter this one by hand"
    assert story.waits("a", stored_columns=Tables("day", "n")) == [f"{ADDS}: {KEY}; {by_hand}"]


def test_an_upsert_waits_but_not_for_columns_that_it_does_not_store():
    upsert = {"write": UpsertWrite(keys=("n",))}
    assert changed(**upsert).waits("a", stored_columns=Tables("day", "n")) == [SAID]
    hidden = "SELECT day, n, 1 AS _note FROM {{ inlets.s }}"
    assert changed(hidden, **upsert).due(stored_columns=Tables("day", "n")) == {"a": ["2025-01-02"]}


def test_a_run_that_settles_an_older_one_is_not_held():
    story, tables = changed(), Tables("day", "n")
    claim = story.claim(story.plan().runs[0])
    assert story.due(stored_columns=tables, gone_claims=[claim]) == {"a": ["2025-01-02"]}


def test_a_backfill_waits_alike_and_is_not_recorded_while_a_rebuild_runs():
    story, tables = changed(), Tables("day", "n")
    found = story.project.assets["a"]
    context = story.context(stored_columns=tables)
    work = BackfillWork(found, found.partitioning.parse("2025-01-01"), force=True)
    assert work.begin(context) == ()
    plan = work.plan(context)
    assert [plan.runs, [each.reason for each in plan.waiting]] == [(), [SAID]]
    (run,) = plan_rebuild(context, found, force=False).runs
    assert story.keys("a", run.partitions) == ["2025-01-01..2025-01-02"]


def test_once_the_new_code_has_computed_something_the_table_is_not_asked_again():
    story = changed()
    story.run_all()
    story.observed("s", "2025-01-03")
    assert story.due(stored_columns=Tables("day", "n")) == {"a": ["2025-01-03"]}


def test_status_says_so():
    story = changed()
    status = asset_status(story.context(stored_columns=Tables("day", "n")), story.project.assets["a"])
    assert status.stuck
    assert f"waits for a person: {SAID}" in status.notes


STAR = "`sparkassets backfill star --rebuild` recomputes the table with the new columns"


def starred(sql: str, **more: Any) -> tuple[Any, ...]:
    """`a` takes new columns, `star` has all of them, `plain` names two, `after` reads `star`."""
    texts = {"a": sql, "star": "SELECT * FROM {{ inlets.a }}", "plain": "SELECT day, n FROM {{ inlets.a }}"}
    body = {
        name: {
            "body": SqlBody(text, HERE),
            "definition": AssetDefinition.build(text=normal_form(text)),
            "on_code_change": "backfill",
        }
        for name, text in texts.items()
    }
    return (
        source("s"),
        asset("a", "s", schema="add_columns", **body["a"]),
        asset("star", "a", **body["star"], **more),
        asset("plain", "a", **body["plain"]),
        asset("after", "star"),
    )


def widened(*days: str, **more: Any) -> Story:
    """One day is computed by the old code, which is another now; other days may have come."""
    story = Story(project(*starred(OLD, **more)), now="2025-02-01")
    story.observed("s", "2025-01-01")
    story.run_all()
    story.change(*starred(NEW, **more))
    if days:
        story.observed("s", *days)
    return story


def waits(story: Story, tables: Tables) -> dict[str, list[tuple[str, bool]]]:
    """By asset the reasons of what is not at rest, and whether a person has to act."""
    items = [each for each in story.plan(stored_columns=tables).waiting if not each.quiet]
    return {name: [(each.reason, each.stuck) for each in items if each.asset == name] for name in story.project.assets}


def test_what_reads_all_columns_waits_for_a_person_before_its_inlet_runs():
    story, tables = widened(), Tables("day", "n", star=("day", "n"), s=("day", "n", "shop"))
    assert story.due(stored_columns=tables) == {"a": ["2025-01-01"]}
    first = f"a, which runs first, adds column 'note', which the table does not have: {KEY}; once it has run, {STAR}"
    held = "waits for star 2025-01-01, held by its columns"
    assert waits(story, tables) == {"s": [], "a": [], "star": [(first, True)], "plain": [], "after": [(held, False)]}
    status = asset_status(story.context(stored_columns=tables), story.project.assets["star"])
    assert f"waits for a person: {first}" in status.notes
    tables.columns["a"] = ("day", "n", "note")
    story.succeed("a", story.claim(story.plan(stored_columns=tables).runs[0]))
    now = f"a adds column 'note', which the table does not have: {KEY}; {STAR}"
    assert "star" not in story.due(stored_columns=tables)
    assert waits(story, tables)["star"] == [(now, True)]


def test_what_reads_none_of_the_new_columns_does_not_wait_for_the_run_that_brings_them():
    story, tables = widened(), Tables("day", "n", star=("day", "n"))
    (said,) = story.waits("plain", stored_columns=tables)
    assert said.startswith("up to date since plain-")


def test_days_whose_input_is_new_too_wait_for_it_and_the_star_for_a_person():
    story, tables = widened("2025-01-02"), Tables("day", "n", star=("day", "n"), s=("day", "n", "shop"))
    assert waits(story, tables)["plain"] == [("waits for a 2025-01-01..2025-01-02, which runs first", False)]
    assert [stuck for _, stuck in waits(story, tables)["star"]] == [True]


@pytest.mark.parametrize("more", [{"schema": "add_columns"}, {"by": None}])
def test_a_star_whose_table_may_get_the_column_waits_for_the_run_alone(more):
    story, tables = widened(**more), Tables("day", "n", star=("day", "n"), s=("day", "n", "shop"))
    assert waits(story, tables)["star"] == [("waits for a 2025-01-01, which runs first", False)]


def test_tables_are_not_asked_for_where_no_code_is_new():
    story = Story(project(*starred(OLD)), now="2025-02-01")
    story.observed("s", "2025-01-01")
    story.run_all()
    story.observed("s", "2025-01-02")
    tables = Tables("day", "n", star=("day", "n"))
    assert story.due(stored_columns=tables) == {"a": ["2025-01-02"]}
    story.run_all()
    assert tables.asked == []


def test_the_report_says_so():
    story = changed()
    context = story.context(stored_columns=Tables("day", "n"))
    plan = story.plan(stored_columns=Tables("day", "n"))
    rows = build_report(context, plan, ReportHistory.from_entries((), whole=True)).index["waiting"]
    assert [(row["asset"], row.get("stuck")) for row in rows] == [("a", True), ("b", None)]
    assert rows[0]["reason"].startswith(f"waits for a person: {ADDS}")

"""What is planned and told once the code of an asset changed: nothing is mixed without a word."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.instants import Duration
from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.journal.marks import MarkEntry
from sparkassets.core.partitions import EVERYTHING, WindowMapping
from sparkassets.core.planner.batch.backfill import backfillable_partitions, plan_backfill
from sparkassets.core.planner.explain.explanation import explain_asset
from sparkassets.core.planner.explain.status import asset_status
from sparkassets.core.query_text import normal_form
from sparkassets.core.spec.model import AssetSpec, InletSpec
from sparkassets.core.strategies import DateRange, EveryInstance, FullRefresh, LatestOnly
from sparkassets.core.writes import AppendWrite, ReplaceWrite, UpsertWrite
from tests.builders import Story, asset, project, source


def code(sql: str, **params: object) -> AssetDefinition:
    return AssetDefinition.build(text=normal_form(sql), params=params)


OLD, NEW, NEWER = code("SELECT 1 AS x"), code("SELECT 2 AS x"), code("SELECT 3 AS x")


class Coded(Story):
    """A source by day, and one asset or two of it, with code that changes."""

    def __init__(self, **more: Any) -> None:
        self.more = {"on_code_change": "warn", **more}
        super().__init__(project(*self.assets(OLD)), now="2025-01-04")

    def assets(self, definition: AssetDefinition, **more: Any) -> tuple[AssetSpec, ...]:
        return source("s"), asset("a", "s", **{**self.more, "definition": definition, **more}), asset("b", "a")

    def becomes(self, definition: AssetDefinition, **more: Any) -> None:
        self.change(*self.assets(definition, **more))

    def noted(self, name: str = "a") -> list[tuple[list[str], str]]:
        return [(self.keys(name, note.partitions), note.text) for note in self.plan().notes if note.asset == name]

    def computed_by(self, name: str = "a") -> dict[str, list[str]]:
        made = self.state.assets[name].definition_outputs
        return {each.definition.id: self.keys(name, each.partitions) for each in made if each.partitions}

    def backfill(self, **more: Any) -> list[list[str]]:
        found = self.project.assets["a"]
        context = self.context()
        planned = plan_backfill(
            context, found, backfillable_partitions(context, found), **{"force": False, "other_code": True, **more}
        )
        return [self.keys("a", run.partitions) for run in planned.runs]


def there(**more: Any) -> Coded:
    """Three days, computed by the old code."""
    story = Coded(**more)
    story.observed("s", "2025-01-01..2025-01-03")
    story.run_all()
    return story


ALL = ["2025-01-01..2025-01-03"]


class TestWarn:
    def test_nothing_is_said_of_code_that_is_as_it_was(self):
        story = there()
        story.becomes(code("select 1 -- one\n as x"))
        assert story.noted() == []
        assert story.computed_by() == {OLD.id: ALL}

    def test_what_was_computed_before_is_named_and_stays(self):
        story = there()
        story.becomes(NEW)
        assert story.due() == {}
        said = "the code changed since a-5 at 2025-01-01T00:00Z; recompute it by `sparkassets backfill a --all`"
        assert story.noted() == [(ALL, said)]

    @pytest.mark.parametrize(
        ("now", "more", "command"),
        [
            ("SELECT 1 AS x, 2 AS y", {}, "--rebuild"),
            ("SELECT 1 AS z", {"schema": "evolve"}, "--rebuild"),
            ("SELECT 1 AS x, 2 AS y", {"schema": "add_columns"}, "--all"),
            ("SELECT 2 AS X", {}, "--all"),
            ("SELECT * FROM x", {}, "--all"),
        ],
    )
    def test_columns_that_no_run_may_change_take_a_rebuild(self, now, more, command):
        story = there(**more)
        story.becomes(code(now))
        ((_, said),) = story.noted()
        again = ", and its columns differ" if command == "--rebuild" else ""
        assert said == (
            f"the code changed since a-5 at 2025-01-01T00:00Z{again}; recompute it by `sparkassets backfill a "
            f"{command}`"
        )

    @pytest.mark.parametrize(
        ("now", "write", "again"),
        [
            ("SELECT 1 AS x, 2 AS y", UpsertWrite(("x",)), ", and its columns differ; recompute it by … --rebuild`"),
            ("SELECT 1 AS x, 2 AS _op", UpsertWrite(("x",)), "; recompute it by …`"),
            ("SELECT 1 AS x, 2 AS y", ReplaceWrite(), "; recompute it by …`"),
        ],
    )
    def test_without_partitions_only_a_write_that_keeps_rows_takes_a_rebuild(self, now, write, again):
        story = there(by=None, strategy=LatestOnly(), write=write)
        story.becomes(code(now))
        ((_, said),) = story.noted()
        assert said.partition("00:00Z")[2] == again.replace("…", "`sparkassets backfill a")

    def test_a_table_of_two_is_told_until_the_rest_is_computed_again(self):
        story = there()
        story.becomes(NEW)
        story.now = "2025-01-05"
        story.observed("s", "2025-01-04")
        story.run_all()
        assert story.computed_by() == {OLD.id: ALL, NEW.id: ["2025-01-04"]}
        assert [partitions for partitions, _ in story.noted()] == [ALL]
        assert story.backfill() == [ALL]
        context, spec = story.context(), story.project.assets["a"]
        (run,) = plan_backfill(context, spec, backfillable_partitions(context, spec), force=False, other_code=True).runs
        story.succeed("a", story.claim(run))
        assert story.noted() == []
        assert story.computed_by() == {NEW.id: ["2025-01-01..2025-01-04"]}

    def test_a_backfill_of_some_days_takes_them_for_current(self):
        story = there()
        story.becomes(NEW)
        assert story.backfill(other_code=False) == []
        assert story.backfill(other_code=False, force=True) == [ALL]

    def test_status_and_explain_tell_it(self):
        story = there()
        story.becomes(NEW)
        spec = story.project.assets["a"]
        (note,) = asset_status(story.context(), spec).notes
        assert note.startswith("2025-01-01..2025-01-03: the code changed since a-5 at")
        assert f"code {OLD.id[:8]}, last in a-5 at 2025-01-01T00:00Z" in repr(explain_asset(story.context(), spec))

    def test_ignore_says_nothing_but_when_it_is_asked(self):
        story = there()
        story.becomes(NEW, on_code_change="forward_only")
        assert story.noted() == []
        spec = story.project.assets["a"]
        assert asset_status(story.context(), spec).notes == ()
        assert "computed by different code (on_code_change: forward_only)" in repr(explain_asset(story.context(), spec))

    def test_what_a_person_accepts_is_of_the_present_code(self):
        story = there()
        story.becomes(NEW)
        partitions = story.project.assets["a"].partitioning.parse(ALL[0])
        story.add(MarkEntry("a", "a", "done", partitions, "no row is another one", "me"))
        assert story.noted() == []
        assert story.computed_by() == {NEW.id: ALL}
        story.becomes(NEWER)
        assert [partitions for partitions, _ in story.noted()] == [ALL]

    def test_params_are_code(self):
        story = there()
        story.becomes(code("SELECT 1 AS x", low=1))
        assert [partitions for partitions, _ in story.noted()] == [ALL]

    def test_what_was_appended_stays_and_is_told_until_the_next_run(self):
        story = there(by=None, write=AppendWrite(), strategy=EveryInstance())
        story.becomes(NEW)
        (said,) = [text for _, text in story.noted()]
        assert said == "the code changed since a-5 at 2025-01-01T00:00Z; appended rows stay as they are"
        story.observed("s", "2025-01-03")
        story.run_all()
        assert story.noted() == []
        assert [each.definition.id for each in story.state.assets["a"].definition_outputs if each.partitions] == [
            OLD.id,
            NEW.id,
        ]


class TestBackfill:
    def test_partitions_of_older_code_are_stale(self):
        story = there(on_code_change="backfill")
        story.becomes(NEW)
        (run,) = story.plan().runs
        assert (story.keys("a", run.partitions), run.reason) == (ALL, "3 stale: its code changed")
        assert asset_status(story.context(), story.project.assets["a"]).stale == 3
        assert [each.asset for each in story.run_all()] == ["a", "b"]
        assert story.computed_by() == {NEW.id: ALL}
        assert story.noted() == []

    def test_caps_hold(self):
        story = there(on_code_change="backfill", strategy=DateRange(max_partitions_per_run=2))
        story.becomes(NEW)
        partitions = [story.keys("a", run.partitions) for run in story.run_all() if run.asset == "a"]
        assert partitions == [["2025-01-01..2025-01-02"], ["2025-01-03"]]

    def test_a_condition_that_names_other_things_keeps_it_not_back(self):
        story = there(on_code_change="backfill", schedule="s & x-never://comes")
        assert story.computed_by() == {}
        story = there(on_code_change="backfill")
        story.becomes(NEW, schedule="s & x-never://comes")
        assert story.due() == {"a": ALL}

    def test_all_of_an_asset_without_partitions_is_computed_again(self):
        story = there(by=None, on_code_change="backfill", strategy=FullRefresh())
        story.becomes(NEW)
        (run,) = story.plan().runs
        assert (run.asset, run.partitions, run.reason) == ("a", EVERYTHING, "its code changed")
        story.run_all()
        story.becomes(NEW, description="the same")
        assert story.plan().runs == ()

    def test_manual_waits_for_a_backfill(self):
        story = there(on_code_change="backfill")
        story.change(*(replace(each, schedule=type(each.schedule)()) for each in story.assets(NEW)))
        assert story.due() == {}
        assert story.backfill() == [ALL]

    def test_an_older_checkout_computes_nothing_of_the_newer_one_again(self):
        story = there(on_code_change="backfill")
        for _ in range(3):
            story.becomes(NEW)
            story.run_all()
            assert story.computed_by() == {NEW.id: ALL}
            story.becomes(OLD)
            assert story.due() == {}
            ((partitions, said),) = story.noted()
            assert partitions == ALL
            assert "newer code" in said

    def test_what_an_older_checkout_adds_is_computed_once_by_the_newer_one(self):
        story = there(on_code_change="backfill")
        story.becomes(NEW)
        story.run_all()
        story.becomes(OLD)
        story.now = "2025-01-05"
        story.observed("s", "2025-01-04")
        assert [run.asset for run in story.run_all()] == ["a", "b"]
        story.becomes(NEW)
        assert story.due() == {"a": ["2025-01-04"]}
        story.run_all()
        assert story.due() == {}


class TestWhatIsKept:
    def test_of_many_definitions_the_newest_are_told_apart(self):
        story = there()
        for number in range(70):
            story.becomes(code(f"SELECT {number + 10} AS x"))
            if number % 5 == 0:
                story.now = f"2025-02-{number // 5 + 1:02}"
                story.observed("s", f"2025-01-{number // 5 + 4:02}")
                story.run_all()
        made = story.state.assets["a"].definition_outputs
        assert len(made) <= 50
        telling = [each for each in made if each.partitions]
        assert len(telling) == 8
        assert story.keys("a", telling[0].partitions)[0].startswith("2025-01-01..")
        assert decode(encode(story.state), journal_id="journal") == story.state

    def test_what_was_computed_before_any_was_known_is_of_the_first(self):
        story = Coded()
        story.change(*(replace(each, definition=None) for each in story.assets(OLD)))
        story.observed("s", "2025-01-01..2025-01-03")
        story.run_all()
        assert story.computed_by() == {}
        story.state = replace(
            story.state, assets={n: replace(s, definition_outputs=()) for n, s in story.state.assets.items()}
        )
        story.becomes(OLD)
        assert story.computed_by() == {OLD.id: ALL}

    @pytest.mark.parametrize("partitions", ["2025-01-02", "2025-01-01..2025-01-02"])
    def test_what_a_table_lost_is_of_nobody(self, partitions):
        from sparkassets.core.journal.table_findings import TableFinding, TargetEntry

        story = there()
        lost = story.project.assets["a"].partitioning.parse(partitions)
        story.add(TargetEntry("a", "a", TableFinding("lost", "gone", lost)))
        story.becomes(NEW)
        ((said, _),) = story.noted()
        assert partitions.partition("..")[2] not in said


def test_a_partition_whose_new_window_has_no_input_is_not_stale():
    def reading(first: str, last: str) -> AssetSpec:
        window = WindowMapping(Duration.parse(first), Duration.parse(last))
        made = AssetDefinition(f"{first}..{last}")
        return asset("a", InletSpec("s", "", window), definition=made, on_code_change="backfill")

    story = Story(project(source("s"), reading("0d", "1d")))
    story.observed("s", "2025-01-05..2025-01-15")
    story.run_all()
    story.change(source("s"), reading("-1d", "-1d"))
    assert [story.keys("a", run.partitions) for run in story.run_all()] == [["2025-01-06..2025-01-16"]]
    status = asset_status(story.context(), story.project.assets["a"])
    assert (status.covered, status.stale) == (("2025-01-05..2025-01-16",), 0)

"""New code that adds a column: what does not read that column stays current, whatever runs and however it is shaped."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.planner.explain.code_changes import find_code_changes
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.query_text import normal_form
from sparkassets.core.spec.code_bodies import SqlBody
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.strategies import EveryInstance
from sparkassets.core.writes import AppendWrite
from sparkassets.runtime.driver_work import DueWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import HERE, asset, project, source
from tests.runtime.fakes import World

OLD = "SELECT day, sum(x) AS x FROM {{ inlets.s }} GROUP BY day"
MORE = "SELECT day, sum(x) AS x, sum(y) AS y FROM {{ inlets.s }} GROUP BY day"
OTHER = "SELECT day, sum(x) + 1 AS x FROM {{ inlets.s }} GROUP BY day"
ROWS = "SELECT day, sum(x) AS x FROM {{ inlets.s }} WHERE x > 1 GROUP BY day"
NEVER_ALIKE = "SELECT day, sum(x) AS x, current_timestamp() AS at FROM {{ inlets.s }} GROUP BY day"
NEVER_ALIKE_AND_MORE = NEVER_ALIKE.replace("AS x,", "AS x, sum(y) AS y,")
READERS = {
    "plain": "SELECT day, x FROM {{ inlets.a }}",
    "whole": "SELECT sum(x) AS x FROM {{ inlets.a }}",
    "star": "SELECT * FROM {{ inlets.a }}",
    "new": "SELECT day, y FROM {{ inlets.a }}",
}


def sql(made: AssetSpec, text: str) -> AssetSpec:
    return replace(
        made,
        body=SqlBody(text, HERE),
        definition=AssetDefinition.build(text=normal_form(text)),
        on_code_change="backfill",
    )


def shop(text: str, *, by: str | None = "day", condition: str | None = None) -> ProjectSpec:
    readers = [
        sql(asset(name, "a", by=None if name == "whole" else by, schedule=condition), READERS[name]) for name in READERS
    ]
    after = sql(asset("after", "plain", by=by), "SELECT x FROM {{ inlets.plain }}")
    return project(source("s", by=by), sql(asset("a", "s", by=by), text), *readers, after)


def rerun(text: str, *, before: str = OLD, by: str | None = "day", condition: str | None = None) -> set[str]:
    """What runs, besides itself, once `a` has other code than it was computed by."""
    w = World(shop(before, by=by, condition=condition), MemoryStore())
    w.tell("s", *(["2025-01-01", "2025-01-02"] if by else []))
    assert w.driver().run_works([DueWork()]).ok
    w.project = shop(text, by=by, condition=condition)
    ran = {run.asset for run in w.driver().run_works([DueWork()]).runs}
    assert "a" in ran
    assert w.driver().run_works([DueWork()]).runs == ()
    return ran - {"a"}


@pytest.mark.parametrize("by", ["day", None])
def test_what_does_not_read_a_new_column_stays_current(by: str | None):
    assert rerun(MORE, by=by) == {"star", "new"}


def test_what_reads_a_changed_column_is_computed_again():
    assert rerun(OTHER) >= {"plain", "whole", "star", "after"}


@pytest.mark.parametrize(("text", "before"), [(ROWS, OLD), (NEVER_ALIKE_AND_MORE, NEVER_ALIKE)])
def test_other_rows_and_values_that_never_are_the_same_reach_everybody(text: str, before: str):
    assert rerun(text, before=before) == {*READERS, "after"}


def test_a_condition_that_names_it_fires_on_every_update():
    assert rerun(MORE, condition="a") >= {"whole", "star", "new"}


def test_what_was_stale_besides_is_news_for_all():
    w = World(shop(OLD), MemoryStore())
    w.tell("s", "2025-01-01")
    w.driver().run_works([DueWork()])
    w.project = shop(MORE)
    w.tell("s", "2025-01-01")
    assert {run.asset for run in w.driver().run_works([DueWork()]).runs} == {"a", *READERS, "after"}


def test_the_plan_says_the_same():
    w = World(shop(OLD), MemoryStore())
    w.tell("s", "2025-01-01")
    w.driver().run_works([DueWork()])
    context = PlanningContext(shop(MORE), w.driver().ledger.open(), w.clock.now().timestamp().__int__(), 0)
    [change] = find_code_changes(context)
    assert set(change.downstream) == {"star", "new"}
    assert change.downstream["star"] != EVERYTHING


def test_what_is_appended_is_never_computed_again_so_nothing_of_it_is_spared():
    spec = shop(MORE)
    a = replace(spec.assets["a"], write=AppendWrite(), strategy=EveryInstance())
    w = World(replace(spec, assets={**spec.assets, "a": a}), MemoryStore())
    w.tell("s", "2025-01-01")
    assert {run.asset for run in w.driver().run_works([DueWork()]).runs} == {"a", *READERS, "after"}

"""Branches as they are asked for: what is refused, and what a drop leaves; on a project in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from sparkassets.app.adapters import Adapters
from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.instants import Duration
from sparkassets.core.journal.entries import ClaimEntry
from sparkassets.core.journal.state import State
from sparkassets.core.partitions import EVERYTHING, WindowMapping
from sparkassets.core.runs import BranchPromotion, RunRequest
from sparkassets.core.spec.model import AssetSpec, InletSpec, SourceSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.errors import InputError
from sparkassets.open_project import OpenProject
from sparkassets.ports.views import BranchViews
from sparkassets.runtime.ledger import JournalLedger
from sparkassets.runtime.progress import RunFailedError
from sparkassets.state.memory_store import MemoryStore
from sparkassets.testing.time_tests import ProjectRehearsal
from tests.builders import asset, at, project, source


class Memory:
    """What the base and its branches are kept in.

    Attributes:
        stores: By where each is.
        removed: Folders that were.
    """

    def __init__(self) -> None:
        self.stores: dict[str, MemoryStore] = {}
        self.removed: list[str] = []

    def project(self, code: int) -> OpenProject:
        events = replace(source("s"), source=SourceSpec("events"))
        return self.of(
            project(events, asset("a", "s", definition=AssetDefinition(f"a{code}")), asset("b", "a", by=None))
        )

    def of(self, spec: ProjectSpec) -> OpenProject:
        return OpenProject(spec, self.adapters(spec))

    def adapters(self, spec: ProjectSpec) -> Adapters:
        given = ProjectRehearsal(spec).adapters
        store = self.stores.setdefault(spec.state, MemoryStore())
        return replace(
            given, store=store, for_project=self.adapters, list_folders=self.folders, remove_folder=self.remove
        )

    def folders(self, place: str, name: str) -> list[str]:
        inside, stores = f"{place}/{name}/", self.stores.items()
        return [each.removeprefix(inside) for each, store in stores if each.startswith(inside) and store.exists()]

    def remove(self, place: str, name: str) -> None:
        self.removed.append(f"{place}/{name}")
        self.stores.pop(f"{place}/{name}", None)

    def claim(self, whole: OpenProject, state: str, **more: object) -> None:
        """A run of `a` that lives."""
        request = replace(RunRequest("a", "backfill", EVERYTHING), **more)  # type: ignore[arg-type]
        claim = ClaimEntry(request, run="a-1", lease_seconds=600, invocation="x", host="")
        given = whole._context.adapters
        ledger = JournalLedger(self.stores[state], project="test", driver="h:1", clock=given.clock)
        ledger.open()
        ledger.commit(lambda _: [claim])


def branched() -> tuple[Memory, OpenProject]:
    memory = Memory()
    base = memory.project(0)
    base.events.add("s", partition="2025-01-01")
    base.run(at="2025-02-01")
    dev = memory.project(1)
    assert [run.asset for run in dev.branches.open("dev").run(at="2025-02-01").runs] == ["a", "b"]
    return memory, dev


def test_there_is_no_branch_without_a_base():
    with pytest.raises(InputError, match="there is no base to branch from: /s contains no state"):
        Memory().project(1).branches.open("dev")


def test_a_branch_that_is_not_there_is_named():
    _, dev = branched()
    with pytest.raises(InputError, match="unknown branch 'dve'") as raised:
        dev.branches.promote("dve")
    assert raised.value.hint == "did you mean 'dev'?"
    with pytest.raises(InputError, match="invalid branch name 'dev/x'"):
        dev.branches.open("dev/x")


def test_a_drop_removes_tables_before_the_journal():
    memory, dev = branched()
    assert dev.branches.names() == ["dev"]
    assert dev.branches.drop("dev") == ("a", "b")
    assert memory.removed == ["/w/_branches/dev", "/s/branches/dev"]
    assert dev.branches.names() == []


def test_what_runs_is_not_dropped():
    memory, dev = branched()
    memory.claim(dev, "/s/branches/dev")
    with pytest.raises(InputError, match="branch 'dev' is in use: h:1 is running a-1"):
        dev.branches.drop("dev")
    assert memory.removed == []


def test_what_is_being_promoted_is_not_dropped():
    memory, dev = branched()
    journal_id = memory.stores["/s/branches/dev"].read_image(project="test").journal_id
    memory.claim(dev, "/s", promotes=BranchPromotion("dev", journal_id, 1, {}))
    with pytest.raises(InputError, match="branch 'dev' is being promoted: a-1 of a is unfinished in the base"):
        dev.branches.drop("dev")


def test_a_drop_that_was_killed_at_the_journal_is_done_again():
    memory, dev = branched()
    memory.stores["/s/branches/dev"].exists = lambda: False  # type: ignore[method-assign]
    listed = {"/s": ["dev"]}
    dev._context.adapters = replace(dev._context.adapters, list_folders=lambda place, _: listed.get(place, []))
    assert dev.branches.drop("dev") == ()
    assert memory.removed == ["/s/branches/dev"]


class Catalog:
    """The views that were made of a branch: what each shows by the name of a table; and how often they were updated."""

    def __init__(self) -> None:
        self.shown: dict[str, str] = {}
        self.updates = 0
        self.meanwhile: Callable[[], object] = lambda: None

    def update(self, views: BranchViews) -> list[str]:
        self.updates += 1
        given, self.meanwhile = self.meanwhile, lambda: None
        given()
        self.shown = {table[-1]: each.location.path for table, each in views.tables.items() if each is not None}
        return []


def in_catalog(catalog: Catalog) -> OpenProject:
    """Other code of a project whose tables are in a catalog, and whose base has run."""
    memory = Memory()

    def adapters(spec: ProjectSpec) -> Adapters:
        return replace(memory.adapters(spec), update_views=catalog.update, for_project=adapters)

    def project_of(code: int) -> OpenProject:
        events = replace(source("s"), source=SourceSpec("events"))
        made = asset("a", "s", definition=AssetDefinition(f"a{code}")), asset("b", "s", by=None)
        named = [replace(each, storage=StorageLocation.of_table(("gold", each.name))) for each in made]
        spec = project(events, *named)
        return OpenProject(spec, adapters(spec))

    base = project_of(0)
    base.events.add("s", partition="2025-01-01")
    base.run(at="2025-02-01")
    return project_of(1)


def test_views_show_own_and_reused_tables_and_go_before_them():
    catalog = Catalog()
    dev = in_catalog(catalog)
    branch = dev.branches.open("dev")
    branch.run(at="2025-02-01")
    assert catalog.shown == {"a": "/w/_branches/dev/a", "b": "table://gold.b"}
    branch.run(at="2025-02-01")
    assert catalog.updates == 1, "nothing has changed"
    dev.branches.promote("dev")
    assert catalog.updates == 1
    dev.branches.drop("dev")
    assert catalog.shown == {}


def test_views_that_cannot_be_removed_keep_the_branch():
    catalog = Catalog()
    dev = in_catalog(catalog)
    dev.branches.open("dev").run(at="2025-02-01")
    dev._context.adapters = replace(dev._context.adapters, update_views=lambda _: ["the view gold__dev.a: no answer"])
    with pytest.raises(InputError, match=r"^branch 'dev' still has the view gold__dev.a: no answer"):
        dev.branches.drop("dev")
    assert dev.branches.names() == ["dev"]


def test_a_drop_while_views_are_made_leaves_none():
    catalog = Catalog()
    dev = in_catalog(catalog)
    catalog.meanwhile = lambda: dev.branches.drop("dev")
    dev.branches.open("dev").run(at="2025-02-01")
    assert (catalog.shown, dev.branches.names()) == ({}, [])


def test_promotion_says_what_it_would_do_and_why_not_the_rest():
    _, dev = branched()
    plan = dev.branches.plan_promotion("dev")
    assert [(run.asset, run.reason) for run in plan.runs] == [("a", "promoted from branch dev")]
    assert [(wait.asset, wait.reason) for wait in plan.waiting] == [("b", "computed from a, which differs in the base")]


def test_code_that_the_branch_has_not_run_is_not_promoted_and_the_base_does_not_hear_of_it():
    memory, _ = branched()
    later, before = memory.project(2), memory.stores["/s"].read_history()
    with pytest.raises(InputError, match=r"^branch 'dev' has not run the current code of a\n") as raised:
        later.branches.promote("dev")
    assert raised.value.hint == "run `sparkassets run --branch dev`, then promote"
    assert memory.stores["/s"].read_history() == before
    assert [run.asset for run in later.branches.open("dev").run(at="2025-02-01").runs] == ["a", "b"]
    assert [run.asset for run in later.branches.plan_promotion("dev").runs] == ["a"]


def bounded(code: int) -> ProjectSpec:
    """A source that begins within a month and a week, what reads it, and grains and windows of that."""
    events = replace(source("landed"), source=SourceSpec("events"), start=at("2026-09-02"))
    windowed = InletSpec("daily", "", WindowMapping.trailing(Duration.parse("7d")))
    return project(
        events,
        asset("orders", "landed", definition=AssetDefinition("orders")),
        asset("daily", "orders", definition=AssetDefinition(f"daily{code}")),
        asset("monthly", "daily", by="month"),
        asset("weekly", "daily", by="week"),
        asset("windowed", windowed),
    )


def computed(state: State) -> dict[str, list[str]]:
    """By asset, the partitions that are there."""
    return {
        name: known.spec.partitioning.labels(known.coverage)
        for name, known in state.assets.items()
        if name not in ("landed", "orders")
    }


def test_a_branch_waits_for_nothing_before_the_start_that_its_base_declares():
    memory = Memory()
    base = memory.of(bounded(0))
    base.events.add("landed", partition="2026-09-02..2026-09-30")
    base.run(at="2026-10-05")
    dev = memory.of(bounded(1)).branches.open("dev")
    dev.run(at="2026-10-05")
    there = computed(base._context.read_state("status"))
    assert there["monthly"] == ["2026-09"]
    assert there["weekly"] == ["2026-W36..2026-W39"]
    assert there["windowed"] == ["2026-09-02..2026-09-30"]
    assert computed(dev._context.read_state("status")) == there


def test_other_partitions_are_promoted_at_once():
    def daily(zone: str) -> ProjectSpec:
        hours = replace(source("landed", by="hour"), source=SourceSpec("events"))
        return project(hours, asset("daily", "landed", zone=zone, definition=AssetDefinition(zone)))

    memory = Memory()
    base = memory.of(daily("UTC"))
    base.events.add("landed", partition="2026-09-02T00..2026-09-30T23")
    base.run(at="2026-10-05")
    dev = memory.of(daily("Asia/Tokyo"))
    dev.branches.open("dev").run(at="2026-10-05")
    [run] = dev.branches.plan_promotion("dev").runs
    assert run.request.rebuilds
    assert run.partition_keys == ("2026-09-03..2026-09-30",)


BASE = {"day": "date", "n": "decimal(20,2)"}
COLUMNS = {"base": BASE, "branch": {**BASE, "note": "string"}}


def reshaped(columns: dict[str, dict[str, str]], **more: object) -> OpenProject:
    """A project with a branch whose `a` has other columns than the base's."""
    memory = Memory()

    def of(code: int) -> OpenProject:
        events, b = replace(source("s"), source=SourceSpec("events")), asset("b", "a", by=None)
        made = memory.of(project(events, asset("a", "s", definition=AssetDefinition(f"a{code}"), **more), b))
        given = made._context.adapters

        def stored(each: AssetSpec) -> dict[str, str] | None:
            is_branch = each.storage is not None and "_branches" in each.storage.path
            return columns["branch" if is_branch else "base"] if each.name == "a" else None

        beside = lambda spec: replace(memory.adapters(spec), read_columns=stored)  # noqa: E731
        made._context.adapters = replace(given, read_columns=stored, for_project=beside)
        return made

    base = of(0)
    base.events.add("s", partition="2025-01-01..2025-01-02")
    base.run(at="2025-02-01")
    dev = of(1)
    dev.branches.open("dev").run(at="2025-02-01")
    return dev


def test_columns_that_no_run_may_add_are_promoted_where_a_person_asks_for_a_rebuild_alone():
    dev = reshaped(COLUMNS)
    plan = dev.branches.plan_promotion("dev")
    assert plan.runs == ()
    wait = next(each for each in plan.waiting if each.asset == "a")
    assert wait.stuck
    assert wait.reason == (
        "the code adds column 'note', which the table does not have: set `schema: add_columns` in "
        f"{dev.spec.asset('a').location.file} to allow the change; `sparkassets promote dev --rebuild` promotes "
        "the whole table at once"
    )
    with pytest.raises(RunFailedError, match="a waits for a person: the code adds column 'note'"):
        dev.branches.promote("dev")
    [run] = dev.branches.plan_promotion("dev", rebuild=True).runs
    assert run.request.rebuilds
    assert [each.asset for each in dev.branches.promote("dev", rebuild=True).runs] == ["a", "b"]


def test_columns_that_a_run_may_add_are_promoted_like_any_others_but_none_is_dropped_so():
    [run] = reshaped(COLUMNS, schema="add_columns").branches.plan_promotion("dev").runs
    assert not run.request.rebuilds
    dropped = {"base": COLUMNS["branch"], "branch": COLUMNS["base"]}
    dev = reshaped(dropped, schema="add_columns")
    (wait,) = (each for each in dev.branches.plan_promotion("dev").waiting if each.asset == "a")
    assert wait.reason == (
        "the code does not return column 'note' of the table: `sparkassets promote dev --rebuild` promotes the "
        "whole table at once"
    )
    [run] = dev.branches.plan_promotion("dev", rebuild=True).runs
    assert run.request.rebuilds


@pytest.mark.parametrize(
    ("kind", "remedy"),
    [("decimal(31,2)", "set `schema: evolve` in {} to allow the change; "), ("string", "")],
    ids=["wider", "other"],
)
def test_a_type_that_no_run_may_change_is_promoted_by_a_rebuild_alone(kind, remedy):
    dev = reshaped({"base": BASE, "branch": {"day": "date", "N": kind}})
    (wait,) = (each for each in dev.branches.plan_promotion("dev").waiting if each.asset == "a")
    assert wait.reason == (
        f"the code returns column 'n' as {kind}, not decimal(20,2): {remedy.format(dev.spec.asset('a').location.file)}"
        "`sparkassets promote dev --rebuild` promotes the whole table at once"
    )
    [run] = dev.branches.plan_promotion("dev", rebuild=True).runs
    assert run.request.rebuilds


def test_a_type_that_a_run_may_widen_is_promoted_like_any_other():
    wider = {"base": BASE, "branch": {**BASE, "n": "decimal(31,2)"}}
    [run] = reshaped(wider, schema="evolve").branches.plan_promotion("dev").runs
    assert not run.request.rebuilds


def test_a_table_without_partitions_is_replaced_columns_and_all():
    [run, *_] = reshaped(COLUMNS, by=None).branches.plan_promotion("dev").runs
    assert (run.asset, run.request.rebuilds) == ("a", False)


def test_what_differs_is_told_by_the_code_that_computed_the_base_not_by_what_the_base_last_heard_of():
    memory = Memory()
    base = memory.project(0)
    base.events.add("s", partition="2025-01-01")
    base.run(at="2025-02-01")
    edited = memory.project(1)
    edited.run(at="2025-02-01")
    assert base._context.read_state("status").assets["a"].spec.definition == AssetDefinition("a1")
    assert dict(edited.branches._branch("dev").branch_project.assets_to_compute) == {
        "a": "its code differs from the base",
        "b": "it reads a",
    }
    assert not memory.project(0).branches.differs("dev")
    edited.branches.open("dev").run(at="2025-02-01", select=["a"])
    assert [run.asset for run in edited.branches.plan_promotion("dev").runs] == ["a"]


def test_what_a_branch_does_not_compute_is_not_denied_to_exist():
    memory = Memory()
    base = memory.of(bounded(0))
    base.events.add("landed", partition="2026-09-02..2026-09-30")
    base.run(at="2026-10-05")
    assert memory.of(bounded(0)).branches.open("same").plan(at="2026-10-05", select=["orders"]).runs == ()
    branch = memory.of(bounded(1)).branches.open("dev")
    with pytest.raises(InputError, match="branch 'dev' does not compute orders"):
        branch.plan(at="2026-10-05", select=["orders"])
    assert [run.asset for run in branch.plan(at="2026-10-05", select=["orders", "daily"]).runs] == ["daily"]
    with pytest.raises(InputError, match="no asset 'ordres'"):
        branch.plan(select=["ordres"])


@pytest.mark.parametrize(
    "act",
    [
        lambda there: there.events.add("s"),
        lambda there: there.assets.pause("a"),
        lambda there: there.assets.mark("a", "done", "2025-01-01", reason="fine"),
        lambda there: there.partitions.add("a", "x"),
        lambda there: there.assets.roll_back("a", "a-1"),
    ],
)
def test_what_people_say_of_a_project_is_not_said_of_a_branch(act):
    _, dev = branched()
    with pytest.raises(InputError, match="is for the project itself, not for branch 'dev'"):
        act(dev.branches.open("dev"))


def test_a_branch_has_no_branches():
    _, dev = branched()
    with pytest.raises(InputError, match="branch 'dev' cannot have branches"):
        dev.branches.open("dev").branches.open("b")

"""What a branch computes and what it reuses, where it is, and what it sees of its base."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.documents.table_difference import comparison_keys
from sparkassets.core.journal.state import State
from sparkassets.core.partitions import NOTHING
from sparkassets.core.patterns import JOURNAL_CURSOR
from sparkassets.core.spec.model import InletSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.validations import UniqueCheck, ValidationRule
from sparkassets.core.writes import UpsertWrite
from sparkassets.errors import InputError
from sparkassets.features.branches.branch_project import (
    BranchProject,
    base_uri,
    branch_state_location,
    build_branch_project,
    check_branch_name,
    mirror_updates,
)
from tests.builders import Story, asset, days, multi, project, source, timed


def coded(name: str, *inlets: str, code: int = 0, **more):
    return asset(name, *inlets, definition=AssetDefinition(f"{name}{code}"), **more)


BASE_PROJECT = project(source("s"), coded("a", "s"), coded("b", "a"), coded("c", "a", by=None), coded("d", "s"))


def fork(now: ProjectSpec, base: Story | None = None, branch: State | None = None) -> BranchProject:
    return build_branch_project(now, "dev", (base or Story(BASE_PROJECT)).state, branch or State())


def test_nothing_is_computed_where_nothing_differs():
    found = fork(BASE_PROJECT)
    assert (found.assets_to_compute, found.reused_assets) == ({}, ())


def test_what_differs_is_computed_and_all_that_reads_it():
    found = fork(
        project(source("s"), coded("a", "s"), coded("b", "a", code=1), coded("c", "b", by=None), coded("d", "s"))
    )
    assert found.assets_to_compute == {
        "b": "its code differs from the base",
        "c": "its partitions, inlets or location differ from the base",
    }
    assert found.reused_assets == ("a",)
    found = fork(
        project(source("s"), coded("a", "s", code=1), coded("b", "a"), coded("c", "a", by=None), coded("d", "s"))
    )
    assert found.assets_to_compute == {"a": "its code differs from the base", "b": "it reads a", "c": "it reads a"}
    assert found.reused_assets == ("s",)
    assert "d" not in found.spec.assets


def test_what_the_base_does_not_have_is_computed():
    found = fork(project(source("s"), coded("a", "s"), source("t"), coded("n", "a", "t")))
    assert found.assets_to_compute == {"n": "the base does not have it"}
    assert found.changed_sources == {"t": "the base does not have it"}
    assert found.reused_assets == ("a",)


def test_outlets_go_with_their_multi_asset():
    made = multi(coded("m", "s"), "x", "y")
    base = Story(project(source("s"), *made, coded("z", "x")))
    multi_asset, *outlets = made
    found = fork(
        project(source("s"), replace(multi_asset, definition=AssetDefinition("m1")), *outlets, coded("z", "x")), base
    )
    assert set(found.assets_to_compute) == {"m", "x", "y", "z"}
    found = fork(project(source("s"), *made, coded("z", "x", code=1)), base)
    assert (set(found.assets_to_compute), found.reused_assets) == ({"z"}, ("x",))
    assert found.spec.assets["x"].source is not None


def test_what_was_computed_in_a_branch_stays_its_own():
    branch = Story(BASE_PROJECT)
    branch.event(base_uri("b"))
    assert fork(BASE_PROJECT, branch=branch.state).assets_to_compute == {"b": "the branch has computed it before"}


def test_a_branch_has_places_of_its_own_and_goes_by_what_it_reads():
    changed = coded("a", "s", code=1, schedule=timed("@daily"), notify=(1,))
    found = fork(project(source("s"), changed)).spec
    own = found.assets["a"]
    assert (found.state, found.warehouse) == ("/s/branches/dev", "/w/_branches/dev")
    assert own.storage is not None
    assert (own.storage.path, own.storage.given) == ("/w/_branches/dev/a", "_branches/dev/a")
    assert (own.schedule.timetable, own.schedule.text) == (None, "s")
    assert (own.on_code_change, own.notify, found.openlineage) == ("backfill", (), False)


def test_names():
    assert check_branch_name("a-1") == "a-1"
    for name in ("", "A", "a_b", "a/b", "-a", "a-", "..", "a" * 61):
        with pytest.raises(InputError, match="invalid branch name"):
            check_branch_name(name)
    with pytest.raises(InputError, match="belongs to a branch and cannot have branches"):
        branch_state_location(replace(BASE_PROJECT, state="/s/branches/dev"), "x")
    with pytest.raises(InputError, match="is written by a Spark session and cannot have branches"):
        branch_state_location(replace(BASE_PROJECT, state="table://main.ops", state_by_spark=True), "x")


def test_an_aligned_inlet_cannot_be_reused():
    now = project(source("s"), coded("a", "s"), coded("b", InletSpec("a", "", None, aligned=True), code=1))
    with pytest.raises(InputError, match="'b' reads 'a' aligned to its runs, which the branch does not have"):
        fork(now, Story(project(source("s"), coded("a", "s"), coded("b", InletSpec("a", "", None, aligned=True)))))


class Seen:
    """What a branch knows of the source `s` of its base."""

    def __init__(self, base: Story) -> None:
        self.base = base
        self.cursor: dict[str, object] = {}
        self.coverage = NOTHING

    def look(self):
        spec = BASE_PROJECT.assets["s"]
        read = self.cursor.get(JOURNAL_CURSOR, ("", 0))[1]  # type: ignore[index]
        found = mirror_updates(
            spec,
            self.base.state,
            [each for each in self.base.entries if each.seq > read],
            version=self.base.state.assets["s"].version,
            cursor=self.cursor,
            known_partitions=self.coverage,
            known_view_partitions={},
        )
        if found is not None:
            self.cursor |= found.cursor
            self.coverage = (self.coverage | found.changed) - found.removed
        return found


def test_a_branch_sees_what_its_base_recorded_and_then_what_came_since():
    base = Story(BASE_PROJECT)
    base.observed("s", "2025-01-01..2025-01-03")
    seen = Seen(base)
    assert seen.look().changed == days("2025-01-01..2025-01-03")
    assert seen.look() is None
    base.observed("s", "2025-01-02")
    base.observed("s", "2025-01-05")
    assert seen.look().changed == days("2025-01-02") | days("2025-01-05")
    base.observed("s", removed=days("2025-01-01"))
    found = seen.look()
    assert (found.changed, found.removed) == (NOTHING, days("2025-01-01"))
    assert seen.look() is None


def test_rows_are_told_apart_by_declared_keys():
    unique = ValidationRule("unique(k)", UniqueCheck(("k",)))
    for made, keys in (
        (asset("a"), ()),
        (asset("a", rules=(unique,)), ("k",)),
        (asset("a", rules=(replace(unique, severity="warn"),)), ()),
        (asset("a", write=UpsertWrite(("x", "y"))), ("x", "y")),
    ):
        assert comparison_keys(project(made), made) == keys

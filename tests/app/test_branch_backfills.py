"""Backfills in a branch: what it computes is computed there again, what it reads of the base is not."""

from __future__ import annotations

import pytest

from sparkassets.app.backfills import BackfillRequest
from sparkassets.errors import InputError
from tests.app.test_branching import Memory, branched

AT = "2025-02-01"


def test_it_computes_again_in_the_branch_alone():
    memory, dev = branched()
    before = memory.stores["/s"].read_history()
    request = BackfillRequest("a", partition="2025-01-01", force=True)
    assert [run.asset for run in dev.branches.open("dev").backfills.plan(request, at=AT).runs] == ["a"]
    assert [run.asset for run in dev.branches.open("dev").backfills.run(request, at=AT).runs] == ["a"]
    assert memory.stores["/s"].read_history() == before


def test_it_begins_a_branch_and_what_is_computed_is_promoted():
    memory = Memory()
    base = memory.project(0)
    base.events.add("s", partition="2025-01-01")
    base.run(at=AT)
    dev = memory.project(1)
    request = BackfillRequest("a", partition="2025-01-01", downstream=True)
    assert [run.asset for run in dev.branches.open("dev").backfills.run(request, at=AT).runs] == ["a", "b"]
    assert [run.asset for run in dev.branches.plan_promotion("dev").runs] == ["a"]


def test_what_it_reads_of_the_base_is_refused_by_name():
    _, dev = branched()
    with pytest.raises(InputError, match="branch 'dev' does not compute 's': it is the same in the base") as raised:
        dev.branches.open("dev").backfills.run(BackfillRequest("s", partition="2025-01-01"), at=AT)
    assert raised.value.hint == "use `sparkassets backfill s` without --branch"
    with pytest.raises(InputError, match="no asset 'x' in project 'test'"):
        dev.branches.open("dev").backfills.run(BackfillRequest("x"), at=AT)

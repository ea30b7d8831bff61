"""A table is restored, or its log too short, after a driver died: a person tells what became of its run, once.

Beside the table stands what the person sees in it: whatever the moments, what is due in the end is what is not there.
"""

from dataclasses import replace

import pytest

from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.strategies import EveryInstance, LatestOnly
from sparkassets.core.writes import AppendWrite
from sparkassets.errors import InputError
from sparkassets.ports import DataCommit, HistoryGoneError
from sparkassets.runtime.driver_work import DueWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, multi, project, source
from tests.runtime.fakes import Commit, World, dying


def world(*, by="day", write=None, **more) -> World:
    more |= {"write": write} if write else {}
    own = asset("a", "s", by=by, retries=0, **more)
    return World(project(source("s", by=by), own, asset("b", "a", by=by)), MemoryStore())


def untold(w: World, *, found: bool = False) -> None:
    """Nothing tells any more what the table's log held until now."""
    commits = [each for each in w.engine.tables.get("a", []) if each.stamp.kind == "data"]
    known = len(w.engine.tables.get("a", []))

    def hook(_):
        if w.engine.tables.get("a", [])[known:] and w.engine.tables["a"][-1].stamp.kind == "data":
            return
        mark = commits[-1].stamp if commits else None
        was = DataCommit(mark.run, mark.token, 1, 1, "t", mark.measures, {}) if found and mark else None
        raise HistoryGoneError("a: its table was restored", found=was)

    w.engine.hooks["a", "committed"] = hook


def restored(w: World) -> None:
    """The newest commit's rows are gone; its transaction stays, as RESTORE keeps these."""
    table = w.engine.tables["a"]
    table[-1] = Commit(replace(table[-1].stamp, kind="fence"), None)


def run(w: World):
    return w.driver().run_works([DueWork()])


def mark(w: World, kind: str, *keys: str):
    return w.opened().assets.mark("a", kind, *keys, reason="I looked")


def ledger(w: World):
    driver = w.driver()
    driver.ledger.open()
    return driver.ledger


def rows(w: World, name: str = "a") -> list[str]:
    keys = w.project.assets[name].partitioning.labels
    return [label for commit in w.engine.data(name) for label in keys(commit.order.partitions) or ["all"]]


@pytest.mark.parametrize("by", ["day", None])
@pytest.mark.parametrize("moment", ["write", "written"])
@pytest.mark.parametrize("gone", [False, True])
def test_what_the_person_tells_counts_once(by, moment, gone):
    w = world(by=by)
    w.tell("s", *["2025-01-01"] * bool(by))
    dying(w, moment)
    is_in = moment == "written" and not gone
    if moment == "written" and gone:
        restored(w)
    untold(w)
    first = run(w)
    assert [(each.asset, each.status) for each in first.runs] == [("a", "failed")]
    which = "--partition 2025-01-01 " if by else ""
    assert first.runs[0].hint == (
        f"check whether the rows of a-1 are in the table; if so, `sparkassets mark a {which}--done --reason …`, "
        "else the same with `--missing`"
    )
    assert len(ledger(w).state.assets["a"].chain) == 2
    marked = mark(w, "done" if is_in else "missing", *["2025-01-01"] * bool(by))
    assert marked.partitions
    assert marked.settled == ("a-1",)
    assert ledger(w).state.assets["a"].chain == ()
    del w.engine.hooks["a", "committed"]
    summary = run(w)
    assert summary.ok
    assert [each.asset for each in summary.runs] == (["b"] if is_in else ["a", "b"])
    assert rows(w) == (["2025-01-01"] if by else ["all"])
    assert run(w).runs == ()


def test_it_is_asked_until_somebody_tells():
    w = world()
    w.tell("s", "2025-01-01")
    dying(w, "write")
    untold(w)
    for _ in range(3):
        (again,) = run(w).runs
        assert again.status == "failed"
        assert again.hint.startswith("check whether the rows of a-1 are in the table")
    assert len(ledger(w).state.assets["a"].chain) == 2
    assert rows(w) == []


def test_what_is_said_before_it_is_asked_settles_nothing():
    """Until the fence is in place, what is not there yet may still come."""
    w = world()
    w.tell("s", "2025-01-01")
    dying(w, "write")
    untold(w)
    assert mark(w, "done", "2025-01-01").settled == ()
    assert sorted((each.asset, each.status) for each in run(w).runs) == [("a", "failed"), ("b", "success")]
    assert mark(w, "done", "2025-01-01").settled == ("a-1",)


def test_each_partition_is_told_of_by_itself():
    w = world()
    w.tell("s", "2025-01-01", "2025-01-02", "2025-01-03")
    dying(w, "write")
    untold(w)
    run(w)
    assert mark(w, "done", "2025-01-02").settled == ()
    again = run(w).runs[0]
    assert "--partition 2025-01-01..2025-01-03" in again.hint
    assert mark(w, "missing", "2025-01-01", "2025-01-03").settled == ()
    assert mark(w, "done", "2025-01-02").settled == ("a-1",)
    del w.engine.hooks["a", "committed"]
    assert run(w).ok
    assert sorted(rows(w)) == ["2025-01-01", "2025-01-03"]


def test_what_came_after_the_run_is_due_still():
    w = world(by=None, strategy=LatestOnly(), write=AppendWrite())
    w.tell("s")
    dying(w, "written")
    w.tell("s")
    untold(w)
    assert [each.status for each in run(w).runs] == ["failed"]
    assert mark(w, "done").settled == ("a-1",)
    del w.engine.hooks["a", "committed"]
    assert [each.asset for each in run(w).runs] == ["a", "b"]
    assert rows(w) == ["all", "all"]


@pytest.mark.parametrize("strategy", [LatestOnly(), EveryInstance()])
def test_what_was_appended_and_is_gone_is_appended_again(strategy):
    w = world(by=None, strategy=strategy, write=AppendWrite())
    w.tell("s")
    dying(w, "written")
    restored(w)
    untold(w)
    run(w)
    assert mark(w, "missing").settled == ("a-1",)
    del w.engine.hooks["a", "committed"]
    assert [each.asset for each in run(w).runs] == ["a", "b"]
    assert rows(w) == ["all"]


def test_what_was_appended_before_is_never_missing():
    w = world(write=AppendWrite(), strategy=EveryInstance())
    w.tell("s", "2025-01-01")
    run(w)
    w.tell("s", "2025-01-02")
    dying(w, "written")
    restored(w)
    untold(w)
    run(w)
    with pytest.raises(InputError, match="asset 'a' appends: its rows cannot be recomputed: 2025-01-01"):
        mark(w, "missing", "2025-01-01..2025-01-02")
    assert mark(w, "missing", "2025-01-02").settled
    del w.engine.hooks["a", "committed"]
    run(w)
    assert rows(w) == ["2025-01-01", "2025-01-02"]


def test_what_is_skipped_is_told_of_too():
    w = world()
    w.tell("s", "2025-01-01")
    dying(w, "write")
    untold(w)
    run(w)
    assert mark(w, "skip", "2025-01-01").settled == ("a-1",)
    del w.engine.hooks["a", "committed"]
    assert run(w).runs == ()


def test_of_several_outlets_the_asset_is_told_of():
    multi_asset, *outlets = multi(asset("m", "s", retries=0), "a", "c")
    w = World(project(source("s"), multi_asset, *outlets), MemoryStore())
    w.tell("s", "2025-01-01")
    dying(w, "write", table="c")
    untold(w)
    (asked,) = run(w).runs
    assert "`sparkassets mark m --partition 2025-01-01 --done" in asked.hint
    marked = w.opened().assets.mark("m", "missing", "2025-01-01", reason="half of it was there")
    assert marked.settled == ("m-1",)
    del w.engine.hooks["a", "committed"]
    assert run(w).ok
    assert len(w.engine.data("c")) == 1


def test_a_snapshot_keeps_what_is_asked():
    w = world()
    w.tell("s", "2025-01-01")
    dying(w, "written")
    untold(w, found=True)
    run(w)
    known = ledger(w).state
    (link,) = known.assets["a"].asking_claims
    assert link.question.runs == ("a-1",)
    assert link.question.watermarks == {"s": "high-4"}
    assert decode(encode(known), journal_id=known.journal_id).assets == known.assets

"""What a run withholds rests until something is new, its consumers wait and say for what, and readers see old rows."""

from dataclasses import replace

from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.planner.plan import Plan
from sparkassets.core.planner.planner import plan
from sparkassets.core.results import Summary
from sparkassets.core.validations import Judgement, NotNull, Rule, Verdict
from sparkassets.runtime.work import Backfill, Tick
from sparkassets.state.memory import MemoryStore
from tests.builders import asset, days, project, source
from tests.runtime.fakes import World

RULE = Rule("not_null(n)", NotNull(("n",)))
FIRST, SECOND = days("2025-01-01"), days("2025-01-02")


def bad(parts: PartitionSet) -> Judgement:
    verdict = Verdict("not_null(n)", "fail", "withheld", parts, 900, 12, samples=({"n": "NULL"},))
    return Judgement(parts, (verdict,))


def world(**more) -> World:
    made = asset("a", "s", **{"retries": 0, "rules": (RULE,), **more})
    w = World(project(source("s"), made, asset("b", "a", retries=0)), MemoryStore())
    w.tell("s", "2025-01-01", "2025-01-02")
    return w


def run(w: World) -> Summary:
    return w.driver().run([Tick()])


def planned(w: World) -> Plan:
    driver = w.driver()
    driver.ledger.open()
    return plan(driver._context(Tick(), driver.ledger.state))


def published(w: World, name: str) -> list[PartitionSet]:
    return [commit.order.blocks for commit in w.engine.data(name)]


def state(w: World, name: str):
    return w.driver().ledger.open().assets[name]


def test_a_withheld_block_rests_and_its_consumer_says_for_what_it_waits():
    w = world()
    w.engine.judged["a"] = bad(SECOND)
    summary = run(w)
    assert (published(w, "a"), published(w, "b")) == ([FIRST], [FIRST])
    assert not summary.ok
    assert [result.withheld for result in summary.runs] == [SECOND, NOTHING]
    assert state(w, "a").coverage == FIRST
    said = {item.reason for item in planned(w).waiting}
    told = "not_null(n): 12 of 900 rows"
    assert f"waits for a: 2025-01-02 is withheld ({told})" in said
    assert f"withheld by a-1: {told}; `sparkassets accept a` publishes it" in said
    assert not planned(w).runs
    assert run(w).ok


def test_new_data_tries_it_again_once():
    w = world()
    w.engine.judged["a"] = bad(SECOND)
    run(w)
    w.tell("s", "2025-01-02")
    assert not run(w).ok
    assert published(w, "a") == [FIRST, NOTHING]
    assert not run(w).runs
    del w.engine.judged["a"]
    w.tell("s", "2025-01-02")
    assert run(w).ok
    assert (published(w, "a")[2:], published(w, "b")[1:]) == ([SECOND], [SECOND])
    assert state(w, "a").withheld == ()


def test_old_rows_stay_and_the_consumer_keeps_what_it_made_of_them():
    w = world()
    run(w)
    w.engine.judged["a"] = bad(SECOND)
    w.tell("s", "2025-01-02")
    run(w)
    assert state(w, "a").coverage == FIRST | SECOND
    assert published(w, "b") == [FIRST | SECOND]
    assert [item.asset for item in planned(w).waiting if not item.quiet] == ["a", "b"]


def test_a_forced_backfill_tries_it_again_and_a_plain_one_says_what_would():
    w = world()
    w.engine.judged["a"] = bad(SECOND)
    run(w)
    a = w.project.assets["a"]
    summary = w.driver().run([Backfill(a, SECOND)])
    assert (summary.runs, [item.blocks for item in summary.waiting]) == ((), [SECOND])
    w.driver().run([Backfill(a, SECOND, force=True)])
    assert published(w, "a") == [FIRST, NOTHING]
    assert not planned(w).runs


def test_other_rules_try_it_again():
    w = world()
    w.engine.judged["a"] = bad(SECOND)
    run(w)
    del w.engine.judged["a"]
    made = w.project.assets["a"]
    from sparkassets.core.definitions import Definition

    w.project = project(source("s"), replace(made, definition=Definition("other")), asset("b", "a", retries=0))
    (only,) = planned(w).runs
    assert (only.blocks, only.reason) == (SECOND, "1 partition missing, 1 withheld by other rules or code")
    assert run(w).ok
    assert not planned(w).runs

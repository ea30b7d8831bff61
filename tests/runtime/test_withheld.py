"""What a run withholds rests until something is new, its consumers wait and say for what, and readers see old rows."""

import re
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.documents.project_status import summarize_status
from sparkassets.core.documents.runs import run_document, verdicts_document
from sparkassets.core.documents.status import status_document
from sparkassets.core.instants import Duration
from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.partitions import EVERYTHING, NOTHING, OverlapMapping, PartitionSet
from sparkassets.core.planner.plan import Plan
from sparkassets.core.planner.planner import make_plan
from sparkassets.core.results import Summary
from sparkassets.core.spec.model import InletSpec, PartitionRequirement, Schedule
from sparkassets.core.validations import (
    NotNullCheck,
    PartitionRowCount,
    RowCountChange,
    RowCountCheck,
    RuleTally,
    RuleVerdict,
    RunJudgement,
    ValidationRule,
    verdicts_to,
)
from sparkassets.errors import InputError
from sparkassets.ports import HistoryQuery
from sparkassets.runtime.driver_work import DueWork
from sparkassets.runtime.requested_works import BackfillWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, days, multi, project, source, timed
from tests.runtime.fakes import World, raising

RULE = ValidationRule("not_null(n)", NotNullCheck(("n",)))
FIRST, SECOND = days("2025-01-01"), days("2025-01-02")


def bad(parts: PartitionSet) -> RunJudgement:
    verdict = RuleVerdict("not_null(n)", "fail", "withheld", parts, 900, 12, samples=({"n": "NULL"},))
    return RunJudgement(parts, (verdict,))


def world(**more) -> World:
    made = asset("a", "s", **{"retries": 0, "rules": (RULE,), **more})
    w = World(project(source("s"), made, asset("b", "a", retries=0)), MemoryStore())
    w.tell("s", "2025-01-01", "2025-01-02")
    return w


def run(w: World) -> Summary:
    return w.driver().run_works([DueWork()])


def planned(w: World) -> Plan:
    driver = w.driver()
    driver.ledger.open()
    return make_plan(driver._context(DueWork(), driver.ledger.state))


def published(w: World, name: str) -> list[PartitionSet]:
    return [commit.order.partitions for commit in w.engine.data(name)]


def state(w: World, name: str):
    return w.driver().ledger.open().assets[name]


def test_a_withheld_partition_rests_and_its_consumer_says_for_what_it_waits():
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
    assert f"withheld by a-1: {told}; `sparkassets accept a --reason …` publishes it" in said
    assert not planned(w).runs
    assert run(w).ok


def reading(*inlets: str, by: str | None, **more) -> World:
    """Two days of `a`, of which the second is withheld, and `b`, which reads it."""
    made = replace(asset("a", "s", retries=0, rules=(RULE,)))
    reader = asset("b", *(InletSpec(name, "", OverlapMapping(), **more) for name in inlets), by=by, retries=0)
    w = World(project(source("s"), made, reader), MemoryStore())
    w.tell("s", "2025-01-01", "2025-01-02")
    w.engine.judged["a"] = bad(SECOND)
    return w


LACKS = "without a: 2025-01-02 is withheld (not_null(n): 12 of 900 rows)"


def test_who_reads_a_whole_table_sees_what_is_published_and_says_what_it_lacks():
    w = reading("a", by=None)
    assert [result.asset for result in run(w).runs] == ["a", "b"]
    assert run(w).runs == ()
    w.tell("s", "2025-01-03")
    w.engine.judged.pop("a")
    runs = {result.asset: result.reason for result in run(w).runs}
    assert runs["b"] == f"a updated, {LACKS}"


def test_who_reads_a_table_of_which_nothing_is_published_waits_for_it():
    w = reading("a", by=None)
    w.engine.judged["a"] = bad(FIRST | SECOND)
    assert [result.asset for result in run(w).runs] == ["a"]
    (said,) = (item.reason for item in planned(w).waiting if item.asset == "b")
    assert said == "waits for a: 2025-01-01..2025-01-02 are withheld (not_null(n): 12 of 900 rows)"


def test_a_week_waits_for_a_withheld_day_that_it_requires_and_goes_on_without_one_that_it_does_not():
    for require, count in (
        (PartitionRequirement("all"), 0),
        (PartitionRequirement("at_least", 5), 1),
        (PartitionRequirement("any"), 1),
    ):
        w = reading("a", by="week", require=require)
        w.tell("s", "2025-01-06..2025-01-12")
        w.engine.judged["a"] = bad(days("2025-01-08"))
        w.clock.instant = datetime(2025, 1, 13, tzinfo=UTC)
        runs = [result for result in run(w).runs if result.asset == "b" and "2025-01-08" in result.reason]
        assert len(runs) == count, require


def test_a_day_waits_for_the_same_day_that_is_withheld_for_as_long_as_it_tolerates():
    w = reading("a", by="day", tolerance=Duration.parse("1d"))
    w.clock.instant = datetime(2025, 1, 3, 12, tzinfo=UTC)
    run(w)
    assert published(w, "b") == [FIRST]
    w.clock.instant = datetime(2025, 1, 4, tzinfo=UTC)
    assert [result.partitions for result in run(w).runs] == [SECOND]


@pytest.mark.parametrize("select", [None, ["c"]])
def test_a_selection_changes_no_gate(select):
    made = [asset("a", "s", retries=0, rules=(RULE,)), asset("b", "a", retries=0), asset("c", "b", "t", retries=0)]
    w = World(project(source("s"), source("t"), *made), MemoryStore())
    for name in ("s", "t"):
        w.tell(name, "2025-01-01", "2025-01-02")
    run(w)
    w.engine.judged["a"] = bad(SECOND)
    w.tell("s", "2025-01-02")
    run(w)
    w.tell("t", "2025-01-02")
    assert [result.asset for result in w.driver().run_works([DueWork(select)]).runs] == []
    found = w.driver().ledger.open()
    said = {item.reason for item in make_plan(w.driver()._context(DueWork(select), found)).waiting if item.asset == "c"}
    assert said == {"waits for a: 2025-01-02 is withheld (not_null(n): 12 of 900 rows)"}


def test_each_of_several_that_are_withheld_names_its_own_partitions():
    w = world()
    w.engine.judged["a"] = bad(SECOND)
    run(w)
    w.engine.judged["a"] = bad(days("2025-01-03"))
    w.tell("s", "2025-01-03")
    run(w)
    said = [item.reason.partition("; ")[2] for item in planned(w).waiting if item.reason.startswith("withheld by")]
    assert said == [f"`sparkassets accept a --partition 2025-01-0{day} --reason …` publishes it" for day in (2, 3)]


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


def test_what_was_there_and_is_withheld_since_is_tried_again_when_an_inlet_changes_that_makes_nothing_stale():
    made = asset("a", "s", rules=(RULE,))
    ignoring = {"s": replace(made.inlets["s"], on_update="ignore")}
    w = World(project(source("s"), replace(made, inlets=ignoring)), MemoryStore())
    w.tell("s", "2025-01-01", "2025-01-02")
    run(w)
    w.engine.judged["a"] = bad(SECOND)
    w.driver().run_works([BackfillWork(w.project.assets["a"], SECOND, force=True)])
    assert not planned(w).runs
    w.tell("s", "2025-01-02")
    assert [(result.partitions, result.withheld) for result in run(w).runs] == [(SECOND, SECOND)]
    assert '"1 withheld before"' in w.store.read_history(HistoryQuery(kinds=["claim"]))[-1].body


def test_a_forced_backfill_tries_it_again_and_a_plain_one_says_what_would():
    w = world()
    w.engine.judged["a"] = bad(SECOND)
    run(w)
    a = w.project.assets["a"]
    summary = w.driver().run_works([BackfillWork(a, SECOND)])
    assert (summary.runs, [item.partitions for item in summary.waiting]) == ((), [SECOND])
    w.driver().run_works([BackfillWork(a, SECOND, force=True)])
    assert published(w, "a") == [FIRST, NOTHING]
    assert not planned(w).runs


def test_other_rules_try_it_again():
    w = world()
    w.engine.judged["a"] = bad(SECOND)
    run(w)
    del w.engine.judged["a"]
    made = w.project.assets["a"]
    from sparkassets.core.definitions import AssetDefinition

    w.project = project(source("s"), replace(made, definition=AssetDefinition("other")), asset("b", "a", retries=0))
    (only,) = planned(w).runs
    assert (only.partitions, only.reason) == (
        SECOND,
        "1 partition missing, 1 withheld before its rules or code changed",
    )
    assert run(w).ok
    assert not planned(w).runs


def judging(w: World, name: str, partitions: PartitionSet) -> None:
    """The rules of the asset fail for these partitions, unless they are accepted, as `judge` has it."""

    def judged(order):
        held = (partitions & order.partitions) - order.accepted_partitions
        w.engine.judged[name] = bad(held) if held else RunJudgement()

    w.engine.hooks[name, "prepare"] = judged


def test_what_is_accepted_is_published_at_once_and_judged_anew_with_new_data():
    w = world(schedule=Schedule())
    judging(w, "a", SECOND)
    w.driver().run_works([BackfillWork(w.project.assets["a"], FIRST | SECOND), DueWork()])
    assert (published(w, "a"), published(w, "b")) == ([FIRST], [FIRST])
    told = w.opened().assets.accept("a", "2025-01-02", reason="looked at")
    assert (told.partitions, told.unchanged) == (SECOND, NOTHING)
    again = w.opened().assets.accept("a", reason="looked at")
    assert (again.partitions, again.unchanged) == (NOTHING, NOTHING)
    (only,) = planned(w).runs
    assert (only.partitions, only.request.accepted) == (SECOND, SECOND)
    assert only.reason == "1 partition missing, 1 marked as accepted by ann: looked at"
    assert run(w).ok
    assert (published(w, "a")[1:], published(w, "b")[1:]) == ([SECOND], [SECOND])
    assert (state(w, "a").withheld, state(w, "a").marks) == ((), ())
    assert not planned(w).runs


def test_news_after_the_acceptance_void_it():
    w = world()
    judging(w, "a", SECOND)
    run(w)
    w.opened().assets.accept("a", reason="looked at")
    w.tell("s", "2025-01-02")
    assert not run(w).ok
    assert published(w, "a") == [FIRST, NOTHING]
    assert not planned(w).runs


def test_an_accepted_partition_that_was_stale_is_current_then():
    w = world(schedule=timed("0 6 * * *"))
    w.clock.instant = datetime.fromisoformat("2025-02-01T07:00:00+00:00")
    run(w)
    judging(w, "a", SECOND)
    w.tell("s", "2025-01-02")
    w.clock.instant = datetime.fromisoformat("2025-02-02T07:00:00+00:00")
    run(w)
    w.opened().assets.accept("a", reason="looked at")
    assert run(w).ok
    w.clock.instant = datetime.fromisoformat("2025-02-03T07:00:00+00:00")
    assert SECOND not in [each.partitions for each in planned(w).runs if each.asset == "a"]
    assert state(w, "a").stale == {}


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        (("2025-01-01",), "a 2025-01-01 is not withheld"),
        (("2025-01-01..2025-01-02",), "a 2025-01-01 is not withheld"),
        ((), "a is not withheld"),
    ],
)
def test_what_is_not_withheld_is_not_accepted(keys, told):
    w = world()
    if keys:
        w.engine.judged["a"] = bad(SECOND)
    run(w)
    with pytest.raises(InputError, match=re.escape(told)):
        w.opened().assets.accept("a", *keys, reason="looked at")


def whole(**more) -> World:
    made = asset("a", "s", by=None, retries=0, rules=(RULE,), **more)
    w = World(project(source("s", by=None), made, asset("b", "a", by=None, retries=0)), MemoryStore())
    w.tell("s")
    return w


def test_an_asset_without_partitions_is_withheld_as_one():
    w = whole()
    w.engine.judged["a"] = bad(EVERYTHING)
    summary = run(w)
    assert [(result.asset, result.withheld) for result in summary.runs] == [("a", EVERYTHING)]
    assert (published(w, "a"), published(w, "b")) == ([NOTHING], [])
    said = {item.asset: item.reason for item in planned(w).waiting if not item.quiet}
    assert said["a"] == "withheld by a-1: not_null(n): 12 of 900 rows; `sparkassets accept a --reason …` publishes it"
    assert said["b"] == "waits for a, which is withheld (not_null(n): 12 of 900 rows)"
    assert not run(w).runs
    w.tell("s")
    assert [result.asset for result in run(w).runs] == ["a"]
    del w.engine.judged["a"]
    w.tell("s")
    assert [result.asset for result in run(w).runs] == ["a", "b"]
    assert state(w, "a").withheld == ()


def test_an_asset_without_partitions_is_accepted_and_tried_by_other_rules():
    w = whole()
    judging(w, "a", EVERYTHING)
    run(w)
    made = w.project.assets["a"]
    w.project = project(source("s", by=None), replace(made, definition=AssetDefinition("other")), w.project.assets["b"])
    assert [each.reason for each in planned(w).runs] == ["withheld before its rules or code changed"]
    run(w)
    assert not planned(w).runs
    w.opened().assets.accept("a", reason="looked at")
    assert [each.reason for each in planned(w).runs] == ["marked as accepted by ann: looked at"]
    assert [result.asset for result in run(w).runs] == ["a", "b"]
    assert not planned(w).runs


def test_a_continuous_asset_is_tried_once_an_invocation_and_one_that_runs_once_is_not_again():
    for text, often in (("@continuous", 1), ("@once", 0)):
        w = whole(schedule=timed(text))
        w.engine.judged["a"] = bad(EVERYTHING)
        assert len(run(w).runs) == 1
        w.clock.instant += timedelta(hours=1)
        assert len(run(w).runs) == often


def test_outlets_withhold_alike_and_their_consumers_wait():
    made, *written = multi(asset("m", "s", retries=0), "x", "y")
    rules = [replace(written[0], rules=(RULE,)), written[1]]
    w = World(project(source("s"), made, *rules, asset("b", "y", retries=0)), MemoryStore())
    w.tell("s", "2025-01-01", "2025-01-02")
    w.engine.judged["x"] = bad(SECOND)
    summary = run(w)
    assert [result.withheld for result in summary.runs] == [SECOND, NOTHING]
    assert [state(w, name).coverage for name in ("m", "x", "y", "b")] == [FIRST] * 4
    assert state(w, "m").withheld
    said = {item.asset: item.reason for item in planned(w).waiting if not item.quiet}
    assert said["b"] == "waits for m: 2025-01-02 is withheld (x: not_null(n): 12 of 900 rows)"
    w.opened().assets.accept("m", reason="looked at")
    del w.engine.judged["x"]
    assert run(w).ok
    assert [state(w, name).coverage for name in ("m", "x", "y", "b")] == [FIRST | SECOND] * 4


def test_who_takes_over_records_what_the_commit_withheld():
    w = world()
    w.engine.judged["a"] = bad(SECOND)
    w.engine.hooks["a", "written"] = raising(KeyboardInterrupt())
    lost = w.driver()
    with suppress(BaseException):
        lost.run_works([DueWork()])
    del w.engine.hooks["a", "written"]
    summary = run(w)
    assert state(w, "a").coverage == FIRST
    assert [record.partitions for record in state(w, "a").withheld] == [SECOND]
    assert not summary.ok or state(w, "a").withheld
    assert len(w.engine.data("a")) == 1


def test_rows_before_are_told_to_rules_that_compare():
    counting = ValidationRule("row_count(change)", RowCountCheck(change=RowCountChange(Decimal("-0.5"), None)))
    w = world(rules=(counting,))
    w.engine.judged["a"] = RunJudgement(
        counts={counting.name: (PartitionRowCount(FIRST, 7), PartitionRowCount(SECOND, 9))}
    )
    run(w)
    seen = []
    w.engine.hooks["a", "compute"] = lambda order: seen.append(order.past)
    w.tell("s", "2025-01-02")
    run(w)
    assert seen == [{counting.name: [PartitionRowCount(FIRST, 7), PartitionRowCount(SECOND, 9)]}]


def test_status_counts_it_and_shows_rule_and_rows():
    w = world()
    w.engine.judged["a"] = bad(SECOND)
    run(w)
    (_, found, waiting) = w.opened().status()
    assert (found.current, found.withheld, found.missing) == (1, 1, 0)
    (judged,) = found.withheld_runs
    assert (judged.partitions, judged.text) == (SECOND, "not_null(n): 12 of 900 rows")
    document = status_document(found, w.project)
    assert document["withheld"][0]["rules"][0]["samples"] == [{"n": "NULL"}]
    assert (document["partitions"]["withheld"], summarize_status(found)) == (1, ("1 current, 1 withheld", "withheld"))
    assert waiting.withheld == 0
    assert w.opened().partitions.statuses("a") == [("2025-01-01", "current"), ("2025-01-02", "withheld")]
    tree = repr(w.opened().explain("a"))
    assert "- withheld 2025-01-02 by a-1; retried after new data, changed rules or `sparkassets accept`" in tree
    assert "n=NULL" in tree
    (_, record) = w.opened().history.runs()[:1], w.opened().history.runs()[0]
    assert (record.withheld, run_document(record, w.project)["withheld"]["count"]) == (SECOND, 1)


def test_lineage_goes_past_what_was_withheld():
    w = world()
    run(w)
    w.engine.judged["a"] = bad(SECOND)
    w.tell("s", "2025-01-02")
    run(w)
    origins = w.opened().lineage.trace("a", "2025-01-02").origins
    assert [origin.run for origin in origins] == ["a-1"]


def test_what_an_asset_without_partitions_is_compared_with_tries_it_again():
    made = asset("a", "s", InletSpec("d", "", None, on_update="ignore"), by=None, retries=0, rules=(RULE,))
    w = World(project(source("s", by=None), source("d", by=None), made, asset("b", "a", by=None)), MemoryStore())
    w.tell("s")
    w.tell("d")
    w.engine.judged["a"] = bad(EVERYTHING)
    run(w)
    assert not planned(w).runs
    w.tell("d")
    assert [(each.asset, each.reason) for each in run(w).runs] == [("a", "withheld before its inputs were updated")]
    assert not planned(w).runs
    del w.engine.judged["a"]
    w.tell("d")
    assert [result.asset for result in run(w).runs] == ["a", "b"]
    w.tell("d")
    assert not run(w).runs


@pytest.mark.parametrize("of_outlet", [False, True])
def test_rules_that_are_others_try_it_again_once(of_outlet):
    """A rule is taken back, or another checkout of the project comes and goes."""
    made, *written = multi(asset("m", "s", retries=0), "x", "y")

    def judged_by(*rules: ValidationRule):
        if of_outlet:
            return project(source("s"), made, replace(written[0], rules=rules), written[1])
        return project(source("s"), asset("m", "s", retries=0, rules=rules))

    other, table = replace(RULE, severity="warn", name="other"), "x" if of_outlet else "m"
    w = World(judged_by(RULE), MemoryStore())
    w.tell("s", "2025-01-01", "2025-01-02")
    w.engine.judged[table] = bad(SECOND)
    run(w)
    for rules, often in (((RULE,), 1), ((other,), 2), ((RULE,), 2), ((other,), 2), ((other, RULE), 3)):
        w.project = judged_by(*rules)
        run(w)
        assert not planned(w).runs
        assert len(w.engine.data(table)) == often
    assert state(w, "m").coverage == FIRST


def test_each_partition_is_told_with_the_rules_that_it_fails_and_what_did_not_withhold_is_told_too():
    w = world()
    w.tell("s", "2025-01-03")
    third = days("2025-01-03")
    w.engine.judged["a"] = RunJudgement(
        SECOND | third,
        (
            RuleVerdict("not_null(n)", "fail", "withheld", SECOND, 900, 12),
            RuleVerdict("unique(n)", "fail", "withheld", SECOND | third, 5, 2),
            RuleVerdict("pattern(n)", "warn", "warned", FIRST, 12, 2),
            RuleVerdict("range(n)", "quarantine", "quarantined", FIRST, 12, 1),
        ),
    )
    run(w)
    run(w)
    said = {str(item.partitions.first): item.reason for item in planned(w).waiting if item.asset == "b"}
    both, one = "not_null(n): 12 of 900 rows; unique(n): 2 of 5 rows", "unique(n): 2 of 5 rows"
    assert said[str(SECOND.first)] == f"waits for a: 2025-01-02 is withheld ({both})"
    assert said[str(third.first)] == f"waits for a: 2025-01-03 is withheld ({one})"
    tree = repr(w.opened().explain("a", partition="2025-01-03"))
    assert one in tree
    assert "12 of 900" not in tree
    assert "warned: pattern(n): 2 of 12 rows" in tree
    assert "quarantined: range(n): 1 of 12 rows, in /data/a_quarantine" in tree
    assert state(w, "a") == decoded(w)


def test_what_rules_of_inlets_warn_of_is_told_with_the_inlet():
    w = world()
    warned = RuleVerdict("not_null(n)", "warn", "warned", FIRST | SECOND, 12, 2, samples=({"n": "NULL"},), inlet="s")
    w.engine.measures["a"] = {"inlets": verdicts_to([warned])}
    w.engine.judged["a"] = bad(SECOND)
    (first, *_) = run(w).runs
    assert [(each.name, each.outcome) for each in first.verdicts] == [
        ("s: not_null(n)", "warned"),
        ("not_null(n)", "withheld"),
    ]
    said = "warned: s: not_null(n): 2 of 12 rows"
    assert said in repr(w.opened().explain("a"))
    found = next(each for each in w.opened().status() if each.asset == "a")
    assert found.notes == (f"a-1 {said}",)
    shown, other = run_document(w.opened().history.run("a-1")[0], w.project)["validations"]
    assert (shown["inlet"], shown["outcome"], shown["samples"]) == ("s", "warned", [{"n": "NULL"}])
    assert "inlet" not in other
    assert state(w, "a") == decoded(w)


def test_each_partition_is_told_with_its_own_figures_and_rows():
    w = world()
    w.source("s").news.clear()
    w.tell("s", "2025-01-01", "2025-01-02", "2025-01-03")
    third = days("2025-01-03")
    tallies = (
        RuleTally("not_null(n)", SECOND, 900, 12, samples=({"n": "2"},)),
        RuleTally("not_null(n)", third, 100, 1, samples=({"n": "3"},)),
    )
    both = RuleVerdict("not_null(n)", "fail", "withheld", SECOND | third, 1000, 13, "", ({"n": "2"},), details=tallies)
    w.engine.judged["a"] = RunJudgement(SECOND | third, (both,))
    run(w)
    assert state(w, "a") == decoded(w)
    (judged,) = next(each for each in w.opened().status() if each.asset == "a").withheld_runs
    (rule,) = verdicts_document(judged.verdicts, w.project.assets["a"])
    assert (rule["failing"], [(each["failing"], each["checked"]) for each in rule["by_partition"]]) == (
        13,
        [(12, 900), (1, 100)],
    )
    assert [each["partitions"]["ranges"][0][:10] for each in rule["by_partition"]] == ["2025-01-02", "2025-01-03"]
    assert [each["samples"] for each in rule["by_partition"]] == [[{"n": "2"}], [{"n": "3"}]]
    tree = repr(w.opened().explain("a"))
    assert "not_null(n): 13 of 1000 rows" in tree
    assert "2025-01-03: not_null(n): 1 of 100 rows" in tree
    alone = repr(w.opened().explain("a", partition="2025-01-03"))
    assert "not_null(n): 1 of 100 rows" in alone
    assert "900" not in alone
    judging(w, "a", third)
    w.opened().assets.accept("a", "2025-01-02", reason="looked at")
    run(w)
    said = {item.asset: item.reason for item in planned(w).waiting if not item.quiet}
    assert said["b"] == "waits for a: 2025-01-03 is withheld (not_null(n): 1 of 100 rows)"


def decoded(w: World):
    known = w.driver().ledger.open()
    return decode(encode(known), journal_id=known.journal_id).assets["a"]

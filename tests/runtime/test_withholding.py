"""What validations withhold is decided before the first commit of a run, for all of its outlets, and told by each."""

from dataclasses import replace

import pytest

from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.strategies import LatestOnly
from sparkassets.core.validations import NotNullCheck, PartitionRowCount, RuleVerdict, RunJudgement, ValidationRule
from sparkassets.core.writes import AppendWrite
from sparkassets.errors import RunError
from sparkassets.runtime.driver_work import DueWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, days, multi, project, source
from tests.runtime.fakes import World, dying, raising
from tests.runtime.test_outlets import BOTH

RULES = (ValidationRule("not_null(n)", NotNullCheck(("n",))),)
FIRST, SECOND = days("2025-01-01"), days("2025-01-02")


def withholding(parts: PartitionSet, rule: str = "not_null(n)") -> RunJudgement:
    verdict = RuleVerdict(rule, "fail", "withheld", parts, 9, 1, samples=({"n": "NULL"},))
    return RunJudgement(parts, (verdict,), {rule: (PartitionRowCount(FIRST, 9),)})


def world(**more) -> World:
    made = asset("a", "s", **{"retries": 0, "rules": RULES, **more})
    w = World(project(source("s"), made), MemoryStore())
    w.tell("s", "2025-01-01", "2025-01-02")
    return w


def outlets(judged: dict[str, RunJudgement]) -> World:
    """Two outlets, of which the second is judged."""
    made, *written = multi(asset("a", "s", retries=0), *BOTH)
    w = World(project(source("s"), made, written[0], replace(written[1], rules=RULES)), MemoryStore())
    w.tell("s", "2025-01-01", "2025-01-02")
    w.engine.judged |= judged
    return w


def published(w: World, name: str = "a") -> list[PartitionSet]:
    return [commit.order.partitions for commit in w.engine.data(name)]


def withheld_in_commits(w: World, name: str = "a") -> list[PartitionSet]:
    return [commit.stamp.withheld for commit in w.engine.data(name)]


def test_what_is_withheld_is_in_no_row_of_the_one_commit_and_told_by_it():
    w = world()
    w.engine.judged["a"] = withholding(SECOND)
    w.driver().run_works([DueWork()])
    (commit,) = w.engine.data("a")
    assert (published(w), withheld_in_commits(w)) == ([FIRST], [SECOND])
    assert commit.stamp.judgement == withholding(SECOND)


def test_of_a_run_that_publishes_nothing_there_is_a_commit_all_the_same():
    w = world()
    w.engine.judged["a"] = withholding(FIRST | SECOND)
    w.driver().run_works([DueWork()])
    assert (published(w), withheld_in_commits(w)) == ([NOTHING], [FIRST | SECOND])
    assert w.engine.data("a")[0].stamp.measures["published"] == "nothing"


def test_assets_without_rules_are_prepared_as_little_as_before():
    w = world(rules=())
    w.engine.hooks["a", "prepare"] = raising(RunError("asked for nothing"))
    w.driver().run_works([DueWork()])
    (commit,) = w.engine.data("a")
    assert commit.stamp.judgement is None


def test_a_run_whose_judging_fails_writes_nothing():
    w = world()
    w.engine.hooks["a", "prepare"] = raising(RunError("no column n"))
    results = w.driver().run_works([DueWork()]).runs
    assert {result.status for result in results} == {"failed"}
    assert (w.engine.data("a"), w.engine.staged["a"]) == ([], [])


def test_a_partition_that_one_outlet_withholds_is_withheld_in_all():
    w = outlets({"test": withholding(SECOND)})
    w.driver().run_works([DueWork()])
    assert [published(w, name) for name in BOTH] == [[FIRST], [FIRST]]
    assert [withheld_in_commits(w, name) for name in BOTH] == [[SECOND], [SECOND]]


def test_what_either_outlet_withholds_counts():
    w = outlets({"train": withholding(FIRST), "test": withholding(SECOND)})
    w.driver().run_works([DueWork()])
    assert [published(w, name) for name in BOTH] == [[NOTHING], [NOTHING]]


@pytest.mark.parametrize(("name", "moment"), [("train", "written"), ("test", "write")])
def test_who_completes_a_run_keeps_to_what_its_first_commit_withheld(name, moment):
    w = outlets({"test": withholding(SECOND)})
    dying(w, moment, name, judged=w.engine.judged)
    w.engine.judged["test"] = withholding(FIRST)
    w.driver().run_works([DueWork()])
    found = [[(commit.order.partitions, commit.stamp.withheld) for commit in w.engine.data(each)] for each in BOTH]
    assert found[0][0] == found[1][0] == (FIRST, SECOND)


def test_a_driver_that_dies_before_the_first_commit_has_decided_nothing():
    w = outlets({"test": withholding(SECOND)})
    dying(w, "write", "train", judged=w.engine.judged)
    w.engine.judged["test"] = withholding(FIRST)
    w.driver().run_works([DueWork()])
    assert [withheld_in_commits(w, name)[0] for name in BOTH] == [FIRST, FIRST]


@pytest.mark.parametrize("more", [{"write": AppendWrite()}, {"strategy": LatestOnly()}])
def test_what_is_used_up_as_a_whole_is_withheld_as_a_whole(more):
    w = world(**more)
    w.engine.judged["a"] = withholding(SECOND)
    w.driver().run_works([DueWork()])
    assert all(partitions in (NOTHING, FIRST) for partitions in published(w))
    assert all(commit.order.partitions == NOTHING for commit in w.engine.data("a") if commit.stamp.withheld)


def test_a_run_that_withholds_something_moves_no_watermark():
    w = world()
    w.engine.judged["a"] = withholding(SECOND)
    w.driver().run_works([DueWork()])
    assert "watermarks" not in w.engine.data("a")[0].stamp.measures

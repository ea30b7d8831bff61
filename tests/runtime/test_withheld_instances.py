"""What is withheld of an asset without partitions: instances beside one another, or one run that goes on from it."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.app.context import summary_with_keys
from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.documents.status import status_document
from sparkassets.core.instants import to_unix
from sparkassets.core.journal.marks import MarkKind
from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.spec.model import InletSpec, ReadAfter
from sparkassets.core.strategies import EveryInstance, LatestOnly
from sparkassets.core.validations import RuleVerdict, RunJudgement
from sparkassets.core.writes import AppendWrite, PublishWrite, UpsertWrite
from sparkassets.errors import InputError
from sparkassets.runtime.requested_works import BackfillWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, at, project, source, timed
from tests.depth import histories
from tests.runtime.fakes import World, raising
from tests.runtime.test_withheld import RULE, decoded, planned, run, state

DAILY = {"cron": "0 0 * * *", "start": "2025-01-28"}
TOLD = "not_null(n): 12 of 900 rows"


def span(day: int, last: int | None = None) -> str:
    """The days of January, for a sentence and for a command."""
    after = datetime(2025, 1, last or day, tzinfo=UTC) + timedelta(days=1)
    return f"2025-01-{day:02d}T00:00Z..{after:%Y-%m-%d}T00:00Z"


def seconds(day: int, last: int | None = None) -> tuple[int, int]:
    first, after = span(day, last).split("..")
    return at(first), at(after)


def world(*inlets, strategy=None, write=None, schedule=None, until="2025-02-01", **more) -> World:
    """An asset that has a run for each day since the 28th of January, and its consumer."""
    made = {"strategy": strategy or EveryInstance(), "write": write or AppendWrite(), "rules": (RULE,), "retries": 0}
    a = asset("a", *inlets, by=None, schedule=schedule or timed(DAILY), **made, **more)
    read = [source(each if isinstance(each, str) else each.name, by=None) for each in inlets]
    w = World(project(*read, a, asset("b", "a", by=None, retries=0)), MemoryStore())
    w.clock.instant = datetime.fromisoformat(f"{until}T00:00:00+00:00")
    return w


def judging(w: World, bad: set[int]) -> None:
    """What begins on these days, counted from the first of January, is bad, unless it is accepted."""

    def judge(order):
        first, after = (day_of(to_unix(each)) for each in order.interval) if order.interval else (0, 1)
        days = set(range(first, max(after, first + 1)))
        found = RuleVerdict(RULE.name, "fail", "withheld", EVERYTHING, 900, 12, samples=({"n": "NULL"},))
        held = days & bad and not order.accepted_partitions
        w.engine.judged["a"] = RunJudgement(EVERYTHING, (found,)) if held else RunJudgement()

    w.engine.hooks["a", "prepare"] = judge


def published(w: World) -> list[int]:
    """The days whose rows are in the table, in the order in which they came."""
    orders = [each.order for each in w.engine.data("a")]
    return [day_of(to_unix(each.interval[0])) for each in orders if each is not None and each.partitions.is_everything]


def accept(w: World, **named):
    return w.opened().assets.accept("a", **named, reason="looked at")


def mark(w: World, kind: MarkKind, day: int):
    begins = datetime(2024, 12, 31, tzinfo=UTC) + timedelta(days=day)
    interval = f"{begins:%Y-%m-%d}..{begins + timedelta(days=1):%Y-%m-%d}"
    return w.opened().assets.mark("a", kind, interval=interval, reason="as told")


def waiting_reasons(w: World, name: str = "a") -> list[str]:
    return [each.reason for each in planned(w).waiting if each.asset == name and not each.quiet]


def test_instances_are_withheld_beside_one_another_and_each_is_accepted_by_itself():
    w = world()
    judging(w, {28, 30})
    summary = run(w)
    assert published(w) == [29, 31]
    assert [result.interval for result in summary.withheld] == [seconds(28), seconds(30)]
    told = summary_with_keys(summary, w.project).failures
    assert told == (f"a {span(28)} is withheld: {TOLD}", f"a {span(30)} is withheld: {TOLD}")
    assert waiting_reasons(w) == [
        f"withheld by a-{run_} ({span(day)}): {TOLD}; "
        f"`sparkassets accept a --interval {span(day)} --reason …` publishes it"
        for run_, day in ((1, 28), (3, 30))
    ]
    assert waiting_reasons(w, "b") == []
    (ran,) = (result for result in summary.runs if result.asset == "b")
    lacks = [f"without a: {span(day)} is withheld ({TOLD})" for day in (28, 30)]
    assert ran.reason == ", ".join(["a updated", *lacks])
    assert not run(w).runs
    with pytest.raises(InputError) as refused:
        accept(w)
    assert str(refused.value).startswith("2 runs of a are withheld: name one of them")
    commands = "; ".join(f"`sparkassets accept a --interval {span(day)} --reason …`" for day in (28, 30))
    assert refused.value.hint == commands
    accept(w, interval=span(30))
    assert accept(w, interval=span(30)).unchanged == EVERYTHING
    assert state(w, "a") == decoded(w)
    (only,) = planned(w).runs
    assert (only.interval, only.reason) == (seconds(30), "marked as accepted by ann: looked at")
    run(w)
    assert published(w) == [29, 31, 30]
    accept(w)
    assert run(w).ok
    assert published(w) == [29, 31, 30, 28]
    assert (state(w, "a").withheld, waiting_reasons(w), waiting_reasons(w, "b")) == ((), [], [])
    assert state(w, "b").last is not None


@pytest.mark.parametrize("kind", ["done", "skip"])
def test_a_mark_of_one_withheld_instance_leaves_the_others(kind):
    w = world()
    judging(w, {28, 30})
    run(w)
    before = w.driver().ledger.open().dataset("a").seq
    marked = w.opened().assets.mark("a", kind, interval=span(28), reason="it is empty")
    assert (marked.partitions, marked.instance) == (EVERYTHING, seconds(28))
    assert [each.interval for each in state(w, "a").withheld] == [seconds(30)]
    assert state(w, "a") == decoded(w)
    assert (w.driver().ledger.open().dataset("a").seq > before) == (kind == "done")


def test_they_are_shown_each_with_its_interval_its_rules_and_rows():
    w = world()
    judging(w, {28, 30})
    run(w)
    found = next(each for each in w.opened().status() if each.asset == "a")
    shown = status_document(found, w.project)["withheld"]
    assert [each["data_interval"]["start"] for each in shown] == ["2025-01-28T00:00:00Z", "2025-01-30T00:00:00Z"]
    assert [(each["rules"][0]["failing"], each["rules"][0]["samples"]) for each in shown] == [(12, [{"n": "NULL"}])] * 2
    tree = repr(w.opened().explain("a"))
    for day, name in ((28, "a-1"), (30, "a-3")):
        assert f"withheld {span(day)} by {name}; retried after new data, changed rules or `sparkassets accept`" in tree


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ({"interval": span(29)}, f"a {span(29)} is not withheld"),
        ({"interval": "2025-01-29..2025-01-28"}, "the interval '2025-01-29..2025-01-28' ends before it starts"),
        ({"run": "a-2"}, "a a-2 is not withheld"),
    ],
)
def test_what_is_none_of_them_is_not_accepted(named, told):
    w = world()
    judging(w, {28, 30})
    run(w)
    with pytest.raises(InputError, match=re.escape(told)):
        accept(w, **named)


@pytest.mark.parametrize("given", [{"interval": span(28)}, {"run": "a-1"}])
def test_partitions_are_named_by_their_keys(given):
    w = World(project(source("s"), asset("a", "s", rules=(RULE,))), MemoryStore())
    option = f"--{next(iter(given))}"
    with pytest.raises(InputError, match=f"asset 'a' has partitions, but {option} is for assets without"):
        accept(w, **given)


def test_other_rules_try_each_of_them_again_and_a_backfill_the_one_that_it_names():
    w = world()
    judging(w, {28, 29, 30})
    run(w)
    judging(w, {28, 29})
    w.driver().run_works([BackfillWork(w.project.assets["a"], EVERYTHING, interval=seconds(30))])
    assert published(w) == [31, 30]
    assert [each.interval for each in state(w, "a").withheld] == [seconds(28), seconds(29)]
    judging(w, {29})
    w.project = project(replace(w.project.assets["a"], definition=AssetDefinition("other")), w.project.assets["b"])
    assert {each.reason for each in planned(w).runs if each.asset == "a"} == {
        "withheld before its rules or code changed"
    }
    run(w)
    assert published(w) == [31, 30, 28]
    assert not planned(w).runs
    assert [each.interval for each in state(w, "a").withheld] == [seconds(29)]


def test_one_of_events_is_told_by_its_run_and_has_its_events_again():
    w = world("s", schedule="s")
    bad, seen = {"x"}, []

    def judge(order):
        extras = {event["extra"]["file"] for event in order.events["s"]}
        seen.append(extras)
        found = RuleVerdict(RULE.name, "fail", "withheld", EVERYTHING, 900, 12)
        w.engine.judged["a"] = (
            RunJudgement(EVERYTHING, (found,)) if extras & bad and not order.accepted_partitions else RunJudgement()
        )

    w.engine.hooks["a", "prepare"] = judge
    for file in "xyxz":
        w.tell("s", extra={"file": file})
        run(w)
    first, second = (each.run for each in state(w, "a").withheld)
    assert waiting_reasons(w)[0].endswith(f"`sparkassets accept a --run {first} --reason …` publishes it")
    pins = dict(state(w, "a").withheld[0].pins)
    accept(w, run=first)
    w.tell("s", extra={"file": "w"})
    run(w)
    assert seen[-2:] == [{"w"}, {"x"}]
    assert [dict(each.order.pins) for each in w.engine.data("a")][-1] == pins
    assert [each.run for each in state(w, "a").withheld] == [second]


def test_an_upsert_without_newest_by_waits_for_what_is_withheld_and_one_with_it_does_not():
    for newest_by, there, after in (((), [28], [28, 29, 30, 31]), (("n",), [28, 30, 31], [28, 30, 31, 29])):
        w = world(write=UpsertWrite(("id",), newest_by=newest_by))
        judging(w, {29})
        run(w)
        assert published(w) == there
        told = "waits for a withheld run: upserts without 'newest_by' must be applied in order"
        assert (told in waiting_reasons(w)) == (not newest_by)
        accept(w)
        run(w)
        assert published(w) == after


def test_an_iteration_that_was_withheld_is_published_beside_the_newer_ones():
    w = world(write=PublishWrite(10))
    judging(w, {29})
    run(w)
    accept(w)
    run(w)
    assert published(w) == [28, 30, 31, 29]
    assert [(each.interval, bool(each.shown)) for each in state(w, "a").iterations][-1] == (seconds(29), False)


def test_later_instances_wait_where_very_many_are_withheld():
    w = world(schedule=timed({"cron": "0 * * * *", "start": "2025-01-28"}))
    judging(w, set(range(28, 40)))
    for _ in range(2):
        w.clock.instant += timedelta(days=1)
        run(w)
        assert len(state(w, "a").withheld) == 100
    assert waiting_reasons(w)[-1] == "waits for a decision: 100 of its runs are withheld"
    with pytest.raises(InputError, match="100 runs of a are withheld: name one of them") as refused:
        accept(w)
    assert str(refused.value.hint).endswith("; and 90 more, see `sparkassets status`")


# ------------------------------------------------------------------ runs that continue from each other


def test_the_next_interval_takes_what_was_withheld_with_it():
    """Of one that goes on from interval to interval nothing is passed over."""
    w = world(strategy=LatestOnly(), until="2025-01-29")
    judging(w, {28})
    run(w)
    w.clock.instant += timedelta(days=1)
    (only,) = planned(w).runs[:1]
    assert only.interval == seconds(28, 29)
    assert only.reason.endswith("with the input of a-1, which was withheld")
    run(w)
    assert (published(w), len(state(w, "a").withheld)) == ([], 1)
    judging(w, set())
    w.clock.instant += timedelta(days=1)
    assert run(w).ok
    assert [each.order.interval for each in w.engine.data("a")][-1] == tuple(
        datetime.fromtimestamp(each, UTC) for each in seconds(28, 30)
    )
    assert state(w, "a").withheld == ()


def test_what_is_accepted_of_a_watermark_is_published_as_it_was_looked_at_and_the_rest_follows():
    w = world(InletSpec("s", "", None, read=ReadAfter("n")), strategy=LatestOnly(), schedule="s")
    bad = [True]

    def judge(order):
        found = RuleVerdict(RULE.name, "fail", "withheld", EVERYTHING, 900, 12)
        held = bad[0] and not order.accepted_partitions
        w.engine.judged["a"] = RunJudgement(EVERYTHING, (found,)) if held else RunJudgement()

    w.engine.hooks["a", "prepare"] = judge
    w.tell("s")
    run(w)
    assert state(w, "a").watermarks == {}
    looked_at = state(w, "a").withheld[0].pins["s"]
    accept(w)
    w.tell("s")
    bad[0] = False
    run(w)
    first, second = (each.order.pins["s"] for each in w.engine.data("a")[1:])
    assert (first, second.low) == (looked_at, f"high-{first.seq}")
    assert second.seq > first.seq
    assert state(w, "a").withheld == ()


def test_an_acceptance_that_cannot_be_published_holds_nothing_up():
    w = world(InletSpec("s", "", None, read=ReadAfter("n")), strategy=LatestOnly(), schedule="s")
    judging(w, {0})
    w.tell("s")
    run(w)
    accept(w)
    w.tell("s")

    def gone(order):
        if order.accepted_partitions:
            raise ValueError("the version is gone")

    w.engine.hooks["a", "compute"] = gone
    run(w)
    judging(w, set())
    w.tell("s")
    assert run(w).runs[-1].status == "success"
    assert state(w, "a").withheld == ()


# ------------------------------------------------------------------ whatever happens


MARKS: tuple[MarkKind, ...] = ("done", "skip", "missing")
MOMENTS = ["compute", "prepare", "write", "written", "committed"]


class Fate:
    """What happens to an asset, and what its table is to have.

    Attributes:
        bad: The days whose rows are bad, counted from the first of January.
        accepted: Those that somebody accepted.
        marked: Those of which somebody says that they need no run.
        today: The day that is not over.
    """

    def __init__(self, random: Random) -> None:
        self.random = random
        write = random.choice([AppendWrite(), PublishWrite(500), UpsertWrite(("id",), newest_by=("n",))])
        self.world = world(until="2025-01-29", write=write)
        self.bad, self.accepted, self.marked, self.today, self.code = {28}, set[int](), set[int](), 29, 0
        judging(self.world, self.bad)

    def day(self) -> None:
        """Another day is over."""
        self.bad |= {self.today} if self.random.random() < 0.5 else set()
        self.today += 1
        self.world.clock.instant += timedelta(days=1)

    def run(self) -> None:
        """A driver runs what is due."""
        run(self.world)

    def kill(self) -> None:
        """A driver dies on its way."""
        moment, hooks = self.random.choice(MOMENTS), self.world.engine.hooks
        before = dict(hooks)
        hooks["a", moment] = raising(KeyboardInterrupt())
        with suppress(BaseException):
            run(self.world)
        hooks.clear()
        hooks.update(before)

    def accept(self) -> None:
        """Somebody accepts one of what is withheld."""
        if held := self.held():
            one = self.random.choice(held)
            with suppress(InputError):  # of what runs, or is tried again anyway
                accept(self.world, run=one.run)
                self.accepted.add(day_of(one.interval[0]))

    def mark(self) -> None:
        """Somebody says of a day that it is done, or not wanted, or takes that back."""
        day, kind = self.random.randint(28, self.today + 2), self.random.choice(MARKS)
        before = {*published(self.world)}
        with suppress(InputError):  # of what runs, or has run, or is not marked
            mark(self.world, kind, day)
            assert day not in before
            self.marked = self.marked - {day} if kind == "missing" else self.marked | {day}

    def rules(self) -> None:
        """The rules are others, and find less."""
        self.code += 1
        self.bad -= {each for each in self.bad if self.random.random() < 0.3}
        made = replace(self.world.project.assets["a"], definition=AssetDefinition(str(self.code)))
        self.world.project = project(made, self.world.project.assets["b"])

    def backfill(self) -> None:
        """Somebody has one of what is withheld computed again."""
        if held := self.held():
            one = self.random.choice(held)
            made = self.world.project.assets["a"]
            self.world.driver().run_works([BackfillWork(made, EVERYTHING, interval=one.interval)])

    def held(self):
        found = self.world.driver().ledger.open().assets.get("a")
        return () if found is None or found.chain else found.withheld


@histories(40)
@given(st.randoms(use_true_random=False), st.integers(3, 25))
def test_each_instance_is_published_once_or_withheld_whatever_comes_and_whoever_dies(random: Random, steps: int):
    """Rows of an interval are there once, if they are good or accepted; others are withheld, or marked by a person."""
    fate = Fate(random)
    for _ in range(steps):
        judging(fate.world, fate.bad)
        acts = [fate.day, fate.run, fate.run, fate.kill, fate.accept, fate.mark, fate.mark, fate.rules, fate.backfill]
        random.choice(acts)()
    judging(fate.world, fate.bad)
    for _ in range(3):
        run(fate.world)
    assert not planned(fate.world).runs
    known = state(fate.world, "a")
    held, there = [day_of(each.interval[0]) for each in known.withheld], published(fate.world)
    assert sorted([*there, *held, *(each for each in fate.marked if each < fate.today)]) == list(range(28, fate.today))
    assert set(held) <= fate.bad
    assert {each for each in there if each in fate.bad} <= fate.accepted
    assert known == decoded(fate.world)


def day_of(seconds: int) -> int:
    """How many days after the last of December it is."""
    return (datetime.fromtimestamp(seconds, UTC) - datetime(2024, 12, 31, tzinfo=UTC)).days

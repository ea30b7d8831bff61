"""``every_instance`` over segments that come to be known: of all segments first, then a run for each known key."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.journal.codec import decode, encode, from_row
from sparkassets.core.journal.entries import FailureEntry, ObservedEntry, SegmentEntry, SuccessEntry
from sparkassets.core.journal.fold.dispatch import fold
from sparkassets.core.journal.state import State
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.partitions.segments import WHOLE
from sparkassets.core.planner.batch import instance_runs
from sparkassets.core.planner.incremental_planner import IncrementalPlanner
from sparkassets.core.planner.plan import PlannedRun
from sparkassets.core.planner.planner import make_plan
from sparkassets.core.strategies import DateRange, EveryInstance
from sparkassets.core.writes import AppendWrite, ReplaceWrite
from tests.builders import Story, asset, multi, project, source, timed
from tests.depth import histories

RUNTIME = {"customer": "runtime"}


def announce_customers(story: Story, name: str, *, adds: tuple[str, ...] = (), removes: tuple[str, ...] = ()) -> int:
    return story.add(SegmentEntry(name, "customer", adds, removes))


def keys(story: Story, runs: tuple[PlannedRun, ...]) -> list[str]:
    return [key for run in runs for key in story.keys(run.asset, run.partitions)]


class TestKnown:
    @pytest.fixture
    def story(self):
        """Customers that the source tells, and what is made of each, of which two are there."""
        model = asset("model", "s", segments=RUNTIME, strategy=EveryInstance(), write=AppendWrite())
        made = Story(project(source("s", segments=RUNTIME), model), now="2025-01-03T01:00")
        made.observed("s", "2025-01-01,a")
        made.run_all()
        return made

    def test_each_is_a_run_beside_the_others(self, story):
        story.observed("s", "2025-01-02,a", "2025-01-02,b", "2025-01-02,c")
        runs = story.plan().runs
        assert keys(story, runs) == ["2025-01-02,a", "2025-01-02,b", "2025-01-02,c"]
        assert [run.run_slot for run in runs] == [1, 2, 3]

    def test_one_that_comes_while_others_run_gets_its_own(self, story):
        story.observed("s", "2025-01-02,a", "2025-01-02,b")
        tokens = [story.claim(run) for run in story.plan().runs]
        story.observed("s", "2025-01-02,c")
        (run,) = story.plan().runs
        assert (keys(story, (run,)), run.run_slot) == (["2025-01-02,c"], 3)
        for token in tokens:
            story.succeed("model", token)
        assert story.due() == {"model": ["2025-01-02,c"]}

    def test_a_removed_one_gets_none(self, story):
        story.observed("s", "2025-01-02,a", "2025-01-02,b")
        announce_customers(story, "s", removes=("b",))
        assert keys(story, story.plan().runs) == ["2025-01-02,a"]

    def test_by_a_timetable_each_gets_its_interval(self):
        model = asset("model", "s", segments=RUNTIME, strategy=EveryInstance(), schedule=timed("@daily"))
        story = Story(project(source("s", segments=RUNTIME), model), now="2025-01-02T01:00")
        story.observed("s", "2025-01-01,a")
        story.run_all()
        story.observed("s", "2025-01-01,b", "2025-01-02,a", "2025-01-02,b")
        assert keys(story, story.plan().runs) == ["2025-01-01,b"]
        story.now = "2025-01-03T01:00"
        assert keys(story, story.plan().runs) == ["2025-01-01,b", "2025-01-02,a", "2025-01-02,b"]


class TestOfNoneKnown:
    @pytest.fixture
    def story(self):
        """Days whose customers only the rows tell."""
        model = asset("model", "s", segments=RUNTIME, strategy=EveryInstance())
        made = Story(project(source("s"), model, asset("total", "model")), now="2025-01-04T01:00")
        made.observed("s", "2025-01-01..2025-01-03")
        return made

    def came_out(self, story, token, *customers):
        link = story.state.assets["model"].claim_state(token)
        learned = {"customer": customers} if customers else {}
        partitions = story.context().asset("model").partitioning.resolve_whole(link.entry.partitions, learned)
        return story.add(SuccessEntry("model", "model", link.entry.run, token, token, partitions, "t", 1, keys=learned))

    def test_a_run_of_everything_of_the_oldest_day_tells_them(self, story):
        (run,) = story.plan().runs
        assert keys(story, (run,)) == ["2025-01-01,*"]
        self.came_out(story, story.claim(run), "a", "b")
        assert keys(story, story.plan(select=["model"]).runs) == [
            "2025-01-02,a",
            "2025-01-02,b",
            "2025-01-03,a",
            "2025-01-03,b",
        ]

    def test_a_key_that_is_added_while_it_runs_waits_for_it(self, story):
        token = story.claim(story.plan().runs[0])
        self.came_out(story, token)
        runs = story.plan(select=["model"]).runs
        assert keys(story, runs) == ["2025-01-02,*", "2025-01-03,*"]
        token = story.claim(runs[0])
        announce_customers(story, "model", adds=("x",))
        found = story.plan(select=["model"])
        assert keys(story, found.runs) == ["2025-01-01,x", "2025-01-03,x"]
        assert found.waiting[0].reason == f"running: model-{token} since 2025-01-01T00:00Z by test"
        self.came_out(story, token, "a", "x")
        assert keys(story, story.plan(select=["model"]).runs) == [
            "2025-01-01,a",
            "2025-01-01,x",
            "2025-01-03,a",
            "2025-01-03,x",
        ]

    def test_nothing_came_out_for_the_key_that_was_added(self, story):
        token = story.claim(story.plan().runs[0])
        announce_customers(story, "model", adds=("x",))
        self.came_out(story, token)
        assert keys(story, story.plan(select=["model"]).runs)[0] == "2025-01-01,x"
        dataset = story.state.dataset("model")
        assert dataset.coverage == PartitionSet(), "the whole of a dimension whose keys are known is nothing"
        assert story.waits("total")[0].startswith("waits for")

    def test_what_came_while_it_ran_makes_all_that_came_out_stale(self, story):
        token = story.claim(story.plan().runs[0])
        announce_customers(story, "model", adds=("x",))
        story.observed("s", "2025-01-01")
        self.came_out(story, token, "a", "x")
        assert keys(story, story.plan(select=["model"]).runs)[:2] == ["2025-01-01,a", "2025-01-01,x"]

    def test_by_its_driver_left_behind_it_is_taken_over_by_a_key_of_it(self, story):
        self.came_out(story, story.claim(story.plan().runs[0]))
        token = story.claim(story.plan(select=["model"]).runs[0])
        announce_customers(story, "model", adds=("x", "y"))
        runs = story.plan(select=["model"], gone_claims=[token]).runs
        taking = [run for run in runs if run.recovers]
        assert (keys(story, tuple(taking)), taking[0].recovers) == (["2025-01-02,x"], (f"model-{token}",))
        assert "2025-01-02,y" not in keys(story, runs)


def test_beside_listed_segments_what_came_meanwhile_is_not_lost_either():
    listed = {"region": ("de", "nl")}
    model = asset("model", "s", segments={**listed, **RUNTIME}, strategy=EveryInstance())
    story = Story(project(source("s", segments=listed), model), now="2025-01-04T01:00")
    story.observed("s", "2025-01-01,de")
    token = story.claim(story.plan().runs[0])
    announce_customers(story, "model", adds=("x",))
    story.observed("s", "2025-01-01,de")
    link = story.state.assets["model"].claim_state(token)
    partitions = (
        story.context().asset("model").partitioning.resolve_whole(link.entry.partitions, {"customer": ("a", "x")})
    )
    head = ("model", "model", link.entry.run, token, token, partitions, "t", 1)
    story.add(SuccessEntry(*head, keys={"customer": ("a", "x")}))
    assert keys(story, story.plan().runs) == ["2025-01-01,de,a", "2025-01-01,de,x"]


@pytest.mark.parametrize("outlets", [(), ("left", "right")])
def test_without_its_last_key_a_computed_day_still_feeds_its_readers(outlets):
    model = asset("model", "s", segments=RUNTIME, strategy=EveryInstance(), write=AppendWrite())
    models = multi(model, *outlets) if outlets else [model]
    total = asset("total", models[-1].name, "other")
    story = Story(project(source("s"), source("other"), *models, total), now="2025-01-02T01:00")
    announce_customers(story, "model", adds=("a",))
    story.observed("s", "2025-01-01")
    story.observed("other", "2025-01-01")
    story.run_all()
    announce_customers(story, "model", removes=("a",))
    story.observed("other", "2025-01-01")
    assert story.due() == {"total": ["2025-01-01"]}


# ---------------------------------------------------------------------- random histories


@dataclass
class Alive:
    """A run that a driver has claimed, with what the source held then, without the keys that were removed by then."""

    token: int
    run: PlannedRun
    rows: dict[int, dict[str, int]]
    removed: tuple[str, ...]
    landed: bool = False
    tells: dict[str, tuple[str, ...]] = field(default_factory=dict)


class History:
    """Drivers beside each other, keys that come and go, and a table that tells what landed in it."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.appends = random.random() < 0.4
        strategy = DateRange() if not self.appends and random.random() < 0.25 else EveryInstance()
        write = AppendWrite() if self.appends else ReplaceWrite()
        model = asset("model", "s", segments=RUNTIME, strategy=strategy, write=write)
        self.story = Story(
            project(source("s"), model, asset("each", "model", segments=RUNTIME)), now="2025-01-05T01:00"
        )
        self.planner = IncrementalPlanner(self.story.project)
        self.truth: dict[int, dict[str, int]] = {}
        self.table: list[tuple[int, str, int]] = []
        self.made: dict[tuple[int, str], int | None] = {}
        self.live: list[Alive] = []
        self.over: list[Alive] = []
        self.invocation = 0

    @property
    def partitioning(self):
        return self.story.context().asset("model").partitioning

    def slots(self, partitions: PartitionSet) -> list[tuple[int, str]]:
        return [(start // 86400, key) for start, _, (key,) in self.partitioning.slots(partitions)]

    def plan(self) -> list[PlannedRun]:
        gone = frozenset(each.token for each in self.over)
        context = self.story.context(invocation=str(self.invocation), gone_claims=gone)
        found = make_plan(context)
        assert self.planner.plan(replace(context, decisions={})) == found
        assert decode(encode(self.story.state), journal_id="journal") == self.story.state
        return [run for run in found.runs if run.asset == "model"]

    def claim(self, run: PlannedRun) -> None:
        mine = self.slots(run.partitions)
        for link in self.story.state.assets["model"].chain:
            theirs = self.slots(link.entry.partitions)
            meet = any(
                day == other and (WHOLE in (key, same) or key == same) for day, key in mine for other, same in theirs
            )
            assert link.run_slot == run.run_slot or not meet
            assert link.run_slot != run.run_slot or link.entry.run in run.recovers
        token = self.story.claim(run, invocation=str(self.invocation))
        learned = self.story.state.assets["model"].keys.get("customer")
        removed = learned.removed if learned else ()
        rows = {day: {key: seq for key, seq in some.items() if key not in removed} for day, some in self.truth.items()}
        self.live.append(Alive(token, run, rows, removed))

    def step(self) -> None:
        some = [
            "event",
            "event",
            "add",
            "remove",
            "claim",
            "claim",
            "claim",
            "land",
            "record",
            "record",
            "fail",
            "crash",
        ]
        if any(WHOLE in key for each in self.live for _, key in self.slots(each.run.partitions)):
            some = [
                "event",
                "add",
                "land",
                "record",
                "crash",
            ]  # what happens beside a run of all, of which there are few
        what = self.random.choice(some)
        if what == "event":
            self.event()
        elif what in ("add", "remove"):
            if not self.live and self.partitioning.has_whole:
                return  # else hardly any history has a run of all
            key = self.random.choice("abcd")
            announce_customers(self.story, "model", **{f"{what}s": (key,)})
        elif what == "claim":
            if runs := self.plan():
                self.claim(self.random.choice(runs))
        elif self.live:
            each = self.random.choice(self.live)
            {"land": self.land, "record": self.record, "fail": self.fail, "crash": self.crash}[what](each)

    def event(self) -> None:
        day = self.random.randrange(20089, 20092)
        some = self.truth.setdefault(day, {})
        seq = self.story.add(ObservedEntry("s", "x-s", PartitionSet.span(day * 86400, (day + 1) * 86400)))
        some |= dict.fromkeys(self.random.sample("abcd", self.random.randrange(3)), seq)

    def crash(self, each: Alive) -> None:
        self.live.remove(each)
        self.over.append(each)

    def chain(self, each: Alive) -> list[Alive]:
        chain = self.story.state.assets["model"].chains[each.run.run_slot]
        tokens = {link.token for link in chain}
        return [other for other in self.over if other.token in tokens and other.token < each.token]

    def land(self, each: Alive) -> None:
        if each.landed or not each.run.partitions or any(other.landed for other in self.chain(each)):
            return
        each.landed = True
        slots, tells = self.slots(each.run.partitions), set()
        for day, key in slots:
            rows = each.rows.get(day, {})
            mine = rows if key == WHOLE else {key: rows[key]} if key in rows else {}
            written = [customer for customer in "abcd" if customer not in each.removed] if key == WHOLE else [key]
            if not self.appends:
                self.table = [row for row in self.table if row[0] != day or row[1] not in written]
            self.table += [(day, customer, seq) for customer, seq in mine.items()]
            self.made |= {(day, customer): mine.get(customer) for customer in written}
            tells |= {*mine} if key == WHOLE else set()
        each.tells = {"customer": tuple(sorted(tells))} if tells else {}

    def record(self, each: Alive) -> None:
        found = next((other for other in self.chain(each) if other.landed), None)
        if found is None and not each.run.partitions:
            self.fail(each)
            return
        self.land(each)
        done = found or each
        link = self.story.state.assets["model"].claim_state(done.token)
        assert link is not None
        partitions = self.partitioning.resolve_whole(link.entry.partitions, done.tells)
        self.leave(each)
        head = ("model", "model", link.entry.run, done.token, each.token, partitions)
        self.story.add(SuccessEntry(*head, "t", 1, pins=link.entry.request.pins, keys=done.tells))

    def fail(self, each: Alive) -> None:
        if each.landed or any(other.landed for other in self.chain(each)):
            self.record(each)
            return
        fenced = self.random.random() < 0.7
        link = self.story.state.assets["model"].claim_state(each.token)
        assert link is not None
        if fenced:
            self.leave(each)
        else:
            self.crash(each)
        head = ("model", link.entry.run, each.token, link.entry.partitions, "error", "boom", str(self.invocation))
        self.story.add(FailureEntry(*head, fenced=fenced))
        self.invocation += self.random.random() < 0.5

    def leave(self, each: Alive) -> None:
        before = self.chain(each)
        self.over = [other for other in self.over if other not in before]
        self.live.remove(each)

    def finish(self) -> None:
        self.over += self.live
        self.live = []
        self.invocation += 1
        for _ in range(200):
            if runs := self.plan():
                self.claim(runs[0])
                self.record(self.live[0])
            elif self.story.state.assets["model"].chain or self.story.state.assets["model"].failed:
                self.invocation += 1  # what failed is tried again
            else:
                break
        assert not self.plan()

    def check(self) -> None:
        state = self.story.state.assets["model"]
        assert state.chain == ()
        known, there = self.partitioning.segments[0].keys, self.story.state.dataset("model").coverage
        times = Counter((day, key) for day, key, _ in self.table)
        assert max(times.values(), default=0) <= 1, "appended twice"
        for day, rows in self.truth.items():
            for key in known:
                partition = PartitionSet.from_slots([((key,), (day * 86400, (day + 1) * 86400))])
                assert state.coverage.covers(partition), "not computed"
                assert there.covers(partition)
                if key != WHOLE:
                    assert times[day, key] == (self.made[day, key] is not None)
                    assert self.appends or self.made[day, key] == rows.get(key), "older than what it is made of"
        left = PartitionSet.union(parts for items in state.partly_used.values() for _, parts in items)
        # Of very many what needs no answer is dropped by the next run of few; what is appended is not computed again
        # for a later update, which then waits for nobody.
        told = instance_runs.MOST_LISTED > 1 and not self.appends
        assert not (told and self.partitioning.known_partitions.overlaps(left)), "answered, and asked still"
        if known != (WHOLE,):
            assert not any(WHOLE in segment for segment, _ in there.apart), "the whole of what has keys"
        entries = [from_row(row) for row in self.story.rows]
        assert fold(State("journal"), entries, commit=self.story.state.commit) == self.story.state


@given(st.randoms(use_true_random=False), st.integers(10, 80), st.booleans())
@histories(20)
def test_whatever_keys_come_and_go_each_known_one_is_there_once(random, steps, many):
    history = History(random)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(instance_runs, "MOST_LISTED", 1 if many else 1000)
        lead(history, steps)


def lead(history: History, steps: int) -> None:
    for _ in range(steps):
        history.step()
    history.finish()
    history.check()

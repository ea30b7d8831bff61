"""Random histories of segments that come, go and come back, against a plain model of what each asset knows and owes."""

from __future__ import annotations

from itertools import product
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.instants import DAY
from sparkassets.core.journal.codec import decode, encode, from_row
from sparkassets.core.journal.entries import ObservedEntry, SegmentEntry, SpecEntry
from sparkassets.core.journal.fold.dispatch import fold
from sparkassets.core.journal.fold_specs import build_fold_spec
from sparkassets.core.journal.state import State
from sparkassets.core.partitions import PartitionSet, RangeSet
from sparkassets.core.planner.incremental_planner import IncrementalPlanner
from sparkassets.core.planner.planner import make_plan
from sparkassets.core.strategies import DateRange
from tests.builders import Story, asset, at, multi, project, source
from tests.depth import histories

ZERO = at("2025-01-01")
POOL = "abcd"
INLETS = {"one": "s", "two": "one"}
Partition = tuple[str, int | None]


class Model:
    """What a plain reader of the rules knows: by asset its segments, what is there, and what is to be computed."""

    def __init__(self, days: int | None) -> None:
        self.partitions = [*product(POOL, [None] if days is None else range(days))]
        self.own: dict[str, set[str]] = {name: set() for name in ("s", "one", "two")}
        self.removed: dict[str, set[str]] = {name: set() for name in self.own}
        self.there: dict[str, set[Partition]] = {name: set() for name in self.own}
        self.owed: dict[str, set[Partition]] = {name: set() for name in self.own}

    def known(self, name: str) -> set[str]:
        told = self.known(INLETS[name]) if name in INLETS else set()
        return (self.own[name] | told) - self.removed[name]

    def came(self, name: str, partitions: set[Partition]) -> None:
        """Something of an asset is there, or again."""
        self.there[name] |= partitions
        if name == "s":
            self.learn(name, {key for key, _ in partitions} - self.removed[name])
        for reader, inlet in INLETS.items():
            if inlet == name:
                self.owed[reader] |= partitions

    def learn(self, name: str, keys: set[str]) -> None:
        self._change(lambda: self.own[name].update(keys))

    def add(self, name: str, key: str) -> None:
        def change() -> None:
            self.removed[name].discard(key)
            self.own[name].add(key)

        self._change(change)

    def remove(self, name: str, key: str) -> None:
        def change() -> None:
            self.own[name].discard(key)
            self.removed[name].add(key)

        self._change(change)

    def _change(self, change) -> None:
        """What comes back is to be computed again."""
        before = {name: self.known(name) for name in self.own}
        change()
        for name in INLETS:
            back = self.known(name) - before[name]
            self.owed[name] |= {partition for partition in self.there[name] if partition[0] in back}

    def due(self, name: str) -> set[Partition]:
        """What an asset computes when nothing comes before it."""
        can = self.owed[name] & self.there[INLETS[name]]
        return {partition for partition in can if partition[0] in self.known(name)}


class History:
    """A project of the same partitions throughout, its journal and its model."""

    def __init__(self, random: Random) -> None:
        self.random, days = random, random.choice([None, 2])
        by = None if days is None else "day"
        most = DateRange(max_partitions_per_run=random.choice([1, 3, 1000]))
        more = {"by": by, "segments": {"customer": "runtime"}}
        one, two = (asset(name, inlet, strategy=most, **more) for name, inlet in INLETS.items())
        self.outlets = random.choice([(), ("left", "right")])
        if self.outlets:
            assets = (*multi(one, *self.outlets), asset("two", "left", strategy=most, **more))
        else:
            assets = (one, two)
        self.story = Story(project(source("s", **more), *assets), now="2025-01-06")
        self.planner, self.model, self.invocation = IncrementalPlanner(self.story.project), Model(days), 0

    def set_of(self, partitions: set[Partition]) -> PartitionSet:
        spans = {None: (RangeSet.always().first, RangeSet.always().last)}
        spans |= {day: (ZERO + day * DAY, ZERO + (day + 1) * DAY) for day in range(2)}
        return PartitionSet.from_slots(((key,), spans[day]) for key, day in partitions)

    def partitions_in(self, parts: PartitionSet) -> set[Partition]:
        return {partition for partition in self.model.partitions if parts.covers(self.set_of({partition}))}

    def step(self) -> None:
        random, model = self.random, self.model
        what = random.choice(["event", "event", "add", "remove", "spec", "run", "run", "run", "fail", "meanwhile"])
        name, key = random.choice(["s", "one", "two"]), random.choice(POOL)
        match what:
            case "event":
                self.event()
            case "add":
                if key not in model.known(name):
                    self.story.add(SegmentEntry(name, "customer", added=(key,)))
                    model.add(name, key)
            case "remove":
                if key not in model.removed[name]:
                    self.story.add(SegmentEntry(name, "customer", removed=(key,)))
                    model.remove(name, key)
            case "spec":
                name = random.choice(["s", "one", "two", *self.outlets])
                self.story.add(SpecEntry(name, build_fold_spec(self.story.project.assets[name], self.story.project)))
            case _:
                self.run(what)
        self.check()

    def event(self) -> None:
        some = set(self.random.sample(self.model.partitions, 2))
        self.story.add(ObservedEntry("s", "x-s", self.set_of(some)))
        self.model.came("s", some)

    def run(self, what: str) -> bool:
        runs = self.plan()
        if not runs:
            return False
        run = self.random.choice(runs)
        partitions, model = self.partitions_in(run.partitions), self.model
        assert partitions
        assert partitions <= model.due(run.asset), "computed without a cause, or of a segment that is not known"
        claim = self.story.claim(run, invocation=str(self.invocation))
        owed = model.owed[run.asset] & partitions
        model.owed[run.asset] -= partitions
        if what == "fail":
            self.story.fail(run.asset, claim, invocation=str(self.invocation))
            self.invocation += 1
            model.owed[run.asset] |= owed
            return True
        if what == "meanwhile":
            self.event()
        self.story.succeed(run.asset, claim)
        model.came(run.asset, partitions)
        return True

    def plan(self):
        context = self.story.context(invocation=str(self.invocation))
        found = make_plan(context)
        again = self.planner.plan(self.story.context(invocation=str(self.invocation)))
        assert again == found
        for note in found.notes:
            left = self.partitions_in(note.partitions)
            name = "one" if note.asset in self.outlets else note.asset
            assert all(key not in self.model.known(name) for key, _ in left)
        return list({run.asset: run for run in reversed(found.runs)}.values())

    def check(self) -> None:
        state = self.story.state
        assert decode(encode(state), journal_id="journal") == state
        for name in self.model.own:
            (dimension,) = self.story.context().asset(name).partitioning.segments
            assert set(dimension.keys) == self.model.known(name)
            assert state.assets[name].spec.partitioning.segments == (dimension,)
        for name in self.outlets:
            assert state.assets[name].spec.partitioning == state.assets["one"].spec.partitioning
            assert self.partitions_in(state.dataset(name).coverage) == self.model.there["one"]

    def settle(self) -> None:
        for _ in range(200):
            if not self.run("run"):
                break
        else:
            raise AssertionError("never idle")
        assert {name: self.model.due(name) for name in INLETS} == {"one": set(), "two": set()}
        rows = [from_row(row) for row in self.story.rows]
        assert fold(State("journal"), rows, commit=self.story.state.commit) == self.story.state


@histories(60)
@given(st.integers(0, 2**32))
def test_what_is_known_and_due_is_what_the_rules_say(seed):
    history = History(Random(seed))  # noqa: S311  a test's own
    for _ in range(25):
        history.step()
    history.settle()

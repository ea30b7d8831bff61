"""Random histories in which code changes, and drivers with older and newer code take turns, against a plain model.

The model knows of each partition by which definition it was computed last, and in which order the definitions came.
Under ``backfill``, when the driver with the newest code comes to rest, every partition is of its code; one with older
code computes nothing of a newer one's again; and drivers that only take turns have soon nothing left to do. Under
``warn`` and ``ignore`` nothing is ever computed because of code.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.journal.entries import ObservedEntry
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.planner.batch.backfill import backfillable_partitions, plan_backfill
from sparkassets.core.planner.due.outdated_code import partitions_made_by
from sparkassets.core.planner.explain.code_changes import find_code_changes
from sparkassets.core.planner.incremental_planner import IncrementalPlanner
from sparkassets.core.planner.plan import Plan, PlannedRun
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import DateRange
from tests.builders import Story, asset, project, source
from tests.core.planner.test_products import KINDS, WITHOUT_A_DAY, Partition, inside, partitions_of, set_of
from tests.depth import histories
from tests.drivers import Drivers

NAMES = ("one", "two")
MODES = ("warn", "backfill", "forward_only")


class Checkout:
    """A driver's files: which version of each asset's code they have."""

    def __init__(self, versions: dict[str, int]) -> None:
        self.versions = versions


class History(Drivers):
    """A project of two assets, its journal, and two drivers with files of their own."""

    most = 500

    def __init__(self, random: Random) -> None:
        kind, self.mode = random.choice((*KINDS, WITHOUT_A_DAY)), random.choice(MODES)
        self.source = replace(source("s"), partitioning=kind)
        cap = random.choice([1, 2, 5, 1000])
        own = {"on_code_change": self.mode, "strategy": DateRange(max_partitions_per_run=cap)}
        self.shape = [replace(asset(name, up, **own), partitioning=kind) for name, up in (("one", "s"), ("two", "one"))]
        self.checkouts = [Checkout({"one": 0, "two": 0}), Checkout({"one": 0, "two": 0})]
        self.at = 0
        super().__init__(random, Story(self.project(), now="2025-01-06"))
        self.seen = {name: [0] for name in NAMES}  # versions by the order in which the journal heard of them
        self.by: dict[tuple[str, Partition], int] = {}

    def specs(self) -> list[AssetSpec]:
        versions = self.checkouts[self.at].versions
        code = {name: AssetDefinition.build(text=f"SELECT {number} AS {name}") for name, number in versions.items()}
        return [self.source, *(replace(each, definition=code[each.name]) for each in self.shape)]

    def project(self):
        return project(*self.specs())

    # ------------------------------------------------------------------ what happens

    def switch(self, to: int) -> None:
        """Another driver starts, with its own files: it tells the journal what they say."""
        self.at = to
        self.invocation += 1
        self.story.change(*self.specs())
        self.planner = IncrementalPlanner(self.story.project)
        for name, number in self.checkouts[to].versions.items():
            if number not in self.seen[name]:
                self.seen[name].append(number)

    def edit(self, which: int) -> None:
        """One checkout gets new code of an asset, or goes to what the other one has."""
        name, mine, other = self.random.choice(NAMES), self.checkouts[which], self.checkouts[1 - which]
        latest = max(mine.versions[name], other.versions[name], *self.seen[name])
        mine.versions[name] = self.random.choice([latest + 1, other.versions[name]])
        self.switch(which)

    def event(self) -> None:
        some = self.random.sample(partitions_of(self.source.partitioning), self.random.randint(1, 3))
        changed = PartitionSet.union(set_of(self.source.partitioning, each) for each in some)
        self.story.add(ObservedEntry("s", self.source.uri, changed))

    def succeed(self, run: PlannedRun, claim: int) -> None:
        super().succeed(run, claim)
        number = self.checkouts[self.at].versions[run.asset]
        for partition in inside(self.story.project.assets[run.asset].partitioning, run.partitions):
            self.by[run.asset, partition] = number

    def step(self) -> None:
        what = self.random.choice(["event", "run", "run", "run", "fail", "crash", "switch", "edit", "rest"])
        match what:
            case "event":
                self.event()
            case "switch":
                self.switch(1 - self.at)
            case "edit":
                self.edit(self.random.choice([0, 1]))
            case "rest":
                self.rest()
            case _:
                if runs := self.runs():
                    self.end(self.random.choice(runs), what)

    # ------------------------------------------------------------------ what must hold

    def check(self, context: PlanningContext, found: Plan) -> None:
        self.check_code()

    def check_code(self) -> None:
        """The journal knows by which code each partition was computed, and people are told of what is of other code."""
        told = {change.asset: change for change in find_code_changes(self.story.context())}
        for name in NAMES:
            spec, state = self.story.project.assets[name], self.story.state.assets[name]
            known = {
                partition: each.definition.id
                for each in state.definition_outputs
                for partition in inside(spec.partitioning, partitions_made_by(spec, state, each))
            }
            model = {
                partition: AssetDefinition.build(text=f"SELECT {n} AS {name}").id
                for (own, partition), n in self.by.items()
                if own == name
            }
            assert known == model
            assert spec.definition is not None
            other = sorted(partition for partition, number in model.items() if number != spec.definition.id)
            said = sorted(inside(spec.partitioning, told[name].partitions)) if name in told else []
            assert said == ([] if self.mode == "forward_only" else other)

    def outdated(self, name: str) -> list[Partition]:
        """What code that came before this driver's has made."""
        order, own = self.seen[name], self.checkouts[self.at].versions[name]
        return [b for (a, b), number in self.by.items() if a == name and order.index(number) < order.index(own)]


@histories(20)
@given(st.randoms(use_true_random=False), st.integers(5, 25))
def test_whatever_happens_the_newest_code_wins_where_that_is_asked(random, steps):
    history = History(random)
    history.event()
    for _ in range(steps):
        history.step()
    history.rest()
    if history.mode == "backfill":
        assert not history.outdated("one")
        assert not history.outdated("two")
    before = dict(history.by)
    counts = []
    for turn in range(6):  # nobody edits any more: the drivers take turns
        history.switch(turn % 2)
        counts.append(history.rest())
        if history.mode == "backfill":
            assert not history.outdated("one")
            assert not history.outdated("two")
    assert counts[3:] == [
        0,
        0,
        0,
    ]  # a driver may have computed one asset by older code because of the other's newer one
    if history.mode != "backfill":
        assert counts == [0] * 6
        assert history.by == before


@histories(20)
@given(st.randoms(use_true_random=False), st.integers(5, 20))
def test_a_backfill_of_all_makes_one_table_of_two(random, steps):
    history = History(random)
    history.event()
    for _ in range(steps):
        history.step()
    history.rest()
    for name in NAMES:
        spec = history.story.project.assets[name]
        for _ in range(100):
            context = history.context()
            planned = plan_backfill(context, spec, backfillable_partitions(context, spec), force=False, other_code=True)
            if not planned.runs:
                break
            history.end(planned.runs[0], "run")
        history.rest()
        own = history.checkouts[history.at].versions[name]
        assert {number for (asset_name, _), number in history.by.items() if asset_name == name} <= {own}
    history.check_code()
    assert not find_code_changes(history.story.context())

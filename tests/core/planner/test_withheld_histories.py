"""Random histories in which rules withhold partitions, against a model that computes single partitions.

Whatever arrives, fails, is accepted or judged by other rules, in any order: nobody computes from what waits for a
withheld partition, each partition is tried once for each cause, and in the end every partition holds what a full
recomputation of the published partitions would give, but for those that are withheld, of which exactly this
recomputation is bad.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from random import Random
from zlib import crc32

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.instants import Duration
from sparkassets.core.journal.entries import BackfillEntry, SpecEntry
from sparkassets.core.journal.fold_specs import build_fold_spec
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.planner.due.withheld_partitions import find_withheld
from sparkassets.core.planner.explain.partition_marks import MarkRequest, build_mark_entries
from sparkassets.core.planner.explain.status import partition_statuses
from sparkassets.core.planner.incremental_planner import IncrementalPlanner
from sparkassets.core.planner.plan import PlannedRun
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import DateRange
from sparkassets.core.validations import RuleVerdict
from sparkassets.errors import InputError
from tests.core.planner.test_products import History, Partition, inside, partitions_of, set_of
from tests.depth import histories

ASSETS = ("one", "two", "three")
Contents = dict[str, dict[Partition, int]]


class Withholding(History):
    """A history whose runs withhold what is bad of what they read.

    Attributes:
        contents: What each partition holds that is there: of an asset a digest of what it was made of.
        rules: By asset, what its definition is; it decides what is bad.
        tried: How often a partition was computed.
        extra: How often more than by its causes it may be.
    """

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.contents: Contents = {name: {} for name in self.story.project.assets}
        self.rules = dict.fromkeys(ASSETS, "0")
        self.judged = set(random.sample(ASSETS, random.randint(1, 3)))
        self.read: dict[int, Contents] = {}
        self.tried: Counter[tuple[str, Partition]] = Counter()
        self.extra: Counter[tuple[str, Partition]] = Counter()
        for name in ASSETS:
            self.define(name, "0")

    def another(self, name: str, *others: str) -> AssetSpec:
        found = super().another(name, *others)
        looks_back = self.random.choice([None, None, Duration.parse("1d")])
        if looks_back is None or found.partitioning.time is None:
            return found
        assert isinstance(found.strategy, DateRange)
        return replace(found, strategy=replace(found.strategy, lookback=looks_back))

    def define(self, name: str, rules: str) -> None:
        """The asset has these rules from now on."""
        self.rules[name] = rules
        spec = replace(self.story.project.assets[name], definition=AssetDefinition(rules))
        self.story.project = replace(self.story.project, assets={**self.story.project.assets, name: spec})
        self.story.add(SpecEntry(name, build_fold_spec(spec, self.story.project)))
        self.planner = IncrementalPlanner(self.story.project)
        for partition in partitions_of(spec.partitioning):
            self.extra[name, partition] += 1

    # ------------------------------------------------------------------ what happens

    def step(self) -> None:
        what = self.random.random()
        name = self.random.choice(ASSETS)
        if what < 0.15:
            self.accept(name)
        elif what < 0.2:
            self.define(name, self.random.choice("0123"))
        elif what < 0.28:
            self.force(name)
        else:
            super().step()

    def accept(self, name: str) -> None:
        """Somebody accepts some of what is withheld."""
        spec, context = self.story.project.assets[name], self.context()
        resting = inside(spec.partitioning, find_withheld(context, spec, context.state_of(spec)).resting)
        if resting:
            some = self.random.sample(resting, self.random.randint(1, len(resting)))
            partitions = PartitionSet.union(set_of(spec.partitioning, each) for each in some)
            with suppress(InputError):  # of what runs
                self.story.add(*build_mark_entries(context, MarkRequest(spec, partitions, "accept", "why", "ann")))
            for partition in some:
                self.extra[name, partition] += 1

    def force(self, name: str) -> None:
        """Somebody wants some partitions computed again."""
        spec = self.story.project.assets[name]
        state = self.story.state.assets[name]
        there = PartitionSet.union([state.coverage, *(each.partitions for each in state.withheld)])
        if some := inside(spec.partitioning, there):
            partition = self.random.choice(some)
            partitions = set_of(spec.partitioning, partition)
            self.story.add(BackfillEntry(name, partitions, partitions))
            self.extra[name, partition] += 1

    def event(self, name: str) -> None:
        super().event(name)
        changed = self.story.entries[-1].entry.changed
        for partition in inside(self.partitioning(name), changed):
            self.contents[name][partition] = self.story.state.seq

    def claim(self, run: PlannedRun) -> int:
        spec, context = self.story.project.assets[run.asset], self.context()
        for name, inlet in spec.inlets.items():
            up = self.story.project.assets[name]
            resting = find_withheld(context, up, context.state_of(up)).resting if up.source is None else NOTHING
            if inlet.on_update == "rerun" and run.kind == "scheduled":
                mapped = context.dependency(spec, inlet)
                holds_up = any if inlet.require.kind == "all" and mapped.is_mapped and not mapped.is_open else all
                for partition in inside(spec.partitioning, run.partitions):
                    needs = [
                        resting.covers(set_of(up.partitioning, each)) for each in self.needed(spec, name, partition)
                    ]
                    assert not needs or not holds_up(needs), "computed too soon"
        token = super().claim(run)
        self.read[token] = {name: dict(partitions) for name, partitions in self.contents.items()}
        return token

    def succeed(self, run: PlannedRun, claim: int) -> None:
        spec, accepted = self.story.project.assets[run.asset], run.request.accepted
        contents, bad, good = self.read[claim], [], []
        for partition in inside(spec.partitioning, run.partitions):
            self.tried[run.asset, partition] += 1
            made_of = self.digest(spec, partition, contents)
            is_bad = self.is_bad(run.asset, partition, made_of, run.request.definition)
            if is_bad and not accepted.covers(set_of(spec.partitioning, partition)):
                bad.append(partition)
            else:
                good.append(partition)
                self.contents[run.asset][partition] = made_of
        withheld = PartitionSet.union(set_of(spec.partitioning, partition) for partition in bad)
        verdicts = (RuleVerdict("rule", "fail", "withheld", withheld, 9, 1),) if bad else ()
        self.story.succeed(run.asset, claim, withheld=withheld, verdicts=verdicts)
        self.touch(run.asset, good)

    def touch(self, name: str, changed: list[Partition]) -> None:
        """Also what an ignored inlet brings is a cause for what is withheld."""
        super().touch(name, changed)
        for each in self.story.project.assets.values():
            if name in each.inlets and each.inlets[name].on_update != "rerun":
                for partition in partitions_of(each.partitioning):
                    self.extra[each.name, partition] += bool(set(changed) & set(self.needed(each, name, partition)))

    # ------------------------------------------------------------------ the model

    def digest(self, spec: AssetSpec, partition: Partition, contents: Contents) -> int:
        told = [
            (name, each, contents[name].get(each))
            for name in spec.inlets
            for each in self.needed(spec, name, partition)
        ]
        return crc32(repr(told).encode())

    def is_bad(self, name: str, partition: Partition, made_of: int, rules: str) -> bool:
        return name in self.judged and crc32(repr((name, partition, made_of, rules)).encode()) % 3 == 0

    def has_all(self, spec: AssetSpec, partition: Partition) -> bool:
        """Whether all that a partition needs is there, or for one without time any."""
        for name in spec.inlets:
            some = [each in self.contents[name] for each in self.needed(spec, name, partition)]
            anything = spec.partitioning.time is None and self.partitioning(name).time
            if not (any(some) if anything else all(some)):
                return False
        return spec.partitioning.time is None or any(self.partitioning(name).time for name in spec.inlets)


@histories(30)
@given(st.randoms(use_true_random=False), st.integers(5, 60))
def test_in_the_end_all_but_what_is_withheld_is_as_a_full_recomputation_has_it(random: Random, steps: int):
    history = Withholding(random)
    for _ in range(steps):
        history.step()
    history.rest()
    context, waits = history.context(), dict[str, set[Partition]]()
    for name, spec in history.story.project.assets.items():
        waits[name] = set()
        if spec.source is not None:
            continue
        state = history.story.state.assets[name]
        resting = find_withheld(context, spec, state).resting
        status = {
            partition: word
            for parts, word in partition_statuses(context, spec)
            for partition in inside(spec.partitioning, parts)
        }
        for partition in partitions_of(spec.partitioning):
            rests = resting.covers(set_of(spec.partitioning, partition))
            needs = {inlet: history.needed(spec, inlet, partition) for inlet in spec.inlets}
            causes = {inlet: some for inlet, some in needs.items() if spec.inlets[inlet].on_update == "rerun"}
            behind = any(each in waits[inlet] for inlet, some in causes.items() for each in some)
            made_of = history.digest(spec, partition, history.contents)
            is_bad = history.is_bad(name, partition, made_of, history.rules[name])
            there = partition in history.contents[name]
            assert state.coverage.covers(set_of(spec.partitioning, partition)) == there
            assert (status.get(partition) == "withheld") == rests
            most = max(1, history.asked[name, partition]) + history.extra[name, partition]
            assert history.tried[name, partition] <= most, f"{name} {partition} is tried too often"
            if rests or behind:
                waits[name].add(partition)
            if rests and not behind and causes == needs:
                assert is_bad, f"{name} {partition} is withheld, and is good"
            elif not behind and there and causes == needs:
                assert history.contents[name][partition] == made_of, f"{name} {partition} is older than what it needs"
            elif not behind and not there and not rests:
                assert not history.has_all(spec, partition), f"{name} {partition} is not there, and nothing holds it"

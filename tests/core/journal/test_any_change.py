"""Random histories in which the project changes too: conditions, gates, strategies, partitions, URIs, places, assets.

After every step the snapshot tells the whole state, planning from what changed is planning from nothing, and
every decision can be explained. In the end it comes to rest, and an asset without partitions has used no event twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.instants import DAY, Duration
from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.journal.entries import ClaimEntry, PauseEntry, SuccessEntry
from sparkassets.core.partitions import WindowMapping
from sparkassets.core.planner.explain.explanation import explain_planned_asset
from sparkassets.core.planner.incremental_planner import IncrementalPlanner
from sparkassets.core.planner.plan import PlannedRun
from sparkassets.core.planner.planner import make_plan
from sparkassets.core.spec.model import AssetSpec, InletSpec, PartitionRequirement
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.strategies import DateRange, EveryInstance
from sparkassets.runtime.observation import changed_spec_entries
from tests.builders import Segments, Story, asset, at, partitioned, project, source, timed
from tests.depth import histories

GO = "x-go://go"
HOUR = 3600
STORES = {"store": ("be", "de")}
CUTS: list[Segments] = [{}, {}, {}, STORES, {"store": ("be", "nl")}, {"tier": ("1", "2")}, {"tier": ("1",)} | STORES]
SOURCES = [
    source("a", by=None),
    source("b", by=None),
    source("s"),
    source("t", segments=STORES),
    source("h", by="hour"),
]
COMPUTED = ("days", "after", "whole", "each")


def iso(now: int) -> str:
    return datetime.fromtimestamp(now, tz=UTC).isoformat()


def days_of(random: Random, name: str, *inlets: str) -> AssetSpec:
    """An asset with partitions, of any kind."""
    chosen = []
    for inlet in inlets:
        gates = {
            "settle_seconds": random.choice([0, 0, 0, HOUR]),
            "tolerance": random.choice([None, None, Duration.parse("6h")]),
            "fresh_within": random.choice([None, None, None, Duration.parse("2d")]),
            "require": random.choice(
                [PartitionRequirement("all"), PartitionRequirement("all"), PartitionRequirement("any")]
            ),
            "on_update": random.choice(["rerun", "rerun", "rerun", "ignore"]),
        }
        window = random.choice([None, None, WindowMapping.trailing(Duration.parse("2d"))])
        chosen.append(InletSpec(inlet, "", window, **gates))
    first, second = inlets[0], inlets[-1]
    texts = [None, first, f"{first} & {GO}", f"{first} | ({second} & {GO})", f"@daily & {first}", f"@daily | {GO}"]
    schedule = random.choice([*texts, timed("@daily"), timed({"cron": "@daily", "catchup": "all"})])
    back = random.choice([None, None, Duration.parse("1d")])
    strategy = DateRange(max_partitions_per_run=random.choice([1, 2, 1000]), lookback=back)
    by = random.choice(["day", "day", "day", "week"])
    start = random.choice([None, None, at("2025-01-02")])
    cut = random.choice(CUTS)
    return asset(name, *chosen, by=by, schedule=schedule, strategy=strategy, start=start, segments=cut)


def whole_of(random: Random, name: str) -> AssetSpec:
    """An asset without partitions, of any kind."""
    texts = ["a", "a | b", "a & b", f"a | (b & {GO})", f"@daily & a | {GO}", "days"]
    strategy = {"strategy": EveryInstance()} if name == "each" else {}
    return asset(name, by=None, schedule=random.choice(texts), **strategy)  # type: ignore[arg-type]


class History:
    """A project, its journal, and drivers that come, fail, crash and go."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.now = at("2025-01-03T05:00")
        self.made = {each.name: each for each in SOURCES}
        self.made |= {name: self.another(name) for name in COMPUTED}
        self.story = Story(project(*self.made.values()), now=iso(self.now))
        self.story.clock = iso(self.now)
        self.planner = IncrementalPlanner(self.story.project)
        self.invocation = "0"
        self.gone: set[int] = set()

    def another(self, name: str) -> AssetSpec:
        match name:
            case "days":
                return days_of(self.random, name, "s", "h")
            case "after":
                return days_of(self.random, name, "days", "t")
        return whole_of(self.random, name)

    def runs(self) -> list[PlannedRun]:
        """What can be claimed: the first run of each asset; checks all that must hold at any time."""
        context = self.story.context(invocation=self.invocation, gone_claims=frozenset(self.gone))
        found = make_plan(context)
        assert self.planner.plan(replace(context, decisions={})) == found
        assert decode(encode(self.story.state), journal_id="journal") == self.story.state
        for each in self.story.project.assets.values():
            explain_planned_asset(context, found, each)
        return list({run.asset: run for run in reversed(found.runs)}.values())

    def open(self) -> list[tuple[str, int]]:
        states = [(name, self.story.state.assets[name]) for name in self.story.project.assets]
        return [(name, link.token) for name, state in states for link in state.chain[-1:] if link.status == "open"]

    def step(self) -> None:
        """Something happens."""
        random, runs, open_ = self.random, self.runs(), self.open()
        what = random.choice(["event", "days", "time", "run", "run", "claim", "end", "change", "pause", "invocation"])
        if what == "event":
            name = random.choice(["a", "b", GO, GO])
            self.story.event(GO) if name == GO else self.story.observed(name)
        elif what == "days":
            name, day = random.choice("sth"), random.randint(1, 4)
            key = f"2025-01-0{day}"
            time = random.choice([f"{key}T00..{key}T11", f"{key}T00..{key}T23"]) if name == "h" else key
            segments = (random.choice([*each.keys, "*"]) for each in self.made[name].partitioning.segments)
            self.story.observed(name, ",".join([time, *segments]))
        elif what == "time":
            self.now += random.choice([HOUR, 7 * HOUR, DAY])
            self.story.now = self.story.clock = iso(self.now)
        elif what in ("run", "claim") and runs:
            run = random.choice(runs)
            claim = self.story.claim(run, invocation=self.invocation)
            if what == "run":
                self.story.succeed(run.asset, claim)
        elif what == "end" and open_:
            self.end(*random.choice(open_))
        elif what == "change":
            self.change()
        elif what == "pause":
            self.story.add(PauseEntry(random.choice(COMPUTED), random.choice([True, False])))
        elif what == "invocation":
            self.invocation = str(int(self.invocation) + 1)

    def end(self, name: str, claim: int) -> None:
        how = self.random.choice(["succeed", "fail", "unfenced", "crash"])
        if how == "crash":
            self.gone.add(claim)
        elif how == "succeed":
            self.story.succeed(name, self.random.choice(self.story.state.assets[name].chain).token)
        else:
            self.story.fail(name, claim, invocation=self.invocation, fenced=how == "fail")

    def change(self) -> None:
        random = self.random
        name = random.choice(list(self.made))
        how = random.choice(["spec", "uri", "place", "absent"])
        if how == "spec" and name in COMPUTED:
            self.made[name] = self.another(name)
        elif how == "spec" and name in "st":
            self.made[name] = replace(self.made[name], partitioning=partitioned("day", segments=random.choice(CUTS)))
        elif how == "uri":
            self.made[name] = replace(self.made[name], uri=random.choice([name, f"x-{name}", f"x-new://{name}"]))
        elif how == "place" and name in ("days", "after"):  # elsewhere everything counts again
            self.made[name] = replace(
                self.made[name], storage=StorageLocation("/moved", random.choice(["here", "there"]))
            )
        left_out = {"whole"} if how == "absent" else set()
        self.story.project = project(*(each for each in self.made.values() if each.name not in left_out))
        entries = changed_spec_entries(self.story.project, self.story.state)
        if entries:
            self.story.add(*entries)
        self.planner = IncrementalPlanner(self.story.project)

    def rest(self) -> None:
        """Everything continues without failures until nothing is due."""
        self.invocation, self.now = "last", at("2025-02-10")
        self.story.now = self.story.clock = iso(self.now)
        self.story.add(*(PauseEntry(name, paused=False) for name in COMPUTED))
        self.gone |= {claim for _, claim in self.open()}
        count = 0
        while runs := self.runs():
            count += 1
            assert count < 400, "never idle"
            self.story.succeed(runs[0].asset, self.story.claim(runs[0], invocation=self.invocation))


def successes(story: Story) -> Iterator[tuple[SuccessEntry, ClaimEntry]]:
    """Each success with the claim that it records."""
    claims = {each.seq: each.entry for each in story.entries if isinstance(each.entry, ClaimEntry)}
    for each in story.entries:
        if isinstance(each.entry, SuccessEntry):
            yield each.entry, claims[each.entry.token]


@histories(12)
@given(st.randoms(use_true_random=False), st.integers(5, 70))
def test_whatever_changes_it_comes_to_rest_and_uses_no_event_twice(random: Random, steps: int):
    history = History(random)
    for _ in range(steps):
        history.step()
    history.rest()
    story = history.story
    used: dict[str, list[int]] = {}
    for success, claim in successes(story):
        if success.partitions.is_everything:
            used.setdefault(success.asset, []).extend(claim.request.events)
    for name, events in used.items():
        assert len(events) == len(set(events)), f"{name} used an event twice"
    assert not [name for name in story.project.assets if story.state.assets[name].chain]

"""Any history of events, runs, failures, crashes, pauses and restarts, against a model of sets in plain Python.

The model: an event is used exactly once by each consumer whose condition it satisfies; what came before a claim is
used by that run if it succeeds, what came after counts for the next; only leaves below parts that hold are used.
A consumer with partitions computes each partition that something newer than its last computation touched, and no other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sparkassets.core.conditions.parsing import parse_condition
from sparkassets.core.instants import Duration
from sparkassets.core.journal.codec import decode, encode, from_row
from sparkassets.core.journal.entries import ClaimEntry, EventEntry, PauseEntry, SpecEntry, SuccessEntry
from sparkassets.core.journal.fold.dispatch import fold
from sparkassets.core.journal.fold_specs import build_fold_spec
from sparkassets.core.journal.state import State
from sparkassets.core.partitions import PartitionSet, WindowMapping
from sparkassets.core.planner.plan import PlannedRun
from sparkassets.core.spec.model import InletSpec, Schedule
from sparkassets.core.strategies import DateRange, EveryInstance
from tests.builders import Story, asset, at, clock, days, project, source
from tests.depth import examples

Tree = str | tuple[Literal["all", "any"], tuple["Tree", ...]]
"""A condition of the model: names of datasets, joined."""

A, B, C, E = "x-a://a", "x-b://b", "x-c://c", "x-e://e"
S, T = "x-s://s", "x-t://t"
NAMED = {A: "a", B: "b", C: "c", S: "s", T: "t"}
WHOLE_URIS = (A, B, C, E)

CONDITIONS: dict[str, Tree] = {
    "a": A,
    "x-b://b": B,
    "x-a://a & b": ("all", (A, B)),
    "a | x-e://e": ("any", (A, E)),
    "a | (b & c)": ("any", (A, ("all", (B, C)))),
    "(a | b) & (b | x-c://c)": ("all", (("any", (A, B)), ("any", (B, C)))),
}
WINDOW = 3


def leaves(tree: Tree) -> set[str]:
    return {tree} if isinstance(tree, str) else set[str]().union(*map(leaves, tree[1]))


def used(tree: Tree, fresh: set[str]) -> set[str] | None:
    """The datasets below the parts that hold when ``fresh`` have news; None when it does not hold."""
    if isinstance(tree, str):
        return {tree} if tree in fresh else None
    found = [used(part, fresh) for part in tree[1]]
    holding = [each for each in found if each is not None]
    if len(holding) < (len(found) if tree[0] == "all" else 1):
        return None
    return set[str]().union(*holding)


def any_of_some(tree: Tree) -> bool:
    """Whether each event alone makes it hold."""
    return isinstance(tree, str) or (tree[0] == "any" and all(isinstance(part, str) for part in tree[1]))


@dataclass
class Claim:
    """What a run would settle: events of a consumer without partitions, or days of one that has them."""

    token: int
    takes: frozenset[int] = frozenset()
    partitions: frozenset[int] = frozenset()
    triggers: tuple[int, ...] = ()
    left: frozenset[int] = frozenset()
    planned: int = 0
    open: bool = True


@dataclass
class Consumer:
    """What both kinds have."""

    name: str
    chain: list[Claim] = field(default_factory=list)
    paused: bool = False

    def live(self, gone: set[int]) -> bool:
        return bool(self.chain) and self.chain[-1].open and self.chain[-1].token not in gone


@dataclass
class Whole(Consumer):
    """A consumer without partitions.

    Attributes:
        also: Datasets that it reads, also when its condition does not name them.
        gates: Datasets of which something has to be there.
        done: What it used, and what happened to datasets that its condition did not name and that is not the newest.
        until: Dataset that its condition names no more, to the newest number then.
    """

    tree: Tree = ""
    also: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    instances: bool = False
    behind: str | None = None
    done: set[int] = field(default_factory=set)
    until: dict[str, int] = field(default_factory=dict)
    changed: bool = False


@dataclass
class Daily(Consumer):
    """A consumer with a partition for each day.

    Attributes:
        inlets: Dataset to how many days back a partition reads it.
        together: Whether all of its inlets have to have news of a partition.
        opener: A dataset without partitions that has to have news too; one event is for all partitions that are due.
        asked: Dataset to partition to the number of the newest event that touches it.
        computed: Partition to the epochs of its computations.
        pending: Number of an event to the partitions that it touches and that have not answered it.
    """

    inlets: dict[str, int] = field(default_factory=dict)
    together: bool = False
    opener: str = ""
    limit: int = 1000
    asked: dict[str, dict[int, int]] = field(default_factory=dict)
    computed: dict[int, list[int]] = field(default_factory=dict)
    pending: dict[int, set[int]] = field(default_factory=dict)


PROJECT = project(
    *(replace(source(name, by=None), uri=uri) for uri, name in NAMED.items() if uri in WHOLE_URIS),
    *(replace(source(name, start=at("2025-01-01")), uri=uri) for uri, name in NAMED.items() if uri in (S, T)),
    asset("one", by=None, schedule="a"),
    asset("both", by=None, schedule="x-a://a & b"),
    asset("either", by=None, schedule="a | x-e://e"),
    asset("mixed", by=None, schedule="a | (b & c)"),
    asset("default", "a", "b", by=None),
    asset("wide", "a", "b", by=None, schedule="a"),
    asset("each", by=None, schedule="b | a", strategy=EveryInstance()),
    asset("after", "both", by=None),
    asset("daily", "s"),
    asset("capped", "s", strategy=DateRange(max_partitions_per_run=2)),
    asset("window", InletSpec("s", "", WindowMapping.trailing(Duration.parse(f"{WINDOW}d")))),
    asset("pair", "s", "t", schedule="s & t"),
    asset("gated", "s", schedule="s & x-e://e", strategy=DateRange(max_partitions_per_run=2)),
)
CHANGING = ("one", "both", "either", "mixed", "wide", "each")


def consumers() -> list[Whole | Daily]:
    return [
        Whole("one", tree=A),
        Whole("both", tree=CONDITIONS["x-a://a & b"]),
        Whole("either", tree=CONDITIONS["a | x-e://e"]),
        Whole("mixed", tree=CONDITIONS["a | (b & c)"]),
        Whole("default", tree=("any", (A, B)), gates=(A, B)),
        Whole("wide", tree=A, also=(A, B), gates=(A, B)),
        Whole("each", tree=("any", (B, A)), instances=True),
        Whole("after", tree="both", gates=("both",), behind="both"),
        Daily("daily", inlets={S: 1}),
        Daily("capped", inlets={S: 1}, limit=2),
        Daily("window", inlets={S: WINDOW}),
        Daily("pair", inlets={S: 1, T: 1}, together=True),
        Daily("gated", inlets={S: 1}, limit=2, opener=E),
    ]


ZERO = at("2025-01-01")


def ranges(partitions: set[int] | frozenset[int]) -> PartitionSet:
    return PartitionSet.from_time_pairs((ZERO + day * 86400, ZERO + (day + 1) * 86400) for day in partitions)


def of_ranges(partitions: PartitionSet) -> set[int]:
    return {
        day for start, end in partitions.time.pairs() for day in range((start - ZERO) // 86400, (end - ZERO) // 86400)
    }


DAYS = st.frozensets(st.integers(0, 9), min_size=1, max_size=4)
WAYS = st.sampled_from(["name", "uri"])


class Histories(RuleBasedStateMachine):
    """The product's journal beside the model."""

    def __init__(self) -> None:
        super().__init__()
        self.story = Story(PROJECT)
        self.model = {each.name: each for each in consumers()}
        self.events: dict[str, list[int]] = {}
        self.touched: dict[int, frozenset[int] | None] = {}
        self.there: dict[str, set[int]] = {S: set(), T: set()}
        self.gone: set[int] = set()
        self.due: dict[str, list[PlannedRun]] = {}

    # ------------------------------------------------------------------ the model

    def unused(self, each: Whole, uri: str) -> set[int]:
        return set(self.events.get(uri, ())) - each.done

    def due_whole(self, each: Whole, due: set[str]) -> list[tuple[frozenset[int], set[int]]]:
        """(What the run uses up, the events that it may list) of each run that is due, in order."""
        if each.live(self.gone) or each.paused:
            return []
        if each.behind is not None and (each.behind in due or self.model[each.behind].live(self.gone)):
            return []
        fresh = {uri for uri in leaves(each.tree) if self.unused(each, uri)}
        found = used(each.tree, fresh)
        if found is None:  # a run that took over and has nothing else to do stands for the newest one
            last = each.chain[-1] if each.chain else None
            return [(last.takes, set(last.triggers))] if last else []
        if not each.chain and any(not self.events.get(uri) for uri in each.gates):
            return []
        triggers = set[int]().union(*(self.unused(each, uri) for uri in found))
        if each.instances and any_of_some(each.tree):
            return [(frozenset([seq]), {seq}) for seq in sorted(triggers)]
        also = set(each.also) - leaves(each.tree)
        return [(frozenset(triggers.union(*(self.unused(each, uri) for uri in also))), triggers)]

    def due_daily(self, each: Daily) -> set[int]:
        if each.live(self.gone) or each.paused:
            return set()
        due = {day for day in self.span(each) if self.wanted(each, day)}
        due |= each.chain[-1].partitions if each.chain else set()
        ready = {day for day in due if all(self.complete(uri, day, back) for uri, back in each.inlets.items())}
        return set(sorted(ready)[: each.limit])

    def span(self, each: Daily) -> set[int]:
        """The days that should be there: those that need one which is there, and those between them."""
        there = [found for uri in each.inlets if (found := self.there[uri])]
        newest = max((max(found) for found in there), default=0)
        return {
            day
            for uri, back in each.inlets.items()
            if (found := self.there[uri])
            for day in range(min(found), min(max(found) + back - 1, newest) + 1)
        }

    def to_do(self, each: Daily) -> set[int]:
        """What was never computed, or before an update of any inlet."""
        return {
            day
            for day in self.span(each)
            if (last := max(each.computed.get(day, [0]))) == 0
            or any(each.asked.get(uri, {}).get(day, 0) > last for uri in each.inlets)
        }

    def wanted(self, each: Daily, day: int) -> bool:
        if each.opener and not any(day in each.pending[seq] for seq in self.events.get(each.opener, ())):
            return False
        last = max(each.computed.get(day, [0]))
        if not last:
            return True
        fresh = [each.asked.get(uri, {}).get(day, 0) > last for uri in each.inlets]
        return all(fresh) if each.together else any(fresh)

    def complete(self, uri: str, day: int, back: int) -> bool:
        return all(before in self.there[uri] for before in range(max(0, day - back + 1), day + 1))

    def happened(self, seq: int, uri: str, touched: frozenset[int] | None = None) -> None:
        """An event is in the journal; ``touched`` are its days."""
        self.events.setdefault(uri, []).append(seq)
        self.touched[seq] = touched
        self.there.get(uri, set()).update(touched or ())
        for each in self.model.values():
            if isinstance(each, Daily) and uri == each.opener:
                each.pending[seq] = set(range(20))
            if isinstance(each, Daily) and uri in each.inlets:
                stale = each.asked.setdefault(uri, {})
                if touched is None:
                    partitions = set(each.computed).union(*(claim.partitions for claim in each.chain))
                else:
                    partitions = {day + ahead for day in touched for ahead in range(each.inlets[uri])}
                stale.update(dict.fromkeys(partitions, seq))
                each.pending[seq] = set(range(-WINDOW, 20)) if touched is None else set(partitions)

    # ------------------------------------------------------------------ what happens

    @rule(uri=st.sampled_from(WHOLE_URIS), way=WAYS)
    def an_event(self, uri: str, way: str) -> None:
        name = NAMED.get(uri)
        if name is not None and way == "name":
            self.happened(self.story.observed(name), uri)
        else:
            self.happened(self.story.event(uri), uri)

    @rule(uri=st.sampled_from([S, T]), touched=DAYS, way=WAYS)
    def an_event_of_days(self, uri: str, touched: frozenset[int], way: str) -> None:
        keys = [f"2025-01-{day + 1:02}" for day in touched]
        if way == "name":
            seq = self.story.observed(NAMED[uri], *keys)
        else:
            seq = self.story.add(EventEntry(uri, None, days(*keys)))
        self.happened(seq, uri, touched)

    @rule(uri=st.sampled_from([S, T]))
    def an_event_of_everything(self, uri: str) -> None:
        self.happened(self.story.event(uri), uri)

    @precondition(lambda self: self.due)
    @rule(data=st.data(), meanwhile=st.lists(st.sampled_from(WHOLE_URIS), max_size=2))
    def a_claim(self, data: st.DataObject, meanwhile: list[str]) -> None:
        self.claim(self.due[data.draw(st.sampled_from(sorted(self.due)))][0], meanwhile)

    @precondition(lambda self: self.due)
    @rule(crash=st.booleans())
    def claims_of_all_that_is_due(self, *, crash: bool) -> None:
        for runs in self.due.values():
            self.claim(runs[0], [])
            if crash:
                self.gone.add(self.model[runs[0].asset].chain[-1].token)

    @precondition(lambda self: any(run.recovers for runs in self.due.values() for run in runs))
    @rule(data=st.data(), meanwhile=st.lists(st.sampled_from(WHOLE_URIS), max_size=1))
    def a_recovery(self, data: st.DataObject, meanwhile: list[str]) -> None:
        """Another driver takes over; what it found in the target, if anything, is recorded, late."""
        run = data.draw(st.sampled_from([runs[0] for runs in self.due.values() if runs[0].recovers]))
        self.claim(run, meanwhile)
        each = self.model[run.asset]
        self.succeed(each, data.draw(st.integers(0, len(each.chain) - 1)))

    def claim(self, run: PlannedRun, meanwhile: list[str]) -> None:
        each = self.model[run.asset]
        takes = self.due_whole(each, set())[0][0] if isinstance(each, Whole) else frozenset[int]()
        planned = self.story.state.seq
        for uri in meanwhile:  # between the plan and its claim
            self.happened(self.story.event(uri), uri)
        token = self.story.claim(run)
        partitions = frozenset(of_ranges(run.partitions)) if not run.partitions.is_everything else frozenset[int]()
        left = frozenset(self.to_do(each) - partitions) if isinstance(each, Daily) else frozenset[int]()
        each.chain.append(Claim(token, takes, partitions, tuple(ref.seq for ref in run.events), left, planned))

    def open(self) -> list[str]:
        """The consumers whose newest claim can still say how it ended."""
        return [each.name for each in self.model.values() if each.chain and each.chain[-1].open]

    @precondition(lambda self: self.open())
    @rule(data=st.data())
    def a_success(self, data: st.DataObject) -> None:
        """The newest claim records: its own run, or one before it that it found in the target."""
        each = self.model[data.draw(st.sampled_from(self.open()))]
        self.succeed(each, data.draw(st.integers(0, len(each.chain) - 1)))

    @precondition(lambda self: self.open())
    @rule()
    def successes_of_all_that_runs(self) -> None:
        for name in self.open():
            self.succeed(self.model[name], -1)

    def succeed(self, each: Whole | Daily, which: int) -> None:
        found, newest = each.chain[which], each.chain[-1]
        link = next(link for link in self.story.state.assets[each.name].chain if link.token == found.token)
        entry, request, uri = link.entry, link.entry.request, PROJECT.assets[each.name].uri
        head = (each.name, uri, entry.run, found.token, newest.token)
        seq = self.story.add(SuccessEntry(*head, request.partitions, "t", 1, request.interval, request.pins))
        each.chain.clear()
        if isinstance(each, Whole):
            each.done |= found.takes
        else:
            for day in found.partitions:
                each.computed.setdefault(day, []).append(found.token)
            for number, partitions in each.pending.items():
                if number <= found.planned:  # what nobody wanted then does not answer it later
                    each.pending[number] = partitions & found.left
        self.happened(seq, uri, found.partitions if isinstance(each, Daily) else None)

    @precondition(lambda self: self.open())
    @rule(data=st.data(), fenced=st.booleans())
    def a_failure(self, data: st.DataObject, *, fenced: bool) -> None:
        each = self.model[data.draw(st.sampled_from(self.open()))]
        self.story.fail(each.name, each.chain[-1].token, fenced=fenced)
        if fenced:
            each.chain.clear()
        else:
            each.chain[-1].open = False

    @precondition(lambda self: self.open())
    @rule(data=st.data())
    def a_crash(self, data: st.DataObject) -> None:
        """Another driver may take the claim over; the first one may still come back before."""
        self.gone.add(self.model[data.draw(st.sampled_from(self.open()))].chain[-1].token)

    @rule(name=st.sampled_from([each.name for each in consumers()]))
    def a_pause_or_resume(self, name: str) -> None:
        each = self.model[name]
        each.paused = not each.paused
        self.story.add(PauseEntry(name, each.paused))

    @rule(name=st.sampled_from(CHANGING), text=st.sampled_from(sorted(CONDITIONS)))
    def another_condition(self, name: str, text: str) -> None:
        each = self.model[name]
        assert isinstance(each, Whole)
        spec = replace(self.story.project.assets[name], schedule=Schedule(None, parse_condition(text, clock), text))
        self.story.project = replace(self.story.project, assets={**self.story.project.assets, name: spec})
        seq = self.story.add(SpecEntry(name, build_fold_spec(spec, self.story.project)))
        before, after = leaves(each.tree), leaves(CONDITIONS[text])
        each.until |= dict.fromkeys(before - after, seq)
        for uri in after - before:  # what it had not used comes back; of what it never listened to the newest counts
            each.done |= {number for number in self.events.get(uri, [])[:-1] if number > each.until.get(uri, 0)}
        each.changed = True
        each.tree = CONDITIONS[text]

    @rule(cut=st.integers(0, 1000), whole=st.booleans())
    def a_restart(self, cut: int, *, whole: bool) -> None:
        """The next driver reads a snapshot and the tail after it, or all of the journal."""
        before, entries = self.story.state, list(map(from_row, self.story.rows))
        cut = 0 if whole else cut % (len(entries) + 1)
        head = fold(State("journal"), entries[:cut], commit=before.commit)
        again = fold(decode(encode(head), journal_id="journal"), entries[cut:], commit=before.commit)
        assert again.assets == before.assets
        assert again.datasets == before.datasets
        assert (again.consumers, again.triggered) == (before.consumers, before.triggered)
        self.story.state = decode(encode(again), journal_id="journal")
        assert self.story.state.assets == before.assets

    # ------------------------------------------------------------------ what must hold

    @invariant()
    def what_is_due_is_what_the_model_says(self) -> None:
        runs: dict[str, list[PlannedRun]] = {}
        for run in self.story.plan(gone_claims=self.gone).runs:
            runs.setdefault(run.asset, []).append(run)
        self.due = runs
        for each in self.model.values():
            found = runs.get(each.name, [])
            if isinstance(each, Daily):
                partitions = [of_ranges(run.partitions) for run in found]
                due = self.due_daily(each)
                assert partitions == ([due] if due or (found and each.chain) else []), each
                for run in found:
                    answered = {seq for seq, pending in each.pending.items() if pending & due}
                    assert {ref.seq for ref in run.events} == answered, each
                continue
            expected = self.due_whole(each, set(runs))
            assert len(found) == len(expected), each
            before = set[int]()  # what the runs before it use up
            for run, (takes, triggers) in zip(found, expected, strict=True):
                listed = {ref.seq for ref in run.events}
                assert listed == triggers
                assert takes == self.taken(each, run) - before
                before |= takes

    def taken(self, each: Whole, run: PlannedRun) -> set[int]:
        """What the product's numbers use up."""
        return {
            seq
            for uri, number in run.request.consumption.consumes.items()
            for seq in self.unused(each, uri)
            if seq <= number
        }

    def teardown(self) -> None:
        """Whatever happened, it comes to rest with everything answered, each once."""
        for each in self.model.values():
            if each.paused:
                self.a_pause_or_resume(each.name)
            if each.chain:
                self.gone.add(each.chain[-1].token)
        count = 0
        self.what_is_due_is_what_the_model_says()
        while self.due:
            count += 1
            assert count < 200, "never idle"
            self.claims_of_all_that_is_due(crash=False)
            self.successes_of_all_that_runs()
            self.what_is_due_is_what_the_model_says()
        for each in self.model.values():
            if isinstance(each, Daily):
                self.every_partition_is_answered_and_none_without_cause(each)
            else:
                self.nothing_is_listed_twice(each)
                told = not each.changed and each.name in ("default", "each", "after")
                if told and all(self.events.get(uri) for uri in each.gates):
                    expected = set[int]().union(*(self.events.get(uri, ()) for uri in leaves(each.tree)))
                    assert set(self.listed(each.name)) == expected == each.done

    def listed(self, name: str) -> Iterator[int]:
        """The events that triggered the runs that succeeded, by the journal."""
        entries = [(each.seq, each.entry) for each in self.story.entries if getattr(each.entry, "asset", None) == name]
        claims = {seq: entry for seq, entry in entries if isinstance(entry, ClaimEntry)}
        for _, entry in entries:
            if isinstance(entry, SuccessEntry):
                yield from claims[entry.token].request.events

    def nothing_is_listed_twice(self, each: Whole) -> None:
        listed = list(self.listed(each.name))
        assert len(listed) == len(set(listed)), each

    def every_partition_is_answered_and_none_without_cause(self, each: Daily) -> None:
        touching: dict[int, list[int]] = {}
        for uri, back in each.inlets.items():
            for seq in self.events.get(uri, ()):
                touched = self.touched[seq]
                partitions = each.computed if touched is None else {d + k for d in touched for k in range(back)}
                for partition in partitions:
                    touching.setdefault(partition, []).append(seq)
        for partition, epochs in each.computed.items():
            assert epochs == sorted(epochs)
            if (
                not each.together
                and not each.opener
                and all(self.complete(uri, partition, back) for uri, back in each.inlets.items())
            ):
                assert max(epochs) > max(touching[partition])
            for last, token in zip([0, *epochs], epochs, strict=False):
                assert any(last < seq < token for seq in touching[partition]), (each, partition)


TestHistories = Histories.TestCase
TestHistories.settings = settings(
    max_examples=examples(100),
    stateful_step_count=50,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)

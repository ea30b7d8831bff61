"""Iterations through the fold and back from storage, against a plain model of all that was ever published."""

from dataclasses import dataclass, field, replace

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.instants import from_unix
from sparkassets.core.iterations import visible_iterations
from sparkassets.core.journal.codec import decode, encode, from_row, to_row
from sparkassets.core.journal.entries import ClaimEntry, NumberedEntry, SuccessEntry
from sparkassets.core.journal.fold.dispatch import fold
from sparkassets.core.journal.lineage import trace_lineage
from sparkassets.core.journal.state import State
from sparkassets.core.partitions import EVERYTHING, PartitionSet
from sparkassets.core.planner.batch.iterations import retire_iterations
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.runs import InletPin, RunRequest, TablePosition
from sparkassets.core.strategies import EveryInstance, FullRefresh
from sparkassets.core.writes import PublishWrite
from tests.builders import Story, asset, project, source

KEYS = ("2025-01-01", "2025-01-02", "2025-01-03")


@dataclass
class Model:
    """All that ever was: what each version showed of each partition, and who reads what.

    Attributes:
        shown: By version, partition to the run that readers saw.
        readers: By their tokens, the runs that each reads.
        removed: Runs whose folders may be gone.
    """

    shown: dict[int, dict[str, str]] = field(default_factory=lambda: {0: {}})
    order: list[str] = field(default_factory=list)
    readers: dict[int, set[str]] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)

    @property
    def now(self) -> dict[str, str]:
        return self.shown[max(self.shown)]

    def show(self, version: int, run: str, keys: set[str]) -> None:
        self.shown[version] = {**self.now, **dict.fromkeys(keys, run)}


class World:
    """A publisher and a reader, whose journal is stored and read back at every step."""

    def __init__(self, *, partitioned: bool, keep: int) -> None:
        by, strategy = ("day", EveryInstance()) if partitioned else (None, FullRefresh())
        self.asset = asset("x", "s", by=by, write=PublishWrite(keep), strategy=strategy)
        self.reader = asset("r", "x", by=None)
        self.story = Story(project(source("s", by=by), self.asset, self.reader))
        self.state: State = self.story.state
        self.model, self.keep, self.partitioned = Model(), keep, partitioned
        self.version = 0
        self.entries: list[NumberedEntry] = []

    def commit(self, *entries) -> int:
        for entry in entries:
            numbered = NumberedEntry(entry, self.state.seq + 1, from_unix(1_735_700_000 + self.state.seq), "d")
            assert from_row(to_row(numbered)) == numbered
            self.entries.append(numbered)
            self.state = fold(self.state, [from_row(to_row(numbered))], commit=self.state.commit + 1)
            self.state = decode(encode(self.state), journal_id=self.state.journal_id)
        return self.state.seq

    def partitions(self, key: str) -> PartitionSet:
        return self.asset.partitioning.parse(key) if self.partitioned else EVERYTHING

    def claim(self, name: str, partitions: PartitionSet = EVERYTHING, **more) -> int:
        request = RunRequest(asset=name, kind="backfill", partitions=partitions, **more)
        return self.commit(ClaimEntry(request, f"{name}-{self.state.seq + 1}", 600, "i", "h"))

    def publish(self, key: str, *, beside: bool) -> None:
        beside = beside and not self.partitioned and bool(self.model.now)
        token = self.claim("x", self.partitions(key))
        self.version += 1
        run = f"x-{token}"
        self.success(token, run, key, iteration=f"{run}.{token}.1", is_hidden_iteration=beside)
        self.model.order.append(run)
        if not beside:
            self.model.show(self.version, run, {key} if self.partitioned else {"all"})
        self.remove()

    def roll_back(self, place: int) -> None:
        known = self.state.assets["x"].iterations
        if known:
            found = known[place % len(known)]
            token = self.claim("x", found.partitions, restores=found.run)
            self.remove()  # of another driver, meanwhile
            self.version += 1
            key = self.asset.partitioning.labels(found.partitions)[0] if self.partitioned else "all"
            self.success(token, f"x-{token}", key, restores=found.run)
            self.model.show(self.version, found.run, {key})

    def success(self, token: int, run: str, key: str, **more) -> None:
        found = SuccessEntry("x", self.asset.uri, run, token, token, self.partitions(key), "t", self.version, **more)
        self.commit(found)

    def read(self) -> None:
        if self.model.now:
            pin = self.pin(self.state)
            known = self.state.assets["x"].iterations
            named = [each for each in known if each.name == pin.iteration] or visible_iterations(known, pin.version)
            assert {each.run for each in named} == set(self.model.now.values())
            assert bool(pin.iteration) is (not self.partitioned and self.version in named[0].shown)
            self.model.readers[self.claim("r", pins={"x": pin})] = set(self.model.now.values())

    def pin(self, state: State) -> InletPin:
        """What a run of the reader would read."""
        planning = PlanningContext(self.story.project, state, 0, 0)
        return planning.pin(self.story.project.assets["r"].inlets["x"], EVERYTHING)

    def origin(self) -> str | None:
        """The run that lineage says the asset came from."""
        told = trace_lineage(
            self.story.project,
            self.state,
            lambda _: self.entries[::-1],
            asset=self.asset,
            partitions=EVERYTHING,
            depth=1,
        )
        (origin,) = told.origins
        return origin.run

    def ended(self, place: int) -> None:
        if self.model.readers:
            token = sorted(self.model.readers)[place % len(self.model.readers)]
            del self.model.readers[token]
            chain = tuple(link for link in self.state.assets["r"].chain if link.token != token)
            known = {**self.state.assets, "r": replace(self.state.assets["r"], chain=chain)}
            self.state = replace(self.state, assets=known)

    def remove(self) -> None:
        entry = retire_iterations(self.state, "x", keep=self.keep)
        if entry is not None:
            self.model.removed |= {*entry.runs}
            self.commit(entry)


STEPS = st.lists(
    st.tuples(st.just("publish"), st.sampled_from(KEYS), st.booleans())
    | st.tuples(st.sampled_from(["roll_back", "read", "ended", "remove"]), st.integers(0, 9), st.none()),
    max_size=25,
)


@given(st.booleans(), st.integers(1, 3), STEPS)
def test_nobody_reads_what_is_removed_and_the_newest_stay(partitioned, keep, steps):
    world = World(partitioned=partitioned, keep=keep)
    for step, value, beside in steps:
        if step == "publish":
            world.publish(value, beside=beside)
        elif step in ("roll_back", "ended"):
            getattr(world, step)(value)
        else:
            getattr(world, step)()
        model, known = world.model, world.state.assets["x"].iterations
        there = {each.run for each in known}
        assert there == set(model.order) - model.removed
        assert there >= set(model.now.values())
        assert there >= set(model.order[-keep:])
        assert all(there >= runs for runs in model.readers.values())
        assert {each.run for each in visible_iterations(known)} == set(model.now.values())
        if not model.readers:
            world.remove()
            left = {each.run for each in world.state.assets["x"].iterations}
            assert left <= set(model.order[-keep:]) | set(model.now.values())


def test_a_reader_is_pinned_to_the_version_where_something_was_published_beside_what_it_sees():
    world = World(partitioned=False, keep=1)
    world.publish("all", beside=False)
    world.read()
    world.publish("all", beside=True)
    world.read()
    first, second = (link.entry.request.pins["x"] for link in world.state.assets["r"].chain)
    shown = world.state.assets["x"].iterations[0]
    assert (first.iteration, first.version) == (shown.name, 1)
    assert (second.iteration, second.version) == ("", 2)
    assert visible_iterations(world.state.assets["x"].iterations, second.version) == (shown,)


def test_what_is_published_beside_the_newest_is_no_event():
    world = World(partitioned=False, keep=3)
    world.publish("all", beside=False)
    before = world.state.dataset(world.asset.uri).seq
    world.publish("all", beside=True)
    assert world.state.dataset(world.asset.uri).seq == before
    first, second = world.state.assets["x"].iterations
    assert (visible_iterations([first, second]), second.shown) == ((first,), ())


def test_a_rollback_is_an_event_and_settles_its_claim():
    world = World(partitioned=False, keep=3)
    world.publish("all", beside=False)
    world.publish("all", beside=False)
    before = world.state.dataset(world.asset.uri).seq
    world.roll_back(0)
    state = world.state.assets["x"]
    assert world.state.dataset(world.asset.uri).seq > before
    assert (state.chain, state.version, [each.shown for each in state.iterations]) == ((), 3, [(1, 3), (2,)])


def test_a_version_that_others_made_is_not_an_iteration():
    world = World(partitioned=False, keep=3)
    world.publish("all", beside=False)
    known = {**world.state.assets, "x": replace(world.state.assets["x"], version=7)}
    state = replace(world.state, assets=known)
    pin = world.pin(state)
    assert pin == InletPin(world.asset.uri, pin.seq, "t", 7)
    assert retire_iterations(state, "x", keep=1) is None


def test_what_was_rolled_back_to_came_from_the_run_that_published_it():
    world = World(partitioned=False, keep=3)
    for beside in (False, False, True):
        world.publish("all", beside=beside)
    first, second, _ = (each.run for each in world.state.assets["x"].iterations)
    assert world.origin() == second
    world.roll_back(0)
    assert world.origin() == first
    world.publish("all", beside=False)
    assert world.origin() == world.state.assets["x"].iterations[-1].run


def test_what_tells_the_changes_that_a_claim_reads_stays():
    world = World(partitioned=False, keep=9)
    for _ in range(4):
        world.publish("all", beside=False)
    pin = replace(world.pin(world.state), low=str(TablePosition("t", 2)))
    world.claim("r", pins={"x": pin})
    world.keep = 1
    world.remove()
    assert [each.version for each in world.state.assets["x"].iterations] == [2, 3, 4]

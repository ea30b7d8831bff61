"""What is wanted, waits, is kept or computed again, against a plain model that decides partition by partition.

The model knows days as integers and nothing of ranges. A partition needs the days of its window, of each inlet, but for
what that inlet can never have. It is wanted when some day that it needs is or was there; it runs when it is missing or
stale, enough of what it needs counts as there, and it keeps no rows whose input went.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from sparkassets.core.instants import DAY, Duration
from sparkassets.core.journal.entries import EventEntry, ObservedEntry
from sparkassets.core.partitions import PartitionSet, WindowMapping
from sparkassets.core.planner.batch.backfill import plan_backfill
from sparkassets.core.planner.explain.status import asset_status, partition_grid
from sparkassets.core.spec.model import InletSpec, PartitionRequirement
from sparkassets.core.strategies import DateRange
from tests.builders import Story, asset, at, days, project, source
from tests.depth import examples

ZERO = at("2025-01-01")
DAYS = range(-12, 24)


def ranges(found: set[int] | frozenset[int]) -> PartitionSet:
    return PartitionSet.from_time_pairs((ZERO + day * DAY, ZERO + (day + 1) * DAY) for day in found)


def of_ranges(found: PartitionSet) -> set[int]:
    pairs = found.time.pairs()
    return {day for start, end in pairs for day in range((start - ZERO) // DAY, (end - ZERO) // DAY)}


@dataclass
class Inlet:
    name: str
    low: int
    high: int
    require: PartitionRequirement
    keep: bool
    start: int | None = None
    end: int | None = None
    there: set[int] = field(default_factory=set)
    ever: set[int] = field(default_factory=set)

    def able(self, day: int) -> bool:
        return (self.start is None or day >= self.start) and (self.end is None or day < self.end)

    def needs(self, partition: int) -> set[int]:
        return {day for day in range(partition + self.low, partition + self.high + 1) if self.able(day)}

    def counts(self) -> set[int]:
        return self.there if self.keep else self.ever

    def enough(self, partition: int) -> bool:
        needed = self.needs(partition)
        if self.require.kind == "none":
            return True
        least = len(needed) if self.require.kind == "all" else max(1, self.require.count)
        cut = len(needed) <= self.high - self.low  # it can never have all that maps
        return len(needed & self.counts()) >= (min(least, len(needed)) if cut else least)


@dataclass
class Model:
    inlets: list[Inlet]
    together: bool
    start: int | None
    end: int | None
    computed: set[int] = field(default_factory=set)
    stale: dict[str, set[int]] = field(default_factory=dict)
    kept: set[int] = field(default_factory=set)

    def wanted(self) -> set[int]:
        return {
            partition
            for partition in DAYS
            if (self.start is None or partition >= self.start)
            and (self.end is None or partition < self.end)
            and any(inlet.needs(partition) & inlet.ever for inlet in self.inlets)
        }

    def holds(self, partition: int, inlet: Inlet) -> bool:
        if partition in self.stale[inlet.name]:
            return True
        return (
            partition not in self.computed and bool(inlet.needs(partition) & inlet.counts()) and inlet.enough(partition)
        )

    def due(self) -> set[int]:
        found = set()
        for partition in self.wanted() | self.computed:
            within = (self.start is None or partition >= self.start) and (self.end is None or partition < self.end)
            stale = within and any(partition in marks for marks in self.stale.values())
            if not stale and (partition in self.computed or partition not in self.wanted()):
                continue
            asked = [inlet for inlet in self.inlets if inlet.needs(partition)]
            if self.together and not (asked and all(self.holds(partition, inlet) for inlet in asked)):
                continue
            if partition not in self.kept and all(inlet.enough(partition) for inlet in self.inlets):
                found.add(partition)
        return found

    def changed(self, inlet: Inlet, came: set[int], gone: set[int]) -> None:
        inlet.there = (inlet.there | came) - gone
        inlet.ever |= came | gone
        touched = came if inlet.keep else came | gone
        for partition in DAYS:
            needs = set(range(partition + inlet.low, partition + inlet.high + 1))
            if needs & touched and partition in self.computed:
                self.stale[inlet.name].add(partition)
        if inlet.keep:
            self.kept |= {b for b in self.computed if set(range(b + inlet.low, b + inlet.high + 1)) & gone}
        self.kept = {b for b in self.kept if any(self.lost(each, b) for each in self.inlets if each.keep)}

    def lost(self, inlet: Inlet, partition: int) -> bool:
        return bool(set(range(partition + inlet.low, partition + inlet.high + 1)) & (inlet.ever - inlet.there))

    def ran(self, partitions: set[int]) -> None:
        self.computed |= partitions
        self.kept -= partitions
        self.stale = {name: marks - partitions for name, marks in self.stale.items()}


REQUIRES = st.sampled_from(
    [
        PartitionRequirement(),
        PartitionRequirement(),
        PartitionRequirement("any"),
        PartitionRequirement("at_least", 2),
        PartitionRequirement("none"),
    ]
)
SOME = st.frozensets(st.integers(0, 9), min_size=1, max_size=5)


@st.composite
def inlets(draw: st.DrawFn, name: str) -> Inlet:
    low = draw(st.integers(-2, 1))
    bounds = draw(st.sampled_from([(None, None), (None, None), (2, None), (0, None), (1, 8)]))
    return Inlet(name, low, draw(st.integers(low, 2)), draw(REQUIRES), draw(st.booleans()), *bounds)


@st.composite
def models(draw: st.DrawFn) -> Model:
    found = [draw(inlets(name)) for name in draw(st.sampled_from(["p", "pq"]))]
    assume(
        any(inlet.require.kind != "none" for inlet in found)
    )  # without any, each partition is wanted once it is over
    bounds = draw(st.sampled_from([(None, None), (None, None), (1, None), (0, 6)]))
    together = len(found) > 1 and draw(st.booleans())
    return Model(found, together, *bounds, stale={inlet.name: set() for inlet in found})


def story_of(model: Model) -> Story:
    def instant(day: int | None) -> int | None:
        return None if day is None else ZERO + day * DAY

    sources = [
        source(each.name, start=instant(each.start), end=instant(each.end), columns={"n": "int"})
        for each in model.inlets
    ]
    specs = [
        InletSpec(
            each.name,
            "",
            WindowMapping(Duration.parse(f"{each.low}d"), Duration.parse(f"{each.high}d")),
            each.require,
            on_removed="keep" if each.keep else "rerun",
        )
        for each in model.inlets
    ]
    schedule = " & ".join(each.name for each in model.inlets) if model.together else None
    reader = asset("a", *specs, schedule=schedule, start=instant(model.start), end=instant(model.end))
    return Story(project(*sources, reader), now="2025-06-01")


@settings(max_examples=examples(250), deadline=None, derandomize=True, phases=[Phase.generate])
@given(models(), st.data())
def test_what_is_due_and_what_is_kept_is_what_a_model_of_single_days_says(model: Model, data: st.DataObject):
    story = story_of(model)
    for _ in range(data.draw(st.integers(1, 7))):
        what = data.draw(st.sampled_from(["came", "came", "gone", "run", "run"]))
        inlet = data.draw(st.sampled_from(model.inlets))
        some = set(data.draw(SOME))
        if what == "came":
            story.add(ObservedEntry(inlet.name, f"x-{inlet.name}", ranges(some)))
            model.changed(inlet, some, set())
        elif what == "gone" and (gone := some & inlet.there):
            story.add(ObservedEntry(inlet.name, f"x-{inlet.name}", removed=ranges(gone)))
            model.changed(inlet, set(), gone)
        elif what == "run" and model.due():
            model.ran(of_ranges(story.run("a").partitions))
        found = [of_ranges(run.partitions) for run in story.plan().runs]
        assert found == ([model.due()] if model.due() else []), model
        known = story.project.assets["a"]
        shown = dict(partition_grid(story.context(), known))
        stale = set[int]().union(*model.stale.values())
        labels = {known.partitioning.time.key(ZERO + day * DAY) for day in (model.kept & model.computed) - stale}
        told = {key for key, status in shown.items() if status == "kept"}
        assert labels <= told
        assert asset_status(story.context(), known).stale == len(
            {
                partition
                for partition in stale & model.computed
                if (model.start is None or partition >= model.start) and (model.end is None or partition < model.end)
            }
        )


# --------------------------------------------------------------------------- by example


def quiet(story: Story, name: str = "a") -> list[tuple[str, list[str]]]:
    return [
        (item.reason, story.keys(name, item.partitions))
        for item in story.plan().waiting
        if item.asset == name and item.quiet and not item.partitions.is_everything
    ]


def waits(story: Story) -> list[tuple[str, PartitionSet]]:
    return [
        (item.reason, item.partitions)
        for item in story.plan().waiting
        if item.asset == "a" and not item.partitions.is_everything
    ]


def test_a_leaf_of_all_holds_only_for_the_partitions_that_its_dataset_was_updated_for():
    story = Story(project(source("p"), source("q"), asset("a", "p", "q", schedule="p & q")))
    story.add(EventEntry("x-p", "p", days("2024-01-01")))
    story.add(EventEntry("x-q", "q", days("2024-01-02")))
    assert story.due() == {}
    story.add(EventEntry("x-q", "q", days("2024-01-01")))
    assert [story.keys("a", run.partitions) for run in story.run_all()] == [["2024-01-01"]]
    assert asset_status(story.context(), story.project.assets["a"]).stale == 0


def test_a_month_with_some_of_its_days_waits_until_a_start_is_declared():
    monthly = asset("a", "p", by="month")
    story = Story(project(source("p"), monthly), now="2025-04-01")
    story.observed("p", "2025-01-30..2025-02-28")
    assert story.due() == {"a": ["2025-02"]}
    assert quiet(story) == [
        (
            (
                "waits for p: 2 of 31 partitions, missing 2025-01-01..2025-01-29, "
                "before the first partition of p; declare `start` where p begins"
            ),
            ["2025-01"],
        )
    ]
    story.change(source("p", start=at("2025-01-30")), monthly)
    assert story.due() == {"a": ["2025-01..2025-02"]}


def test_a_declared_start_carries_on_through_the_mappings():
    seven = InletSpec("b", "", WindowMapping.trailing(Duration.parse("7d")))
    chain = (asset("b", "p"), asset("c", seven), asset("d", "c", by="week"))
    story = Story(project(source("p", start=at("2025-01-02")), *chain), now="2025-02-01")
    story.observed("p", "2025-01-02..2025-01-12")
    done = {run.asset: story.keys(run.asset, run.partitions) for run in story.run_all()}
    assert done == {"b": ["2025-01-02..2025-01-12"], "c": ["2025-01-02..2025-01-12"], "d": ["2025-W01..2025-W02"]}


def test_before_its_start_a_leaf_is_neither_asked_for_nor_enough():
    late = source("q", start=at("2025-01-03"))
    together = asset("a", "p", "q", schedule="p & q")
    story = Story(project(source("p"), late, together))
    story.observed("p", "2025-01-01..2025-01-03")
    assert story.due() == {"a": ["2025-01-01..2025-01-02"]}
    either = asset("a", "p", "q", "r", schedule="q | (p & r)")
    story = Story(project(source("p"), late, source("r"), either))
    story.observed("p", "2025-01-01..2025-01-03")
    story.observed("r", "2025-01-02..2025-01-03")
    story.observed("q", "2025-01-03")
    assert story.due() == {"a": ["2025-01-02..2025-01-03"]}


def stale(story: Story) -> int:
    return asset_status(story.context(), story.project.assets["a"]).stale


def test_what_came_before_the_start_of_its_source_is_used_by_the_run_that_read_it():
    before = InletSpec(
        "p", "", WindowMapping(Duration.parse("-1d"), Duration.parse("-1d")), PartitionRequirement("none")
    )
    around = InletSpec("q", "", WindowMapping(Duration.parse("-1d"), Duration.parse("1d")))
    sources = source("p", start=ZERO + 2 * DAY), source("q", start=ZERO + DAY, end=ZERO + 8 * DAY)
    story = Story(project(*sources, asset("a", before, around, schedule="p & q", start=ZERO + DAY)), now="2025-06-01")
    story.observed("p", "2025-01-01", "2025-01-05")
    story.observed("q", "2025-01-02..2025-01-08")
    run = story.run("a")
    assert story.keys("a", run.partitions) == ["2025-01-02..2025-01-03", "2025-01-06"]
    assert stale(story) == 0
    assert not any(
        "(p & q)" in reason and "2025-01-02" in story.keys("a", partitions) for reason, partitions in waits(story)
    )
    story.observed("p", "2025-01-01")
    assert stale(story) == 1
    story.observed("q", "2025-01-02")
    assert story.keys("a", story.run("a").partitions) == ["2025-01-02..2025-01-03"]
    assert stale(story) == 0


def test_under_or_too_a_leaf_that_can_have_nothing_leaves_nothing_over_and_one_that_can_does():
    late = source("q", start=at("2025-01-03"))
    optional = [InletSpec(name, "", None, PartitionRequirement("none")) for name in "qr"]
    either = asset("a", "p", *optional, schedule="p | (q & r)")
    story = Story(project(source("p"), late, replace(source("r"), columns={"n": "int"}), either))
    story.observed("q", "2025-01-02..2025-01-03")
    story.observed("p", "2025-01-02..2025-01-03")
    assert story.keys("a", story.run("a").partitions) == ["2025-01-02..2025-01-03"]
    shown = dict(partition_grid(story.context(), story.project.assets["a"]))
    assert shown == {"2025-01-02": "current", "2025-01-03": "stale"}
    story.observed("r", "2025-01-03")
    assert story.keys("a", story.run("a").partitions) == ["2025-01-03"]
    assert stale(story) == 0


def test_what_keeps_its_rows_waits_when_something_else_changes_until_it_is_forced_or_rerun():
    inlets = InletSpec("p", "", None, on_removed="keep"), InletSpec("q", "", None)
    story = Story(project(source("p"), source("q"), asset("a", *inlets)))
    for name in "pq":
        story.observed(name, "2025-01-01..2025-01-03")
    story.run_all()
    for removed in ("2025-01-01", "2025-01-02"):
        story.add(ObservedEntry("p", "x-p", removed=days(removed)))
        assert story.due() == {}
    assert quiet(story) == [("kept, although p 2025-01-01..2025-01-02 were removed", ["2025-01-01..2025-01-02"])]
    story.observed("q", "2025-01-02")
    assert story.due() == {}
    (wait,) = [item for item in story.plan().waiting if item.asset == "a" and not item.quiet]
    assert wait.reason == (
        "kept, although p 2025-01-02 was removed: recomputing would lose its rows; `sparkassets backfill "
        "--force` does so anyway"
    )
    a, partitions = story.project.assets["a"], days("2025-01-02")
    assert plan_backfill(story.context(), a, partitions, force=False).runs == ()
    (run,) = plan_backfill(story.context(), a, partitions, force=True).runs
    story.succeed("a", story.claim(run))
    assert quiet(story) == [("kept, although p 2025-01-01 was removed", ["2025-01-01"])]
    story.change(source("p"), source("q"), asset("a", "p", "q"))
    assert story.due() == {"a": ["2025-01-01"]}


def test_what_was_removed_while_it_was_computed_is_kept():
    story = Story(project(source("p"), asset("a", InletSpec("p", "", None, on_removed="keep"))))
    story.observed("p", "2025-01-01")
    claim = story.claim(story.plan().runs[0])
    story.add(ObservedEntry("p", "x-p", removed=days("2025-01-01")))
    story.succeed("a", claim)
    assert story.due() == {}
    assert [reason for reason, _ in quiet(story)] == ["kept, although p 2025-01-01 was removed"]


# --------------------------------------------------------------------------- lookback and caps


@settings(max_examples=examples(150), deadline=None, derandomize=True, phases=[Phase.generate])
@given(
    st.lists(SOME, min_size=1, max_size=4),
    st.integers(0, 4),
    st.integers(1, 5),
    st.sets(st.integers(0, 9), max_size=2),
)
def test_a_gap_has_one_lookback_and_no_run_exceeds_the_cap(
    arrivals: list[frozenset[int]], back: int, cap: int, late: set[int]
):
    strategy = DateRange(lookback=Duration.parse(f"{back}d") if back else None, max_partitions_per_run=cap)
    story = Story(project(source("p"), source("q"), asset("a", "p", "q", strategy=strategy)), now="2025-06-01")
    story.observed("q", *(f"2025-01-{day + 1:02}" for day in range(10) if day not in late))
    computed, open_ = set[int](), set(range(10)) - late
    waves: list[set[int]] = [set(each) for each in arrivals]
    for wave in [*waves, late]:
        if wave is late and late:
            story.observed("q", *(f"2025-01-{day + 1:02}" for day in late))
            open_ = set(range(10))
        elif wave:
            story.observed("p", *(f"2025-01-{day + 1:02}" for day in wave))
        there = set[int]().union(*waves[: waves.index(wave) + 1]) if wave in waves else set[int]().union(*waves)
        new = (there & open_) - computed
        stale = {day for day in wave if day in computed}
        starts = {day for day in new if day - 1 not in new}
        behind = {day for start in starts for day in range(start - back, start)} & computed
        runs = [of_ranges(run.partitions) for run in story.run_all()]
        assert all(len(partitions) <= cap for partitions in runs)
        assert all(max(a) < min(b) for a, b in pairwise(runs))
        assert sorted(day for partitions in runs for day in partitions) == sorted(new | stale | behind)
        computed |= new


def test_what_is_owed_of_a_lookback_survives_a_failure_and_a_restart():
    strategy = DateRange(lookback=Duration.parse("4d"), max_partitions_per_run=2)
    story = Story(project(source("p"), asset("a", "p", strategy=strategy)))
    story.observed("p", "2025-01-01..2025-01-08")
    story.run_all()
    story.observed("p", "2025-01-09..2025-01-11")
    story.run("a")
    story.fail("a", story.claim(story.plan().runs[0]))
    assert [story.keys("a", run.partitions) for run in story.run_all()] == [
        ["2025-01-07..2025-01-08"],
        ["2025-01-09..2025-01-10"],
        ["2025-01-11"],
    ]


def test_a_lookback_that_fails_is_tried_once_an_invocation_and_stays_owed():
    strategy = DateRange(lookback=Duration.parse("2d"), max_partitions_per_run=2)
    story = Story(project(source("p"), asset("a", "p", strategy=strategy)))
    story.observed("p", "2025-01-01..2025-01-06")
    story.run_all()
    story.observed("p", "2025-01-07")
    assert story.due(invocation="i") == {"a": ["2025-01-05..2025-01-06"]}
    story.fail("a", story.claim(story.plan(invocation="i").runs[0]))
    assert story.due(invocation="i") == {"a": ["2025-01-07"]}
    story.succeed("a", story.claim(story.plan(invocation="i").runs[0]))
    assert story.due(invocation="i") == {}
    assert story.waits("a", invocation="i") == ["failed: boom"]
    assert story.due(invocation="another") == {"a": ["2025-01-05..2025-01-06"]}


def test_a_lookback_that_fails_with_its_gap_ends_the_invocation():
    strategy = DateRange(lookback=Duration.parse("2d"), max_partitions_per_run=2)
    story = Story(project(source("p"), asset("a", "p", strategy=strategy)))
    story.observed("p", "2025-01-01..2025-01-06")
    story.run_all()
    story.observed("p", "2025-01-07")
    for _ in range(2):
        story.fail("a", story.claim(story.plan(invocation="i").runs[0]))
    assert story.due(invocation="i") == {}
    assert story.due(invocation="another") == {"a": ["2025-01-05..2025-01-06"]}


def test_a_backfill_computes_what_it_names_and_says_that_it_does_not_look_back():
    strategy = DateRange(lookback=Duration.parse("2d"))
    story = Story(project(source("p"), asset("a", "p", strategy=strategy)))
    story.observed("p", "2025-01-01..2025-01-03")
    story.run_all()
    story.observed("p", "2025-01-04")
    plan = plan_backfill(story.context(), story.project.assets["a"], days("2025-01-04"), force=False)
    assert [story.keys("a", run.partitions) for run in plan.runs] == [["2025-01-04"]]
    (wait,) = plan.waiting
    assert wait.reason == "not recomputed: a backfill computes only the partitions it names, without lookback (2d)"
    assert story.keys("a", wait.partitions) == ["2025-01-02..2025-01-03"]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            "2024-12-30..2025-01-02",
            "2024-12-30..2024-12-31 of 'a' is before the start of the asset, 2025-01-01T00:00Z",
        ),
        ("2025-01-09..2025-01-12", "2025-01-11..2025-01-12 of 'a' is after the end of the asset, 2025-01-11T00:00Z"),
    ],
)
def test_a_backfill_outside_the_bounds_is_refused_unless_forced(keys: str, message: str):
    from sparkassets.errors import InputError

    bounded = asset("a", "p", start=at("2025-01-01"), end=at("2025-01-11"))
    story = Story(project(source("p"), bounded))
    story.observed("p", "2024-12-01..2025-01-31")
    with pytest.raises(InputError) as error:
        plan_backfill(story.context(), story.project.assets["a"], days(keys), force=False)
    assert str(error.value.args[0]).startswith(message)
    assert error.value.hint == "--force computes it anyway"
    (run,) = plan_backfill(story.context(), story.project.assets["a"], days(keys), force=True).runs
    assert run.partitions == days(keys)

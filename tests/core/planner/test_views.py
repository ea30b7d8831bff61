"""Assets whose partitions go by values of a source's rows: random histories against single days, and what is told."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.instants import DAY, Duration
from sparkassets.core.journal.entries import ObservedEntry, PauseEntry, SuccessEntry, ViewChanges
from sparkassets.core.journal.lineage import trace_lineage
from sparkassets.core.partitions import EVERYTHING, NOTHING, Partitioning, PartitionSet, TimePartition, WindowMapping
from sparkassets.core.planner.batch.backfill import plan_backfill
from sparkassets.core.planner.explain.explanation import explain_planned_asset
from sparkassets.core.planner.explain.impact import recomputed_by_update
from sparkassets.core.planner.plan import Plan
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.spec.model import AssetSpec, InletSpec, PartitionRequirement
from sparkassets.core.strategies import DateRange
from tests.builders import Story, asset, at, days, project, source
from tests.depth import histories
from tests.drivers import Drivers

ZERO = at("2025-01-06")
"""A Monday, on which day 0 begins."""
URIS = {"day": "sparkassets:raw/happened?by=day", "week": "sparkassets:raw/happened?by=week"}
VIEWS = {by: Partitioning(TimePartition(by, "UTC", column="happened")) for by in URIS}  # type: ignore[arg-type]
NUMBERS = range(15)


def by_values(by: str, window: str | None = None, **more) -> InletSpec:
    mapping = None if window is None else WindowMapping.trailing(Duration.parse(window))
    return InletSpec("raw", URIS[by], mapping, PartitionRequirement("any"), view=VIEWS[by], **more)


def story(*assets: AssetSpec) -> Story:
    views = {URIS[by]: VIEWS[by] for by in URIS}
    return Story(project(source("raw", by=None, views=views), source("rates", by=None), *assets), now="2025-02-01")


def observe_source(found: Story, *keys: str, removed: str | None = None, whole: bool = True) -> int:
    """A look at the source found these days changed, and that one gone."""
    changed, gone = days(*keys), days(removed) if removed else NOTHING
    views = {}
    for by, uri in URIS.items():
        weekly = VIEWS[by].cover(changed), VIEWS[by].cover(gone)
        views[uri] = ViewChanges(weekly[0], weekly[1] - weekly[0])
    return found.add(ObservedEntry("raw", "x-raw", whole=whole, version=1, table_id="t", views=views))


def test_a_late_file_makes_its_days_stale_and_no_other():
    found = story(asset("daily", by_values("day")), asset("weekly", by_values("week"), by="week"))
    assert found.waits("daily") == ["waits for the first partition of raw"]
    observe_source(found, "2025-01-07", "2025-01-09")
    assert found.due() == {"daily": ["2025-01-07", "2025-01-09"], "weekly": ["2025-W02"]}
    found.run_all()
    observe_source(found, "2025-01-08", "2025-01-20")
    assert found.due() == {"daily": ["2025-01-08", "2025-01-20"], "weekly": ["2025-W02", "2025-W04"]}
    runs = {run.asset: run for run in found.plan().runs}
    assert runs["daily"].reason == "2 partitions missing"
    assert runs["weekly"].request.pins["raw"].parts == VIEWS["week"].parse("2025-W02") | VIEWS["week"].parse("2025-W04")
    found.run_all()
    observe_source(found, removed="2025-01-09")
    assert found.due() == {"daily": ["2025-01-09"], "weekly": ["2025-W02"]}
    assert [run.reason for run in found.plan().runs] == ["1 stale: raw changed"] * 2
    assert found.context().answered_events(
        found.project.assets["daily"], found.state.assets["daily"], {URIS["day"]: EVERYTHING}
    )


def test_what_comes_after_an_update_of_the_source_is_everything():
    found = story(asset("daily", by_values("day")), asset("sums", "daily"))
    observe_source(found, "2025-01-07")
    assert recomputed_by_update(found.context(), {"raw": EVERYTHING}) == {"daily": EVERYTHING, "sums": EVERYTHING}


def test_a_condition_that_names_the_source_hears_of_its_values():
    found = story(asset("daily", by_values("day"), InletSpec("rates", "", None), schedule="raw & rates"))
    observe_source(found, "2025-01-07", "2025-01-08")
    assert found.due() == {}
    found.event("x-rates")
    assert found.due() == {"daily": ["2025-01-07..2025-01-08"]}
    found.run_all()
    observe_source(found, "2025-01-08")
    assert found.due() == {}
    found.event("x-rates")
    assert found.due() == {"daily": ["2025-01-08"]}


def test_values_that_make_nothing_stale_still_tell_what_is_wanted():
    found = story(asset("daily", by_values("day", on_update="ignore"), schedule="raw"))
    observe_source(found, "2025-01-07")
    found.run_all()
    observe_source(found, "2025-01-07", "2025-01-08")
    assert found.due() == {"daily": ["2025-01-08"]}


def test_lineage_goes_back_to_the_look_that_told_of_the_rows():
    found = story(asset("daily", by_values("day")), asset("sums", "daily"))
    seq = observe_source(found, "2025-01-07", "2025-01-09")
    found.run_all()
    past = list(reversed(found.entries))
    traced = trace_lineage(
        found.project,
        found.state,
        lambda uri: iter([each for each in past if getattr(each.entry, "uri", None) == uri]),
        asset=found.project.assets["sums"],
        partitions=days("2025-01-07"),
    )
    (run,) = traced.origins
    (daily,) = run.reads
    (raw,) = daily.origins[0].reads
    assert (raw.asset, raw.uri, raw.version) == ("raw", "x-raw", 1)
    assert [(each.kind, each.seq) for each in raw.origins] == [("source", seq)]


class History(Drivers):
    """A source whose rows come and go by day, and what is computed of them."""

    def __init__(self, random: Random) -> None:
        cap = DateRange(max_partitions_per_run=random.choice([1, 3, 1000]))
        self.lookback = random.choice([None, None, Duration.parse("2d")])
        window = random.choice([None, "2d", "3d"])
        self.back = {"daily": int(window[0]) if window else 1, "weekly": 7, "sums": 1}
        found = story(
            asset("daily", by_values("day", window), strategy=replace(cap, lookback=self.lookback)),
            asset("weekly", by_values("week"), by="week", strategy=cap),
            asset("sums", "daily"),
        )
        super().__init__(random, found)
        self.ever: set[int] = set()
        self.changed: dict[int, int] = {}
        self.asked: Counter[tuple[str, int]] = Counter()

    def check(self, context: PlanningContext, found: Plan) -> None:
        for each in self.story.project.assets.values():
            explain_planned_asset(context, found, each)

    def step(self) -> None:
        likely = ["look", "look", "run", "run", "run", "fail", "crash", "invocation", "pause", "backfill"]
        what, runs = self.random.choice(likely), self.runs()
        if what == "look":
            self.look()
        elif what == "pause":
            self.story.add(PauseEntry("daily", paused=self.random.random() < 0.5))
        elif what == "backfill":
            self.backfill(self.random.choice(["daily", "weekly"]))
        elif what == "invocation":
            self.invocation += 1
        elif runs:
            self.end(self.random.choice(runs), what)

    def backfill(self, name: str) -> None:
        """Somebody asks for a few partitions, there or not."""
        context = self.context()
        spec, first = self.story.project.assets[name], self.random.choice(self.partitions(name))
        asked = spec.partitioning.cover(span(first) | span(first + 1))
        for run in plan_backfill(context, spec, asked, force=self.random.random() < 0.5).runs[:1]:
            self.end(run, "run")
            for partition in self.partitions(name):
                self.asked[name, partition] += run.partitions.overlaps(span(partition))

    def look(self) -> None:
        some = set(self.random.sample(NUMBERS, self.random.randint(1, 3)))
        removed = {self.random.choice(sorted(self.ever))} - some if self.ever and self.random.random() < 0.3 else set()
        spans = {name: PartitionSet.union(map(span, each)) for name, each in (("came", some), ("went", removed))}
        views = {}
        for by, uri in URIS.items():
            came, went = VIEWS[by].cover(spans["came"]), VIEWS[by].cover(spans["went"])
            views[uri] = ViewChanges(came, went - came) if by == "day" else ViewChanges(came | went)
        seq = self.story.add(ObservedEntry("raw", "x-raw", whole=True, version=1, table_id="t", views=views))
        self.ever |= some
        self.changed |= dict.fromkeys(some | removed, seq)
        for name in ("daily", "weekly"):
            for partition in self.partitions(name):
                self.asked[name, partition] += bool((some | removed) & self.needed(name, partition))

    def partitions(self, name: str) -> list[int]:
        return list(range(0, 35, 7)) if name == "weekly" else list(range(25))

    def needed(self, name: str, partition: int) -> set[int]:
        """The numbers of the days whose rows a partition reads."""
        if name == "weekly":
            return set(range(partition, partition + 7))
        return set(range(partition - self.back["daily"] + 1, partition + 1))

    def rest(self) -> int:
        self.story.add(PauseEntry("daily", paused=False))
        return super().rest()


def span(number: int) -> PartitionSet:
    return PartitionSet.span(ZERO + number * DAY, ZERO + (number + 1) * DAY)


@histories(60)
@given(st.randoms(use_true_random=False), st.integers(3, 30))
def test_partitions_are_computed_from_the_newest_rows_of_their_values_and_no_more(random: Random, steps: int):
    history = History(random)
    for _ in range(steps):
        history.step()
    history.rest()
    computed: dict[str, dict[int, int]] = defaultdict(dict)
    times: Counter[tuple[str, int]] = Counter()
    for each in history.story.entries:
        if isinstance(each.entry, SuccessEntry):
            length = 7 if each.entry.asset == "weekly" else 1
            for partition in history.partitions(each.entry.asset):
                if each.entry.partitions.overlaps(span(partition)):
                    assert each.entry.partitions.covers(PartitionSet.union(span(partition + n) for n in range(length)))
                    computed[each.entry.asset][partition] = each.entry.token
                    times[each.entry.asset, partition] += 1
    for name in ("daily", "weekly"):
        for partition in history.partitions(name):
            needs = history.needed(name, partition)
            assert (partition in computed[name]) == bool(needs & history.ever), f"{name} {partition}"
            if partition in computed[name]:
                assert computed[name][partition] > max(history.changed.get(each, 0) for each in needs)
                assert times[name, partition] <= history.asked[name, partition] or (
                    history.lookback and name == "daily"
                )
    assert set(computed["sums"]) == set(computed["daily"])

"""Random histories of assets that need all, the newest, named or mapped keys of each other, by single partitions."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.instants import Duration
from sparkassets.core.journal.entries import ObservedEntry
from sparkassets.core.partitions import (
    NamedMapping,
    NewestMapping,
    PartitionSet,
    SegmentMatch,
    WholeMapping,
    WindowMapping,
    match_by_column,
)
from sparkassets.core.spec.model import AssetSpec, InletSpec
from sparkassets.core.strategies import DateRange
from tests.builders import Story, asset, days, project, source
from tests.core.planner.test_products import KINDS, History, Partition, partitions_of, set_of
from tests.depth import histories

MAP = SegmentMatch("region", "region", (("de", ("de", "nl")), ("nl", ("nl",)), ("us", ())))


class Mapped(History):
    """With mappings of all kinds."""

    def __init__(self, random: Random) -> None:
        self.there: dict[str, set[Partition]] = {name: set() for name in ("s", "t", "one", "two", "three")}
        super().__init__(random)

    def another(self, name: str, *others: str) -> AssetSpec:
        random = self.random
        names = random.sample(others, random.randint(1, len(others)))
        mappings = [None, WindowMapping.trailing(Duration.parse("2d")), WholeMapping(), NewestMapping()]
        inlets = [InletSpec(each, "", random.choice(mappings)) for each in names]
        strategy = DateRange(max_partitions_per_run=random.choice([1, 2, 5, 1000]))
        return replace(asset(name, *inlets, strategy=strategy), partitioning=random.choice(KINDS))

    def settle_maps(self) -> None:
        """Decides on segments once both sides of every inlet are known."""
        random, assets = self.random, []
        for each in self.story.project.assets.values():
            inlets = {}
            for name, inlet in each.inlets.items():
                down, up = each.partitioning, self.partitioning(name)
                mapping = None if isinstance(inlet.mapping, NewestMapping) and up.time is None else inlet.mapping
                said = [match for match in match_by_column(down, up) if random.random() < 0.7]
                said = [MAP if match.column == "region" and random.random() < 0.6 else match for match in said]
                choices = [None, tuple(said)] if said else [None]
                inlets[name] = replace(inlet, mapping=mapping, matches=random.choice(choices))
                if random.random() < 0.15:
                    some = random.sample(partitions_of(up), 2)
                    parts = PartitionSet.union(set_of(up, partition) for partition in some)
                    inlets[name] = replace(inlet, mapping=NamedMapping(parts), matches=())
            assets.append(replace(each, inlets=inlets))
        self.story = Story(project(*assets), now="2025-01-06")
        self.planner = type(self.planner)(self.story.project)

    def event(self, name: str) -> None:
        spec = self.story.project.assets[name]
        some = self.random.sample(partitions_of(spec.partitioning), self.random.randint(1, 3))
        changed = PartitionSet.union(set_of(spec.partitioning, each) for each in some)
        self.story.add(ObservedEntry(name, spec.uri, changed))
        self.touch(name, some)

    def touch(self, name: str, changed: list[Partition]) -> None:
        self.there[name] |= {*changed}
        super().touch(name, changed)

    def needed(self, consumer: AssetSpec, name: str, partition: Partition) -> list[Partition]:
        inlet, up, down = consumer.inlets[name], self.partitioning(name), consumer.partitioning
        mapping, said = inlet.mapping, inlet.matches
        matches = match_by_column(down, up) if said is None else said
        free = isinstance(mapping, WholeMapping | NewestMapping | NamedMapping)
        timed = up.time is not None and down.time is not None and not free
        if mapping is None or (said is None and not matches and not timed and not free):
            return partitions_of(up)
        back = 2 if isinstance(mapping, WindowMapping) else 1
        own = {each.column: key for each, key in zip(down.segments, partition[0], strict=True)}
        found = []
        for key, day in partitions_of(up, since=-1 if timed else 0):
            theirs = {each.column: value for each, value in zip(up.segments, key, strict=True)}
            fits = all(
                theirs[each.inlet] in (dict(each.keys).get(own[each.column], ()) if each.keys else [own[each.column]])
                for each in matches
            )
            fits = fits and (not isinstance(mapping, NamedMapping) or mapping.parts.covers(set_of(up, (key, day))))
            if fits and (not timed or partition[1] - back < day <= partition[1]):  # type: ignore[operator]
                found.append((key, day))
        if isinstance(mapping, NewestMapping):
            return [each for each in found if each in self.there[name] and not self.later(name, each)]
        return found

    def later(self, name: str, partition: Partition) -> bool:
        """Whether a later one of the same segments is there."""
        return any(key == partition[0] and day > partition[1] for key, day in self.there[name])  # type: ignore[operator]

    def enough(self, consumer: AssetSpec, name: str, partition: Partition) -> bool:
        """Whether what it needs of the inlet is there, or is as much as there can be."""
        inlet, some = consumer.inlets[name], self.needed(consumer, name, partition)
        there, up = self.there[name], self.partitioning(name)
        if isinstance(inlet.mapping, NamedMapping):
            return all(each in there for each in some)
        if isinstance(inlet.mapping, NewestMapping):
            free = replace(consumer, inlets={name: replace(inlet, mapping=WholeMapping())})
            return {key for key, _ in self.needed(free, name, partition)} == {key for key, _ in some}
        if isinstance(inlet.mapping, WholeMapping) and up.time:
            return {key for key, _ in some} == {key for key, day in some if (key, day) in there}
        if up.time and not consumer.partitioning.time:
            return not some or any(each in there for each in some)
        return all(each in there for each in some)

    def tells(self, consumer: AssetSpec, partition: Partition) -> bool:
        """Whether something that is there says that the partition is wanted."""
        dependencies = {name: self.story.project.dependency(consumer, each) for name, each in consumer.inlets.items()}
        mapped = [name for name, each in dependencies.items() if each.is_mapped]
        telling = [name for name in mapped if dependencies[name].tells_time]
        if not telling and consumer.partitioning.time:
            return False
        return any(set(self.needed(consumer, name, partition)) & self.there[name] for name in telling)


@histories(60)
@given(st.randoms(use_true_random=False), st.integers(3, 30))
def test_in_the_end_all_is_computed_from_the_newest_and_no_more(random: Random, steps: int):
    history = Mapped(random)
    history.settle_maps()
    for _ in range(steps):
        history.step()
    history.rest()
    changed, computed, times = history.change_times()
    for name, spec in history.story.project.assets.items():
        for partition in partitions_of(spec.partitioning) if spec.source is None else ():
            causes = {inlet: history.needed(spec, inlet, partition) for inlet in spec.inlets}
            reruns = [(inlet, some) for inlet, some in causes.items() if spec.inlets[inlet].on_update == "rerun"]
            if partition in computed[name]:
                newest = max((changed[inlet].get(each, 0) for inlet, some in reruns for each in some), default=0)
                assert computed[name][partition] > newest, f"{name} {partition} is older than what it needs"
                assert times[name, partition] <= max(1, history.asked[name, partition]), f"{name} {partition} too often"
            elif all(history.enough(spec, inlet, partition) for inlet in spec.inlets):
                assert not history.tells(spec, partition), (
                    f"{name} {partition} has all that it needs and was not computed"
                )


def latest(**more: Any) -> InletSpec:
    return InletSpec("rates", "", NewestMapping(), **more)


def by_region(name: str, *inlets: str | InletSpec, **more: Any) -> AssetSpec:
    return asset(name, *inlets, by=None, segments={"region": ("de", "nl")}, **more)


def pinned(story: Story, name: str) -> list[str]:
    """What the planned run of an asset reads of the rates."""
    (run,) = (run for run in story.plan().runs if run.asset == name)
    return story.keys("rates", run.request.pins["rates"].parts)


def test_the_newest_is_read_and_a_newer_one_is_news():
    story = Story(project(source("rates"), by_region("report", latest())), now="2025-01-10")
    assert story.waits("report") == ["waits for the first partition of rates"]
    story.observed("rates", "2025-01-01..2025-01-03")
    assert (story.due(), pinned(story, "report")) == ({"report": ["de", "nl"]}, ["2025-01-03"])
    story.run_all()
    story.observed("rates", "2025-01-02")
    assert story.due() == {}
    story.observed("rates", "2025-01-03")
    assert (story.due(), pinned(story, "report")) == ({"report": ["de", "nl"]}, ["2025-01-03"])
    story.run_all()
    story.observed("rates", "2025-01-10")  # it counts before it is over
    assert (story.due(), pinned(story, "report")) == ({"report": ["de", "nl"]}, ["2025-01-10"])


def test_where_the_newest_goes_the_one_before_is_read():
    story = Story(project(source("rates"), by_region("report", latest())), now="2025-01-10")
    story.observed("rates", "2025-01-01..2025-01-03")
    story.run_all()
    story.observed("rates", removed=days("2025-01-03"))
    assert (story.due(), pinned(story, "report")) == ({"report": ["de", "nl"]}, ["2025-01-02"])
    story.run_all()
    story.observed("rates", removed=days("2025-01-01"))
    assert story.due() == {}


def test_each_segment_has_its_newest():
    rates = source("rates", segments={"region": ("de", "nl")})
    story = Story(project(rates, by_region("report", latest())), now="2025-01-10")
    story.observed("rates", "2025-01-01..2025-01-03,de")
    assert story.due() == {"report": ["de"]}
    story.observed("rates", "2025-01-02,nl")
    assert (story.due(), pinned(story, "report")) == ({"report": ["de", "nl"]}, ["2025-01-02,nl", "2025-01-03,de"])
    story.run_all()
    story.observed("rates", "2025-01-03,nl")
    assert story.due() == {"report": ["nl"]}


def test_a_time_that_is_ignored_makes_nothing_stale_and_tells_no_partitions():
    spec = asset("sales", "orders", latest(on_update="ignore"))
    story = Story(project(source("rates"), source("orders"), spec), now="2025-01-10")
    story.observed("rates", "2025-01-01")
    assert story.due() == {}
    story.observed("orders", "2025-01-04..2025-01-05")
    assert (story.due(), pinned(story, "sales")) == ({"sales": ["2025-01-04..2025-01-05"]}, ["2025-01-01"])
    story.run_all()
    story.observed("rates", "2025-01-02")
    assert story.due() == {}
    story.observed("orders", "2025-01-05")
    assert (story.due(), pinned(story, "sales")) == ({"sales": ["2025-01-05"]}, ["2025-01-02"])


def test_what_reads_the_newest_waits_for_one_that_comes_first():
    story = Story(project(source("raw"), asset("rates", "raw"), by_region("report", latest())), now="2025-01-10")
    story.observed("raw", "2025-01-01..2025-01-03")
    story.run_all()
    story.observed("raw", "2025-01-02")
    assert story.due() == {"rates": ["2025-01-02"]}
    assert [each for each in story.waits("report") if "first" in each] == []
    story.observed("raw", "2025-01-04")
    assert story.waits("report") == ["waits for rates 2025-01-02, 2025-01-04, which runs first"]
    assert [run.asset for run in story.run_all()] == ["rates", "report"]


def test_all_waits_for_each_segment_and_any_change_makes_all_stale():
    rates = source("rates", segments={"region": ("de", "nl")})
    story = Story(
        project(rates, by_region("report", InletSpec("rates", "", WholeMapping(), matches=()))), now="2025-01-10"
    )
    story.observed("rates", "2025-01-01,de")
    assert story.due() == {}
    story.observed("rates", "2025-01-03,nl")
    assert story.due() == {"report": ["de", "nl"]}
    story.run_all()
    story.observed("rates", "2025-01-01,de")
    assert story.due() == {"report": ["de", "nl"]}

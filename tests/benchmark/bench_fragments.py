"""Fragmented data, every second partition missing: what one fold, plan and answer cost beside half as many ranges.

Each line is CPU time of one process, measured for n and for 2n in turn: a ratio near 2 is linear, near 1 does not grow.
"Beside" is the plain way, where there is one: a look at each partition, or at each entry on its own.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime

from sparkassets.core.instants import Duration
from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.journal.entries import NumberedEntry, ObservedEntry
from sparkassets.core.journal.fold.dispatch import fold
from sparkassets.core.journal.state import State
from sparkassets.core.partitions import (
    Dependency,
    OverlapMapping,
    Partitioning,
    PartitionSet,
    RangeSet,
    TimePartition,
    WindowMapping,
)
from sparkassets.core.planner.explain.explanation import explain_asset
from sparkassets.core.planner.explain.status import asset_status, partition_grid
from sparkassets.core.planner.gates.aligned_inlets import group_by_upstream_runs
from sparkassets.core.planner.planner import make_plan
from sparkassets.core.spec.model import InletSpec
from tests.benchmark.figures import record
from tests.builders import Story, asset, at, project, source, timed

HOUR, DAY = 3600, 86_400
START = at("2000-01-01")
SIZES = (43_800, 87_600)
REPEATS = 3
MOST_GROWTH = 1.1
HOURS, DAYS = Partitioning(TimePartition("hour", "UTC")), Partitioning(TimePartition("day", "UTC"))
TRAILING = WindowMapping.trailing(Duration(seconds=DAY))


def every_second(count: int, size: int = HOUR, *, first: int = 0) -> PartitionSet:
    """``count`` slots, the ones between them missing."""
    return PartitionSet.from_time_pairs(
        (START + (2 * k + first) * size, START + (2 * k + first + 1) * size) for k in range(count)
    )


def numbered(entries: list[ObservedEntry], after: int) -> list[NumberedEntry]:
    """The entries at their places in the journal."""
    when = datetime(2025, 1, 1, tzinfo=UTC)
    return [NumberedEntry(entry, seq, when, "bench") for seq, entry in enumerate(entries, start=after + 1)]


def hourly(count: int) -> Story:
    """A source of that many fragments and an asset of its hours."""
    hours = source("s", by="hour")
    story = Story(project(hours, asset("a", "s", by="hour")), now="2045-01-01")
    story.add(ObservedEntry("s", hours.uri, every_second(count)))
    return story


def observations(story: Story, ranges: PartitionSet) -> list[NumberedEntry]:
    """One for each of the ranges."""
    uri = story.project.assets["s"].uri
    return numbered(
        [ObservedEntry("s", uri, PartitionSet.span(*pair)) for pair in ranges.time.pairs()], story.state.seq
    )


def two_hundred(count: int) -> Callable[[], object]:
    """200 observations, each of a fragment of its own, of a source that has many."""
    story = hourly(count)
    gaps = every_second(count, first=1)
    more = observations(
        story, PartitionSet(RangeSet(gaps.time.starts[:: count // 200], gaps.time.ends[:: count // 200]))
    )
    return lambda: fold(story.state, more, commit=9)


def one_by_one(count: int) -> Callable[[], object]:
    """Observations of every second day from nothing."""
    days = source("s")
    story = Story(project(days, asset("a", "s")), now="2045-01-01")
    more = observations(story, every_second(count // 20, DAY))
    return lambda: fold(story.state, more, commit=9)


def aligned(count: int) -> Callable[[], object]:
    """An hourly asset aligned on a daily one, every second hour of it due."""
    dump = asset("dump", by=None, schedule=timed({"cron": "0 6 * * *", "catchup": "all", "start": "2000-01-01T06:00"}))
    inlet = InletSpec("dump", "", None, aligned=True, on_update="ignore")
    table = asset("table", inlet, by="hour", schedule=timed("0 * * * *"), start=START)
    years = project(dump, table)
    story = Story(years, now="2045-01-01")
    partitions, context = every_second(count // 2), story.context()
    return lambda: group_by_upstream_runs(context, years.assets["table"], partitions)


def gated(count: int, least: int) -> Callable[[], object]:
    """Hours that need some of the 24 before them, where every second day is missing."""
    needs, there = (
        Dependency(WindowMapping.trailing(Duration(seconds=DAY)), HOURS, HOURS),
        every_second(count // 48, DAY),
    )
    partitions = PartitionSet.span(START, START + count * HOUR)
    return lambda: needs.having_enough(partitions, there, least)


def gated_plainly(count: int, least: int) -> Callable[[], object]:
    """The same, partition by partition."""
    needs, there = (
        Dependency(WindowMapping.trailing(Duration(seconds=DAY)), HOURS, HOURS),
        every_second(count // 48, DAY),
    )
    slots = [PartitionSet.span(START + k * HOUR, START + (k + 1) * HOUR) for k in range(count)]
    return lambda: [slot for slot in slots if HOURS.count(needs.required_partitions(slot) & there) >= least]


def arithmetic(count: int) -> Callable[[], object]:
    """Many intervals against a twentieth as many stored ranges: what is missing, both, and all."""
    wanted, stored = every_second(count), every_second(count // 20, 40 * HOUR)
    return lambda: (wanted - stored, wanted & stored, wanted | stored)


def mapped(count: int) -> Callable[[], object]:
    """Fragments of hours mapped to days and back."""
    hours, needs = every_second(count), Dependency(OverlapMapping(), DAYS, HOURS)
    return lambda: needs.required_partitions(needs.affected_partitions(hours))


def of_story(work: Callable[[Story], object]) -> Callable[[int], Callable[[], object]]:
    """A question about a source of many fragments and its consumer."""

    def prepared(count: int) -> Callable[[], object]:
        story = hourly(count)
        return lambda: work(story)

    return prepared


def snapshot(story: Story) -> State:
    """Written and read again."""
    return decode(encode(story.state), journal_id="journal")


WORK: dict[str, Callable[[int], Callable[[], object]]] = {
    "interval arithmetic, n against n/20": arithmetic,
    "mappings: hours to days and back": mapped,
    "fold: 200 observations": two_hundred,
    "fold: n/20 observations, one by one": one_by_one,
    "snapshot, written and read": of_story(snapshot),
    "plan": of_story(lambda story: make_plan(story.context())),
    "explain": of_story(lambda story: explain_asset(story.context(), story.project.assets["a"])),
    "status": of_story(lambda story: [asset_status(story.context(), each) for each in story.project.assets.values()]),
    "partitions": of_story(lambda story: list(partition_grid(story.context(), story.project.assets["a"]))),
    "aligned, hours on days": aligned,
    "require: any": lambda count: gated(count, 1),
    "require: at_least 20": lambda count: gated(count, 20),
}
PLAIN: dict[str, Callable[[int], Callable[[], object]]] = {
    "require: any": lambda count: gated_plainly(count, 1),
    "require: at_least 20": lambda count: gated_plainly(count, 20),
}


def seconds(work: Callable[[], object]) -> float:
    """CPU time of one repetition."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def main() -> None:
    """Prints the table."""
    print(f"{'milliseconds of CPU':<38} {SIZES[0]:>8,} {SIZES[1]:>8,} {'ratio':>6} {'plain':>8}")
    for name, prepare in WORK.items():
        small, large = prepare(SIZES[0]), prepare(SIZES[1])
        pairs = [(seconds(small), seconds(large)) for _ in range(REPEATS)]
        low, high = (statistics.median(each) * 1000 for each in zip(*pairs, strict=True))
        plain = f"{seconds(PLAIN[name](SIZES[1])) * 1000:8.0f}" if name in PLAIN else ""
        print(f"{name:<38} {low:8.1f} {high:8.1f} {high / max(low, 0.001):6.2f} {plain}")
        exponents = [math.log2(max(last, 1e-6) / max(first, 1e-6)) for first, last in pairs]
        what = f"{SIZES[1]:,} fragments: {name}: growth of CPU time"
        limit = "1: every range is visited"
        record(what, statistics.median(exponents), "exponent", spread=exponents, goal=MOST_GROWTH, limit=limit)


if __name__ == "__main__":
    main()

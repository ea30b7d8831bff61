"""One asset of many segments, each with a year of days: the snapshot, one key changed, all keys changed.

Milliseconds of CPU of one process, medians, beside the budgets. The source has the same partitions as the asset.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable

from sparkassets.cli import OBJECTS_BETWEEN_LOOKS
from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.journal.entries import ObservedEntry
from sparkassets.core.partitions import NOTHING, PartitionSet, RangeSet
from sparkassets.core.planner.incremental_planner import IncrementalPlanner
from sparkassets.core.planner.planner import make_plan
from sparkassets.core.strategies import DateRange
from tests.benchmark.figures import record
from tests.builders import Story, asset, project, source

KEYS, DAYS = 100_000, "2024-01-01..2024-12-30"
REPEATS = 3
ONE_KEY = 20
"""Goal in milliseconds after a change of one key."""
FIRST = 200
"""The same of a driver that has not seen the other keys."""
FIRST_HALF = PartitionSet(RangeSet.span(1_704_067_200, 1_719_792_000))

gc.set_threshold(OBJECTS_BETWEEN_LOOKS)  # as the command does


def many(keys: int) -> Story:
    """A source and an asset of its partitions; all of them are there and computed."""
    stores = {"store": [f"customer-{number:06}" for number in range(keys)]}
    every = DateRange(max_partitions_per_run=1_000_000_000)
    story = Story(project(source("s", segments=stores), asset("a", "s", segments=stores, strategy=every)))
    story.observed("s", f"{DAYS},*")
    story.run("a")
    return story


def milliseconds(work: Callable[[], object], *, before: Callable[[], object] = int, repeats: int = REPEATS) -> float:
    """The median of repetitions; what is done ``before`` each is not measured."""
    times = []
    for _ in range(repeats):
        before()
        begin = time.process_time()
        work()
        times.append((time.process_time() - begin) * 1000)
    return statistics.median(times)


def again(story: Story) -> Story:
    """The same with a state that was read."""
    story.state = decode(encode(story.state), journal_id="journal")
    return story


def learned(keys: int) -> Story:
    """The same of segments that come to be known, by time alone where nobody lists them."""
    runtime = {"store": "runtime"}
    every = DateRange(max_partitions_per_run=1_000_000_000)
    story = Story(
        project(source("s", by=None, segments=runtime), asset("a", "s", by=None, segments=runtime, strategy=every))
    )
    always = RangeSet.always()
    known = PartitionSet.by_segment({(f"customer-{number:06}",): always for number in range(keys)})
    story.add(ObservedEntry("s", "x-s", known))
    story.run("a")
    return story


class Changes:
    """Changes of a source and the plans that follow, each from the state in which nothing is due."""

    def __init__(self, story: Story, changed: PartitionSet) -> None:
        self.story, self.kept, self.changed = story, story.state, changed
        self.planner = IncrementalPlanner(story.project)
        self.reset()

    def reset(self) -> None:
        """Nothing is due."""
        self.story.state = self.kept
        assert not self.planner.plan(self.story.context()).runs

    def fold(self) -> None:
        """The change is in the journal."""
        self.story.add(ObservedEntry("s", "x-s", self.changed))

    def plan(self) -> None:
        """What is due of it."""
        (run,) = self.planner.plan(self.story.context()).runs
        assert run.partitions == self.changed

    def both(self) -> None:
        """The change, and what is due of it."""
        self.fold()
        self.plan()


class Fresh(Changes):
    """A segment that is new each time, when those before it were computed."""

    def reset(self) -> None:
        """What came is computed."""
        while runs := self.planner.plan(self.story.context()).runs:
            self.story.succeed("a", self.story.claim(runs[0]))

    def fold(self) -> None:
        """It is in the journal."""
        self.count = getattr(self, "count", 50_000) + 1
        self.changed = PartitionSet.by_segment({(f"customer-{self.count:06}-b",): RangeSet.always()})
        super().fold()


def main() -> None:
    """Prints the table."""
    story = many(KEYS)
    rows = encode(story.state)
    one = story.project.assets["s"].partitioning.parse("2024-05-01,customer-050000")
    half = story.state.assets["a"].coverage & FIRST_HALF
    new = story.project.assets["s"].partitioning.parse("2024-12-31,customer-050000")
    first, another, all_keys = (Changes(story, changed) for changed in (one, new, half))
    runtime = learned(KEYS)
    fresh = Fresh(runtime, NOTHING)
    table = [
        ("the snapshot is written", milliseconds(lambda: encode(story.state)), None),
        ("the snapshot is read", milliseconds(lambda: decode(rows, journal_id="journal")), 1000),
        ("plan from nothing", milliseconds(lambda: make_plan(again(story).context())), None),
        ("one key changed: fold", milliseconds(first.fold, before=first.reset), None),
        ("one key changed: fold and plan", milliseconds(first.both, before=first.reset), ONE_KEY),
        ("one key has a new day: fold and plan", milliseconds(another.both, before=another.reset), ONE_KEY),
        ("a driver's first new key (runtime): fold and plan", milliseconds(fresh.both, repeats=1), FIRST),
        ("one more key is new: fold and plan", milliseconds(fresh.both, before=fresh.reset, repeats=5), ONE_KEY),
        ("all keys changed: fold and plan", milliseconds(all_keys.both, before=all_keys.reset), 2000),
    ]
    print(f"{f'{KEYS:,} keys of a year of days':<40} {'milliseconds':>12}")
    for name, taken, goal in table:
        print(f"{name:<40} {taken:12.1f}")
        if goal is not None:
            limit = "every key is visited" if goal > ONE_KEY else "mappings of all keys are copied"
            record(f"{KEYS:,} segments: {name}", taken, "ms", goal=goal, limit=limit)


if __name__ == "__main__":
    main()

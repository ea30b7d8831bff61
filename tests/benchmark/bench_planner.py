"""Planning with the state in memory: nothing new, and one event in a layered graph.

"cold" plans from nothing, as each start of a driver does; "again" and "one event" are what a driver does from then on.
The figures of cold planning and of sets of ranges are CPU. Beside it the same graph with Dagster's
`evaluate_automation_conditions`, where it is installed, at a tenth of the size.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

from sparkassets.core.journal.codec import from_row
from sparkassets.core.journal.fold.dispatch import fold
from sparkassets.core.partitions import RangeSet
from sparkassets.core.planner.incremental_planner import IncrementalPlanner
from sparkassets.core.planner.plan import Plan
from sparkassets.core.planner.planner import make_plan
from tests.benchmark.figures import record
from tests.builders import Story, asset, project, source

REPEATS = 5
INTERVALS, STORED, RANGES_BUDGET = 87_600, 4_380, 40
DAYS = "2022-04-08..2024-12-31"  # 999 days


def layered(count: int, fan_in: int = 3) -> Story:
    """``count`` daily assets in layers of a tenth, each reading three of the layer before; all up to date."""
    width = max(fan_in, count // 10)
    layers = [[f"s{n}" for n in range(width)]]
    assets = [source(name) for name in layers[0]]
    while len(assets) < count:
        below, layer = layers[-1], []
        for n in range(min(width, count - len(assets))):
            inlets = [below[(n + k * 7) % len(below)] for k in range(fan_in)]
            layer.append(f"a{len(layers)}_{n}")
            assets.append(asset(layer[-1], *dict.fromkeys(inlets)))
        layers.append(layer)
    story = Story(project(*assets))
    for name in layers[0]:
        story.observed(name, DAYS)
    planner = IncrementalPlanner(story.project)
    while runs := planner.plan(story.context()).runs:
        for run in runs:
            story.succeed(run.asset, story.claim(run))
    return story


def cold_plan(count: int) -> Callable[[], Plan]:
    """Plans so many layered assets from nothing, with the state in memory."""
    story = layered(count)
    return lambda: make_plan(story.context())


def measure(
    work: Callable[[], Plan], *, due: bool = False, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Milliseconds of each repetition of ``work``."""
    times = []
    for _ in range(REPEATS):
        begin = clock()
        found = work()
        times.append((clock() - begin) * 1000)
        assert bool(found.runs) is due
    return times


def first_wave(story: Story) -> list[float]:
    """Milliseconds from an event on one root to the plan of what it makes due, with its fold."""
    planner = IncrementalPlanner(story.project)
    planner.plan(story.context())
    kept, times = story.state, []
    for number in range(REPEATS):
        begin = time.perf_counter()
        story.observed(f"s{number}", "2024-12-31")
        found = planner.plan(story.context())
        times.append((time.perf_counter() - begin) * 1000)
        assert found.runs
        story.state = kept
        planner.plan(story.context())
    return times


def dagster(count: int, fan_in: int = 3) -> float | None:
    """Milliseconds of one evaluation of the same graph by Dagster; None where it is not installed."""
    try:
        import dagster as dg
    except ImportError:
        return None
    width = max(fan_in, count // 10)
    days, eager = dg.DailyPartitionsDefinition("2022-04-08"), dg.AutomationCondition.eager()
    layers: list[list[dg.AssetSpec]] = [[dg.AssetSpec(f"s{n}", partitions_def=days) for n in range(width)]]
    made = width
    while made < count:
        below, layer = layers[-1], []
        for n in range(min(width, count - made)):
            needs = dict.fromkeys(below[(n + k * 7) % len(below)].key for k in range(fan_in))
            name = f"a{len(layers)}_{n}"
            layer.append(dg.AssetSpec(name, deps=list(needs), partitions_def=days, automation_condition=eager))
        layers.append(layer)
        made += len(layer)
    definitions = dg.Definitions(assets=[spec for layer in layers for spec in layer])
    instance = dg.DagsterInstance.ephemeral()
    first = dg.evaluate_automation_conditions(definitions, instance)
    begin = time.perf_counter()
    dg.evaluate_automation_conditions(definitions, instance, cursor=first.cursor)
    return (time.perf_counter() - begin) * 1000


def ranges() -> dict[str, list[float]]:
    """By operation milliseconds of CPU: so many hours, each apart, against so many stored stretches of half a day."""
    hours = [(number * 7_200, number * 7_200 + 3_600) for number in range(INTERVALS)]
    stored = RangeSet.from_pairs((number * 144_000 + 1_800, number * 144_000 + 43_200) for number in range(STORED))
    wanted = RangeSet.from_pairs(hours)
    works: dict[str, Callable[[], RangeSet]] = {
        "of pairs, then -": lambda: RangeSet.from_pairs(hours) - stored,
        "-": lambda: wanted - stored,
        "&": lambda: wanted & stored,
        "|": lambda: wanted | stored,
    }
    found: dict[str, list[float]] = {name: [] for name in works}
    for name, work in works.items():
        for _ in range(REPEATS):
            begin = time.process_time()
            work()
            found[name].append((time.process_time() - begin) * 1000)
    return found


def main() -> None:
    """Prints the table."""
    for name, times in ranges().items():
        middle = statistics.median(times)
        what = f"{INTERVALS:,} intervals, {STORED:,} ranges: `{name}`, CPU"
        record(what, middle, "ms", goal=RANGES_BUDGET, limit="every range is visited")
    print(f"{'assets':>7} {'partitions':>12} {'what, ms':>16} {'median':>8} {'spread':>12}")
    for count in (1_000, 10_000):
        story = layered(count)
        planner = IncrementalPlanner(story.project)
        planner.plan(story.context())
        _print(
            count,
            "cold, CPU",
            measure(partial(lambda story: make_plan(story.context()), story), clock=time.process_time),
        )
        again = partial(lambda story, planner: planner.plan(story.context()), story, planner)
        _print(count, "nothing new, again", measure(again))
        one = first_wave(story)
        _print(count, "one event", one)
        record(
            f"{count:,} assets, {count * 999:,} partitions: planned after one event",
            statistics.median(one),
            "ms",
            goal=20,
            limit="the states of all assets are compared by identity",
        )
    small = layered(1_000)
    ours, theirs = statistics.median(measure(lambda: make_plan(small.context()))), dagster(1_000)
    if theirs is None:
        print("Dagster is not installed: pip install dagster")
    else:
        print(f"1,000 assets, nothing new: Dagster {theirs:.0f} ms, ours cold {ours:.0f} ms, {theirs / ours:.0f} x")
    begin = time.perf_counter()
    fold(type(story.state)("journal"), map(from_row, small.rows), commit=1)
    print(f"fold of {len(small.rows):,} rows from nothing: {(time.perf_counter() - begin) * 1000:.0f} ms")


def _print(count: int, what: str, times: list[float]) -> None:
    spread = f"{min(times):.1f}-{max(times):.1f}"
    print(f"{count:>7,} {count * 999:>12,} {what:>18} {statistics.median(times):>8.1f} {spread:>12}")


if __name__ == "__main__":
    main()

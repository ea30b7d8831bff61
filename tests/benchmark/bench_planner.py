"""Planning with the state in memory: nothing new, and one event in a layered graph (DESIGN section 10)."""

from __future__ import annotations

import statistics
import time

from sparkassets.core.journal.fold import fold
from sparkassets.core.journal.rows import JournalRow
from sparkassets.core.planner.planner import plan
from tests.builders import Story, asset, project, source

REPEATS = 7
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
    while runs := story.plan().runs:
        for run in runs:
            story.succeed(run.asset, story.claim(run))
    return story


def measure(story: Story) -> list[float]:
    """Milliseconds of planning with nothing new."""
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        found = plan(story.look())
        times.append((time.perf_counter() - begin) * 1000)
        assert not found.runs
    return times


def main() -> None:
    """Prints the table."""
    print(f"{'assets':>7} {'partitions':>12} {'nothing new, ms':>16} {'spread':>14} {'an asset, µs':>13}")
    for count in (1_000, 10_000):
        story = layered(count)
        times = measure(story)
        middle = statistics.median(times)
        spread = f"{min(times):.0f}-{max(times):.0f}"
        print(f"{count:>7,} {count * 999:>12,} {middle:>16.0f} {spread:>14} {middle * 1000 / count:>13.1f}")
    rows: list[JournalRow] = story.rows
    begin = time.perf_counter()
    fold(type(story.state)("journal"), rows, commit=1)
    print(f"fold of {len(rows):,} entries from nothing: {(time.perf_counter() - begin) * 1000:.0f} ms")


if __name__ == "__main__":
    main()

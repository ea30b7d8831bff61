"""How CPU grows with partitions, segments, events, files and entries of a log: the slope of the logarithms.

That of compiled assets, runs due at once and commits to the journal is measured where these are.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sparkassets.cli import OBJECTS_BETWEEN_LOOKS
from tests.benchmark import bench_events, bench_fragments, bench_keys, bench_planner, bench_sources
from tests.benchmark.figures import record_growth

REPEATS = 3

gc.set_threshold(OBJECTS_BETWEEN_LOOKS)  # as the command does


def main() -> None:
    """Records an exponent for each."""
    sizes = (500, 1_000, 2_000, 4_000)
    record_growth("CPU of planning n assets from nothing", {n: best(bench_planner.cold_plan(n)) for n in sizes})
    sizes = (5_000, 10_000, 20_000, 40_000)
    for name in ("plan", "status"):
        prepare = bench_fragments.WORK[name]
        record_growth(f"CPU of `{name}` with n separate ranges of partitions", {n: best(prepare(n)) for n in sizes})
    record_growth("CPU of folding and planning n changed segments", {n: segments(n) for n in sizes})
    record_growth("CPU of announcing n events and planning what they make due", {n: events(n) for n in sizes})
    sizes = (4_000, 8_000, 16_000, 32_000)
    record_growth("CPU of the first look at n files", {n: files(n) for n in sizes})
    sizes = (500, 1_000, 2_000, 4_000)
    record_growth("CPU of the first look at a Delta source with n log entries", {n: entries(n) for n in sizes})


def best(work: Callable[[], object]) -> float:
    """The smallest seconds of CPU of repetitions."""
    return min(bench_sources.cpu_seconds(work) for _ in range(REPEATS))


def segments(count: int) -> float:
    """All segments of an asset change at once."""
    story = bench_keys.many(count)
    half = story.state.assets["a"].coverage & bench_keys.FIRST_HALF
    changes = bench_keys.Changes(story, half)
    found = []
    for _ in range(REPEATS):
        changes.reset()
        found.append(bench_sources.cpu_seconds(changes.both))
    return min(found)


def events(count: int) -> float:
    """Events come in commits of a fixed size, and an asset runs for each."""
    with tempfile.TemporaryDirectory() as folder:
        project = bench_events.write_project(Path(folder))
        begin = time.process_time()
        bench_events.announce(project, count)
        project.plan()
        return time.process_time() - begin


def files(count: int) -> float:
    """Files of a source that was never looked at."""
    with tempfile.TemporaryDirectory() as folder:
        bench_sources.write_files(Path(folder), count)
        return best(lambda: bench_sources.source(f"{folder}/{{day}}.csv", "csv").look())


def entries(count: int) -> float:
    """A log without a checkpoint."""
    with tempfile.TemporaryDirectory() as folder:
        path = bench_sources.write_log(Path(folder), count)
        return best(lambda: bench_sources.source(path, "delta").look())


if __name__ == "__main__":
    main()

"""The journal as it grows: commits and ticks after 10², 10³ and 10⁴ commits, beside plain `write_deltalake` appends.

Each row is measured half-way between two merges. On a slow machine the last row stops where the time is up, and says
where; plain appends stop early, as theirs grow with every file.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from deltalake import write_deltalake

from sparkassets.core.journal.rows import JournalRow, SnapshotRow
from sparkassets.ports import HistoryQuery
from sparkassets.runtime.driver_work import DueWork
from sparkassets.state.delta_store import DeltaStore
from sparkassets.state.table_columns import JOURNAL_COLUMNS, arrow_table
from tests.benchmark.figures import record
from tests.builders import asset, project, source
from tests.runtime.fakes import World

SIZES = (100, 300, 1_100, 10_100)
PLAIN_AT_MOST = 300
SECONDS = 30.0
SAMPLES = 40
RUNS = 200
SNAPSHOT_EVERY = 200  # as the runtime does
BODY = (
    '{"v": 1, "pins": {"flights": {"seq": 12, "version": 34}}, "measures": {"rows": 842}, "partitions": ["2013-01-05"]}'
)


def row(seq: int) -> JournalRow:
    """An entry as a run writes it."""
    at = datetime.now(UTC)
    return JournalRow(
        seq, at, "host:4711", "success", "daily_delays", None, f"run-{seq}", None, (seq,), (seq + 1,), body=BODY
    )


class Ours:
    """A driver on a store: appends, and the care that the runtime takes."""

    def __init__(self, folder: Path) -> None:
        self.uri = str(folder)
        self.store = DeltaStore(self.uri)
        self.store.create(project="bench")
        self.seq = self.commit = self.commits = 0

    def append(self) -> float:
        """Seconds of one commit, by the caller's clock."""
        rows = [row(self.seq + 1)]
        begin = time.perf_counter()
        self.store.append(rows, after=self.commit)
        took = time.perf_counter() - begin
        self.seq, self.commit, self.commits = self.seq + 1, self.commit + 1, self.commits + 1
        return took

    def care(self) -> float:
        """Seconds of a snapshot and a merge, when they are due."""
        if self.seq % SNAPSHOT_EVERY:
            return 0.0
        begin = time.perf_counter()
        rows = [SnapshotRow(f"a{n}", None, None, self.seq, self.commit, (0,), (self.seq,)) for n in range(100)]
        self.store.save_snapshot(rows, seq=self.seq)
        self.store.maintain()
        took = time.perf_counter() - begin
        self.commit, _ = self.store.read_after(self.seq)
        return took


class Plain:
    """The same rows by `write_deltalake`."""

    def __init__(self, folder: Path) -> None:
        self.uri = str(folder)
        self.seq = 0

    def append(self) -> float:
        """Seconds of one append."""
        self.seq += 1
        table = arrow_table(JOURNAL_COLUMNS, [row(self.seq)])
        begin = time.perf_counter()
        write_deltalake(self.uri, table, mode="append")
        return time.perf_counter() - begin


@dataclass(frozen=True, slots=True)
class Figures:
    """Medians in milliseconds after a number of commits."""

    commits: int
    commit: float
    care: float
    warm: float
    cold: float
    history: float
    plain: float | None


def median(sample: Callable[[], float], *, count: int = SAMPLES) -> float:
    """In milliseconds."""
    return statistics.median(sample() for _ in range(count)) * 1000


def timed(work: Callable[[], object]) -> Callable[[], float]:
    """The seconds that ``work`` takes."""

    def sample() -> float:
        begin = time.perf_counter()
        work()
        return time.perf_counter() - begin

    return sample


def measure(size: int, ours: Ours, plain: Plain, *, until: float) -> Figures:
    """Grows both to ``size`` commits, or as far as the time goes, and samples them in turn."""
    care: list[float] = []
    while ours.commits < size - SAMPLES:
        if time.perf_counter() > until and ours.commits % SNAPSHOT_EVERY == SNAPSHOT_EVERY // 2 - SAMPLES:
            break
        ours.append()
        care.append(ours.care())
    while plain.seq < min(size, PLAIN_AT_MOST) - SAMPLES:
        plain.append()
    by_ours, by_plain = [], []
    for _ in range(SAMPLES):
        by_ours.append(ours.append())
        if size <= PLAIN_AT_MOST:
            by_plain.append(plain.append())
        care.append(ours.care())
    return Figures(
        commits=ours.commits,
        commit=statistics.median(by_ours) * 1000,
        care=statistics.fmean(care) * 1000,
        warm=median(timed(lambda: ours.store.read_after(ours.seq))),
        cold=median(timed(lambda: DeltaStore(ours.uri).read_image(project="bench")), count=15),
        history=median(timed(lambda: ours.store.read_history(HistoryQuery(last=20))), count=15),
        plain=statistics.median(by_plain) * 1000 if by_plain else None,
    )


def shared_commits(folder: Path) -> str:
    """In how many commits as many runs as may run at once are claimed and recorded."""
    names = [f"a{number}" for number in range(RUNS)]
    assets = (asset(name, "s", by=None) for name in names)
    store, commits = DeltaStore(str(folder)), Counter[str]()
    store.create(project="test")
    world = World(project(source("s", by=None), *assets, max_parallel_runs=RUNS), store)
    world.tell("s")
    append = store.append

    def counting(rows: Sequence[JournalRow], *, after: int) -> None:
        append(rows, after=after)
        commits.update({row.kind for row in rows})

    store.append = counting  # type: ignore[method-assign]
    assert len(world.driver().run_works([DueWork()]).runs) == RUNS
    return f"{RUNS} runs: claimed in {commits['claim']} commits, recorded in {commits['success']} (budget 4 each)"


def main() -> None:
    """Prints the tables."""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        print(shared_commits(Path(folder) / "shared"))
        ours, plain = Ours(Path(folder) / "ours"), Plain(Path(folder) / "plain")
        ours.append()  # imports
        plain.append()
        print("medians in ms      commit   care per  tick with  tick from  history  write_   ratio")
        print("after commits               commit    no news    nothing    last=20  deltalake")
        rows = [measure(size, ours, plain, until=begin + SECONDS) for size in SIZES]
        for figures in rows:
            beside = (
                f"{figures.plain:9.1f} {figures.commit / figures.plain:7.2f}" if figures.plain else f"{'-':>9} {'-':>7}"
            )
            print(
                f"{figures.commits:>12,} {figures.commit:12.2f} {figures.care:9.2f} {figures.warm:10.2f} "
                f"{figures.cold:10.2f} {figures.history:8.2f} {beside}"
            )
        *_, first, last = rows
        against = f"after {first.commits:,}"
        record("a commit to the journal", last.commit, "ms", limit="two files are written and synced")
        for what, growth in (
            ("a commit", last.commit / first.commit),
            ("a tick with no news", last.warm / first.warm),
            ("a driver's first tick", last.cold / first.cold),
        ):
            limit = "1: old commits are in a snapshot and a checkpoint"
            record(f"{what}, after {last.commits:,} commits", growth, "x", against=against, goal=1.5, limit=limit)


if __name__ == "__main__":
    main()

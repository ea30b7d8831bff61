"""A loop that runs for months holds its memory, and its state does not grow: a simulated clock, all else is real."""

from __future__ import annotations

import time

import pytest

from sparkassets.features.telemetry.run_logs import LOGS_KEPT
from tests.runtime.year import MONTH, Size, measured

MEGABYTE = 2**20
DAILY = 1_000
"""Characters by which what is known may grow in a day: which days failed, and of which the files are gone."""


def test_two_months(tmp_path):
    before, after = measured(tmp_path, [MONTH, 2 * MONTH], hours=48, in_memory=True)
    assert after.ticks == 2 * MONTH * 24 // 48
    assert min(after.runs["success"], after.runs["failed"]) >= MONTH
    held(before, after)


@pytest.mark.deep
@pytest.mark.timeout(7200)
def test_a_year(tmp_path, capsys):
    began = time.monotonic()
    found = measured(tmp_path, [MONTH * month for month in range(1, 13)], hours=4, in_memory=False)
    newest = found[-1]
    with capsys.disabled():
        done = f"{newest.ticks:,} ticks, {sum(newest.runs.values()):,} runs, {time.monotonic() - began:.0f} s"
        head = "  day  resident MB  objects  cached  state files  state kB  rows  known kB  entries  logs"
        print("", done, head, *(f"{size.day:5}  {size.text}" for size in found), sep="\n")  # noqa: T201  its figures
    for later in found[3:]:
        held(found[1], later)


def held(before: Size, after: Size) -> None:
    """Nothing has grown but for what a few months of partitions and chance make."""
    assert after.unbounded == before.unbounded
    assert after.objects < 1.05 * before.objects, after.grown_since(before)
    assert after.resident < before.resident + 64 * MEGABYTE
    assert after.known < before.known + DAILY * (after.day - before.day)
    assert after.state_files <= 1.5 * before.state_files
    assert after.state_bytes < 16 * MEGABYTE  # snapshots are swept by the hundred
    assert after.rows <= before.rows
    assert after.entries < 1.3 * before.entries
    assert after.logs <= LOGS_KEPT

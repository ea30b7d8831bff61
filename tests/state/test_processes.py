"""Several drivers on one state, as real processes: nothing is lost, nothing is there twice, whoever is killed when."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sparkassets.state.delta_store import DeltaStore
from tests.depth import COUNT, USUAL, deep

TURNS = 4 if COUNT > USUAL else 2
SCRIPT = Path(__file__).with_name("worker.py")


@pytest.fixture
def state(tmp_path) -> str:
    DeltaStore(str(tmp_path / "state")).create(project="p")
    return str(tmp_path / "state")


class Worker:
    """A driver in a process of its own; what it acknowledges goes to a file, where no kill can lose it."""

    def __init__(self, verb: str, state: str, name: str = "worker", count: int = 0) -> None:
        self.said = Path(state).with_name(f"{verb}-{name}.txt")
        with self.said.open("w") as out:
            self.process = subprocess.Popen(
                [sys.executable, str(SCRIPT), verb, state, name, str(count)], stdout=out, stderr=subprocess.PIPE
            )

    def acknowledged(self) -> list[str]:
        return [line.rstrip("\n") for line in self.said.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def at_work(self) -> Worker:
        while not self.said.stat().st_size:
            assert self.process.poll() is None, self.process.communicate()[1].decode()
            time.sleep(0.005)
        return self

    def finish(self) -> list[str]:
        _, err = self.process.communicate(timeout=300)
        assert self.process.returncode == 0, err.decode()
        return self.acknowledged()

    def kill(self) -> list[str]:
        assert self.process.poll() is None, self.process.communicate()[1].decode()
        self.process.kill()
        self.process.communicate()
        return self.acknowledged()


def check(state: str, acknowledged: list[str], *, unacknowledged: int = 0) -> None:
    """The journal has no gap and no double, holds all that was acknowledged, and hardly more."""
    store = DeltaStore(state)
    rows = store.read_history()
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    runs = [row.run for row in rows]
    assert len(set(runs)) == len(runs)
    assert set(acknowledged) <= set(runs)
    assert len(runs) <= len(acknowledged) + unacknowledged
    image = store.read_image(project="p")
    assert image.snapshot_seq + len(image.tail) == len(rows)
    assert all(row.seq == image.snapshot_seq for row in image.snapshot)


def test_several_that_create_at_once(tmp_path):
    state = str(tmp_path / "state")
    workers = [Worker("create", state, str(number), 1).at_work() for number in range(4)]
    (tmp_path / "go").touch()
    for worker in workers:
        worker.finish()
    for table in ("journal", "watermarks"):
        assert [each.name for each in (tmp_path / "state" / table / "_delta_log").glob("*.json")] == [f"{0:020}.json"]
    image = DeltaStore(state).read_image(project="p")
    assert (image.commit, image.snapshot_seq) == (0, 0)
    DeltaStore(state).maintain()


def test_four_that_append_while_two_others_merge(state):
    watcher = DeltaStore(state)
    watcher.read_image(project="p")
    merging = [Worker("maintain", state, str(number)) for number in range(2)]
    appending = [Worker("append", state, f"driver{number}", 12) for number in range(4)]
    acknowledged = [run for worker in appending for run in worker.finish()]
    for worker in merging:
        worker.kill()
    assert len(acknowledged) == 48
    check(state, acknowledged)
    commit, rows = watcher.read_after(0)
    assert [row.seq for row in rows] == list(range(1, 49))
    watcher.maintain()
    assert watcher.read_after(0)[1] == rows
    assert watcher.read_after(48)[0] >= commit


@pytest.mark.parametrize("seed", [1, deep(2)])
def test_drivers_killed_at_any_moment(state, seed):
    moments = random.Random(seed)  # noqa: S311  moments to kill at are no secret
    survivor = DeltaStore(state)
    acknowledged: list[str] = []
    killed = 0
    for turn in range(TURNS):
        workers = [Worker("live", state, f"{turn}-{number}") for number in range(2)]
        for worker in workers:
            worker.at_work()
        time.sleep(moments.uniform(0.0, 0.4))
        for worker in workers:
            acknowledged += worker.kill()
            killed += 1
        check(state, acknowledged, unacknowledged=killed)
        commit, rows = survivor.read_after(0)
        assert {row.run for row in rows} >= set(acknowledged)
        survivor.maintain()
        assert survivor.read_after(0)[1] == rows
        assert commit >= len(rows)
    acknowledged += Worker("append", state, "last", 20).finish()
    check(state, acknowledged, unacknowledged=killed)

"""A disk that is full after any number of bytes: one line says so, and where there is room again all goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import json, resource, sys
sys.dont_write_bytecode = True  # a compiled module that is cut short breaks whoever imports it next
from datetime import UTC, datetime
from sparkassets.core.journal.rows import JournalRow, SnapshotRow
from sparkassets.errors import JournalConflictError, StateError
from sparkassets.state.delta_store import DeltaStore

AT = datetime(2025, 3, 21, tzinfo=UTC)
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
told, done = [], 0


def work(place):
    store = DeltaStore(place)
    store.create(project="p")
    while True:
        image = store.read_image(project="p")
        seq = max([image.snapshot_seq, *(row.seq for row in image.tail)])
        store.append([JournalRow(seq + 1, AT, "d", "event", body="x" * 50)], after=image.commit)
        store.save_snapshot([SnapshotRow("a", None, None, seq + 1, 1)], seq=seq + 1)
        store.maintain()
        if seq % 20 == 19:
            return


for limit in (0, 1, 300, 600, 900, 1200, 1500, 2000, 2500, 3000, 4000, 5000, 6000, 8000, 10000, 12000, 16000, 1 << 20):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most))
    try:
        work(sys.argv[1])
        done += 1
    except StateError as error:
        told.append(str(error))
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
store = DeltaStore(sys.argv[1])
print(json.dumps([told, done, [row.seq for row in store.read_history()], store.read_image(project="p").snapshot_seq]))
"""


@pytest.fixture(scope="module")
def answers_of_full_disk(tmp_path_factory):
    place = tmp_path_factory.mktemp("full") / "state"
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(place)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return (Path(place), *json.loads(done.stdout))


def test_each_time_it_is_said_in_one_line(answers_of_full_disk):
    place, errors, done, _, _ = answers_of_full_disk
    assert done >= 1
    assert len(errors) >= 5
    for error in errors:
        said, hint = error.splitlines()
        assert said.startswith(f"cannot write to the table {place}/")
        assert "File too large" in said
        assert hint == "  hint: free some space and start again; nothing was changed"


def test_nothing_is_lost_or_doubled(answers_of_full_disk):
    _, _, done, seqs, snapshot = answers_of_full_disk
    assert seqs == list(range(1, len(seqs) + 1))
    assert len(seqs) >= 20 * done
    assert snapshot == len(seqs)

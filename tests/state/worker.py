"""A driver as a process of its own, for tests that race and kill: ``worker.py VERB STATE NAME COUNT``.

Each append that returned is acknowledged by a line on stdout, so that whoever killed this process knows what must be
in the journal.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from sparkassets.core.journal.rows import JournalRow, SnapshotRow
from sparkassets.errors import JournalConflictError
from sparkassets.ports import HistoryQuery
from sparkassets.state.delta_store import DeltaStore


def append(store: DeltaStore, run: str) -> None:
    """One entry by compare-and-set: what a driver does."""
    seq, after = 0, 0
    while True:
        after, rows = store.read_after(seq)
        seq = rows[-1].seq if rows else seq
        try:
            store.append([JournalRow(seq + 1, datetime.now(UTC), "worker", "event", run=run)], after=after)
        except JournalConflictError:
            continue
        sys.stdout.write(f"{run}\n")
        sys.stdout.flush()
        return


def snapshot(store: DeltaStore) -> None:
    """A snapshot of what this process sees."""
    newest = store.read_history(HistoryQuery(last=1))
    if newest:
        seq = newest[0].seq
        store.save_snapshot([SnapshotRow("a", None, None, seq, store.read_after(seq)[0])], seq=seq)


def main(verb: str, state: str, name: str, times: str) -> None:
    store = DeltaStore(state)
    steps = range(int(times)) if int(times) else count()
    if verb == "create":
        store.exists()  # all that is slow at first
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while not Path(state).with_name("go").exists():
            pass
        store.create(project="p")
    if verb == "append":
        for step in steps:
            append(store, f"{name}-{step}")
    if verb == "maintain":
        for _ in steps:
            store.maintain()
            snapshot(store)
    if verb == "live":
        for step in steps:
            append(store, f"{name}-{step}")
            if step % 5 == 0:
                store.maintain()
                snapshot(store)


if __name__ == "__main__":
    main(*sys.argv[1:])

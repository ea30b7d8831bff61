"""What would otherwise grow without bound: the log since its last checkpoint, log entries, files nobody refers to."""

from __future__ import annotations

import json
import re
from contextlib import suppress

from sparkassets.errors import StateError
from sparkassets.state import refusals
from sparkassets.state.data_files import milliseconds
from sparkassets.state.numbered_table import LOG_KEPT, NumberedTable

CHECKPOINT_EVERY = 20
"""Versions between two checkpoints: what a cold reader has to replay."""

TIDY_EVERY = 100
"""Versions between two clean-ups."""

_RETENTION_MILLISECONDS = 3_600_000
_ENTRY = re.compile(r"(\d{20})\.(?:json|checkpoint.*\.parquet)")


def checkpoint(table: NumberedTable) -> None:
    """Writes a checkpoint when the last one is ``CHECKPOINT_EVERY`` versions old."""
    if table.version - _last_checkpoint(table) >= CHECKPOINT_EVERY:
        table.checkpoint()


def checkpoint_after_commit(table: NumberedTable) -> None:
    """A checkpoint when it is this commit's turn; when that fails the commit stands, and a later one makes it."""
    with suppress(StateError):
        if table.version % CHECKPOINT_EVERY == 0:
            checkpoint(table)


def tidy_when_due(table: NumberedTable, *, fully: bool = False) -> None:
    """A checkpoint when it is due; a clean-up when this process saw the version pass a multiple of ``TIDY_EVERY``.

    A process that is killed in between leaves that to whoever sees the next multiple. ``fully`` cleans up now.
    """
    checkpoint(table)
    if fully or table.version // TIDY_EVERY > (table.watched_from or 0) // TIDY_EVERY:
        clean_up(table)
        table.watched_from = table.version


def clean_up(table: NumberedTable) -> None:
    """Deletes the log entries that no reader needs and the files that no version of the last hour refers to.

    Raises:
        StateError: The storage refuses.
    """
    with refusals.translate_write_errors(table.uri):
        _delete_old_entries(table)
        _delete_unreferenced(table)


def _last_checkpoint(table: NumberedTable) -> int:
    try:
        return int(json.loads(table.files.read_bytes("_delta_log/_last_checkpoint"))["version"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return 0  # none yet, or a broken hint, which the next checkpoint replaces


def _delete_old_entries(table: NumberedTable) -> None:
    """Keeps the newest checkpoint that is ``LOG_KEPT`` versions old, and everything after it.

    By count, not by age as Delta does it: the time of a commit grows with the entries in the folder (3 ms at 300 of
    them, 10 ms at 2,000), however young they are. A writer that sleeps through so many versions finds the entry that
    its own would follow gone and cannot commit (tried); a reader starts again from the newest checkpoint.
    """
    entries = {
        name: int(found[1]) for name in table.files.list_names("_delta_log") if (found := _ENTRY.fullmatch(name))
    }
    checkpoints = [version for name, version in entries.items() if name.endswith(".parquet")]
    keep_from = max((version for version in checkpoints if version <= table.version - LOG_KEPT), default=0)
    old = sorted(name for name, version in entries.items() if version < keep_from)
    table.files.delete([f"_delta_log/{name}" for name in old])


def _delete_unreferenced(table: NumberedTable) -> None:
    """Deletes what merges and snapshots left behind, and what killed processes wrote and never committed.

    Only files an hour older than the newest commit: whoever wrote one of them and is still about to commit it loaded
    a version before that commit, and fails.
    """
    newest = max((file.modified for file in table.live_files()), default=0)
    before = min(newest, milliseconds()) - _RETENTION_MILLISECONDS
    written = table.files.modification_times(table.list_unreferenced_files())
    table.files.delete([path for path, at in written.items() if at < before])

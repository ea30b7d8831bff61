"""Entries that are let go of: files of nothing newer leave the table, and one may be written anew without them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from sparkassets.state.compaction import level_of_path, level_prefix
from sparkassets.state.data_files import DataFile
from sparkassets.state.file_replacement import commit_replacement, replace_files
from sparkassets.state.numbered_table import TRIES, NumberedTable

if TYPE_CHECKING:
    import pyarrow as pa


def expire(journal: NumberedTable, *, up_to: int) -> None:
    """Takes the entries up to ``up_to`` out of the journal's newest version; the files go an hour later, as others do.

    One commit for the files that hold nothing else, and one for each that holds newer entries, too. What others merge
    meanwhile is looked at anew; what is left over after many such is for the next time.
    """
    journal.refresh()
    for _ in range(TRIES):
        old = [file for file in journal.live_files() if file.last_seq is not None and file.last_seq <= up_to]
        if not old or commit_replacement(journal, [], old, begun=time.time(), data_change=True):
            break
    for _ in range(TRIES):
        file = _oldest_file(journal, up_to)
        if file is None:
            return
        level = level_prefix(level_of_path(file.path))
        replace_files(journal, [file], partial(_rows_after, up_to=up_to), name=level, data_change=True)
        journal.refresh()


def _oldest_file(journal: NumberedTable, up_to: int) -> DataFile | None:
    """A file with such entries; one without statistics may have some."""
    if journal.oldest_seq > up_to:
        return None
    return next(file for file in journal.live_files() if file.first_seq is None or file.first_seq <= up_to)


def _rows_after(tables: Sequence[pa.Table], *, up_to: int) -> pa.Table | None:
    import pyarrow.compute as pc

    left = tables[0].filter(pc.field("seq") > up_to)
    return left if left.num_rows else None

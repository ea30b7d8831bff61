"""Levelled compaction of the journal: sixteen files of a level become one of the next.

So live files grow with the logarithm of the commits, and each row is written again once a level. By hand, because
deltalake's `optimize.compact()` doubles rows when two processes run it at once (docs/design/journal.md#growth).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sparkassets.state.data_files import DataFile
from sparkassets.state.file_replacement import check_files, replace_files
from sparkassets.state.numbered_table import NumberedTable

if TYPE_CHECKING:
    import pyarrow as pa

FAN_IN = 16
_AT_REST_BYTES = 16 * 2**20
"""Files of this size are left alone: merging more of them would save little and need much memory."""

_NAME = re.compile(r"level-(\d+)-")


def level_prefix(level: int) -> str:
    """The beginning of the names of files of a level; commits write level 0."""
    return f"level-{level}"


def compact(journal: NumberedTable, *, least: int = FAN_IN) -> int:
    """Merges until no level has ``least`` files; returns how many merged files were committed."""
    done = 0
    journal.refresh()
    check_files(journal)
    while (full := _full_level(journal.live_files(), least)) is not None:
        level, inputs = full
        if not _merge(journal, inputs, level=level):
            break
        done += 1
    return done


def _full_level(files: Sequence[DataFile], least: int) -> tuple[int, Sequence[DataFile]] | None:
    """The lowest level that is full, and its oldest files: the rows of a level follow each other without a gap."""
    levels: dict[int, list[DataFile]] = defaultdict(list)
    for file in files:
        if file.size < _AT_REST_BYTES:
            levels[level_of_path(file.path)].append(file)
    return next(((level, levels[level][:FAN_IN]) for level in sorted(levels) if len(levels[level]) >= least), None)


def level_of_path(path: str) -> int:
    """The level that a file's name tells."""
    found = _NAME.match(path)
    return int(found[1]) if found else 0  # what another program wrote


def _merge(journal: NumberedTable, inputs: Sequence[DataFile], *, level: int) -> bool:
    """Commits one file in place of these; False when another driver was first with one of them."""
    import pyarrow as pa

    def merge_tables(tables: Sequence[pa.Table]) -> pa.Table:
        return pa.concat_tables(tables).sort_by("seq")

    return replace_files(journal, inputs, merge_tables, name=level_prefix(level + 1))

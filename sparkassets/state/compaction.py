"""Levelled compaction of the journal: sixteen files of a level become one of the next.

So live files grow with the logarithm of the commits, and each row is written again once a level. By hand, because
deltalake's `optimize.compact()` doubles rows when two processes run it at once (DESIGN section 8).
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from deltalake.transaction import AddAction

from sparkassets.state import refusals
from sparkassets.state.columns import arrow_table
from sparkassets.state.files import DataFile, milliseconds
from sparkassets.state.numbered import NumberedTable

if TYPE_CHECKING:
    import pyarrow as pa

FAN_IN = 16
_AT_REST_BYTES = 16 * 2**20
"""Files of this size are left alone: merging more of them would save little and need much memory."""
_FRESH_SECONDS = 600.0
"""How old a merged file may be when it is committed: unreferenced ones are deleted after an hour."""

_NAME = re.compile(r"level-(\d+)-")


def name(level: int) -> str:
    """The beginning of the names of files of a level; commits write level 0."""
    return f"level-{level}"


def compact(journal: NumberedTable) -> int:
    """Merges until no level is full; returns how many merged files were committed.

    Each is a commit under the journal's next number, so that drivers and compactions exclude each other like drivers.
    """
    done = 0
    journal.refresh()
    while (full := _full_level(journal.live_files())) is not None:
        level, inputs = full
        if not _merge(journal, inputs, level=level):
            break
        done += 1
    return done


def _full_level(files: Sequence[DataFile]) -> tuple[int, Sequence[DataFile]] | None:
    """The lowest level that is full, and its oldest files: the rows of a level follow each other without a gap."""
    levels: dict[int, list[DataFile]] = defaultdict(list)
    for file in files:
        if file.size < _AT_REST_BYTES:
            levels[_level(file.path)].append(file)
    return next(((level, levels[level][:FAN_IN]) for level in sorted(levels) if len(levels[level]) >= FAN_IN), None)


def _level(path: str) -> int:
    found = _NAME.match(path)
    return int(found[1]) if found else 0  # what another program wrote


def _merge(journal: NumberedTable, inputs: Sequence[DataFile], *, level: int) -> bool:
    """Writes the merged file and commits it; False when another driver was first with one of the inputs."""
    import pyarrow as pa

    schema = arrow_table(journal.columns, []).schema
    try:
        merged = pa.concat_tables([_read(journal, file.path, schema=schema) for file in inputs])
    except FileNotFoundError:
        return False  # another driver merged them an hour ago; damage is for readers to find
    except (OSError, ValueError) as error:
        raise refusals.unreadable(journal.uri, error) from error
    with refusals.writing(journal.uri):
        written = journal.files.write(merged.sort_by("seq"), name=name(level + 1), data_change=False)
    begun = time.time()
    if _commit(journal, written, inputs, begun=begun):
        return True
    journal.files.delete([written.path])
    return False


def _read(journal: NumberedTable, path: str, *, schema: pa.Schema) -> pa.Table:
    """A file as this release would have written it; another program's may differ in what is nullable, for one."""
    return journal.files.read_table(path).select(schema.names).cast(schema)


def _commit(journal: NumberedTable, merged: AddAction, inputs: Sequence[DataFile], *, begun: float) -> bool:
    paths = {file.path for file in inputs}
    while time.time() - begun < _FRESH_SECONDS:
        with journal.lock:
            journal.refresh()
            if not paths <= {file.path for file in journal.live_files()}:
                return False
            now = milliseconds()
            if journal.commit([merged], number=journal.number + 1, removes=[file.remove(at=now) for file in inputs]):
                return True
    return False

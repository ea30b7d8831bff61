"""Files of the journal in place of others, in one commit under its next number: merged, shortened or written anew.

So drivers and whoever cares for the journal exclude each other like drivers do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from deltalake.transaction import AddAction

from sparkassets.state import refusals
from sparkassets.state.data_files import DataFile, milliseconds
from sparkassets.state.numbered_table import NumberedTable
from sparkassets.state.table_columns import arrow_table

if TYPE_CHECKING:
    import pyarrow as pa

_FRESH_SECONDS = 600.0
"""How old a written file may be when it is committed: unreferenced ones are deleted after an hour."""


def replace_files(
    journal: NumberedTable,
    inputs: Sequence[DataFile],
    make: Callable[[Sequence[pa.Table]], pa.Table | None],
    *,
    name: str,
    data_change: bool = False,
) -> bool:
    """Commits the file that ``make`` makes of the rows of ``inputs``, or none; False when another was first with one.

    Args:
        journal: Whose.
        inputs: Live files.
        make: Given each one's rows; None for no rows.
        name: The beginning of the new file's name.
        data_change: Whether rows are others than before.

    Raises:
        StateError: A file is broken, or cannot be written.
    """
    try:
        rows = make([read_file(journal, file.path) for file in inputs])
    except FileNotFoundError:
        check_files(journal)
        return False  # another driver replaced it an hour ago
    except (OSError, ValueError) as error:
        raise refusals.unreadable_error(journal.uri, error) from error
    begun, written = time.time(), list[AddAction]()
    if rows is not None:
        with refusals.translate_write_errors(journal.uri):
            written.append(journal.files.write(rows, name=name, data_change=data_change))
        _check_written(journal, written[0].path, rows)
    if commit_replacement(journal, written, inputs, begun=begun, data_change=data_change):
        return True
    journal.files.delete([each.path for each in written])
    return False


def check_files(journal: NumberedTable) -> None:
    """Looks whether every live file is there, by one listing.

    Raises:
        StateError: A file is missing.
    """
    for look in range(2):  # what another driver replaced is missing at the first look only
        try:
            there = set(journal.files.list_names(""))
        except OSError as error:
            raise refusals.unreadable_error(journal.uri, error) from error
        missing = [file.path for file in journal.live_files() if file.path not in there]
        if not missing:
            return
        if not look:
            journal.refresh()
    repair = "restore it from a backup; `sparkassets state verify` lists all that is missing"
    raise refusals.damaged_error(journal.uri, f"its file {missing[0]} is missing", repair=repair)


def read_file(journal: NumberedTable, path: str) -> pa.Table:
    """A file as this release would have written it; another program's may differ in what is nullable, for one."""
    schema = arrow_table(journal.columns, []).schema
    return journal.files.read_table(path).select(schema.names).cast(schema)


def commit_replacement(
    journal: NumberedTable,
    written: Sequence[AddAction],
    inputs: Sequence[DataFile],
    *,
    begun: float,
    data_change: bool = False,
) -> bool:
    """Commits the written files in place of the inputs; False when one of these is not live any more."""
    paths = {file.path for file in inputs}
    while time.time() - begun < _FRESH_SECONDS:
        with journal.lock:
            journal.refresh()
            if not paths <= {file.path for file in journal.live_files()}:
                return False
            now = milliseconds()
            removes = [file.remove(at=now, data_change=data_change) for file in inputs]
            if journal.commit(written, number=journal.number + 1, removes=removes):
                return True
    return False


def _check_written(journal: NumberedTable, path: str, rows: pa.Table) -> None:
    """What takes the place of other files is read before they go.

    Raises:
        StateError: It is not what was written.
    """
    if not journal.files.read_table(path).cast(rows.schema).equals(rows):
        journal.files.delete([path])
        raise refusals.unwritable_error(journal.uri, OSError(f"{path} holds something else than was written"))

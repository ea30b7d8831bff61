"""Searches the journal's rows by their fields, from the newest file back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sparkassets.core.journal.rows import JournalRow
from sparkassets.ports import HistoryQuery
from sparkassets.state.data_files import DataFile
from sparkassets.state.numbered_table import NumberedTable
from sparkassets.state.table_columns import JOURNAL_COLUMNS, rows_from_table

_FILTERED_LOOK_ROWS = 500
"""How many rows are read first for the newest few that pass a filter."""
_GROWTH = 4


def find_rows(journal: NumberedTable, query: HistoryQuery) -> Sequence[JournalRow]:
    """Matching rows, ascending by ``seq``; with ``last`` only the newest so many, which leaves older files unread."""
    filters = [f"seq > {query.after_seq}"]
    if query.up_to_seq is not None:
        filters.append(f"seq <= {query.up_to_seq}")
    for column, values in query.allowed_values.items():
        if not values:
            return ()  # no value is allowed, so no row matches
        literals = [_literal(value) for value in values]
        filters.append(f"{column} = {literals[0]}" if len(literals) == 1 else f"{column} IN ({', '.join(literals)})")
    if query.last is None:
        return _scan(journal, filters)
    rows: list[JournalRow] = []
    below = None
    # with other filters few rows of a part match, so the first part is not cut to the wanted number
    first_look = query.last if len(filters) == 1 else max(query.last, _FILTERED_LOOK_ROWS)
    for start in _part_starts(journal.live_files(), after_seq=query.after_seq, at_least=first_look):
        part = [*filters, f"seq >= {start}"] + ([f"seq < {below}"] if below is not None else [])
        rows = [*_scan(journal, part), *rows]
        if len(rows) >= query.last:
            break
        below = start
    return rows[max(0, len(rows) - query.last) :]


def _part_starts(files: Sequence[DataFile], *, after_seq: int, at_least: int) -> Iterator[int]:
    """First entries of ever longer parts of the journal, the newest part first, ending with ``after_seq + 1``.

    The first part has at least ``at_least`` rows. Parts end where files end, so that no file is read twice; files hold
    consecutive entries.
    """
    rows_in_part = 0
    for file in reversed(files):
        if file.first_seq is None or file.first_seq <= after_seq:
            break
        rows_in_part += file.count or 0
        if rows_in_part >= at_least:
            yield file.first_seq
            at_least, rows_in_part = at_least * _GROWTH, 0
    yield after_seq + 1


def _scan(journal: NumberedTable, filters: Sequence[str]) -> list[JournalRow]:
    return rows_from_table(JOURNAL_COLUMNS, journal.scan(" AND ".join(filters)), JournalRow)


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"

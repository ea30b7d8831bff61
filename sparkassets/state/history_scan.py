"""Searches the journal's rows by their fields, from the newest file back."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from sparkassets.core.journal.codec.rows import JournalRow
from sparkassets.state.data_files import DataFile
from sparkassets.state.numbered_table import NumberedTable
from sparkassets.state.table_columns import JOURNAL_COLUMNS, rows_from_table

_FILTERED_LOOK_ROWS = 500
"""How many rows are read first for the newest few that pass a filter."""
_GROWTH = 4


def find_rows(
    journal: NumberedTable,
    *,
    kinds: Sequence[str] | None,
    asset: str | None,
    uri: str | None,
    run: str | None,
    ids: Collection[str] | None,
    between: tuple[int, int | None],
    last: int | None,
) -> Sequence[JournalRow]:
    """Matching rows, ascending by ``seq``; with ``last`` only the newest so many, which leaves older files unread.

    ``between`` selects rows after the first number, up to the second.
    """
    after_seq, up_to_seq = between
    wanted = [f"seq > {after_seq}"] + ([f"seq <= {up_to_seq}"] if up_to_seq is not None else [])
    for column, among in (("kind", kinds), ("id", ids)):
        if among is None:
            continue
        if not among:
            return ()
        wanted.append(f"{column} IN ({', '.join(map(_literal, among))})")
    named = {"asset": asset, "uri": uri, "run": run}
    wanted += [f"{column} = {_literal(value)}" for column, value in named.items() if value is not None]
    if last is None:
        return _scan(journal, wanted)
    found: list[JournalRow] = []
    below = None
    first_look = last if len(wanted) == 1 else max(last, _FILTERED_LOOK_ROWS)
    for start in _part_starts(journal.live_files(), after_seq=after_seq, at_least=first_look):
        part = [*wanted, f"seq >= {start}"] + ([f"seq < {below}"] if below is not None else [])
        found = [*_scan(journal, part), *found]
        if len(found) >= last:
            break
        below = start
    return found[max(0, len(found) - last) :]


def _part_starts(files: Sequence[DataFile], *, after_seq: int, at_least: int) -> Iterator[int]:
    """First entries of ever longer parts of the journal, the newest part first, ending with ``after_seq + 1``.

    The first part has at least ``at_least`` rows. Parts end where files end, so that no file is read twice; files hold
    consecutive entries.
    """
    seen = 0
    for file in reversed(files):
        if file.first_seq is None or file.first_seq <= after_seq:
            break
        seen += file.count or 0
        if seen >= at_least:
            yield file.first_seq
            at_least, seen = at_least * _GROWTH, 0
    yield after_seq + 1


def _scan(journal: NumberedTable, wanted: Sequence[str]) -> list[JournalRow]:
    return rows_from_table(JOURNAL_COLUMNS, journal.scan(" AND ".join(wanted)), JournalRow)


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"

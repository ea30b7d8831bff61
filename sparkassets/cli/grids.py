"""Partitions for people: a list, or time down and segments across; in a terminal at most a screen of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sparkassets.cli.plan_tables import STATUS_STYLES, number_text
from sparkassets.cli.tables import GAP, INDENT, LEAST, Row, TableCell, TableColumn, print_table
from sparkassets.cli.terminal import Terminal
from sparkassets.core.partitions.partition_grid import PartitionGrid
from sparkassets.core.phrases import few

TITLED = 2
"""So many keys are in the title of a column that has no room for more."""
MARGIN = 4
"""Lines of a screen that are no rows: the command, the titles, what is left out, and the next prompt."""
_STATUS = 7
"""The width of most statuses."""


def print_list(stretches: Sequence[tuple[str, int, str]], terminal: Terminal, *, whole: bool) -> None:
    """Writes stretches of partitions with number and status; the last ones where the screen is too small.

    Args:
        stretches: At least one.
        terminal: Its size is kept.
        whole: Write all of them.
    """
    shown = stretches if whole or terminal.height is None else stretches[-(terminal.height - MARGIN) :]
    columns = [TableColumn("partitions"), TableColumn("count", is_right_aligned=True), TableColumn("status")]
    rows: list[Row] = [[span, number_text(count), _cell(status)] for span, count, status in shown]
    print_table(terminal, columns, rows)
    _print_left_out(terminal, len(stretches) - len(shown), 0)


def print_grid(grid: PartitionGrid, terminal: Terminal, *, time: str, whole: bool) -> None:
    """Writes statuses with time down and segments across; newest times and first segments on a small screen.

    Args:
        grid: With a row at least.
        terminal: Its size is kept.
        time: The title of the column of time.
        whole: Write all of them, columns that have no room below the others.
    """
    titles = [", ".join(keys) if whole or terminal.width is None else few(keys, TITLED) for keys in grid.columns]
    stub = max(len(time), *(len(row.label) for row in grid.rows))
    bands = list(_bands(titles, terminal.width, stub=stub))
    shown = bands if whole else bands[:1]
    for band in shown:
        if band != shown[0]:
            terminal.print("")
        columns = [TableColumn(time), *(TableColumn(titles[i], wraps=True) for i in band)]
        rows: list[Row] = [[row.label, *(_cell(row.words[i]) for i in band)] for row in grid.rows]
        if not whole and terminal.height is not None:
            rows = rows[-(terminal.height - MARGIN - max(len(titles[i]) // LEAST for i in band)) :]
        print_table(terminal, columns, rows)
    _print_left_out(terminal, len(grid.rows) - len(rows), len(titles) - sum(map(len, shown)))


def _bands(titles: Sequence[str], width: int | None, *, stub: int) -> Iterator[range]:
    """The columns that fit beside each other, at least one; ``stub`` is the width of the first column."""
    first, across = 0, INDENT + stub
    for number_of, title in enumerate(titles):
        wide = GAP + min(max(len(title), _STATUS), LEAST)
        if width is not None and across + wide > width and first < number_of:
            yield range(first, number_of)
            first, across = number_of, INDENT + stub
        across += wide
    yield range(first, len(titles))


def _cell(status: str) -> TableCell:
    return TableCell(status, STATUS_STYLES.get(status, ""))


def _print_left_out(terminal: Terminal, rows: int, columns: int) -> None:
    told = [f"{number_text(rows)} more above"] if rows else []
    told += [f"{number_text(columns)} more to the right"] if columns else []
    if told:
        terminal.print(f"  {' and '.join(told)}: --all shows them")

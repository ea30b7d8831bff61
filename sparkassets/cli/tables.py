"""Plain tables: aligned columns that wrap inside the terminal's width."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from sparkassets.cli.terminal import Terminal, strip_controls
from sparkassets.frozen import frozen

GAP = 2
INDENT = 2
LEAST, LAST_RESORT = 15, 8
"""A column of free text is made no narrower than the first; where that is not enough, no column than the second."""


@frozen
class TableColumn:
    """One column.

    Attributes:
        is_right_aligned: Numbers stand to the right.
        wraps: Text that wraps where the table is too wide.
        is_optional: Left out, the first ones first, where the table would be too wide even with its text wrapped.
    """

    title: str
    is_right_aligned: bool = False
    wraps: bool = False
    is_optional: bool = False


@frozen
class TableCell:
    """A text in a style, such as ``red``."""

    text: str
    style: str = ""


Row = Sequence[str | TableCell]


def print_table(terminal: Terminal, columns: Sequence[TableColumn], rows: Sequence[Row]) -> None:
    """Writes a table; columns that are empty in every row are left out."""
    cells = [[_cell(cell) for cell in row] for row in rows]
    natural = [
        max([len(column.title), *(_longest(row[index].text) for row in cells)]) for index, column in enumerate(columns)
    ]
    used = [index for index in range(len(columns)) if any(row[index].text for row in cells)]
    for index in [index for index in used if columns[index].is_optional]:
        least = [min(natural[each], LEAST) if columns[each].wraps else natural[each] for each in used]
        if terminal.width is not None and _table_width(least) > terminal.width:
            used.remove(index)
    shown = [columns[index] for index in used]
    grid = [[row[index] for index in used] for row in cells]
    widths = fit_widths([natural[index] for index in used], terminal.width, free=[column.wraps for column in shown])
    titles = [TableCell(column.title, "bold") for column in shown]
    for row in [titles, *grid]:
        _print_row(terminal, row, shown, widths)


def fit_widths(natural: Sequence[int], width: int | None, *, free: Sequence[bool]) -> list[int]:
    """Column widths that fit into ``width`` as far as possible: of the free columns the widest gives way first.

    >>> fit_widths([6, 40, 60], 80, free=[False, True, True])
    [6, 34, 34]
    """
    widths = list(natural)
    if width is None:
        return widths
    excess = _table_width(widths) - width
    some, every = [index for index, wraps in enumerate(free) if wraps], list(range(len(widths)))
    for among, least in ((some, LEAST), (every, LAST_RESORT)):
        while excess > 0 and among:
            widest = max(among, key=widths.__getitem__)
            if widths[widest] <= least:
                break
            widths[widest] -= 1
            excess -= 1
    return widths


def _table_width(widths: Sequence[int]) -> int:
    """How wide a table is whose columns are so wide."""
    return INDENT + sum(widths) + GAP * (len(widths) - 1)


def _cell(cell: str | TableCell) -> TableCell:
    """A cell that may be shown."""
    return (
        TableCell(strip_controls(cell.text), cell.style)
        if isinstance(cell, TableCell)
        else TableCell(strip_controls(cell))
    )


def _longest(text: str) -> int:
    return max((len(line) for line in text.split("\n")), default=0)


def _print_row(
    terminal: Terminal, row: Sequence[TableCell], columns: Sequence[TableColumn], widths: Sequence[int]
) -> None:
    wrapped = [wrap(cell.text, width) for cell, width in zip(row, widths, strict=True)]
    for lines in zip_longest(*wrapped, fillvalue=""):
        parts = []
        for line, cell, column, width in zip(lines, row, columns, widths, strict=True):
            padded = line.rjust(width) if column.is_right_aligned else line.ljust(width)
            parts.append(padded.replace(line, terminal.paint(line, cell.style), 1) if line else padded)
        terminal.print(" " * INDENT + (" " * GAP).join(parts))


def wrap(text: str, width: int) -> list[str]:
    """The lines of ``text``, none longer than ``width``.

    A word that is too long is broken after its ``..`` if it is a range of keys, else anywhere.

    >>> wrap("waits for flights 2013-01-01..2013-01-07", 22)
    ['waits for flights', '2013-01-01..2013-01-07']
    """
    lines: list[str] = []
    for part in text.split("\n"):
        lines += [part] if len(part) <= width else _break_words(part.split(), width)
    return lines


def _break_words(words: Sequence[str], width: int) -> list[str]:
    lines = [""]
    for word in words:
        for number, piece in enumerate([word] if len(word) <= width else _pieces(word, width)):
            joint = " " if lines[-1] and not number else ""
            if len(lines[-1]) + len(joint) + len(piece) <= width:
                lines[-1] += joint + piece
            else:
                lines.append(piece)
    return lines if lines[0] else lines[1:]


def _pieces(word: str, width: int) -> list[str]:
    first, dots, rest = word.partition("..")
    parts = [first + dots, rest] if dots and rest else [word]
    return [part[at : at + width] for part in parts for at in range(0, len(part), width)]

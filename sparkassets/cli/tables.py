"""Plain tables: aligned columns that wrap inside the terminal's width."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from sparkassets.cli.terminal import Terminal, clean

GAP = 2
INDENT = 2
LEAST = 8
"""No column is made narrower than this."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column; numbers stand to the right."""

    title: str
    right: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """A text in a style, such as ``red``."""

    text: str
    style: str = ""


Row = Sequence[str | Cell]


def print_table(terminal: Terminal, columns: Sequence[Column], rows: Sequence[Row]) -> None:
    """Writes a table; columns that are empty in every row are left out."""
    cells = [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in rows]
    used = [index for index in range(len(columns)) if any(row[index].text for row in cells)]
    shown = [columns[index] for index in used]
    grid = [[Cell(clean(row[index].text), row[index].style) for index in used] for row in cells]
    natural = [
        max(len(column.title), *(_longest(row[index].text) for row in grid)) for index, column in enumerate(shown)
    ]
    widths = fit(natural, terminal.width)
    titles = [Cell(column.title, "bold") for column in shown]
    for row in [titles, *grid]:
        _print_row(terminal, row, shown, widths)


def fit(natural: Sequence[int], width: int | None) -> list[int]:
    """Column widths that fit into ``width``: the widest gives way first, none below `LEAST`.

    >>> fit([6, 40, 60], 80)
    [6, 34, 34]
    """
    widths = list(natural)
    if width is None:
        return widths
    excess = sum(widths) + GAP * (len(widths) - 1) + INDENT - width
    while excess > 0 and max(widths) > LEAST:
        widest = max(widths)
        at = [index for index, size in enumerate(widths) if size == widest]
        widths[at[-1]] -= 1
        excess -= 1
    return widths


def _longest(text: str) -> int:
    return max((len(line) for line in text.split("\n")), default=0)


def _print_row(terminal: Terminal, row: Sequence[Cell], columns: Sequence[Column], widths: Sequence[int]) -> None:
    wrapped = [_wrap(cell.text, width) for cell, width in zip(row, widths, strict=True)]
    for lines in zip_longest(*wrapped, fillvalue=""):
        parts = []
        for line, cell, column, width in zip(lines, row, columns, widths, strict=True):
            padded = line.rjust(width) if column.right else line.ljust(width)
            parts.append(padded.replace(line, terminal.paint(line, cell.style), 1) if line else padded)
        terminal.print(" " * INDENT + (" " * GAP).join(parts))


def _wrap(text: str, width: int) -> list[str]:
    lines: list[str] = []
    for part in text.split("\n"):
        lines += [part] if len(part) <= width else textwrap.wrap(part, width, break_on_hyphens=False)
    return lines or [""]

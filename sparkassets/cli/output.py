"""The output of commands: text in the terminal's width, tables and trees, or one JSON document."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal, TextIO

from sparkassets.core.phrases import escape_invisible
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from sparkassets.core.planner.explain.explanation_nodes import ExplanationNode

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_DEFAULT_SIZES = {"COLUMNS": 80, "LINES": 24}
_LEAST_SIZES = {"COLUMNS": 40, "LINES": 10}


@frozen
class Terminal:
    """A stream for people, and what it can show.

    Attributes:
        width: Columns; None without a terminal: lines are not wrapped then.
        height: Lines on the screen; None without a terminal.
        colour: Whether escape codes for colours are written.
        unicode: Whether the stream's encoding has box lines and ticks.
    """

    stream: TextIO
    width: int | None = None
    height: int | None = None
    colour: bool = False
    unicode: bool = True

    @classmethod
    def from_stream(cls, stream: TextIO, env: Mapping[str, str] | None = None) -> Terminal:
        """The terminal behind ``stream``; colour only on a real terminal, and not with NO_COLOR or ``TERM=dumb``."""
        env = os.environ if env is None else env
        is_terminal = stream.isatty()
        return cls(
            stream,
            width=_terminal_size(stream, env, "COLUMNS") if is_terminal else None,
            height=_terminal_size(stream, env, "LINES") if is_terminal else None,
            colour=is_terminal and not env.get("NO_COLOR") and env.get("TERM") != "dumb",
            unicode=(getattr(stream, "encoding", None) or "ascii").lower().startswith("utf"),
        )

    def print(self, *lines: str) -> None:
        """Writes each line without trailing blanks; invisible characters are escaped."""
        for line in lines:
            self.stream.write(escape_invisible(line.rstrip()) + "\n")

    def paint(self, text: str, *styles: str) -> str:
        """The text with escape codes for these styles; unchanged if there is no colour."""
        codes = [_CODES[style] for style in styles if style]
        return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if self.colour and codes and text else text


def _terminal_size(stream: TextIO, env: Mapping[str, str], name: Literal["COLUMNS", "LINES"]) -> int:
    """Width or height of the terminal in characters, as the environment or else the terminal itself says.

    Never less than ``_LEAST_SIZES``, whatever they say.
    """
    configured = env.get(name, "")
    try:
        size = (
            int(configured) if configured.isdecimal() else getattr(os.get_terminal_size(stream.fileno()), name.lower())
        )
    except (OSError, ValueError):
        size = _DEFAULT_SIZES[name]
    return max(_LEAST_SIZES[name], size)


def strip_controls(text: str) -> str:
    r"""The text without control characters, which could move a terminal's cursor.

    >>> strip_controls("a\x1b[2Jb")
    'a?[2Jb'
    """
    return _CONTROL.sub("?", text)


def print_json(document: object) -> None:
    """Prints one document and a line end on stdout."""
    sys.stdout.write(json_text(document))


def json_text(document: object) -> str:
    """One document and a line end."""
    return escape_invisible(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)) + "\n"


GAP = 2
INDENT = 2
LEAST, LEAST_WHEN_TOO_WIDE = 15, 8
"""A column of free text is made no narrower than the first; where that is not enough, no column than the second."""


@frozen
class TableColumn:
    """The title and the layout of a column.

    Attributes:
        is_right_aligned: Whether its text stands to the right, as numbers do.
        wraps: Whether its text may wrap if the table is too wide.
        is_optional: Whether it may be left out, the first such column first, if the wrapped table is still too wide.
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
    """Prints a table; columns that are empty in every row are left out."""
    cells = [[_cell(cell) for cell in row] for row in rows]
    filled = [_FilledColumn(column, [row[index] for row in cells]) for index, column in enumerate(columns)]
    shown = _shown_columns(filled, terminal.width)
    wraps = [each.column.wraps for each in shown]
    widths = fit_widths([each.natural_width for each in shown], terminal.width, free=wraps)
    for row in zip(*([each.title, *each.cells] for each in shown), strict=True):
        _print_row(terminal, row, [each.column for each in shown], widths)


@frozen
class _FilledColumn:
    """A column with its cells."""

    column: TableColumn
    cells: Sequence[TableCell]

    @property
    def title(self) -> TableCell:
        return TableCell(self.column.title, "bold")

    @property
    def natural_width(self) -> int:
        """The width without wrapping."""
        return max(len(line) for cell in (self.title, *self.cells) for line in cell.text.split("\n"))

    @property
    def least_width(self) -> int:
        """The width below which the table rather loses optional columns."""
        return min(self.natural_width, LEAST) if self.column.wraps else self.natural_width


def _shown_columns(columns: Sequence[_FilledColumn], width: int | None) -> list[_FilledColumn]:
    """The columns with any text, without the optional ones that a table of that width has no room for."""
    shown = [each for each in columns if any(cell.text for cell in each.cells)]
    for optional in [each for each in shown if each.column.is_optional]:
        if width is not None and _table_width([each.least_width for each in shown]) > width:
            shown.remove(optional)
    return shown


def fit_widths(natural: Sequence[int], width: int | None, *, free: Sequence[bool]) -> list[int]:
    """Column widths that fit into ``width`` as far as possible: of the free columns the widest gives way first.

    >>> fit_widths([6, 40, 60], 80, free=[False, True, True])
    [6, 34, 34]
    """
    widths = list(natural)
    if width is None:
        return widths
    excess = _table_width(widths) - width
    free_columns, all_columns = [index for index, wraps in enumerate(free) if wraps], list(range(len(widths)))
    # first only columns whose text may wrap get narrower; if that is not enough, any column, and further
    for candidates, least in ((free_columns, LEAST), (all_columns, LEAST_WHEN_TOO_WIDE)):
        while excess > 0 and candidates:
            widest = max(candidates, key=widths.__getitem__)
            if widths[widest] <= least:
                break
            widths[widest] -= 1
            excess -= 1
    return widths


def _table_width(widths: Sequence[int]) -> int:
    """The width of a table with these column widths, indent and gaps included."""
    return INDENT + sum(widths) + GAP * (len(widths) - 1)


def _cell(cell: str | TableCell) -> TableCell:
    """A cell that may be shown."""
    text, style = (cell.text, cell.style) if isinstance(cell, TableCell) else (cell, "")
    return TableCell(strip_controls(text), style)


def _print_row(
    terminal: Terminal, row: Sequence[TableCell], columns: Sequence[TableColumn], widths: Sequence[int]
) -> None:
    """Prints one row of cells, each wrapped to its column's width."""
    wrapped = [wrap(cell.text, width) for cell, width in zip(row, widths, strict=True)]
    for lines in zip_longest(*wrapped, fillvalue=""):
        parts = []
        for line, cell, column, width in zip(lines, row, columns, widths, strict=True):
            padded = line.rjust(width) if column.is_right_aligned else line.ljust(width)
            # painted after padding: escape codes have a length, and no width
            parts.append(padded.replace(line, terminal.paint(line, cell.style), 1) if line else padded)
        terminal.print(" " * INDENT + (" " * GAP).join(parts))


def print_text(terminal: Terminal, text: str, *, style: str = "", indent: int = 0) -> None:
    """Writes a text in a style, without control characters, wrapped to the terminal."""
    for line in wrap(strip_controls(text), (terminal.width or sys.maxsize) - indent):
        terminal.print(" " * indent + terminal.paint(line, style))


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
    """Lines of at most ``width`` characters; only a longer word is broken."""
    lines = [""]
    for word in words:
        for number, piece in enumerate([word] if len(word) <= width else _split_word(word, width)):
            joint = " " if lines[-1] and not number else ""  # pieces of one word have no space between them
            if len(lines[-1]) + len(joint) + len(piece) <= width:
                lines[-1] += joint + piece
            else:
                lines.append(piece)
    return lines if lines[0] else lines[1:]


def _split_word(word: str, width: int) -> list[str]:
    """Pieces of a word of at most ``width`` characters; a range of keys ``a..b`` is first broken after ``a..``."""
    first, dots, rest = word.partition("..")
    parts = [first + dots, rest] if dots and rest else [word]
    return [part[start : start + width] for part in parts for start in range(0, len(part), width)]


def render_tree(node: ExplanationNode, terminal: Terminal, *, head: str = "", indent: str = "") -> Iterator[str]:
    """The lines of a tree, wrapped to the terminal's width.

    Args:
        node: The root, with its children.
        terminal: Where it is to be printed.
        head: The line art before the node's first line, such as ``├─``.
        indent: The line art before all further lines, such as ``│``.
    """
    tee, end, bar = ("├─ ", "└─ ", "│  ") if terminal.unicode else ("|- ", "`- ", "|  ")
    outcome = _outcome_mark(node, terminal)
    room = sys.maxsize if terminal.width is None else max(terminal.width - len(head) - len(outcome), LEAST)
    first, *rest = wrap(strip_controls(node.text), room)
    yield terminal.paint(head, "dim") + terminal.paint(outcome, "green" if node.holds else "red") + first
    for line in rest:
        yield terminal.paint(indent, "dim") + " " * len(outcome) + line
    for child in node.children:
        is_last = child is node.children[-1]
        child_indent = indent + ("   " if is_last else bar)
        yield from render_tree(child, terminal, head=indent + (end if is_last else tee), indent=child_indent)


def _outcome_mark(node: ExplanationNode, terminal: Terminal) -> str:
    """A tick if the node holds, a cross if not, empty if it is neither."""
    match node.holds:
        case True:
            return "✓ " if terminal.unicode else "+ "
        case False:
            return "✗ " if terminal.unicode else "- "
        case None:
            return ""

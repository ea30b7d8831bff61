"""``sparkassets partitions``: a list, or a grid of time by segments."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkassets.cli.options import AssetNameParam, at_option, json_option, open_project, project_option
from sparkassets.cli.output import GAP, INDENT, LEAST, Row, TableCell, TableColumn, Terminal, print_json, print_table
from sparkassets.cli.plan_tables import STATUS_STYLES, number_text
from sparkassets.core.documents.status import partition_document
from sparkassets.core.partitions.partition_grid import GridRow, PartitionGrid
from sparkassets.core.partitions.segments import ALL, decode_segment
from sparkassets.core.phrases import few
from sparkassets.errors import InputError

if TYPE_CHECKING:
    from sparkassets.wiring import Project

TITLED = 2
"""The most keys in the title of a column in a terminal."""
MARGIN = 4
"""Lines of a screen besides rows: the command, the titles, a note on omitted rows, and the next prompt."""
_STATUS = 7
"""The width of most statuses."""


def print_list(stretches: Sequence[tuple[str, int, str]], terminal: Terminal, *, whole: bool) -> None:
    """Prints stretches of partitions with number and status; only the last ones if the screen is too small.

    Args:
        stretches: At least one (range, count, status).
        terminal: Where to; its height limits the lines.
        whole: Whether to print all of them.
    """
    shown = stretches if whole or terminal.height is None else stretches[-(terminal.height - MARGIN) :]
    columns = [TableColumn("partitions"), TableColumn("count", is_right_aligned=True), TableColumn("status")]
    rows: list[Row] = [[span, number_text(count), _cell(status)] for span, count, status in shown]
    print_table(terminal, columns, rows)
    _print_left_out(terminal, len(stretches) - len(shown), 0)


def print_grid(grid: PartitionGrid, terminal: Terminal, *, time: str, whole: bool) -> None:
    """Prints statuses with time down and segments across; on a small screen the newest times and first segments.

    Args:
        grid: With at least one row.
        terminal: Where to; its size limits rows and columns.
        time: The title of the time column.
        whole: Whether to print all; columns without room follow below the others.
    """
    titles = [", ".join(keys) if whole or terminal.width is None else few(keys, TITLED) for keys in grid.columns]
    stub = max(len(time), *(len(row.label) for row in grid.rows))
    first, *others = _bands(titles, terminal.width, stub=stub)
    if whole or terminal.height is None:
        rows = grid.rows
    else:
        # a title takes about one more line for each LEAST characters
        rows = grid.rows[-(terminal.height - MARGIN - max(len(titles[i]) // LEAST for i in first)) :]
    _print_band(terminal, time, titles, rows, first)
    for band in others if whole else ():
        terminal.print("")
        _print_band(terminal, time, titles, rows, band)
    _print_left_out(terminal, len(grid.rows) - len(rows), 0 if whole else len(titles) - len(first))


def _print_band(
    terminal: Terminal, time: str, titles: Sequence[str], rows: Sequence[GridRow], band: Iterable[int]
) -> None:
    """Prints the time and the columns of these numbers."""
    columns = [TableColumn(time), *(TableColumn(titles[i], wraps=True) for i in band)]
    print_table(terminal, columns, [[row.label, *(_cell(row.words[i]) for i in band)] for row in rows])


def _bands(titles: Sequence[str], width: int | None, *, stub: int) -> Iterator[range]:
    """Ranges of columns that fit beside each other, at least one column each.

    Each band repeats the first column, of the labels, which is ``stub`` characters wide; None is an endless ``width``.
    A column is as wide as its title or a status, but at most ``LEAST``, as its title may wrap.
    """
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
    counts = [f"{number_text(rows)} more above"] if rows else []
    counts += [f"{number_text(columns)} more to the right"] if columns else []
    if counts:
        terminal.print(f"  {' and '.join(counts)}: --all shows them")


@click.command("partitions")
@click.argument("asset", type=AssetNameParam())
@click.argument("action", type=click.Choice(["add", "remove"]), required=False, metavar="[add|remove]")
@click.argument("keys", nargs=-1, metavar="[KEY…]")
@project_option
@at_option
@click.option("--all", "whole", is_flag=True, help="Show all partitions, even more than the terminal has room for.")
@click.option("--dimension", metavar="COLUMN", help="Column of the KEYs, if several have `segments: runtime`.")
@json_option
def command(
    folder: Path,
    asset: str,
    action: str | None,
    keys: tuple[str, ...],
    at: str | None,
    whole: bool,
    dimension: str | None,
    as_json: bool,
) -> None:
    """Show the expected and existing partitions of ASSET, or add and remove segments.

    Adjacent partitions with the same status share a line. If there are segments besides time, segments are columns, and
    identical ones share a column. A terminal shows one screen, the newest partitions. With --json, each partition is an
    object {partition, status, definition}, where definition identifies the code that computed it.

    `add` makes the KEYs segments of ASSET, which must have `segments: runtime`. `remove` takes them out: their data
    stays, but nothing computes them until they are added again. With --json: {added: [KEY, …], unchanged: [KEY, …]}, or
    removed.
    """
    project = open_project(folder)
    if action is not None:
        _change_segments(project, asset, keys, action, dimension=dimension, as_json=as_json)
        return
    if as_json:
        definitions = project.partitions.definitions(asset, at=at)
        print_json(
            [
                partition_document(key, status, definitions.get(key))
                for key, status in project.partitions.statuses(asset, at=at)
            ]
        )
        return
    terminal, partitioning = Terminal.from_stream(sys.stdout), project.spec.asset(asset).partitioning
    if partitioning.time is not None and partitioning.is_product:
        if (grid := project.partitions.grid(asset, at=at)).rows:
            print_grid(grid, terminal, time=partitioning.time.name, whole=whole)
            return
    elif ranges := project.partitions.ranges(asset, at=at):
        print_list(ranges, terminal, whole=whole)
        return
    terminal.print("no partition is wanted or present yet")


_DONE = {"add": ("added", "was already known"), "remove": ("removed", "was already removed")}
"""Action to the word for a segment that it changed, and the words for one that it did not."""


def _change_segments(
    project: Project, asset: str, keys: Sequence[str], action: str, *, dimension: str | None, as_json: bool
) -> None:
    """Adds or removes segments, and prints for each key whether anything changed."""
    if not keys:
        raise InputError("expected at least one segment KEY")
    named = {key: _segment(key) for key in keys}
    change = project.partitions.add if action == "add" else project.partitions.remove
    changed = {*change(asset, *named.values(), dimension=dimension)}
    done = [key for key, segment in named.items() if segment in changed]
    word, already = _DONE[action]
    if as_json:
        print_json({word: done, "unchanged": [key for key in named if key not in done]})
        return
    Terminal.from_stream(sys.stdout).print(*(f"{asset} {key}  {word if key in done else already}" for key in named))


def _segment(key: str) -> str:
    """The segment that a key names.

    Raises:
        InputError: The key is empty, stands for all segments, or is several keys.
    """
    if key in ("", ALL):
        raise InputError(f"{key!r} does not name a segment", hint="the empty text is written as %, a * as %2A")
    if "," in key:
        raise InputError(
            f"{key!r} is more than one key", hint="separate keys by spaces; write a comma within a key as %2C"
        )
    return decode_segment(key)

"""``sparkassets status``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkassets.cli.json_output import print_json
from sparkassets.cli.lateness import print_late
from sparkassets.cli.options import (
    at_option,
    branch_option,
    in_branch,
    json_option,
    open_project,
    project_option,
    select_option,
)
from sparkassets.cli.render import STATUS_STYLES, blocks_text, clock, in_words, print_failure, print_figures
from sparkassets.cli.selection import selected
from sparkassets.cli.tables import Cell, Column, Row, print_table, wrap
from sparkassets.cli.terminal import Terminal, clean
from sparkassets.core.documents.status import standing, status_document
from sparkassets.core.instants import instant, zoned

if TYPE_CHECKING:
    from sparkassets.core.planner.holders import Holder
    from sparkassets.core.planner.status import AssetStatus, Judged
    from sparkassets.core.spec.model import ProjectSpec

COLUMNS = [
    Column("asset"),
    Column("partitions", free=True),
    Column("state", free=True),
    Column("last"),
    Column("next"),
]


@click.command("status")
@project_option
@select_option
@at_option
@branch_option
@json_option
def command(folder: Path, select: tuple[str, ...], branch: str | None, at: str | None, as_json: bool) -> int:
    """Show what is known of every asset, upstream first."""
    base = open_project(folder)
    project = in_branch(base, branch, existing=True)
    names = selected(base.spec, select)
    status = project.status(at=at)
    found = [each for each in status if names is None or each.asset in names]
    if as_json:
        print_json([status_document(each, project.spec) for each in found])
        return 0
    terminal = Terminal.of(sys.stdout)
    print_table(terminal, COLUMNS, [_row(each, project.spec, status.at) for each in found])
    for each in found:
        print_failure(each.asset, each.error or "", terminal)
        for judged in each.judged:
            _print_judged(each, judged, project.spec, terminal)
        for holder in () if project.spec.assets[each.asset].maker else each.holders:
            terminal.print(f"{each.asset}: {clean(_holder_text(holder, project.spec))}")
        for mark in each.watermarks:
            terminal.print(f"{each.asset}: {mark.inlet}: {clean(mark.text)}")
        if each.late is not None:
            print_late([each.late], project.spec, terminal)
        for note in each.notes:
            terminal.print(f"{terminal.paint(each.asset, 'yellow')}: {clean(note)}")
    return 0


def _print_judged(status: AssetStatus, judged: Judged, project: ProjectSpec, terminal: Terminal) -> None:
    interval = "..".join(zoned(instant(at), project.timezone) for at in judged.interval or ())
    which = blocks_text(status.asset, judged.blocks, project) or interval
    name = " ".join(filter(None, [status.asset, which]))
    said = f"{name} withheld by {judged.run}: {clean(judged.text)}"
    terminal.print("", *(terminal.paint(line, "red") for line in wrap(said, terminal.width or sys.maxsize)))
    print_figures(status.asset, judged.verdicts, project, terminal)


def _holder_text(holder: Holder, project: ProjectSpec) -> str:
    """Who holds which run, and when it was last seen alive."""
    held = f"{holder.run} is held by {holder.driver} since {clock(holder.since, project)}"
    if holder.gone:
        return f"{held}, which is gone: the next run settles it"
    return f"{held}, last seen alive {in_words(-holder.silent_seconds) if holder.silent_seconds else 'just now'}"


def _row(status: AssetStatus, project: ProjectSpec, now: int) -> Row:
    text, state = standing(status)
    return [
        status.asset,
        status.told,
        Cell(text, STATUS_STYLES[state]),
        clock(status.last_at, project),
        _next(status.next_at, project, now),
    ]


def _next(at: int | None, project: ProjectSpec, now: int) -> str:
    if at is None:
        return ""
    if at <= now:
        return "due"
    return f"{clock(at, project)}, {in_words(at - now)}"

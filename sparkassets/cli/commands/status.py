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
from sparkassets.core.instants import instant, unix, zoned

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
    project = in_branch(open_project(folder), branch, existing=True)
    names = selected(project.named, select)
    found = [each for each in project.status(at=at) if names is None or each.asset in names]
    if as_json:
        print_json([status_document(status, project.spec) for status in found])
        return 0
    terminal = Terminal.of(sys.stdout)
    now = unix(project.moment(at))
    print_table(terminal, COLUMNS, [_row(status, project.spec, now) for status in found])
    for status in found:
        print_failure(status.asset, status.error or "", terminal)
        for judged in status.judged:
            _print_judged(status, judged, project.spec, terminal)
        for holder in () if project.spec.assets[status.asset].maker else status.holders:
            terminal.print(f"{status.asset}: {clean(_holder_text(holder, project.spec))}")
        for mark in status.watermarks:
            terminal.print(f"{status.asset}: {mark.inlet}: {clean(mark.text)}")
        if status.late is not None:
            print_late([status.late], project.spec, terminal)
        for note in status.notes:
            terminal.print(f"{terminal.paint(status.asset, 'yellow')}: {clean(note)}")
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

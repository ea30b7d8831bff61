"""``sparkassets align``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkassets.cli.documents import alignment_document, print_json
from sparkassets.cli.options import json_option, open_project, project_option
from sparkassets.cli.terminal import Terminal
from sparkassets.core.instants import Duration, format_instant
from sparkassets.core.timetables.align import is_time

if TYPE_CHECKING:
    from sparkassets.core.timetables.align import Alignment


@click.command("align")
@click.argument("upstream", metavar="UP")
@click.argument("downstream", metavar="DOWN")
@project_option
@click.option("--at", metavar="TIME", help="When DOWN runs (ISO; without an offset in the project's zone).")
@json_option
def command(upstream: str, downstream: str, folder: Path, at: str | None, as_json: bool) -> int:
    """Show which run of UP belongs to the run of DOWN: names of assets, presets or crons.

    Two crons need no project; without one they are in UTC.
    With --json: {upstream_logical_date, downstream_logical_date, execution_delta, case}, the delta in seconds.
    """
    found = _align(upstream, downstream, folder, at)
    if as_json:
        print_json(alignment_document(found))
    else:
        Terminal.of(sys.stdout).print(*_lines(found))
    return 0


def _align(upstream: str, downstream: str, folder: Path, at: str | None) -> Alignment:
    if is_time(upstream) and is_time(downstream) and not (folder / "project.yml").exists():
        from sparkassets.wiring import align_crons

        return align_crons(upstream, downstream, at=at)
    return open_project(folder).align(upstream, downstream, at=at)


def _lines(found: Alignment) -> Iterator[str]:
    down, up = found.downstream, found.upstream
    if up is None or found.delta_seconds is None:  # pragma: no cover  a project's `align` refuses that
        return
    yield f"downstream run at   {format_instant(down.end)}, logical date {format_instant(down.start)}"
    yield f"its upstream run at {format_instant(up.end)}, logical date {format_instant(up.start)}"
    days, seconds = divmod(abs(found.delta_seconds), 86400)
    length = Duration(days=days, seconds=seconds)
    yield f"execution_delta     {(length if found.delta_seconds > 0 else -length).text} ({found.delta_seconds} s)"
    yield f"case                {found.case}: {'both fire' if found.case == 1 else 'only the downstream fires'} then"

"""``sparkassets align``: which runs of two timetables belong together."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path

import click

from sparkassets.cli.options import AssetNameParam, has_project, json_option, open_project, project_option
from sparkassets.cli.output import TableColumn, Terminal, print_json, print_table
from sparkassets.cli.plan_tables import SLOT_COLUMNS, slot_cells
from sparkassets.core.documents.plan import alignment_document
from sparkassets.core.instants import format_zoned, parse_instant
from sparkassets.core.timetables.timetable import RunAlignment, align_runs, delta_text, names_no_asset
from sparkassets.wiring.host import SystemClock

_ROW_TITLES = ("upstream", "downstream")


@click.command("align")
@click.argument("upstream", type=AssetNameParam(), metavar="UP")
@click.argument("downstream", type=AssetNameParam(), metavar="DOWN")
@project_option
@click.option(
    "--at", metavar="TIME", help="When DOWN fires (ISO 8601; in the project's time zone unless it has an offset)."
)
@json_option
def command(upstream: str, downstream: str, folder: Path, at: str | None, as_json: bool) -> None:
    """Show which run of UP matches the run of DOWN; each is an asset, a preset, or a cron expression.

    A run belongs to an interval, however late it starts: --at (default: now) picks the newest interval of DOWN that has
    ended. Cron expressions need no project, and are then in UTC. With --json: {upstream_logical_date,
    downstream_logical_date, execution_delta, case}, with the delta in seconds.
    """
    alignment = _align(upstream, downstream, folder, at)
    if as_json:
        print_json(alignment_document(alignment))
    else:
        _print_alignment(alignment, Terminal.from_stream(sys.stdout))


def _align(upstream: str, downstream: str, folder: Path, at: str | None) -> RunAlignment:
    if names_no_asset(upstream) and names_no_asset(downstream) and not has_project(folder):
        return align_crons(upstream, downstream, at=at)
    return open_project(folder).assets.align(upstream, downstream, at=at)


def _print_alignment(alignment: RunAlignment, terminal: Terminal) -> None:
    """Prints both runs, the delta between them and its case for people."""
    down, up = alignment.downstream, alignment.upstream
    rows = [
        [name, *slot_cells(slot, zone)]
        for name, slot, zone in zip(_ROW_TITLES, (up, down), alignment.zones, strict=True)
    ]
    print_table(terminal, [TableColumn(""), *SLOT_COLUMNS], rows)
    zone = alignment.zones[1]
    tick = format_zoned(down.end, zone)
    fires = "both fire" if alignment.case == 1 else "only the downstream fires"
    terminal.print(
        "",
        f"execution_delta  {delta_text(alignment.delta_seconds)} ({alignment.delta_seconds} s)",
        f"case             {alignment.case}: {fires} at {tick}",
    )
    if alignment.at not in {down.end, down.run_after}:
        moment = format_zoned(alignment.at, zone)
        terminal.print(f"the downstream does not fire at {moment}: this is its last interval that ended by then")
    if up.run_after > down.run_after:
        terminal.print("the upstream runs later: with `partitions: aligned` the downstream waits for it")


def align_crons(upstream: str, downstream: str, *, at: datetime | str | None = None) -> RunAlignment:
    """`AssetCommands.align` for two presets or crons in UTC, without a project; by default as of now."""
    from sparkassets.core.timetables.parse import parse_timetable

    up, down = (parse_timetable(text, timezone="UTC") for text in (upstream, downstream))
    moment = parse_instant(at, zone="UTC") if isinstance(at, str) else at
    return align_runs(up, down, moment or SystemClock().now(), names=(upstream, downstream))

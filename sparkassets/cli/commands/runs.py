"""``sparkassets runs``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from sparkassets.cli.options import (
    AssetNameParam,
    json_option,
    last_option,
    open_project,
    print_history_start,
    project_option,
)
from sparkassets.cli.output import Row, TableCell, TableColumn, Terminal, print_json, print_table
from sparkassets.cli.plan_tables import (
    STATUS_STYLES,
    clock_text,
    interval_text,
    number_text,
    outcome_text,
    partitions_text,
    print_failure,
    print_other_findings,
    print_skipped,
    print_withheld,
)
from sparkassets.core.documents.runs import run_document
from sparkassets.core.instants import from_unix
from sparkassets.core.journal.history import RunStatus
from sparkassets.errors import InputError

if TYPE_CHECKING:
    from sparkassets.core.journal.history import RunRecord
    from sparkassets.core.spec.project_spec import ProjectSpec

COLUMNS = [
    TableColumn("started", is_optional=True),
    TableColumn("run"),
    TableColumn("partitions", wraps=True),
    TableColumn("interval", is_optional=True),
    TableColumn("status"),
    TableColumn("rows", is_right_aligned=True),
    TableColumn("seconds", is_right_aligned=True),
]


@click.command("runs")
@click.argument("name", required=False, metavar="[RUN]")
@project_option
@click.option("--log", is_flag=True, help="Print the output and logs of RUN, and why it failed.")
@click.option("--asset", type=AssetNameParam(), metavar="ASSET", help="Show only runs of this asset.")
@click.option("--status", type=click.Choice(get_args(RunStatus)), help="Show only runs with this status.")
@last_option(20)
@json_option
def command(
    name: str | None, folder: Path, log: bool, asset: str | None, status: RunStatus | None, last: int, as_json: bool
) -> int:
    """List runs, newest last, or show one RUN.

    The interval is the data interval as templates and functions see it. For a scheduled run it is the timetable's; for
    a run triggered by updates it spans the intervals of the runs that made them; otherwise it spans the run's
    partitions, including gaps.

    A run is `lost` if its driver is gone or another run took over its work; none of it is in the target.
    """
    if log:
        return _print_log(folder, name, as_json=as_json)
    project = open_project(folder)
    runs = (
        [project.history.run(name)[0]]
        if name is not None
        else project.history.runs(asset=asset, status=status, last=last)
    )
    if name is None and len(runs) < last:
        print_history_start(project)
    if as_json:
        print_json([run_document(run, project.spec) for run in runs])
        return 0
    terminal = Terminal.from_stream(sys.stdout)
    if not runs:
        terminal.print("no runs")
        return 0
    print_table(terminal, COLUMNS, [_row(run, project.spec) for run in runs])
    for run in runs:
        _print_outcome(run, project.spec, terminal)
    return 0


def _print_outcome(run: RunRecord, project: ProjectSpec, terminal: Terminal) -> None:
    """Prints why a run failed, was skipped or is withheld, and other findings of its validations.

    Each line begins with the run's name; a summary, which prints the same, begins them with the asset's.
    """
    if run.status == "failed":
        print_failure(run.run, run.error, terminal, hint=run.hint, details=run.details)
    if run.skipped:
        print_skipped(run.run, run, project, terminal)
    if run.withheld:
        print_withheld(run.run, run, project, terminal)
    print_other_findings(run.run, run, project, terminal)


def _print_log(folder: Path, name: str | None, *, as_json: bool) -> int:
    """Prints the log of a run; says on stderr why there is none. The exit code is 1 then."""
    from sparkassets.wiring.watchers import run_log

    if name is None:
        raise InputError("--log needs a run", hint="use sparkassets runs RUN --log; `sparkassets runs` lists the runs")
    project = open_project(folder)
    run, driver = project.history.run(name)
    file = run_log(project.spec, name)
    text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else None
    if as_json:
        print_json({"run": name, "file": None if text is None else str(file), "log": text})
    elif text is not None:
        Terminal.from_stream(sys.stdout).stream.write(text)
    if text is None:
        why = (
            "it has not written anything yet"
            if run.status == "running"
            else "it wrote nothing, ran elsewhere, or is too old"
        )
        Terminal.from_stream(sys.stderr).print(
            f"no log of {name} on this host: {why} (it ran as {driver}; its host keeps logs in {file.parent})"
        )
    return 0 if text is not None else 1


def _row(run: RunRecord, project: ProjectSpec) -> Row:
    """A run as a row of the table, in the order of ``COLUMNS``.

    ``adopted`` is a run whose driver was gone after its commit: a later run found it and recorded it.
    """
    status = ", ".join(filter(None, ["adopted" if run.adopted else run.status, outcome_text(run, project)]))
    return [
        clock_text(run.started, project, seconds=True),
        run.run,
        partitions_text(run.asset, run.partitions, project),
        "" if run.interval is None else interval_text(*map(from_unix, run.interval), timezone=project.timezone),
        TableCell(status, STATUS_STYLES["withheld" if run.withheld else run.status]),
        number_text(run.rows),
        "" if run.seconds is None else f"{run.seconds:.1f}",
    ]

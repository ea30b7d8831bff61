"""Prints plans and summaries for people; used by the command line and by the demo."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from sparkassets.cli.output import Row, TableCell, TableColumn, Terminal, print_table, print_text
from sparkassets.core.instants import format_zoned, from_unix, to_unix
from sparkassets.core.journal.withheld_records import describe_other_outcomes
from sparkassets.core.journal.withheld_records import describe_verdicts as withheld_by
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.phrases import few, series
from sparkassets.core.planner.due.withheld_partitions import quarantine_path
from sparkassets.core.planner.plan import AssetNote, CostEstimate, Plan, PlannedRun, Waiting
from sparkassets.core.planner.wording import describe_unchanged, describe_withheld, label_partitions, plural
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.errors import TROUBLESHOOTING

if TYPE_CHECKING:
    from sparkassets.core.journal.history import RunRecord
    from sparkassets.core.planner.explain.preview import SchedulePreview
    from sparkassets.core.results import RunResult, Status, Summary
    from sparkassets.core.timetables import Slot
    from sparkassets.core.validations import RuleVerdict

STATUS_STYLES = {
    "success": "green",
    "current": "green",
    "there": "green",
    "failed": "red",
    "stuck": "red",
    "withheld": "red",
    "lost": "red",
    "cancelled": "yellow",
    "superseded": "yellow",
    "replanned": "yellow",
    "stale": "yellow",
    "missing": "yellow",
    "requested": "yellow",
    "running": "cyan",
    "open": "dim",
    "kept": "yellow",
    "unlisted": "dim",
    "skipped": "dim",
    "paused": "yellow",
    "never": "dim",
}

_UNITS = ((60, 1, "s"), (3570, 60, "min"), (2 * 86400, 3600, "h"))
"""(Below how many seconds, the seconds of the unit, the unit); beyond, days."""

NOTHING_IS_DUE, NOTHING_WAS_DUE = "nothing is due", "nothing was due"


def print_plan(
    plan: Plan, project: ProjectSpec, terminal: Terminal | None = None, *, idle: str = NOTHING_IS_DUE
) -> None:
    """Writes the planned runs, and below them why the rest waits; assets with nothing due come last, dimmed.

    Args:
        plan: From `Project.plan`.
        project: The plan's project.
        terminal: Where to; by default stdout.
        idle: The text for a plan without runs.
    """
    terminal = terminal or Terminal.from_stream(sys.stdout)
    terminal.print(terminal.paint(f"plan at {format_zoned(from_unix(plan.at), project.timezone)}", "bold"))
    if plan.runs:
        terminal.print("", f"runs {plural(len({run.asset for run in plan.runs}), 'asset')}:")
        _print_runs(plan, project, terminal)
    else:
        terminal.print("", idle)
    print_waiting(plan.waiting, project, terminal, quiet=True, whole=terminal.width is None)
    _print_notes(plan.notes, project, terminal, whole=terminal.width is None)
    if plan.unseen:
        _print_unseen(plan.unseen, terminal)
    if plan.late:
        from sparkassets.cli.plan_details import print_late

        terminal.print("")
        print_late(plan.late, project, terminal)
    if plan.changes:
        from sparkassets.cli.plan_details import print_changes

        print_changes(plan.changes, project, terminal)


def _print_unseen(unseen: Mapping[str, str], terminal: Terminal) -> None:
    """Prints the assets (name to reason) of which the plan takes what was last known, for lack of a session."""
    terminal.print("", "only a Spark session can read the current state of these (`plan --spark` starts one):")
    rows: list[Row] = [[TableCell(name, "yellow"), why] for name, why in unseen.items()]
    print_table(terminal, [TableColumn("asset"), TableColumn("why", wraps=True)], rows)


def _print_notes(notes: Sequence[AssetNote], project: ProjectSpec, terminal: Terminal, *, whole: bool = False) -> None:
    """Prints the notes of a plan or summary; ``whole`` lists all partition keys."""
    if not notes:
        return
    terminal.print("", "noticed:")
    columns = [TableColumn("asset"), TableColumn("partitions", wraps=True), TableColumn("what", wraps=True)]
    rows: list[Row] = [
        [TableCell(note.asset, "yellow"), partitions_text(note.asset, note.partitions, project, whole=whole), note.text]
        for note in notes
    ]
    print_table(terminal, columns, rows)


def _print_runs(plan: Plan, project: ProjectSpec, terminal: Terminal) -> None:
    """Prints the planned runs with their reasons and, if they were estimated, their costs."""
    asset_column = TableColumn("asset")
    partitions_column = TableColumn("partitions", wraps=True)
    reason_column = TableColumn("reason", wraps=True)
    rows = [_planned_row(run, project, whole=terminal.width is None) for run in plan.runs]
    if plan.totals is None:
        print_table(terminal, [asset_column, partitions_column, reason_column], rows)
        return
    from sparkassets.cli.plan_details import COST_COLUMNS, cost_cells, totals_line

    costs = [["", ""] if run.estimate is None else cost_cells(run.estimate) for run in plan.runs]
    rows_with_costs = [[name, which, *cost, why] for (name, which, why), cost in zip(rows, costs, strict=True)]
    print_table(terminal, [asset_column, partitions_column, *COST_COLUMNS, reason_column], rows_with_costs)
    terminal.print("", totals_line(plan.totals))
    unknowns = ((run.asset, each) for run in plan.runs if run.estimate is not None for each in run.estimate.unknown)
    for asset, unknown in dict.fromkeys(unknowns):
        terminal.print(f"unknown how much {asset} reads of {unknown}")


def print_downstream(
    after: Mapping[str, PartitionSet],
    costs: Mapping[str, Sequence[CostEstimate]],
    project: ProjectSpec,
    terminal: Terminal,
) -> None:
    """Writes what a backfill would make due downstream, with costs estimated from the present tables."""
    if not after:
        terminal.print("", "nothing is downstream of it")
        return
    terminal.print("", "would then be due downstream:")
    from sparkassets.cli.plan_details import COST_COLUMNS, sum_cells

    rows: list[Row] = [
        [
            TableCell(name, "green"),
            partitions_text(name, partitions, project, whole=terminal.width is None),
            *sum_cells(costs[name]),
        ]
        for name, partitions in after.items()
    ]
    print_table(terminal, [TableColumn("asset"), TableColumn("partitions", wraps=True), *COST_COLUMNS], rows)


def print_waiting(
    items: Sequence[Waiting], project: ProjectSpec, terminal: Terminal, *, quiet: bool, whole: bool = False
) -> None:
    """Prints why assets wait.

    Args:
        items: What waits.
        project: Its project.
        terminal: Where to.
        quiet: Whether assets with nothing due are listed too, dimmed.
        whole: Whether all partition keys are listed.
    """
    wanting = [item for item in items if not item.quiet]
    resting = [item for item in items if item.quiet]
    columns = [
        TableColumn("asset"),
        TableColumn("partitions", wraps=True),
        TableColumn("reason", wraps=True),
        TableColumn("until"),
    ]
    if wanting:
        terminal.print("", "waits:")
        print_table(terminal, columns, _waiting_rows(wanting, project, "", whole=whole))
    if resting and quiet:
        terminal.print("", terminal.paint("nothing due:", "dim"))
        print_table(terminal, columns, _waiting_rows(resting, project, "dim", whole=whole))


def print_summary(
    summary: Summary, project: ProjectSpec, terminal: Terminal | None = None, *, idle: str = NOTHING_WAS_DUE
) -> None:
    """Writes the results of an invocation's runs, and what still waits.

    Args:
        summary: From `Project.run` or `Project.backfill`.
        project: Its project.
        terminal: Where to; by default stderr.
        idle: The text for a summary without runs.
    """
    terminal = terminal or Terminal.from_stream(sys.stderr)
    if summary.runs:
        print_table(terminal, _ENDED_COLUMNS, [_ended_row(result, project) for result in summary.runs])
        terminal.print("", summary_line(summary))
    else:
        terminal.print("interrupted before any run ended" if summary.interrupted else idle)
    _print_outcomes(summary, project, terminal)
    _print_faults(summary, terminal)
    if summary.interrupted:
        return  # the reasons of the last plan are out of date
    # an asset whose failure stands above also waits, for the same reason: once is enough
    reported = {*summary.faults, *((result.asset, f"failed: {result.error}") for result in summary.runs)}
    waiting = [item for item in summary.waiting if (item.asset, item.reason) not in reported]
    print_waiting(waiting, project, terminal, quiet=False)
    _print_notes(summary.notes, project, terminal)
    if summary.late:
        from sparkassets.cli.plan_details import print_late

        print_late(summary.late, project, terminal)


_ENDED_COLUMNS = (
    TableColumn("asset"),
    TableColumn("partitions", wraps=True),
    TableColumn("status"),
    TableColumn("rows", is_right_aligned=True),
    TableColumn("seconds", is_right_aligned=True),
)


def _print_faults(summary: Summary, terminal: Terminal) -> None:
    """Prints the sources and tables that could not be looked at; those with the same fault share a row."""
    if summary.faults:
        terminal.print("", terminal.paint("sources and tables that could not be observed:", "red"))
        rows: list[Row] = [[few(assets), fault] for assets, fault in summary.shared_faults]
        print_table(terminal, [TableColumn("asset"), TableColumn("reason", wraps=True)], rows)


def _print_outcomes(summary: Summary, project: ProjectSpec, terminal: Terminal) -> None:
    """Prints why runs failed, were skipped or are withheld, and other findings of their validations."""
    for result in summary.runs:
        if result.status == "failed":
            print_failure(result.asset, result.error, terminal, hint=result.hint, details=result.details)
        elif result.skipped:
            print_skipped(result.asset, result, project, terminal)
    for topic in dict.fromkeys(result.topic for result in summary.runs if result.status == "failed"):
        terminal.print(f"  help: {TROUBLESHOOTING}#{topic}")
    for result in summary.withheld:
        partitions = partitions_text(result.asset, result.withheld, project) or few(result.held)
        print_withheld(f"{result.asset} {partitions}".rstrip(), result, project, terminal)
    for result in summary.runs:
        print_other_findings(result.asset, result, project, terminal)


def print_failure(name: str, error: str, terminal: Terminal, *, hint: str = "", details: str = "") -> None:
    """Prints the first line of a failure, its hint and the file with the traceback; nothing for an empty error."""
    if error:
        terminal.print("")
        print_text(terminal, f"{name} failed: {error.removeprefix(f'{name}: ')}", style="red")
        if hint:
            print_text(terminal, f"hint: {hint}", indent=2)
        if details:
            terminal.print(f"  details: {details}")


def print_skipped(name: str, run: RunResult | RunRecord, project: ProjectSpec, terminal: Terminal) -> None:
    """Prints why a run wrote nothing; the line begins with ``name``, which is the run's or the asset's."""
    run_name = f"{name} {partitions_text(run.asset, run.partitions, project)}".rstrip()
    terminal.print("")
    print_text(terminal, f"{run_name} skipped: {run.skipped}")


def print_withheld(name: str, run: RunResult | RunRecord, project: ProjectSpec, terminal: Terminal) -> None:
    """Prints the rules that withheld partitions of a run, with samples of failing rows; ``name`` begins the line."""
    failed = [verdict for verdict in run.verdicts if verdict.outcome == "withheld"]
    terminal.print("")
    print_text(terminal, f"{name} withheld: {withheld_by(failed)}", style="red")
    print_findings(run.asset, failed, project, terminal)


def print_other_findings(name: str, run: RunResult | RunRecord, project: ProjectSpec, terminal: Terminal) -> None:
    """Prints findings of validations that withheld nothing, such as warnings; each line begins with ``name``."""
    spec = project.assets.get(run.asset)
    quarantine = quarantine_path(spec) if spec is not None and run.partitions - run.withheld else ""  # else no rows
    for outcome in describe_other_outcomes(run.verdicts, quarantine=quarantine):
        print_text(terminal, f"{name} {outcome}", style="yellow")


MOST_PARTITIONS_SHOWN = 10
"""At most so many partitions of one rule have a line each."""


def print_findings(asset: str, verdicts: Sequence[RuleVerdict], project: ProjectSpec, terminal: Terminal) -> None:
    """Prints withheld partitions one by one if there are several, and samples of failing rows, a line each."""
    for verdict in verdicts:
        by_partition = verdict.by_partition
        for finding in by_partition[:MOST_PARTITIONS_SHOWN]:
            if len(by_partition) > 1:
                print_text(terminal, f"{partitions_text(asset, finding.partitions, project)}: {finding.text}", indent=2)
            for sample in finding.samples:
                values = ", ".join(f"{name}={value}" for name, value in sample.items())
                print_text(terminal, f"{finding.name}: {values}", indent=2)
        if len(by_partition) > MOST_PARTITIONS_SHOWN:
            terminal.print(f"  and {len(by_partition) - MOST_PARTITIONS_SHOWN} more")


def print_preview(previews: Sequence[SchedulePreview], now: datetime, terminal: Terminal) -> None:
    """Prints the coming runs in their assets' time zones, then why other assets have none.

    Args:
        previews: In the order that they are shown in.
        now: The instant from which "in 3 h" counts.
        terminal: Where to.
    """
    rows: list[Row] = []
    for preview in previews:
        for number, slot in enumerate(preview.slots):
            name = TableCell(preview.asset, "" if number else "green")  # the first row of each asset stands out
            distance = relative_time(to_unix(slot.run_after) - to_unix(now))
            rows.append([name, *slot_cells(slot, preview.timezone), distance + _paused_suffix(preview)])
    if rows:
        print_table(terminal, [TableColumn("asset"), *SLOT_COLUMNS, TableColumn("from now")], rows)
    else:
        terminal.print("no run is scheduled by time")
    idle = [preview for preview in previews if not preview.slots]
    if idle:
        terminal.print("", terminal.paint("no further run:", "dim"))
        reasons = [
            [TableCell(preview.asset, "dim"), TableCell(preview.reason + _paused_suffix(preview), "dim")]
            for preview in idle
        ]
        print_table(terminal, [TableColumn("asset"), TableColumn("reason", wraps=True)], reasons)


def _paused_suffix(preview: SchedulePreview) -> str:
    return "; paused" if preview.paused else ""


SLOT_COLUMNS = (TableColumn("runs"), TableColumn("interval", wraps=True))
"""The columns of `slot_cells`."""


def slot_cells(slot: Slot, timezone: str) -> list[str]:
    """When a run of a timetable's slot may start, and its data interval, in the given time zone."""
    return [format_zoned(slot.run_after, timezone), interval_text(slot.start, slot.end, timezone=timezone)]


def interval_text(start: datetime, end: datetime, *, timezone: str) -> str:
    """A data interval on the wall clock of a zone; one instant where start and end are equal."""
    return format_zoned(start, timezone) + (f" to {format_zoned(end, timezone)}" if start != end else "")


def relative_time(seconds: int) -> str:
    """How far ahead or back, in the largest unit that fits.

    >>> relative_time(3 * 3600 - 20), relative_time(-90), relative_time(26 * 3600), relative_time(3 * 86400)
    ('in 3 h', '2 min ago', 'in 26 h', 'in 3 days')
    """
    distance = abs(seconds)
    size, unit = next(((size, unit) for most, size, unit in _UNITS if distance < most), (86400, "days"))
    text = f"{round(distance / size)} {unit}"
    return f"in {text}" if seconds >= 0 else f"{text} ago"


def summary_line(summary: Summary) -> str:
    """One line that counts: ``3 runs: 2 success, 1 failed``."""
    counts = Counter(_status_text(result.status) for result in summary.runs)
    ordered = sorted(counts.items(), key=lambda each: (each[0] != "success", each[0]))
    parts = ", ".join(f"{count} {status}" for status, count in ordered)
    stopped = "; interrupted" if summary.interrupted else ""
    return f"{plural(len(summary.runs), 'run')}: {parts}{stopped}"


def _status_text(status: Status) -> str:
    return "planned again" if status == "replanned" else status


def partitions_text(asset: str, partitions: PartitionSet, project: ProjectSpec, *, whole: bool = False) -> str:
    """A run's partitions for people: the first few, with ``whole`` all; empty for an asset without partitions."""
    spec = project.assets.get(asset)
    if spec is None:
        return ""
    return (
        series(spec.partitioning.display_labels(partitions))
        if whole
        else label_partitions(partitions, spec.partitioning)
    )


def outcome_text(run: RunResult | RunRecord, project: ProjectSpec) -> str:
    """How many partitions of a run are withheld or unchanged; empty if none is."""
    spec = project.assets.get(run.asset)
    if spec is None:
        return ""
    withheld = "" if run.status == "withheld" else describe_withheld(run.withheld, run.partitions, spec.partitioning)
    return ", ".join(filter(None, [withheld, describe_unchanged(run.unchanged, run.partitions, spec.partitioning)]))


def number_text(value: int | None) -> str:
    """A number with thousands separated; empty for None."""
    return "" if value is None else f"{value:,}"


def clock_text(unix: int | None, project: ProjectSpec, *, seconds: bool = False) -> str:
    """An instant in a table, on the project's clock, with ``seconds`` or in whole minutes; empty for None."""
    if unix is None:
        return ""
    return format_zoned(from_unix(unix if seconds else unix - unix % 60), project.timezone, seconds=seconds)


def _planned_row(run: PlannedRun, project: ProjectSpec, *, whole: bool) -> Row:
    return [TableCell(run.asset, "green"), partitions_text(run.asset, run.partitions, project, whole=whole), run.reason]


def _waiting_rows(items: Sequence[Waiting], project: ProjectSpec, style: str, *, whole: bool) -> list[Row]:
    """One row for each reason, with the assets that wait for it; partitions only if all belong to one asset."""
    by_reason: dict[tuple[str, int | None], list[Waiting]] = {}
    for item in items:
        by_reason.setdefault((item.reason, item.until), []).append(item)
    rows: list[Row] = []
    for (reason, until), waits in by_reason.items():
        names = list(dict.fromkeys(item.asset for item in waits))
        partitions = PartitionSet.union(item.partitions for item in waits)
        partitions_label = partitions_text(names[0], partitions, project, whole=whole) if len(names) == 1 else ""
        shown = ", ".join(names) if whole else few(names)
        rows.append([TableCell(text, style) for text in (shown, partitions_label, reason, clock_text(until, project))])
    return rows


def _ended_row(result: RunResult, project: ProjectSpec) -> Row:
    """One finished run as a row of the summary."""
    status = "adopted" if result.adopted else _status_text(result.status)
    outcome = ", ".join(filter(None, [status, outcome_text(result, project)]))
    return [
        result.asset,
        partitions_text(result.asset, result.partitions, project),
        TableCell(outcome, STATUS_STYLES.get("withheld" if result.withheld else result.status, "")),
        number_text(result.rows),
        f"{result.seconds:.1f}",
    ]

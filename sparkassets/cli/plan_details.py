"""Details of a plan for people: changes of code, estimated costs and late assets."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sparkassets.cli.output import LEAST, TableColumn, Terminal, strip_controls, wrap
from sparkassets.core.phrases import duration_text, size_text
from sparkassets.core.planner.batch.cost_estimates import sum_estimates
from sparkassets.core.planner.explain.code_changes import describe_code_change, describe_recompute_cost
from sparkassets.core.planner.explain.lateness import describe_lateness
from sparkassets.core.planner.plan import CostEstimate, CostTotals
from sparkassets.core.planner.wording import plural

if TYPE_CHECKING:
    from sparkassets.core.planner.plan import AssetLateness, CodeChange
    from sparkassets.core.spec.project_spec import ProjectSpec

_STYLES = {"-": "red", "+": "green"}


def print_changes(changes: Sequence[CodeChange], project: ProjectSpec, terminal: Terminal) -> None:
    """Prints assets whose code has changed, each with the cost of computing them again and the changed lines."""
    if not changes:
        return
    terminal.print("", "code changed:")
    room = max((terminal.width or sys.maxsize) - 2, LEAST)
    for change in changes:
        first, *rest = wrap(
            f"{change.asset} ({change.category}): {describe_code_change(change)}; "
            f"{describe_recompute_cost(change, project)}",
            room,
        )
        terminal.print(f"  {terminal.paint(change.asset, 'yellow')}{first.removeprefix(change.asset)}")
        terminal.print(*(f"  {line}" for line in rest))
        # a change of category none alters no result, so its lines are of no interest
        for line in change.difference if change.category != "none" else ():
            terminal.print(f"    {terminal.paint(strip_controls(line), _STYLES.get(line[:1], 'dim'))}")


COST_COLUMNS = (TableColumn("reads", is_right_aligned=True), TableColumn("takes", is_right_aligned=True))
"""The columns of `cost_cells`."""


def cost_cells(estimate: CostEstimate) -> list[str]:
    """The size that a run reads and its duration, as a range if earlier runs varied."""
    reads = "unknown" if estimate.bytes is None else size_text(estimate.bytes)
    if estimate.seconds is None:
        return [reads, "unknown"]
    low, high = (duration_text(each) for each in estimate.between or (estimate.seconds, estimate.seconds))
    duration = duration_text(estimate.seconds)
    return [reads, f"~{duration}" if low == high else f"~{duration} ({low} to {high})"]


def sum_cells(estimates: Sequence[CostEstimate]) -> list[str]:
    """The total size and duration of several runs of an asset, or ``unknown``."""
    totals = sum_estimates(estimates)
    reads = "unknown" if "bytes" in totals.unknown else size_text(totals.bytes)
    takes = "unknown" if "seconds" in totals.unknown else f"~{duration_text(totals.seconds)}"
    runs = f" in {plural(totals.runs, 'run')}" if totals.runs > 1 else ""
    return [reads, takes + runs]


def totals_line(totals: CostTotals) -> str:
    """One line with the total cost of all runs, and for how many of them it is not known."""
    parts = [
        _figure("reads", f"{size_text(totals.bytes)} in {plural(totals.files, 'file')}", totals, "bytes"),
        _figure("takes", f"~{duration_text(totals.seconds)}", totals, "seconds"),
        _figure("writes", f"~{plural(totals.rows, 'row')}", totals, "rows"),
    ]
    return f"in all {plural(totals.runs, 'run')}: {', '.join(parts)}"


def _figure(verb: str, known_text: str, totals: CostTotals, name: str) -> str:
    """One total, such as ``reads 3 GB (unknown for 2 runs)``; ``name`` is its key in ``totals.unknown``."""
    count = totals.unknown.get(name, 0)
    if count == totals.runs > 0:
        return f"{verb} unknown" + (" rows" if name == "rows" else "")
    return f"{verb} {known_text}" + (f" (unknown for {plural(count, 'run')})" if count else "")


def print_late(late: Sequence[AssetLateness], project: ProjectSpec, terminal: Terminal) -> None:
    """Prints a line for each late asset."""
    for lateness in late:
        terminal.print(
            f"{terminal.paint(lateness.asset, 'yellow')}: {describe_lateness(lateness, project.assets[lateness.asset])}"
        )

"""What runs are to cost, for people."""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.cli.tables import Column
from sparkassets.core.planner.estimate import totals
from sparkassets.core.planner.plan import Estimate, Totals
from sparkassets.core.planner.wording import plural
from sparkassets.core.sizes import size_text

COST_COLUMNS = (Column("reads", right=True), Column("takes", right=True))
"""The columns of `cost_cells`."""

_UNITS = ((60, 1, "s"), (3600, 60, "min"), (2 * 86400, 3600, "h"))
"""(Below how many seconds, the seconds of the unit, the unit); beyond, days."""


def cost_cells(estimate: Estimate) -> list[str]:
    """What one run reads, and how long it takes: an interval where earlier runs leave it open."""
    reads = "unknown" if estimate.bytes is None else size_text(estimate.bytes)
    if estimate.seconds is None:
        return [reads, "unknown"]
    low, high = (seconds_text(each) for each in estimate.between or (estimate.seconds, estimate.seconds))
    told = seconds_text(estimate.seconds)
    return [reads, f"~{told}" if low == high else f"~{told} ({low} to {high})"]


def sum_cells(estimates: Sequence[Estimate]) -> list[str]:
    """What several runs of an asset read and take in all, as far as it is known."""
    found = totals(estimates)
    reads = "unknown" if "bytes" in found.unknown else size_text(found.bytes)
    takes = "unknown" if "seconds" in found.unknown else f"~{seconds_text(found.seconds)}"
    runs = f" in {plural(found.runs, 'run')}" if found.runs > 1 else ""
    return [reads, takes + runs]


def in_all(found: Totals) -> str:
    """One line of what all runs cost, and of how many it is not known."""
    parts = [
        f"reads {size_text(found.bytes)} in {plural(found.files, 'file')}" + _without("bytes", found),
        f"takes ~{seconds_text(found.seconds)}" + _without("seconds", found),
        f"writes ~{plural(found.rows, 'row')}" + _without("rows", found),
    ]
    return f"in all {plural(found.runs, 'run')}: {', '.join(parts)}"


def seconds_text(seconds: float) -> str:
    """A duration in the unit that tells it best.

    >>> seconds_text(0.4), seconds_text(90), seconds_text(26 * 3600), seconds_text(3 * 86400)
    ('0.4 s', '2 min', '26 h', '3 days')
    """
    if seconds < 10:  # noqa: PLR2004  tenths matter of the short ones
        return f"{seconds:.1f} s"
    size, unit = next(((size, unit) for most, size, unit in _UNITS if seconds < most), (86400, "days"))
    return f"{round(seconds / size)} {unit}"


def _without(figure: str, found: Totals) -> str:
    count = found.unknown.get(figure, 0)
    return f" (not known of {plural(count, 'run')})" if count else ""

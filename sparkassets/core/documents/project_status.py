"""The status of a project as a value, and each asset's in a few words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sparkassets.core.instants import format_zoned, from_unix
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from sparkassets.core.planner.explain.status import AssetStatus

COUNTS = ("current", "kept", "stale", "missing", "requested", "failed", "withheld", "skipped")
"""The partition statuses that are counted, in the order of display."""
MOST_URGENT_FIRST = ("failed", "withheld", "missing", "stale", "requested", "current", "skipped")
"""Partition statuses that may stand for a whole asset, the most urgent first; those that are kept are also current."""


@frozen
class ProjectStatus:
    """The status of every asset, upstream first; iterable, sized and indexed by asset name.

    Attributes:
        at: Instant of the status, Unix seconds.
    """

    at: int
    assets: tuple[AssetStatus, ...]

    def __iter__(self) -> Iterator[AssetStatus]:
        return iter(self.assets)

    def __len__(self) -> int:
        return len(self.assets)

    def __getitem__(self, name: str) -> AssetStatus:
        status = next((each for each in self.assets if each.asset == name), None)
        if status is None:
            raise KeyError(name)
        return status

    def __repr__(self) -> str:
        return "\n".join([f"<{self._format_title()}>", *map(repr, self.assets)])

    def _format_title(self) -> str:
        return f"status at {format_zoned(from_unix(self.at), 'UTC')}"

    def _repr_html_(self) -> str:
        """The status in a notebook."""
        from sparkassets.core.notebook import HtmlTable, render_tables

        rows = [
            (
                each.asset,
                each.covered_text,
                summarize_status(each)[0],
                _format_instant(each.last_at),
                _format_instant(each.next_at),
                each.error or "",
            )
            for each in self.assets
        ]
        notes = [(each.asset, note) for each in self.assets for note in each.notes]
        return render_tables(
            self._format_title(),
            HtmlTable("", ("asset", "partitions", "state", "last", "next", "error"), rows),
            HtmlTable("noticed", ("asset", "what"), notes),
        )


def _format_instant(seconds: int | None) -> str:
    return "" if seconds is None else format_zoned(from_unix(seconds), "UTC")


def status_counts(status: AssetStatus) -> dict[str, int]:
    """How many partitions of an asset are in each status."""
    return {name: getattr(status, name) for name in COUNTS}


def summarize_status(status: AssetStatus) -> tuple[str, str]:
    """The headline of an asset's status in a few words, and the status code that styles it.

    What happens now comes first, then what went wrong, what waits for a person, and how many partitions are how.
    """
    counts = status_counts(status)
    counts_text = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
    if status.running or status.paused:
        state = "running" if status.running else "paused"
        return ", ".join(filter(None, [state, counts_text])), state
    if status.error:
        return (counts_text if counts["failed"] else ", ".join(filter(None, ["failed", counts_text]))), "failed"
    if status.stuck:
        return "waits for a person", "stuck"
    if counts_text:
        return counts_text, next(name for name in MOST_URGENT_FIRST if counts[name])
    if status.withheld_runs:
        return "withheld", "withheld"
    if status.last_at is None:
        return "never", "never"
    return ("there" if status.last_run is None else "success"), "success"

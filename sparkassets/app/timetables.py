"""`TimetableCommands`: the runs that time alone starts, and which runs of two timetables belong together."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from sparkassets.app.context import ProjectContext
from sparkassets.core.instants import parse_instant
from sparkassets.core.timetables import Timetable
from sparkassets.errors import InputError

if TYPE_CHECKING:
    from sparkassets.core.planner.explain.preview import SchedulePreview
    from sparkassets.core.timetables.timetable import RunAlignment


class TimetableCommands:
    """Reads timetables; needs no Spark."""

    def __init__(self, context: ProjectContext) -> None:
        self._context = context

    def preview(self, *assets: str, start: datetime | str | None = None, count: int = 5) -> list[SchedulePreview]:
        """The next ``count`` runs of the timetable of each of ``assets`` (none means all), from ``start`` (now) on.

        >>> project.timetables.preview("daily_sales", count=3)  # doctest: +SKIP

        Raises:
            InputError: ``count`` is not between 1 and `MOST_RUNS`.
        """
        from sparkassets.core.planner.explain.preview import MOST_RUNS, preview_schedule

        if not 1 <= count <= MOST_RUNS:
            raise InputError(f"cannot preview {count} runs of an asset; expected 1 to {MOST_RUNS:,}")
        specs = [self._context.spec.asset(name) for name in assets] or list(self._context.spec.assets.values())
        since, asset_states = self._context.resolve_time(start), self._context.read_state("preview").assets
        paused = {name for name, state in asset_states.items() if state.paused}
        return [preview_schedule(spec, start=since, count=count, paused=spec.name in paused) for spec in specs]

    def align(self, upstream: str, downstream: str, *, at: datetime | str | None = None) -> RunAlignment:
        """Which run of ``upstream`` belongs to the run of ``downstream`` at that time.

        >>> project.timetables.align("hourly_clicks", "@daily").delta_seconds  # doctest: +SKIP

        Args:
            upstream: The name of an asset with a timetable, a preset or a cron.
            downstream: Likewise.
            at: When the downstream fires, or later; default now.

        Raises:
            InputError: One is no timetable, or has no run by then.
        """
        from sparkassets.core.timetables.timetable import align_runs

        up, down = self._timetable(upstream), self._timetable(downstream)
        return align_runs(up, down, self._context.resolve_time(at), names=(upstream, downstream))

    def _timetable(self, text: str) -> Timetable:
        """The timetable of the asset with that name, or the one that ``text`` writes as a preset or cron."""
        from sparkassets.core.timetables.timetable import names_no_asset

        if names_no_asset(text):
            from sparkassets.core.timetables.parse import parse_timetable

            return parse_timetable(text, timezone=self._context.spec.timezone)
        spec = self._context.spec.asset(text)
        if spec.schedule.timetable is None:
            from sparkassets.core.planner.explain.preview import describe_untimed

            raise InputError(f"asset {text!r} has no timetable: {describe_untimed(spec)}")
        return spec.schedule.timetable


def align_crons(upstream: str, downstream: str, *, at: datetime | str | None, now: datetime) -> RunAlignment:
    """`TimetableCommands.align` for two presets or crons in UTC, without a project; by default at ``now``."""
    from sparkassets.core.timetables.parse import parse_timetable
    from sparkassets.core.timetables.timetable import align_runs

    up, down = (parse_timetable(text, timezone="UTC") for text in (upstream, downstream))
    moment = parse_instant(at, zone="UTC") if isinstance(at, str) else at
    return align_runs(up, down, moment or now, names=(upstream, downstream))

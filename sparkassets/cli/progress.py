"""Progress of runs for people: bars or lines."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from sparkassets.cli.output import Terminal, strip_controls
from sparkassets.cli.plan_tables import STATUS_STYLES, outcome_text, partitions_text
from sparkassets.core.instants import format_zoned
from sparkassets.core.phrases import escape_invisible
from sparkassets.core.planner.plan import PlannedRun
from sparkassets.core.planner.wording import plural
from sparkassets.core.results import RunResult
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.runtime.progress import Progress

if TYPE_CHECKING:
    from rich.progress import TaskID


BAR_WIDTH = 12
"""Columns of a bar, so that the longest sentence beside it fits into 80."""


class ProgressReporter(Progress, Protocol):
    """A progress that is entered before and left after the runs, to clear up the screen."""

    def stopping(self, text: str) -> None:
        """Reports that the invocation ends early; called by a signal handler, between any two steps of the program."""

    def __enter__(self) -> Self:
        """Begins to show."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Clears up."""


def make_reporter(project: ProjectSpec, terminal: Terminal, clock: Callable[[], datetime]) -> ProgressReporter:
    """Bars where ``terminal`` can draw them, else lines, each with the time of ``clock``."""
    can_draw = terminal.width is not None and os.environ.get("TERM") != "dumb"
    return BarReporter(project, terminal) if can_draw else LineReporter(project, terminal, clock)


class LineReporter:
    """Prints a line for every start and end, with the time in the project's time zone."""

    def __init__(self, project: ProjectSpec, terminal: Terminal, clock: Callable[[], datetime]) -> None:
        self._project = project
        self._terminal = terminal
        self._clock = clock

    def planned(self, runs: int, waiting: int) -> None:
        """Prints nothing: every run is reported on its own."""

    def starting(self, what: str) -> None:
        """Something that takes seconds begins."""
        self._print(f"starting {what}")

    def started(self, run: PlannedRun, run_id: str) -> None:
        """A run began."""
        self._print(f"started {run_label(run, self._project)}: {run.reason}; {run_id}")

    def finished(self, result: RunResult) -> None:
        """A run ended."""
        self._print(ended_line(result, self._project, self._terminal))

    def stopping(self, text: str) -> None:
        """Reports that the invocation ends early."""
        # by file descriptor: the signal may have interrupted a write that uses the stream's buffer
        os.write(self._terminal.stream.fileno(), f"{self._add_timestamp(text)}\n".encode())

    def __enter__(self) -> Self:
        """Returns itself: there is nothing to set up."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Does nothing: there is nothing to clear up."""

    def _print(self, text: str) -> None:
        self._terminal.print(self._add_timestamp(text))
        self._terminal.stream.flush()

    def _add_timestamp(self, text: str) -> str:
        return f"{format_zoned(self._clock(), self._project.timezone, seconds=True)} {text}"


class BarReporter:
    """Shows a bar for the invocation and one for every running asset; lines of finished runs scroll away above."""

    def __init__(self, project: ProjectSpec, terminal: Terminal) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.table import Column

        self._project = project
        self._terminal = terminal
        console = Console(
            file=terminal.stream,
            width=(terminal.width or 80) - len("^C"),  # the terminal echoes it there
            force_terminal=True,
            no_color=not terminal.colour,
            highlight=False,
        )
        name = TextColumn("{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True))
        count = TextColumn("{task.fields[count]}", markup=False)
        self._progress = Progress(
            name,
            BarColumn(bar_width=BAR_WIDTH),
            count,
            TimeElapsedColumn(),
            console=console,
            transient=True,
            expand=True,
            redirect_stdout=sys.stdout.isatty(),  # what people's functions print scrolls above the bars; a pipe gets it
        )
        self._overall = self._progress.add_task("planning", total=None, count="")
        self._running: dict[str, TaskID] = {}
        self._done = 0

    def planned(self, runs: int, waiting: int) -> None:
        """A plan with something to run was made; the total grows with each plan, as ended runs make others due."""
        del waiting
        total = self._done + len(self._running) + runs
        self._progress.start()
        self._progress.update(self._overall, total=total)
        self._count()

    def starting(self, what: str) -> None:
        """Announces a step of some seconds; stops the bars meanwhile, as the step may print something itself."""
        self._progress.stop()
        self._progress.console.print(f"starting {what}", style="dim")

    def started(self, run: PlannedRun, run_id: str) -> None:
        """A run began."""
        name = escape_invisible(run_label(run, self._project))
        self._running[run_id] = self._progress.add_task(f"  {name}", total=None, count="")
        self._count()

    def finished(self, result: RunResult) -> None:
        """A run ended."""
        from rich.text import Text

        task = self._running.pop(result.run, None)
        if task is not None:
            self._progress.remove_task(task)
        self._done += 1
        self._count()
        line = Text.from_ansi(escape_invisible(ended_line(result, self._project, self._terminal)))
        self._progress.console.print(line, no_wrap=True, overflow="ellipsis")

    def stopping(self, text: str) -> None:
        """Reports that the invocation ends early, at the next redraw."""
        self._progress.update(self._overall, description=text)

    def __enter__(self) -> Self:
        """Begins to draw."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wipes the bars away."""
        self._progress.stop()

    def _count(self) -> None:
        """Updates the bar of the invocation: how many of the planned runs have ended."""
        total = self._progress.tasks[0].total
        text = "" if total is None else f"{self._done}/{total:.0f}"
        self._progress.update(self._overall, completed=self._done, count=text, description="runs")


def run_label(run: PlannedRun | RunResult, project: ProjectSpec) -> str:
    """The asset with the partitions of the run."""
    return f"{run.asset} {partitions_text(run.asset, run.partitions, project)}".rstrip()


def ended_line(result: RunResult, project: ProjectSpec, terminal: Terminal) -> str:
    """How a run ended, in one line: status, asset, partitions, rows, seconds, and why it failed or was skipped."""
    status = terminal.paint(result.status, STATUS_STYLES.get(result.status, ""))
    facts = [] if result.rows is None else [plural(result.rows, "row")]
    if result.deleted:
        facts.append(f"{result.deleted:,} deleted")
    facts.append(f"{result.seconds:.1f} s")
    if outcome := outcome_text(result, project):
        facts.append(outcome)
    if result.adopted:
        facts.append(f"recorded {result.adopted}, which had already committed")
    if result.error or result.skipped:
        facts.append(strip_controls(result.error or result.skipped))
    return f"{status} {run_label(result, project)}: {', '.join(facts)}"

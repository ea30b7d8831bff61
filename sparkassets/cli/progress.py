"""Progress of runs: bars or lines for people, JSON or log lines for programs."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, TextIO

from sparkassets.cli.options import Style
from sparkassets.cli.output import Terminal, strip_controls
from sparkassets.cli.plan_tables import STATUS_STYLES, outcome_text, partitions_text
from sparkassets.core.documents.document_values import partitions_document
from sparkassets.core.documents.runs import result_document
from sparkassets.core.instants import format_instant, format_zoned
from sparkassets.core.phrases import escape_invisible, few
from sparkassets.core.planner.plan import PlannedRun
from sparkassets.core.planner.wording import plural
from sparkassets.core.results import RunResult
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.runtime.progress import Progress

if TYPE_CHECKING:
    from rich.progress import TaskID

    from sparkassets.core.results import Summary

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
        """A plan with something to run was made."""
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
        total = self._progress.tasks[0].total
        text = "" if total is None else f"{self._done}/{total:.0f}"
        self._progress.update(self._overall, completed=self._done, count=text, description="runs")


def run_label(run: PlannedRun | RunResult, project: ProjectSpec) -> str:
    """The asset with the partitions of the run."""
    return f"{run.asset} {partitions_text(run.asset, run.partitions, project)}".rstrip()


def ended_line(result: RunResult, project: ProjectSpec, terminal: Terminal) -> str:
    """How a run ended, in one line."""
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


LOGGER: Final = "sparkassets"
_FACTS_FIELD: Final = "facts"
_LEVELS: Final[Mapping[str, int]] = {"failed": logging.ERROR, "cancelled": logging.WARNING}

ReportEvent = Callable[[str, str, Mapping[str, Any], int], None]
"""Reports an event: its name, a sentence, its facts and a logging level."""


class ProgressEvents:
    """Reports progress as events.

    They are ``planned``, ``starting``, ``run_started``, ``run_ended``, ``interrupted`` and ``ended``.
    """

    def __init__(self, project: ProjectSpec, report_event: ReportEvent) -> None:
        self._project = project
        self._report_event = report_event

    def planned(self, runs: int, waiting: int) -> None:
        """A plan with something to run was made."""
        facts = {"runs": runs, "waiting": waiting}
        self._report_event("planned", f"{runs} to run, {waiting} waiting", facts, logging.INFO)

    def starting(self, what: str) -> None:
        """Something that takes seconds begins."""
        self._report_event("starting", f"starting {what}", {"what": what}, logging.INFO)

    def started(self, run: PlannedRun, run_id: str) -> None:
        """A run began."""
        partitions = partitions_document(run.partitions, self._project.assets.get(run.asset))
        facts = {"asset": run.asset, "run": run_id, "partitions": partitions, "reason": run.reason}
        self._report_event("run_started", f"started {run_label(run, self._project)}: {run.reason}", facts, logging.INFO)

    def finished(self, result: RunResult) -> None:
        """A run ended."""
        facts, level = result_document(result, self._project), _LEVELS.get(result.status, logging.INFO)
        sentence = f"{result.status} {run_label(result, self._project)} after {result.seconds:.1f} s"
        if result.withheld:
            level, sentence = logging.ERROR, f"{sentence}, withheld: {result.withheld_by}"
        reason = result.error or result.skipped
        self._report_event("run_ended", f"{sentence}: {reason}" if reason else sentence, facts, level)

    def stopping(self, text: str) -> None:
        """Reports that the invocation ends early."""
        self._report_event("interrupted", text, {}, logging.WARNING)

    def report_end(self, summary: Summary) -> None:
        """An invocation has ended."""
        counts = {status: sum(run.status == status for run in summary.runs) for status in ("success", "failed")}
        waiting = sum(not item.quiet for item in summary.waiting)
        facts = {"ok": summary.ok, "runs": len(summary.runs), **counts, "waiting": waiting, "late": len(summary.late)}
        sentence = f"{len(summary.runs)} runs, {counts['failed']} failed, {waiting} waiting"
        reason = f": {few(summary.failures)}" if summary.failures else ""
        self._report_event("ended", f"{sentence}{reason}", facts, logging.INFO if summary.ok else logging.ERROR)

    def __enter__(self) -> Self:
        """Returns itself: there is nothing to set up."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Does nothing: there is nothing to clear up."""


@contextmanager
def open_events(project: ProjectSpec, style: Style) -> Iterator[ProgressEvents | None]:
    """Yields progress for programs in this style, with log records on stderr while entered; None for people."""
    if not style:
        yield None
        return
    stream, variables = sys.stderr, project.variables
    if style == "progress":
        yield ProgressEvents(project, _JsonLineWriter(stream, variables))
        return
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_JsonFormatter(variables) if style == "json" else _TextFormatter(variables))
    handler.addFilter(lambda record: record.levelno >= logging.WARNING or not record.name.startswith("py4j"))
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(min(level or logging.INFO, logging.INFO))
    logging.captureWarnings(True)  # noqa: FBT003  its only argument
    try:
        yield ProgressEvents(project, _log_event)
    finally:
        logging.captureWarnings(False)  # noqa: FBT003
        root.removeHandler(handler)
        root.setLevel(level)


def _log_event(event: str, text: str, facts: Mapping[str, Any], level: int) -> None:
    logging.getLogger(LOGGER).log(level, "%s", text, extra={_FACTS_FIELD: {"event": event, **facts}})


class _JsonLineWriter:
    """Writes each event as one line of JSON."""

    def __init__(self, stream: TextIO, variables: Mapping[str, str]) -> None:
        self._stream = stream
        self._variables = variables

    def __call__(self, event: str, text: str, facts: Mapping[str, Any], level: int) -> None:
        """Writes the event's facts; its sentence for people is left out."""
        del text, level
        document = {"event": event, "at": format_instant(datetime.now(UTC)), **facts}
        self._stream.write(f"{_redacted_line(document, self._variables)}\n")
        self._stream.flush()


class _JsonFormatter(logging.Formatter):
    """Formats a log record as a JSON object: time, level, logger, message, thread, and the facts of an event."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        super().__init__()
        self._variables = variables

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line of JSON."""
        document: dict[str, Any] = {
            "at": format_instant(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "thread": record.threadName,
            **getattr(record, _FACTS_FIELD, {}),
        }
        if record.exc_info:
            document["exception"] = self.formatException(record.exc_info)
        return _redacted_line(document, self._variables)


class _TextFormatter(logging.Formatter):
    """Formats a log record as one line of text, without credentials."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%SZ")
        self.converter = time.gmtime
        self._variables = variables

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line of text."""
        from sparkassets.core.redaction import redact

        return escape_invisible(redact(super().format(record), variables=self._variables))


def _redacted_line(document: Mapping[str, Any], variables: Mapping[str, str]) -> str:
    from sparkassets.core.redaction import redact  # what is shown to people needs none of it

    return redact(escape_invisible(json.dumps(document, ensure_ascii=False, default=str)), variables=variables)

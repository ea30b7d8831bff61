"""Progress of runs for programs: JSON or log lines."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TextIO

from sparkassets.cli.options import Style
from sparkassets.cli.progress import run_label
from sparkassets.core.documents.document_values import partitions_document
from sparkassets.core.documents.runs import result_document
from sparkassets.core.instants import format_instant
from sparkassets.core.phrases import escape_invisible, few
from sparkassets.core.planner.plan import PlannedRun
from sparkassets.core.results import RunResult
from sparkassets.core.spec.project_spec import ProjectSpec

if TYPE_CHECKING:
    from sparkassets.core.results import Summary

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
def open_events(project: ProjectSpec, style: Style) -> Iterator[ProgressEvents]:
    """Yields progress in this style; unless that is ``progress``, log records go to stderr while entered.

    Of the records of py4j, which carries calls to the JVM, only warnings are shown.
    """
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
    root.setLevel(min(level or logging.INFO, logging.INFO))  # INFO at least; 0 means that no level is set
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
    """The document as one line of JSON, without credentials and values of variables."""
    from sparkassets.core.redaction import redact  # what is shown to people needs none of it

    return redact(escape_invisible(json.dumps(document, ensure_ascii=False, default=str)), variables=variables)

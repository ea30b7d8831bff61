"""What `run` and `backfill` share: progress, signals, the loop, the summary and the exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass
from signal import SIGINT
from typing import TYPE_CHECKING

from sparkassets.cli.documents import print_json, summary_document
from sparkassets.cli.render import print_summary
from sparkassets.cli.reporting import reporter
from sparkassets.cli.signals import InterruptedBySignalError, Stopper
from sparkassets.cli.terminal import Terminal
from sparkassets.core.planner.plan import Plan, PlannedRun
from sparkassets.errors import SparkAssetsError
from sparkassets.runtime.progress import Progress, RunResult, Summary

if TYPE_CHECKING:
    from sparkassets.wiring import Project

STDOUT, STDERR = 1, 2
"""File descriptors, which a JVM inherits."""

Work = Callable[[Progress], Summary]
"""One invocation of the runtime, which tells how it goes."""


def drive(project: Project, work: Work, *, as_json: bool, every_seconds: float | None = None) -> int:
    """Does ``work``, tells how it went, and returns the exit code.

    Args:
        project: Is asked to stop when a signal comes, and closed in the end.
        work: What to do.
        as_json: The summary is one document on stdout; else a table on stderr, as stdout is for what people's own
            functions print.
        every_seconds: Does it again and again, with this pause between, until a signal comes.
    """
    terminal = Terminal.of(sys.stderr)
    stopper = Stopper(project.stop)
    done: list[Summary] = []
    with stdout_for_one_document() if as_json else nullcontext():
        try:
            with stopper, project:
                _ticks(project, work, stopper, terminal, done, as_json=as_json, every_seconds=every_seconds)
        except (InterruptedBySignalError, KeyboardInterrupt):
            stopper.signum = stopper.signum or SIGINT
            terminal.print("interrupted")
        except SparkAssetsError as error:
            if stopper.signum is None:
                raise
            terminal.print(f"interrupted: {error}")
    summary = merged(done, interrupted=stopper.signum is not None)
    if as_json:
        print_json(summary_document(summary, project.spec))
    if stopper.signum is not None:
        return 128 + stopper.signum
    return 0 if summary.ok else 1


def merged(done: Sequence[Summary], *, interrupted: bool) -> Summary:
    """One summary of several ticks: all their runs, and what waits after the last; nobody knows after a signal."""
    last = done[-1] if done else Summary((), ())
    runs = tuple(run for summary in done for run in summary.runs)
    return Summary(runs, () if interrupted else last.waiting, last.faults, interrupted)


def _ticks(
    project: Project,
    work: Work,
    stopper: Stopper,
    terminal: Terminal,
    done: list[Summary],
    *,
    as_json: bool,
    every_seconds: float | None,
) -> None:
    while True:
        with reporter(project.spec, terminal) as progress:
            stopper.tell = progress.stopping
            summary = work(_Guarded(progress, stopper))
        quiet = bool(done) and not summary.runs and summary.ok  # a loop tells of a tick without news only once
        done.append(summary)
        if not as_json and not quiet:
            print_summary(summary, project.spec, terminal)
        if every_seconds is None or summary.interrupted:
            return
        stopper.idle(every_seconds)


@dataclass(frozen=True, slots=True)
class _Guarded:
    """A progress that takes the signals back once Spark has started: a plan comes first of all that follows."""

    progress: Progress
    stopper: Stopper

    def planned(self, plan: Plan) -> None:
        self.stopper.install()
        self.progress.planned(plan)

    def starting(self, what: str) -> None:
        self.progress.starting(what)

    def started(self, run: PlannedRun, run_id: str) -> None:
        self.progress.started(run, run_id)

    def finished(self, result: RunResult) -> None:
        self.progress.finished(result)


@contextmanager
def stdout_for_one_document() -> Iterator[None]:
    """While entered, what this process and the JVM that it starts write to stdout goes to stderr."""
    stdout = sys.stdout
    stdout.flush()
    kept = os.dup(STDOUT)
    os.dup2(STDERR, STDOUT)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        stdout.flush()
        os.dup2(kept, STDOUT)
        os.close(kept)

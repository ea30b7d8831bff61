"""Cancels the Spark work of a run from another thread."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sparkassets.errors import RunError
from sparkassets.spark.missing_features import ignore_lacking
from sparkassets.spark.own_session import context_of, list_interruptible

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_AGAIN_SECONDS = 0.5


class InterruptibleWork:
    """One thread's Spark work for one run."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.cancelled = threading.Event()
        self.ended = threading.Event()

    def check(self, run: str) -> None:
        """Stops the run between two Spark calls.

        Raises:
            RunError: The run was cancelled meanwhile.
        """
        if self.cancelled.is_set():
            raise RunError(f"{run} was cancelled")


class RunInterrupts:
    """The current work, by run; a later attempt of a cancelled run is not cancelled."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._going: dict[str, set[InterruptibleWork]] = defaultdict(set)

    @contextlib.contextmanager
    def work(self, session: SparkSession, run: str) -> Iterator[InterruptibleWork]:
        """Tags the Spark jobs of this thread until the block ends.

        Raises:
            RunError: In place of whatever was raised, if the run was cancelled meanwhile.
        """
        work = InterruptibleWork(f"sparkassets-{run}-{next(self._numbers)}")
        with self._lock:
            self._going[run].add(work)
        _add_tag(session, work.tag)
        try:
            yield work
        except Exception as error:
            if work.cancelled.is_set():
                raise RunError(f"{run} was cancelled") from error
            raise
        finally:
            work.ended.set()
            with self._lock:
                self._going[run].discard(work)
                if not self._going[run]:
                    del self._going[run]
            _remove_tag(session, work.tag)

    def cancel(self, session: SparkSession, run: str) -> None:
        """Interrupts the run's work repeatedly until its threads have noticed; returns at once."""
        with self._lock:
            going = list(self._going.get(run, ()))
        for work in going:
            if not work.cancelled.is_set():
                work.cancelled.set()
                name = f"{work.tag}-interrupt"
                threading.Thread(target=_interrupt, args=(session, work), name=name, daemon=True).start()


def _interrupt(session: SparkSession, work: InterruptibleWork) -> None:
    """Interrupts jobs; a job may be submitted just after a call, so one call is not enough."""
    while not work.ended.is_set():
        with contextlib.suppress(Exception):  # the session may be stopping; the run's own thread reports what counts
            _interrupt_tag(session, work.tag)
        work.ended.wait(_AGAIN_SECONDS)


def _add_tag(session: SparkSession, tag: str) -> None:
    """Tags the work of this thread; without tags, a cancelled run ends between two calls of Spark.

    Tags of a classic *session* belong to the thread that set them: another thread cannot interrupt by them.
    Tags of its context work across threads; so do the session's tags on Connect, which has no context.
    """
    context = context_of(session)
    if context is not None:
        context.addJobTag(tag)
        return
    with ignore_lacking():
        session.addTag(tag)


def _remove_tag(session: SparkSession, tag: str) -> None:
    context = context_of(session)
    if context is not None:
        context.removeJobTag(tag)
        return
    with ignore_lacking():
        session.removeTag(tag)


def _interrupt_tag(session: SparkSession, tag: str) -> None:
    context = context_of(session)
    if context is not None:
        context.cancelJobsWithTag(tag)
        return
    for each in list_interruptible(session):
        each.interruptTag(tag)

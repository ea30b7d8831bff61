"""Where runs do their Spark work: a shared session, and the interruption of one run's work in it."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import EngineName
from sparkassets.errors import RunError
from sparkassets.ports import EngineLostError, RunOrder
from sparkassets.spark import gateway, scratch
from sparkassets.spark.failures import ignore_lacking
from sparkassets.spark.own_session import (
    ask_once,
    context_of,
    is_remote,
    keep_active,
    leave_session,
    list_interruptible,
    make_active,
    open_own_session,
)
from sparkassets.spark.session import check_session, open_session
from sparkassets.spark.versions import lacks_ansi

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_INTERRUPT_SECONDS = 0.5


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
        self._current: dict[str, set[InterruptibleWork]] = defaultdict(set)

    @contextlib.contextmanager
    def work(self, session: SparkSession, run: str) -> Iterator[InterruptibleWork]:
        """Tags the Spark jobs of this thread until the partition ends.

        Raises:
            RunError: In place of whatever was raised, if the run was cancelled meanwhile.
        """
        work = InterruptibleWork(f"sparkassets-{run}-{next(self._numbers)}")
        with self._lock:
            self._current[run].add(work)
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
                self._current[run].discard(work)
                if not self._current[run]:
                    del self._current[run]
            _remove_tag(session, work.tag)

    def cancel(self, session: SparkSession, run: str) -> None:
        """Interrupts the run's work repeatedly until its threads have noticed; returns at once."""
        with self._lock:
            current = list(self._current.get(run, ()))
        for work in current:
            if not work.cancelled.is_set():
                work.cancelled.set()
                name = f"{work.tag}-interrupt"
                threading.Thread(target=_interrupt, args=(session, work), name=name, daemon=True).start()


def _interrupt(session: SparkSession, work: InterruptibleWork) -> None:
    """Interrupts jobs; a job may be submitted just after a call, so one call is not enough."""
    while not work.ended.is_set():
        with contextlib.suppress(Exception):  # the session may be stopping; the run's own thread reports what counts
            _interrupt_tag(session, work.tag)
        work.ended.wait(_INTERRUPT_SECONDS)


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


class SparkWorkplace:
    """One Spark session for all runs of a driver.

    Args:
        session: A session to work beside, never in; None takes the active one, else starts one. Only one that was
            started here is ever stopped here.
        name: The name of an application that is started here.
        settings: The settings of a session that is started here.
        engine: What computes in a session that is started here; by default Spark.
        packages: The packages that functions of the project may come from.

    Attributes:
        packages: The same.
    """

    def __init__(
        self,
        session: SparkSession | None,
        *,
        name: str,
        settings: Mapping[str, str],
        engine: EngineName | None = None,
        packages: Collection[str] = (),
    ) -> None:
        self.packages = packages
        self._given_session = session
        self._name = name
        self._settings = settings
        self._engine = engine
        self._user_session: SparkSession | None = None
        self._session: SparkSession | None = None
        self._created = False
        self._must_be_active = False
        """Spark 3.5 parses conditions by the settings of the active session."""
        self._starting = threading.Lock()
        self._interrupts = RunInterrupts()

    @property
    def is_started(self) -> bool:
        """Whether there is a session already."""
        return self._session is not None

    def start(self) -> None:
        """Starts or finds the session, once.

        Raises:
            SparkUnavailableError: With one clear line.
        """
        with self._starting:
            if self._session is not None:
                return
            if self._given_session is not None:
                check_session(self._given_session)
                session = self._given_session
            else:
                session, self._created = open_session(self._settings, name=self._name, engine=self._engine)
            self._user_session = None if self._created else session
            self._session = session if self._created else open_own_session(session)
            if self._session is not self._user_session:
                self._must_be_active = not is_remote(self._session) and lacks_ansi(self._session)
                scratch.prepare_committer(self._session)

    @contextlib.contextmanager
    def enter_session(self, asset: AssetSpec) -> Iterator[SparkSession]:
        """The session, for work on the asset; the user's stays the active one.

        Raises:
            EngineLostError: Instead of errors that come from a dead JVM or a silent server.
        """
        session = self._require_session()
        try:
            with gateway.raise_engine_loss(asset.name), keep_active(self._user_session):
                if self._must_be_active:
                    make_active(session)
                yield session
        except EngineLostError:
            if session is not self._user_session:
                ask_once(session)
            raise

    @contextlib.contextmanager
    def work(self, order: RunOrder) -> Iterator[tuple[SparkSession, InterruptibleWork]]:
        """The session as of `enter_session`, for work that `cancel` interrupts.

        Raises:
            RunError: In place of whatever was raised, if the run was cancelled meanwhile.
        """
        with self.enter_session(order.asset) as session, self._interrupts.work(session, order.run) as work:
            yield session, work

    def cancel(self, run: str) -> None:
        """Interrupts the Spark work that the run is doing now; returns at once."""
        if self._session is not None:
            self._interrupts.cancel(self._session, run)

    def close(self) -> None:
        """Stops the session if it was started here."""
        with self._starting:
            if self._session is not None and self._created:
                with contextlib.suppress(Exception):  # its JVM may be gone already, say by the same signal
                    self._session.stop()
            elif self._session is not None and self._session is not self._user_session:
                leave_session(self._session)
            self._session, self._user_session, self._created = None, None, False

    def _require_session(self) -> SparkSession:
        self.start()
        if self._session is None:
            raise RunError("the Spark session was closed")
        return self._session

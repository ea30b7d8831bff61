"""The Spark session that runs work in: started or found once, entered for every piece of work, interrupted by run."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from sparkassets.core.spec.model import AssetSpec
from sparkassets.errors import RunError
from sparkassets.ports import EngineLostError, RunOrder
from sparkassets.spark import committers, engine_loss
from sparkassets.spark.interrupts import InterruptibleWork, RunInterrupts
from sparkassets.spark.own_session import ask_once, keep_active, leave_session, open_own_session
from sparkassets.spark.session import check_session, open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SparkWorkplace:
    """One Spark session for all runs of a driver.

    Args:
        session: The one to work beside, never in; None takes the active one, else starts one. Only one that was
            started here is ever stopped here.
        name: Of an application that is started here.
        settings: Of a session that is started here.
        packages: That functions of the project may come from.

    Attributes:
        packages: The same.
    """

    def __init__(
        self,
        session: SparkSession | None,
        *,
        name: str,
        settings: Mapping[str, str],
        packages: Collection[str] = (),
    ) -> None:
        self.packages = packages
        self._given = session
        self._name = name
        self._settings = settings
        self._theirs: SparkSession | None = None
        self._session: SparkSession | None = None
        self._created = False
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
            if self._given is not None:
                check_session(self._given)
                found = self._given
            else:
                found, self._created = open_session(self._settings, name=self._name)
            self._theirs = None if self._created else found
            self._session = found if self._created else open_own_session(found)
            if self._session is not self._theirs:
                committers.prepare_committer(self._session)

    @contextlib.contextmanager
    def enter_session(self, asset: AssetSpec) -> Iterator[SparkSession]:
        """The session, for work for the asset; the user's stays the active one.

        Raises:
            EngineLostError: In place of what is raised because Spark's JVM ended, or a server does not answer.
        """
        session = self._require_session()
        try:
            with engine_loss.raise_engine_loss(asset.name), keep_active(self._theirs):
                yield session
        except EngineLostError:
            if session is not self._theirs:
                ask_once(session)
            raise

    @contextlib.contextmanager
    def work(self, order: RunOrder) -> Iterator[tuple[SparkSession, InterruptibleWork]]:
        """The session as `entered`, for work that `cancel` interrupts.

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
            elif self._session is not None and self._session is not self._theirs:
                leave_session(self._session)
            self._session, self._theirs, self._created = None, None, False

    def _require_session(self) -> SparkSession:
        self.start()
        if self._session is None:
            raise RunError("the Spark session was closed")
        return self._session

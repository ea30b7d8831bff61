"""The one Spark session of a project whose state, or whose tables, only a session reaches."""

from __future__ import annotations

import contextlib
from threading import RLock
from typing import TYPE_CHECKING

from sparkassets.core.spec.model import ProjectSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class OneSession:
    """The session that a run was given, else the active one, else one that is started when it is first asked for."""

    def __init__(self, spec: ProjectSpec) -> None:
        self._spec = spec
        self._lock = RLock()
        self._found: SparkSession | None = None
        self._created = False

    def lend(self, session: SparkSession) -> None:
        """Takes this one from here on."""
        with self._lock:
            if session is not self._found:
                self.close()
                self._found = session

    def __call__(self) -> SparkSession:
        """The session.

        Raises:
            SparkUnavailableError: There is none and none can be started.
        """
        with self._lock:
            if self._found is None:
                from sparkassets.spark.session import open_session

                self._found, self._created = open_session(self._spec.spark, name=f"sparkassets-{self._spec.name}")
            return self._found

    def close(self) -> None:
        """Stops it if it was started here."""
        with self._lock:
            if self._found is not None and self._created:
                with contextlib.suppress(Exception):  # its JVM may be gone already
                    self._found.stop()
            self._found, self._created = None, False

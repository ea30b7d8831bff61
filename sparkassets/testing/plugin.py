"""Fixtures for pytest, available wherever sparkassets is installed; imports nothing until one is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkassets.testing.project import ProjectUnderTest


@pytest.fixture(scope="session")
def sparkassets_session() -> Iterator[SparkSession]:
    """One small Spark session with Delta, in UTC, for all tests of a process; the active one where there is one."""
    from sparkassets.spark.session import open_session

    session, created = open_session({"sparkassets.small_data": "true"}, name="sparkassets-tests")
    yield session
    if created:
        session.stop()


@pytest.fixture
def sparkassets_project(
    sparkassets_session: SparkSession, tmp_path: Path
) -> Iterator[Callable[[str | Path], ProjectUnderTest]]:
    """Yields a function that opens the project of a folder, with state and tables in the test's own folder."""
    from sparkassets.testing.project import ProjectUnderTest

    opened: list[ProjectUnderTest] = []

    def open_project(folder: str | Path = "conf") -> ProjectUnderTest:
        place = tmp_path / f"sparkassets-{len(opened)}"
        opened.append(ProjectUnderTest(folder, place=place, spark=sparkassets_session))
        return opened[-1]

    yield open_project
    for project in opened:
        project.close()

"""Fixtures for pytest, available wherever sparkassets is installed; imports nothing until one is used."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkassets.testing.project import ProjectUnderTest


@pytest.fixture(scope="session")
def sparkassets_session() -> Iterator[SparkSession]:
    """One small session, in UTC, for all tests of a process; the active one where there is one.

    It is one of Spark with Delta, or of Sail where the variable ``SPARKASSETS_ENGINE`` says so.
    """
    from sparkassets.core.variables import ENGINE
    from sparkassets.spark.session import open_session

    settings = {"sparkassets.small_data": "true"}
    uses_sail = os.environ.get(ENGINE) == "sail"
    session, created = open_session(settings, name="sparkassets-tests", engine="sail" if uses_sail else None)
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

"""The Spark session that all tests of a process share; nothing here needs pyspark until a test asks for it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from packaging.requirements import Requirement

from tests.depth import COUNT, USUAL, examples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from xdist.scheduler import LoadScopeScheduling

# A run on a shared machine may be slow for reasons of its own; the budgets are benchmarks, not tests. A usual run looks
# at the same examples each time, so that it fails for what was changed; one with FUZZ_COUNT looks elsewhere.
settings.register_profile("sparkassets", deadline=None, max_examples=examples(60), derandomize=COUNT == USUAL)
settings.load_profile("sparkassets")

SHARES = re.compile(r'scope="module"|^def test_\w+\([^)]*\bs3\b', re.MULTILINE)
"""In modules whose tests share what takes long to make: of several processes one has them all."""

QUICK = {"spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Of few rows compiling takes the time: expressions are interpreted, and come to the same.

The processes that tests start have the settings of users.
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    """What is random by a seed: another one looks elsewhere, and more of it looks longer."""
    seed = os.environ.get("FUZZ_SEED", "1")
    parser.addoption("--fuzz-seed", type=int, default=int(seed), help="of mutated projects and templates")
    parser.addoption("--fuzz-count", type=int, default=COUNT, help="how many mutated projects")


@pytest.fixture
def fuzz_seed(request: pytest.FixtureRequest) -> int:
    """Of what is random by a seed."""
    return int(request.config.getoption("--fuzz-seed"))


@pytest.fixture
def fuzz_count(request: pytest.FixtureRequest) -> int:
    """How many mutated projects are tried."""
    return int(request.config.getoption("--fuzz-count"))


def pytest_configure(config: pytest.Config) -> None:
    """Warnings that come from within pyspark and py4j, whoever calls them; and JVMs that live for seconds."""
    os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1")  # of every JVM that spark-submit starts
    for harmless in (
        "ignore:unclosed <socket.socket:ResourceWarning",  # py4j leaves its sockets to the garbage collector
        "ignore:PySpark does not yet fully support pandas:FutureWarning",
        "ignore:distutils Version classes are deprecated:DeprecationWarning",  # Spark 3.5 compares versions by them
        "ignore:The distutils package is deprecated:DeprecationWarning",
    ):
        config.addinivalue_line("filterwarnings", harmless)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips on Sail what is of Spark alone, and what needs newer packages than those that are installed."""
    with_sail = os.environ.get("SPARKASSETS_ENGINE") == "sail"
    for item in items:
        if with_sail and item.get_closest_marker("spark_alone"):
            item.add_marker(pytest.mark.skip(reason="is spark_alone"))
        for marker in item.iter_markers("needs"):
            if not is_installed(marker.args[0]):
                item.add_marker(pytest.mark.skip(reason=f"needs {marker.args[0]}"))


@cache
def is_installed(requirement: str) -> bool:
    """Whether a package is installed in a version that a requirement such as ``pyspark>=4`` allows."""
    wanted = Requirement(requirement)
    try:
        return wanted.specifier.contains(version(wanted.name))
    except PackageNotFoundError:
        return False


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """Gives each process the next test when it has none, those of some modules as one; unless `--dist` says how."""
    from xdist.scheduler import LoadScopeScheduling

    if config.getoption("dist") != "load":
        return None

    @cache
    def shares(module: str) -> bool:
        return SHARES.search((config.rootpath / module).read_text("utf-8")) is not None

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            module = nodeid.partition("::")[0]
            return module if shares(module) else nodeid

    return Scheduling(config, log)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One small session with Delta, in UTC; of Sail where `make test-sail` says so."""
    from sparkassets.spark.session import open_session

    engine = "sail" if os.environ.get("SPARKASSETS_ENGINE") == "sail" else "spark"
    settings = {} if engine == "sail" else {"sparkassets.small_data": "true", **QUICK}
    session, created = open_session(settings, name="sparkassets-tests", engine=engine)
    yield session
    if created:
        session.stop()

"""Runs tests on each version of Spark and with other software, each in an environment of its own; writes what passed.

``python -m tests.matrix`` runs everything; ``python -m tests.matrix 3.5`` one of `RELEASES`. ``--main`` runs the
main path alone, as continuous integration does at every change; ``--airflow`` and the like one suite of `SUITES`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from sparkassets.frozen import frozen
from tests.matrix.suites import ROOT, SUITES, Suite, variable_of

PAGE: Final = ROOT / "docs" / "spark-versions.md"
_ROW: Final = re.compile(r"^\| (?:(\d+\.\d+)\.\d+ \| (\d+\.\d+)\.|([a-z]+) \|).*$", re.MULTILINE)
"""Its groups tell rows apart: the versions of Spark and Delta without their patches, or the suite."""

MAIN: Final = (
    *("tests/spark/test_any_version.py", "tests/spark/test_versions.py", "tests/spark/test_java.py"),
    "tests/integration/test_examples.py",
)
"""The main path: what differs by version, and every project of `tests/examples`."""
FILES: Final = (
    *("tests/spark", "tests/integration/test_examples.py"),
    "tests/e2e/test_demo.py",
    *(
        f"tests/integration/test_{name}.py"
        for name in (
            *("writes", "registered_writes", "target_contract", "upsert_contract", "upserts", "who_commits"),
            *("reads", "changes", "functions", "polars", "templates", "sql_values", "odd_columns", "session"),
            *("publish", "validations", "withholding", "outlets", "outlets_published", "backfills", "branches"),
            *("catalogs", "catalog_contract", "state_by_session", "segments", "unchanged", "histories"),
        )
    ),
)
"""Every write mode, reads, history, publishing, outlets, backfills, branches, catalogs, and what differs by version."""


@frozen
class SparkRelease:
    """A version of Spark to test with.

    Attributes:
        name: Names it on the command line.
        pyspark: Its version.
        delta: The version of Delta that goes with it.
        scala: The Scala of its jars.
        packages: What else it needs.
        files: What runs unless the main path is asked for.
    """

    name: str
    pyspark: str
    delta: str
    scala: str = "2.13"
    packages: tuple[str, ...] = ("pandas", "numpy>=2")
    files: tuple[str, ...] = FILES


_OF_3_5: Final = ("pandas<3", "numpy>=2", "setuptools<81")  # it imports distutils
RELEASES: Final = (
    SparkRelease("3.5-delta3.2", "3.5.9", "3.2.1", "2.12", _OF_3_5, MAIN),
    SparkRelease("3.5", "3.5.9", "3.3.3", "2.12", _OF_3_5),
    SparkRelease("4.0", "4.0.5", "4.0.1"),
    SparkRelease("4.1-delta4.1", "4.1.4", "4.1.0", files=MAIN),
    SparkRelease("4.1", "4.1.4", "4.4.0"),
    SparkRelease("4.2", "4.2.0", "4.4.0"),
)


@frozen
class Outcome:
    """How many tests passed, failed and were skipped."""

    passed: int
    failed: int
    skipped: int


def main(*arguments: str) -> int:
    """Runs the tests on the named versions, of the named suite, or all; 1 where one failed."""
    names = [each for each in arguments if not each.startswith("-")]
    suites = [suite for suite in SUITES if f"--{suite.name}" in arguments]
    failed = False
    for release in () if suites else RELEASES:
        if not names or release.name in names:
            files = MAIN if "--main" in arguments else release.files
            outcome = run(release, files)
            row = render_row(release, outcome, tests="main path" if files is MAIN else "all of these")
            failed |= _record(row, outcome)
    for suite in suites or (() if arguments else SUITES):
        outcome = run_suite(suite)
        failed |= _record(render_suite_row(suite, outcome), outcome)
    return int(failed)


def _record(row: str, outcome: Outcome) -> bool:
    """Writes a row into the page; whether a test failed, or none ran."""
    print(row, flush=True)
    PAGE.write_text(with_row(PAGE.read_text(encoding="utf-8"), row), encoding="utf-8")
    return outcome.failed > 0 or not outcome.passed


def run(release: SparkRelease, files: tuple[str, ...]) -> Outcome:
    """Installs the version into ``.matrix/`` and runs the tests there."""
    folder = f".matrix/{release.name}"
    packages = (f"pyspark=={release.pyspark}", f"delta-spark=={release.delta}", *release.packages)
    print(f"== Spark {release.pyspark} with Delta {release.delta}", flush=True)
    subprocess.run([".ci/setup", "matrix", folder, *packages], cwd=ROOT, check=True)
    return _run_tests(f"{folder}/bin/python", ROOT / folder / "tests.xml", *files, "--numprocesses", "2")


def run_suite(suite: Suite) -> Outcome:
    """Installs the packages into ``.matrix/`` and runs the tests with them, but not there."""
    folder = f".matrix/{suite.name}"
    print(f"== {', '.join(suite.packages)}", flush=True)
    subprocess.run([".ci/setup", "packages", folder, *suite.packages], cwd=ROOT, check=True)
    os.environ[variable_of(suite.name)] = str(ROOT / folder)
    return _run_tests(sys.executable, ROOT / folder / "tests.xml", *suite.files)


def _run_tests(python: str, report: Path, *arguments: str) -> Outcome:
    report.unlink(missing_ok=True)
    command = [python, "-m", "pytest", "-q", "-m", "not crash and not deep"]
    subprocess.run([*command, f"--junitxml={report}", *arguments], cwd=ROOT, check=False)
    return read_report(report)


def read_report(report: Path) -> Outcome:
    """What a JUnit report counts; no tests where there is none."""
    if not report.exists():
        return Outcome(0, 0, 0)
    suites = list(ET.parse(report).iter("testsuite"))  # noqa: S314 - pytest wrote it just now
    tests, failures, errors, skipped = (
        sum(int(suite.get(name, 0)) for suite in suites) for name in ("tests", "failures", "errors", "skipped")
    )
    return Outcome(tests - failures - errors - skipped, failures + errors, skipped)


def render_row(release: SparkRelease, outcome: Outcome, *, tests: str) -> str:
    """The version's row of the page's table."""
    cells = (
        *(release.pyspark, release.delta, release.scala, tests),
        *(str(outcome.passed), str(outcome.failed), str(outcome.skipped)),
    )
    return f"| {' | '.join(cells)} |"


def render_suite_row(suite: Suite, outcome: Outcome) -> str:
    """The suite's row of the page's table."""
    counts = (str(outcome.passed), str(outcome.failed), str(outcome.skipped))
    return f"| {' | '.join((suite.name, ', '.join(suite.packages), *counts))} |"


def with_row(page: str, row: str) -> str:
    """The page with the row of these versions or of this suite replaced."""
    new = _ROW.match(row)
    return _ROW.sub(lambda found: row if new and found.groups() == new.groups() else found[0], page)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

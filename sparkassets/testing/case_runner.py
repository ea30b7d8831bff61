"""All tests of a project, one after another; Spark is started once, for those that need it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from sparkassets.core.cases import Case, RowCase
from sparkassets.core.spec.model import ProjectSpec
from sparkassets.errors import SparkAssetsError, SparkUnavailableError
from sparkassets.testing.results import CaseResult
from sparkassets.testing.time_tests import run_times

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkassets.testing.row_tests import RowTests


def run_cases(
    project: ProjectSpec, cases: Sequence[Case], *, spark: SparkSession | None = None
) -> Iterator[CaseResult]:
    """The result of each test as it ends; tests without Spark come first.

    Args:
        project: The project under test.
        cases: The tests to run.
        spark: The session to compute in; None takes the active one, else starts a small one.

    Raises:
        SparkUnavailableError: A test needs Spark, and it cannot be started.
    """
    with ExitStack() as opened:
        rows: list[RowTests] = []

        def of_rows(case: RowCase, number: int) -> str:
            if not rows:
                from sparkassets.testing.row_tests import RowTests

                rows.append(RowTests(project, spark))
                opened.callback(rows[0].close)
            return rows[0].run_case(case, number)

        for number, case in enumerate(sorted(cases, key=lambda each: isinstance(each, RowCase))):
            if isinstance(case, RowCase):
                yield _run_case(case, case.asset, partial(of_rows, case, number))
            else:
                yield _run_case(case, "", partial(run_times, project, case))


def _run_case(case: Case, about: str, run: Callable[[], str]) -> CaseResult:
    begun = time.monotonic()
    try:
        told = run()
    except SparkUnavailableError:
        raise
    except SparkAssetsError as error:
        hint = getattr(error, "hint", None)
        message = f"{error}; {hint}" if hint else str(error)
        return CaseResult(case.name, case.location, about, "error", message, time.monotonic() - begun)
    return CaseResult(case.name, case.location, about, "failed" if told else "passed", told, time.monotonic() - begun)

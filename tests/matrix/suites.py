"""What other software does with what sparkassets writes: tests that need packages in an environment of their own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from sparkassets.frozen import frozen

ROOT: Final = Path(__file__).parents[2]


@frozen
class Suite:
    """Tests with packages that go with none of ours.

    Attributes:
        name: Of its environment, ``.matrix/NAME``.
        packages: What is installed there; the first one is shown.
        files: The tests, which run in the usual environment.
    """

    name: str
    packages: tuple[str, ...]
    files: tuple[str, ...]


SUITES: Final = (
    Suite("airflow", ("apache-airflow==3.3.2",), ("tests/matrix/test_airflow.py",)),
    Suite(
        "readers",
        (
            *("pyspark==3.5.9", "delta-spark==3.3.3", "duckdb==1.4.4", "duckdb-ext-delta==1.4.4.20260205"),
            *("delta-sharing==1.4.2", "setuptools<81", "pandas<3"),
        ),
        ("tests/integration/test_other_readers.py",),
    ),
    Suite(
        "manifests",
        ("kubernetes-validate==1.37.0", "databricks-bundles==1.22.1"),
        ("tests/matrix/test_manifests.py", "tests/features/deploy/test_deploy.py"),
    ),
)


def variable_of(name: str) -> str:
    """The variable of the environment that holds the folder of a suite's environment."""
    return f"MATRIX_{name.upper()}"


def environment_of(name: str) -> Path | None:
    """The environment of a suite; None where its tests are not to run."""
    folder = os.environ.get(variable_of(name))
    return Path(folder) if folder else None

"""The ways in, each as a real process: spark-submit, Python, and the command; and which need no Spark."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sparkassets.cli import main
from tests.e2e.projects import COMMAND, ORDERS, called, document, environment, orders, write

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def home(tmp_path):
    """A folder with the project that `init` writes, in ``conf``."""
    assert main(["init", str(tmp_path / "conf")]) == 0
    return tmp_path


# ------------------------------------------------------------------ with Spark


@pytest.fixture
def submitted(home):
    """`spark-submit jobs/run.py -- …` as in an activated environment: Spark takes the first python3 of the PATH."""
    (home / "jobs").mkdir()
    shutil.copy(REPOSITORY / "jobs" / "run.py", home / "jobs")

    def submit(*arguments):
        path = f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"
        command = COMMAND.with_name("spark-submit")
        return called("jobs/run.py", "--", *arguments, cwd=home, command=command, PATH=path)

    return submit


@pytest.mark.spark
def test_spark_submit(home, submitted):
    done = submitted("--project", "conf")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 runs: 2 success" in done.stdout, "spark-submit puts the stderr of Python there"
    assert orders(home) == ORDERS


@pytest.mark.spark
def test_spark_submit_hands_on_the_exit_code(submitted):
    done = submitted("--project", "konf")
    assert done.returncode == 2
    assert "error: there is no folder 'konf'" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.deep
@pytest.mark.spark
def test_python_in_a_session_of_its_own_making(home):
    write(
        home,
        {
            "own.py": """
import json

from pyspark.sql import SparkSession

from sparkassets import Project

builder = SparkSession.builder.master("local[1]").config("spark.sql.shuffle.partitions", "1")
builder = builder.config("spark.driver.extraClassPath", CLASS_PATH).config("spark.sql.session.timeZone", "UTC")
builder = builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
builder = builder.config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
spark = builder.getOrCreate()
with Project.load("conf") as project:
    first, second = project.run(spark), project.run(spark)
print(json.dumps([first.ok, len(first.runs), len(second.runs), spark.sql("SELECT 1").count()]))
""".replace("CLASS_PATH", repr(delta_class_path()))
        },
    )
    done = subprocess.run(
        [sys.executable, "own.py"], cwd=home, env=environment(), capture_output=True, text=True, check=False
    )
    assert document(done) == [True, 2, 0, 1]
    assert orders(home) == ORDERS


def delta_class_path():
    import pyspark

    from sparkassets.spark.installation import fetch_delta_jars, find_java

    return os.pathsep.join(map(str, fetch_delta_jars(Path(pyspark.__file__).parent, find_java())))


# ------------------------------------------------------------------ without Spark


@pytest.fixture
def without_spark(tmp_path_factory):
    """The command where pyspark and Java are traps: (the ended process, which of them were touched)."""
    trap = tmp_path_factory.mktemp("trap")
    touched = trap / "touched"
    touched.mkdir()
    write(
        trap,
        {
            "python/pyspark/__init__.py": f"open('{touched}/pyspark', 'w').close()\nraise ImportError('a trap')",
            "bin/java": f"#!/bin/sh\ntouch {touched / 'java'}\nexit 1\n",
        },
    )
    (trap / "bin" / "java").chmod(0o755)

    def run(*arguments, cwd, command=COMMAND):
        more = {
            "PYTHONPATH": str(trap / "python"),
            "JAVA_HOME": str(trap),
            "PATH": f"{trap / 'bin'}{os.pathsep}{os.environ['PATH']}",
        }
        done = called(*arguments, cwd=cwd, command=command, **more)
        return done, {file.name for file in touched.iterdir()}

    return run


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["validate"],
        ["plan"],
        ["explain", "daily_revenue"],
        ["status"],
        ["backfill", "daily_revenue", "--partition", "2025-01-01", "--dry-run"],
    ],
    ids=" ".join,
)
def test_looking_needs_no_spark(home, without_spark, arguments):
    done, touched = without_spark(*arguments, cwd=home)
    assert done.returncode == 0, done.stderr
    assert touched == set()


def test_importing_needs_no_spark(home, without_spark):
    code = "import sparkassets; sparkassets.Project.load('conf').plan()"
    done, touched = without_spark("-c", code, cwd=home, command=Path(sys.executable))
    assert done.returncode == 0, done.stderr
    assert touched == set()


def test_a_run_with_nothing_due_needs_no_spark(home, without_spark):
    shutil.rmtree(home / "conf" / "landing" / "orders")
    (home / "conf" / "landing" / "orders").mkdir()
    done, touched = without_spark("run", cwd=home)
    assert done.returncode == 0, done.stderr
    assert touched == set()


def test_a_run_with_something_due_needs_it_and_says_so_before_anything_is_claimed(home, without_spark):
    done, touched = without_spark("run", cwd=home)
    assert done.returncode == 1
    assert "error: the Python package" in done.stderr
    assert "Traceback" not in done.stderr
    assert touched == {"pyspark"}
    assert json.loads(called("runs", "--json", cwd=home).stdout) == []

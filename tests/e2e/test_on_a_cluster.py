"""Executors that are processes of their own: code of the project's packages there, and one that is lost."""

import json
import subprocess
import sys

import pyarrow as pa
import pytest
from deltalake import DeltaTable

pytestmark = pytest.mark.spark

PROJECT = """
project: cluster
python: [clustered]
spark: {spark.master: "local-cluster[2,1,1024]", spark.executor.memory: 1g, sparkassets.small_data: true}
defaults: {retries: 0}
"""
CODE = """
import pandas as pd
from pyspark.sql import functions as F

from sparkassets import asset

from clustered.factors import FACTOR


@F.pandas_udf("long")
def times(values: pd.Series) -> pd.Series:
    from clustered.deep.factors import MORE

    return values * FACTOR * MORE


@asset(schedule="@once")
def products(spark):
    return spark.range(100, numPartitions=4).select(times("id").alias("id"))
"""


FRAGILE = """
import os, pathlib
from collections.abc import Iterator

import pandas as pd

from sparkassets import asset

HOME = pathlib.Path(HERE)


@asset(schedule="@once")
def products(spark):
    home = str(HOME)

    def lost(parts: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        import pathlib, signal

        import psutil

        for part in parts:
            times = len(list(pathlib.Path(home).glob("lost-*")))
            if (part["id"] == 60).any() and times < int(pathlib.Path(home, "most").read_text()):
                pathlib.Path(home, f"lost-{times}").touch()
                executor = next(each for each in psutil.Process().parents() if each.name() == "java")
                executor.send_signal(signal.SIGKILL)
            yield part

    return spark.range(100, numPartitions=4).mapInPandas(lost, "id long")
"""


def write(home, files):
    for name, text in files.items():
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def start(home):
    command = [sys.executable, "-m", "sparkassets", "run", "--json"]
    return subprocess.run(command, cwd=home, capture_output=True, text=True, timeout=300, check=False)


def products(home):
    table = home / "conf/warehouse/products"
    return sorted(pa.table(DeltaTable(table).scan())["id"].to_pylist()) if DeltaTable.is_deltatable(str(table)) else []


@pytest.mark.crash
def test_an_executor_that_is_killed_is_spark_to_replace_or_one_failure_and_the_next_start_goes_on(tmp_path):
    write(tmp_path, {"conf/project.yml": PROJECT, "clustered/made.py": FRAGILE.replace("HERE", repr(str(tmp_path)))})
    (tmp_path / "most").write_text("1000")
    done = start(tmp_path)
    (failed,) = json.loads(done.stdout)["runs"]
    assert (done.returncode, failed["status"], products(tmp_path)) == (1, "failed", [])
    assert len(failed["error"].splitlines()) == 1
    assert "lost" in failed["error"] or "aborted" in failed["error"], failed["error"]
    (tmp_path / "most").write_text(str(len(list(tmp_path.glob("lost-*"))) + 1))
    done = start(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert products(tmp_path) == list(range(100))
    table = tmp_path / "conf/warehouse/products"
    live = {file.rsplit("/", 1)[-1] for file in DeltaTable(table).file_uris()}
    there = {file.name for file in table.rglob("*.parquet") if "_delta_log" not in file.parts}
    assert there == live


def test_a_pandas_udf_of_the_package_works_on_executors(tmp_path):
    files = {
        "conf/project.yml": PROJECT.replace("[2,", "[1,"),
        "clustered/made.py": CODE,
        "clustered/factors.py": "FACTOR = 2\n",
        "clustered/deep/__init__.py": "",
        "clustered/deep/factors.py": "MORE = 5\n",
    }
    write(tmp_path, files)
    done = start(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    assert (run["asset"], run["status"]) == ("products", "success")
    rows = pa.table(DeltaTable(tmp_path / "conf/warehouse/products").scan())["id"].to_pylist()
    assert sorted(rows) == [10 * number for number in range(100)]

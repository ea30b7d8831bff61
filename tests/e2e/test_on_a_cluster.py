"""Code of the project's packages on executors that are processes of their own."""

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


def test_a_pandas_udf_of_the_package_works_on_executors(tmp_path):
    for name, text in {
        "conf/project.yml": PROJECT,
        "clustered/made.py": CODE,
        "clustered/factors.py": "FACTOR = 2\n",
        "clustered/deep/__init__.py": "",
        "clustered/deep/factors.py": "MORE = 5\n",
    }.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    command = [sys.executable, "-m", "sparkassets", "run", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    assert (run["asset"], run["status"]) == ("products", "success")
    rows = pa.table(DeltaTable(tmp_path / "conf/warehouse/products").scan())["id"].to_pylist()
    assert sorted(rows) == [10 * number for number in range(100)]

"""A session of Spark Connect, whose server and client are processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from sparkassets.cache import cache_folder

pytestmark = pytest.mark.spark

CODE = """
import json, os, sys
from pathlib import Path
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from sparkassets.errors import RunError
from sparkassets.spark import SparkEngine
from sparkassets.core.validations import NotNull, Range, Rule, Unique
from tests.integration.orders import execute, function, marker, order, project, sql, table, target

folder = Path(sys.argv[1])
theirs = SparkSession.builder.remote("local[2]").getOrCreate()
check = "spark.databricks.delta.replaceWhere.constraintCheck.enabled"
given = {"spark.sql.session.timeZone": "Asia/Tokyo", check: "false"}
for key, value in given.items():
    theirs.conf.set(key, value)
engine, told = SparkEngine(project(python=("tasks",)), theirs), {}
daily = table("daily", folder, by="day", **sql("SELECT CAST(TIMESTAMP'2013-01-01T20:00:00Z' AS DATE) AS day"))
for _ in range(2):
    execute(engine, order(daily, keys="2013-01-01"))
told["rows"] = [str(row[0]) for row in theirs.read.format("delta").load(daily.storage.path).collect()]
try:
    execute(engine, order(daily, keys="2013-01-02"))
except RunError as error:
    told["outside"] = str(error)
words = table("words", folder, **function(folder, "words", "spark"))
execute(engine, order(words))
execute(engine, run := order(words))
told["committed"] = [found.run == run.run for found in target(engine, run).committed([run.run])]
told["types"] = [str(field.type) for field in DeltaTable(words.storage.path).schema().fields]
told["words"] = sorted(row[0] for row in theirs.read.format("delta").load(words.storage.path).collect())
select = "SELECT DATE'2013-01-01' + CAST(d AS INT) AS day, n FROM VALUES (0, 1), (0, 9), (1, NULL) AS t(d, n)"
rules = (Rule("there", NotNull(("n",))), Rule("small", Range("n", 0, 5), "quarantine"), Rule("once", Unique(("n",))))
for commit in ("auto", "spark"):
    judged = table(f"by_{commit}", folder, by="day", commit=commit, rules=rules, **sql(select))
    run = order(judged, keys="2013-01-01..2013-01-02")
    made, at = engine.compute(run, attempt=1), target(engine, run)
    judgement = at.prepare(made, marker=marker(run, made))
    at.write(made, marker=marker(run, made).judged(judgement, run))
    paths = (judged.storage.path, f"{judged.storage.path}_quarantine")
    tables = [theirs.read.format("delta").load(path).select("n").collect() for path in paths]
    told[commit] = [[row[0] for row in rows] for rows in tables]
    told[commit].append(judged.partitioning.labels(judgement.withheld))
    told[commit].append([sample["n"] for each in judgement.verdicts for sample in each.samples])
told["kept"] = {key: theirs.conf.get(key) for key in given} == given
print(json.dumps(told), flush=True)
os._exit(0)  # the server goes with its parent; to stop it may take as long as to start it
"""
TASKS = """
from pyspark.sql import functions as sql


def named(value):
    from tasks.naming import PREFIX

    return f"{PREFIX}{value}"


def words(spark):
    name = sql.udf(named, "string")
    return spark.range(2).select(name("id").alias("word"), sql.array(name("id")).alias("all"))
"""


def test_a_session_of_spark_connect_is_served_beside_it(spark, tmp_path):
    pytest.importorskip("grpc", reason="needs pyspark[connect]")
    assert spark.version  # Delta's jars are there
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks/__init__.py").touch()
    (tmp_path / "tasks/work.py").write_text(TASKS)
    (tmp_path / "tasks/naming.py").write_text("PREFIX = 'w'\n")
    conf = tmp_path / "conf"
    conf.mkdir()
    jars = os.pathsep.join(map(str, sorted((cache_folder() / "jars").glob("*/*.jar"))))
    settings = {
        "spark.driver.extraClassPath": jars,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "1",
    }
    (conf / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CODE, str(tmp_path)],
        env={**os.environ, "SPARK_CONF_DIR": str(conf), "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "rows": ["2013-01-01"],
        "outside": (
            "daily: rows outside the run's partitions 2013-01-02: day is 2013-01-01; nothing was written\n"
            "  hint: filter them in the query, or join {{ partitions }}"
        ),
        "committed": [True],
        "types": ['PrimitiveType("string")', 'ArrayType(PrimitiveType("string"), contains_null=True)'],
        "words": ["w0", "w1"],
        "kept": True,
        **{commit: [[1], [9], ["2013-01-02"], ["NULL", "9"]] for commit in ("auto", "spark")},
    }

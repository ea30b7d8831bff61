"""What a session is configured with; none is started."""

from __future__ import annotations

import os
import sys

import pytest

from sparkassets.spark import session_settings
from sparkassets.spark.session_settings import ClassArchive

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path):
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS", "SPARK_REMOTE", "MASTER", "SPARK_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(session_settings, "fetch_delta_jars", lambda *_: [tmp_path / "delta-spark_2.13-1.jar"])
    monkeypatch.setattr(session_settings, "s3_jars", lambda *_: [tmp_path / "hadoop-aws-1.jar"])
    for name in ("delta-spark_2.13-1.jar", "hadoop-aws-1.jar"):
        (tmp_path / name).touch()


def configured(**given):
    return session_settings.start_settings({key.replace("__", "."): value for key, value in given.items()}, name="x")


def test_what_the_user_sets_wins_and_what_is_ours_is_not_passed_on(tmp_path):
    (tmp_path / "mine.jar").touch()
    conf, archive = configured(
        spark__ui__enabled="true",
        spark__driver__extraJavaOptions="-Dmine=1",
        spark__driver__extraClassPath=f"{tmp_path}/mine.jar",
        spark__sql__extensions="my.Extension",
        sparkassets__small_data="true",
    )
    assert not [key for key in conf if key.startswith("sparkassets")]
    assert conf["spark.ui.enabled"] == "true"
    assert conf["spark.sql.shuffle.partitions"] == "2"
    assert conf["spark.driver.extraJavaOptions"] == "-Dmine=1"
    assert conf["spark.driver.extraClassPath"] == f"{tmp_path}/mine.jar:{tmp_path}/delta-spark_2.13-1.jar"
    assert conf["spark.sql.extensions"] == "my.Extension,io.delta.sql.DeltaSparkSessionExtension"
    assert archive.wanted is not None
    assert "-XX:TieredStopAtLevel=1" in conf["spark.driver.defaultJavaOptions"]
    assert "spark.jars" not in conf


def test_buckets_that_the_project_tells_of_bring_the_jar_that_reaches_them(tmp_path):
    bucket = {"spark__hadoop__fs__s3a__bucket__lake__endpoint": "http://127.0.0.1:9000"}
    conf, _ = configured(**bucket)
    assert conf["spark.driver.extraClassPath"] == f"{tmp_path}/delta-spark_2.13-1.jar:{tmp_path}/hadoop-aws-1.jar"
    conf, _ = configured(**bucket, spark__jars__packages="org.apache.hadoop:hadoop-aws:3.4.1")
    assert conf["spark.driver.extraClassPath"] == f"{tmp_path}/delta-spark_2.13-1.jar"


def test_a_fast_start_can_be_turned_off():
    conf, archive = configured(sparkassets__fast_start="false", spark__jars__packages="a:b:1")
    assert archive == ClassArchive()
    assert conf["spark.jars.packages"].startswith("a:b:1,io.delta:delta-spark_")
    assert "spark.driver.extraClassPath" not in conf
    assert "RecordDynamicDumpInfo" not in conf["spark.driver.defaultJavaOptions"]


@pytest.mark.parametrize(
    "setting",
    [
        {"spark__jars__packages": "io.delta:delta-spark_4.2_2.13:4.4.0"},
        {"spark__jars": "/opt/delta-spark_2.13-4.4.0.jar"},
        {"spark__driver__extraClassPath": "/opt/delta-spark_2.13-4.4.0.jar"},
    ],
)
def test_delta_that_is_there_is_left_alone(setting):
    conf, archive = configured(**setting)
    assert archive == ClassArchive()
    for key, value in setting.items():
        assert conf[key.replace("__", ".")] == value


def test_delta_of_the_installations_defaults_is_left_alone(tmp_path, monkeypatch):
    defaults = (
        "# a comment\n\nspark.jars.packages  io.delta:delta-spark_2.13:4.0.1\nspark.master=spark://x:7077\nbroken\n"
    )
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(defaults)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "conf"))
    conf, archive = configured()
    assert archive == ClassArchive()
    assert "spark.driver.extraClassPath" not in conf
    assert "spark.driver.host" not in conf
    assert "spark.jars.packages" not in conf


def test_what_the_installation_sets_wins_over_ours_and_lists_are_continued(tmp_path, monkeypatch):
    (tmp_path / "spark-defaults.conf").write_text(
        "spark.ui.enabled true\nspark.driver.extraClassPath /theirs.jar\nspark.sql.extensions theirs.Extension\n"
        "spark.driver.defaultJavaOptions -Dtheirs=1\n"
    )
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    conf, _ = configured(sparkassets__small_data="true")
    assert "spark.ui.enabled" not in conf
    assert conf["spark.driver.extraClassPath"] == f"/theirs.jar:{tmp_path}/delta-spark_2.13-1.jar"
    assert conf["spark.sql.extensions"] == "theirs.Extension,io.delta.sql.DeltaSparkSessionExtension"
    assert conf["spark.driver.defaultJavaOptions"].endswith(" -Dtheirs=1")


def test_the_logging_of_the_installation_is_kept(tmp_path, monkeypatch):
    assert "log4j2" in configured()[0]["spark.driver.defaultJavaOptions"]
    (tmp_path / "log4j2.properties").touch()
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert "log4j2" not in configured()[0]["spark.driver.defaultJavaOptions"]


def test_a_remote_session_needs_no_java(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    conf, archive = configured(spark__remote="local[2]")
    assert conf["spark.remote"] == "local[2]"
    assert conf["spark.sql.session.timeZone"] == "UTC"
    assert archive == ClassArchive()
    assert not [key for key in conf if "Java" in key or "jars" in key]


def test_a_server_of_somebody_elses_is_told_what_the_project_says_and_what_runs_rely_on(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("SPARK_REMOTE", "sc://x")
    conf, archive = configured(spark__sql__ansi__enabled="false", sparkassets__small_data="true")
    assert archive == ClassArchive()
    assert conf == {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false",
        "spark.sql.ansi.enabled": "false",
    }


def test_a_class_path_with_a_folder_makes_no_archive(tmp_path, monkeypatch):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "core-site.xml").touch()
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "conf"))
    conf, archive = configured()
    assert archive == ClassArchive()
    assert "delta-spark_2.13-1.jar" in conf["spark.driver.extraClassPath"]


def test_the_executors_of_a_cluster_get_the_jars_too(tmp_path):
    conf, _ = configured(spark__master="spark://x:7077", spark__jars="/mine.jar")
    assert conf["spark.jars"] == f"/mine.jar,{(tmp_path / 'delta-spark_2.13-1.jar').as_uri()}"
    assert "spark.driver.bindAddress" not in conf
    assert "spark.ui.enabled" not in conf
    assert configured()[0]["spark.ui.enabled"] == "false"


def test_the_executors_of_a_local_cluster_are_processes_of_their_own(tmp_path):
    conf, _ = configured(spark__master="local-cluster[2,1,1024]")
    assert conf["spark.jars"] == (tmp_path / "delta-spark_2.13-1.jar").as_uri()
    assert "spark.databricks.delta.snapshotPartitions" not in conf


@pytest.mark.parametrize(("master", "cores"), [("local", 1), ("local[3]", 3), ("local[4,2]", 4)])
def test_small_tables_on_one_machine_are_not_cut_into_tasks_for_a_cluster(master, cores):
    conf, _ = configured(spark__master=master)
    assert conf["spark.databricks.delta.snapshotPartitions"] == str(cores)
    assert conf["spark.sql.shuffle.partitions"] == str(4 * cores)
    assert (
        configured(spark__master=master, spark__sql__shuffle__partitions="9")[0]["spark.sql.shuffle.partitions"] == "9"
    )


def test_local_workers_run_this_python(monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", "")
    monkeypatch.delenv("PYSPARK_PYTHON")
    configured()
    assert os.environ["PYSPARK_PYTHON"] == sys.executable

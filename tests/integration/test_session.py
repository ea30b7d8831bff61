"""Sessions, each in a process of its own: what they print, what they refuse, and the archive they leave."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from datetime import date
from importlib.metadata import version
from pathlib import Path

import pytest
from py4j.clientserver import JavaClient

from sparkassets.cache import cache_folder
from sparkassets.core.writes import ReplaceWrite
from sparkassets.errors import RunError, SparkUnavailableError
from sparkassets.spark import session
from sparkassets.spark.engine import SparkEngine
from sparkassets.spark.gateway import delta_version, has_class
from sparkassets.spark.open_tables import describe_table, open_table
from sparkassets.spark.own_session import open_own_session, require_utc, settings_of
from sparkassets.spark.session import open_session
from sparkassets.spark.table_locations import path_of
from sparkassets.spark.targets.spark_commit import write
from sparkassets.spark.versions import list_settings
from sparkassets.spark.writes import plan_write
from tests.integration.orders import execute, order, project, rows, save, sql, stamp_of, table

pytestmark = pytest.mark.spark

OWN = """
import sys
from sparkassets.spark.session import open_session
session, created = open_session({"sparkassets.small_data": "true"}, name="own")
again, created_again = open_session({}, name="again")
assert created and not created_again and again is session
session.range(3).write.format("delta").save(sys.argv[1])
try:
    session.sql(f"SELECT raise_error('bad row') FROM delta.`{sys.argv[1]}`").collect()
except Exception as error:
    assert "bad row" in str(error)
options = session.sparkContext._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments()
print(*options, sep="\\n")
"""
GIVEN = """
from pyspark.sql import SparkSession
from sparkassets.errors import SparkUnavailableError
from sparkassets.spark.session import open_session
session = SparkSession.builder.config("spark.ui.enabled", "false").getOrCreate()
try:
    open_session({}, name="x")
except SparkUnavailableError as error:
    print(error)
"""


def run(code, *arguments, **env):
    command = [sys.executable, "-W", "ignore", "-c", code, *map(str, arguments)]
    return subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, check=False)


@pytest.fixture
def cache(spark, tmp_path):
    """A cache of the test's own, with the jars that are there already."""
    assert spark.version
    folder = tmp_path / "cache"
    folder.mkdir()
    (folder / "jars").symlink_to(cache_folder() / "jars")
    return folder


@pytest.mark.deep
def test_the_second_start_uses_the_archive_of_the_first_and_both_are_quiet(cache, tmp_path):
    first = run(OWN, tmp_path / "first", SPARKASSETS_CACHE=str(cache))
    assert first.returncode == 0, first.stderr
    assert "-XX:+RecordDynamicDumpInfo" in first.stdout
    assert "dump to file" not in first.stdout
    (archive,) = (cache / "archive").iterdir()
    second = run(OWN, tmp_path / "second", SPARKASSETS_CACHE=str(cache))
    assert second.returncode == 0, second.stderr
    used = re.search(r"-XX:SharedArchiveFile=(.*)", second.stdout)
    assert used is not None
    assert Path(used[1]) == archive
    for said in (first.stderr, second.stderr):
        lines = [line for line in said.splitlines() if "incubator modules" not in line]
        assert lines == []


@pytest.mark.deep
def test_an_image_is_prepared_with_jars_and_archive(cache):
    command = [sys.executable, "-W", "ignore", "-m", "sparkassets.spark"]
    env = {**os.environ, "SPARKASSETS_CACHE": str(cache)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "delta-spark" in done.stdout
    assert [each.suffix for each in (cache / "archive").iterdir()] == [".jsa"]


@pytest.mark.deep
def test_a_session_without_delta_is_refused():
    said = run(GIVEN)
    assert said.stdout.splitlines() == [
        "the active Spark session does not support Delta",
        (
            "  hint: start it with spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension and "
            "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog, "
            "or stop it and let sparkassets start one"
        ),
    ]


def test_a_session_whose_delta_is_too_old_is_refused(spark, monkeypatch):
    assert delta_version(spark) == version("delta-spark")
    monkeypatch.setattr(session, "delta_version", lambda _: "3.1.0")
    with pytest.raises(SparkUnavailableError, match=r"^Delta 3\.1\.0 in the session is too old: Spark \d\.\d"):
        open_session({}, name="x")


def test_the_shared_session_is_small_and_in_utc(spark):
    spark.createDataFrame([], "n int")  # makes it the active one, whatever other tests worked in
    wanted = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.ui.enabled": "false",
    }
    assert {key: spark.conf.get(key) for key in wanted} == wanted
    assert open_session({}, name="x") == (spark, False)


@pytest.mark.needs("pyspark>=4")  # lists them itself
def test_all_settings_of_a_session_are_read_in_a_few_calls_of_its_jvm(spark, monkeypatch):
    session = spark.newSession()
    for key, value in {"a.text": "two\nlines, = and 'quotes'", "a.blank": "", "a.letter": "ü"}.items():
        session.conf.set(key, value)
    commands = []

    def record_command(client, command, *args, **kwargs):
        if not command.startswith("m\n"):  # by which py4j lets go of garbage
            commands.append(command)
        return send(client, command, *args, **kwargs)

    send = JavaClient.send_command
    expected = session.conf.getAll
    monkeypatch.setattr(JavaClient, "send_command", record_command)
    assert settings_of(session) == expected
    assert len(expected) > 20
    assert len(commands) < 20


def test_a_class_is_found_in_the_jars_of_the_session(spark):
    assert has_class("org.apache.spark.SparkContext")
    assert has_class("io.delta.sql.DeltaSparkSessionExtension")
    assert not has_class("org.apache.spark.NoSuchClass")


def test_a_session_of_the_users_is_served_beside_it_and_stays_as_it_is(spark, tmp_path):
    theirs = spark.newSession()
    given = {
        "spark.sql.session.timeZone": "Asia/Tokyo",
        "spark.databricks.delta.replaceWhere.constraintCheck.enabled": "false",
        "spark.sql.shuffle.partitions": "7",
        "fs.their.account.key": "k",
    }
    for key, value in given.items():
        theirs.conf.set(key, value)
    assert theirs.catalog.currentCatalog() == "spark_catalog"  # Delta's catalog has settings of its own once it is used
    before = dict(list_settings(theirs))
    engine = SparkEngine(project(), theirs)
    daily = table("daily", tmp_path, by="day", **sql("SELECT CAST(TIMESTAMP'2013-01-01T20:00:00Z' AS DATE) AS day"))
    execute(engine, order(daily, keys="2013-01-01"))
    execute(engine, order(daily, keys="2013-01-01"))
    assert theirs.getActiveSession() is theirs
    assert theirs._jvm.SparkSession.getActiveSession().get().equals(theirs._jsparkSession)
    assert rows(spark, daily) == [(date(2013, 1, 1),)]
    with pytest.raises(
        RunError, match=r"^daily: rows outside the run's partitions 2013-01-02: day is 2013-01-01; nothing"
    ):
        execute(engine, order(daily, keys="2013-01-02"))
    assert dict(list_settings(theirs)) == before
    own = open_own_session(theirs)
    assert {key: own.conf.get(key) for key in given} == {
        **given,
        "spark.sql.session.timeZone": "UTC",
    }
    assert own.conf.get("spark.sql.parquet.outputTimestampType") == "TIMESTAMP_MICROS"
    with pytest.raises(RunError, match=r"^daily: the rows come from a Spark session in the time zone Asia/Tokyo;"):
        require_utc(theirs, asset="daily")


def test_rows_outside_the_partitions_are_refused_where_delta_does_not_check_them(spark, tmp_path):
    theirs = spark.newSession()
    theirs.conf.set("spark.databricks.delta.replaceWhere.constraintCheck.enabled", "false")
    daily = table("daily", tmp_path, by="day", write=ReplaceWrite())
    frame = theirs.sql("SELECT DATE'2013-01-01' AS day")
    save(frame, daily)
    there = describe_table(path_of(daily), open_table(path_of(daily)))
    run = order(daily, keys="2013-01-02")
    own = stamp_of(run)
    with (
        plan_write(run, frame, schema=frame.schema, table=there, stamp=own) as (work, stamped),
        pytest.raises(
            RunError, match=r"^daily: rows outside the run's partitions 2013-01-02: day is 2013-01-01; nothing"
        ),
    ):
        write(work, stamp=stamped)


def test_pandas_in_a_run_is_no_warning(spark, recwarn):
    """Pyspark says at each conversion that it has not been tried enough with a newer pandas."""
    warnings.resetwarnings()  # as in a process of a user's
    warnings.simplefilter("ignore", DeprecationWarning)
    warnings.simplefilter("ignore", ResourceWarning)  # pyspark before 4.2 leaves a socket open
    spark.createDataFrame([], "n int")  # makes it the active one, whatever other tests worked in
    assert open_session({}, name="x") == (spark, False)
    with_pandas = spark.createDataFrame(spark.range(2).toPandas())
    assert with_pandas.count() == 2
    assert [each.message for each in recwarn] == []

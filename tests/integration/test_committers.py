from __future__ import annotations

import pytest

from sparkassets.spark import scratch
from sparkassets.spark.installation import LOCAL_FILES

pytestmark = pytest.mark.spark

PROTOCOL = "spark.sql.sources.commitProtocolClass"
NONE = "the session has no committer for {}:// (hadoop-aws and spark-hadoop-cloud provide it)"


@pytest.mark.parametrize("path", ["/lake/day", "file:///lake/day", "hdfs://lake/day"])
def test_on_a_disk_files_are_published_by_a_rename_once_they_are_certain(spark, path):
    assert scratch.find_staging_obstacle(spark, path) is None
    options = scratch.staging_options(spark, path)
    assert options["mapreduce.fileoutputcommitter.algorithm.version"] == "1"
    assert options["spark.sql.parquet.output.committer.class"] == "org.apache.parquet.hadoop.ParquetOutputCommitter"


def modes(folder):
    return {
        str(path.relative_to(folder))[:8]: oct(path.stat().st_mode)
        for path in folder.rglob("*")
        if path.suffix != ".crc"
    }


def test_a_disk_is_written_without_a_process_for_each_file_and_like_hadoop_writes_it(spark, tmp_path):
    rows, ours, hadoops = spark.range(4).selectExpr("id", "id % 2 AS day"), tmp_path / "ours", tmp_path / "hadoops"
    quick = scratch.staging_options(spark, str(ours))
    assert quick["fs.file.impl"] == LOCAL_FILES
    (tmp_path / "elsewhere").mkdir()
    ours.symlink_to(tmp_path / "elsewhere")
    for folder, options in (
        (ours, quick),
        (hadoops, {**quick, "fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem"}),
    ):
        rows.coalesce(1).write.options(**options).partitionBy("day").parquet(str(folder / "run"))
    assert modes(ours / "run") == modes(hadoops / "run")
    assert not list(ours.rglob("*.crc")), "Parquet has checksums of its own"
    assert spark.read.parquet(str(ours / "run")).count() == 4


def test_folders_that_hand_on_their_group_are_written_by_hadoop_itself(spark, tmp_path):
    tmp_path.chmod(0o2755)
    assert "fs.file.impl" not in scratch.staging_options(spark, str(tmp_path / "table" / "run"))


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("s3a://lake/day", NONE.format("s3a")),
        ("S3://lake/day", NONE.format("s3")),
        ("gs://lake/day", "no committer is known for gs://"),
        ("abfss://lake@account/day", "no committer is known for abfss://"),
    ],
)
def test_without_its_committer_a_store_is_sparks_to_commit_to(spark, path, reason):
    assert scratch.find_staging_obstacle(spark, path) == reason


def test_a_platforms_own_way_is_left_alone(spark):
    session, theirs = spark.newSession(), "org.apache.spark.internal.io.HadoopMapReduceCommitProtocol"
    session.conf.set(PROTOCOL, theirs)
    scratch.prepare_committer(session)
    assert session.conf.get(PROTOCOL) == theirs
    assert scratch.find_staging_obstacle(session, "/lake") == f"the session commits files by {theirs}"


def test_without_the_jars_for_s3_a_session_stays_as_it_is(spark):
    session = spark.newSession()
    before = session.conf.getAll
    scratch.prepare_committer(session)
    assert session.conf.getAll == before

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkassets.delta.staging import StagingAttempt, list_staged_files

SCHEMA = {"fields": [{"name": "n", "type": "long"}, {"name": "_day", "type": "string"}]}
ATTEMPT = StagingAttempt("sales-1", 7, 1)


@pytest.fixture
def stage(tmp_path):
    """Writes a file into the attempt's folder."""

    def write(path, *values):
        place = tmp_path / ATTEMPT.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"n": pa.array(values, pa.int64())}), place)

    return write


def staged(folder):
    return list_staged_files(str(folder), ATTEMPT, schema=SCHEMA, layout=["_day"], properties={})


def test_files_are_told_with_their_folders_values_rows_and_statistics(stage, tmp_path):
    stage("_day=a%2Fb/part-1.parquet", 5, 6)
    stage("_day=__HIVE_DEFAULT_PARTITION__/part-0.parquet", 7)
    one, other = staged(tmp_path)
    assert (one.path, one.partition, one.rows) == (
        "sales-1.7.1/_day=__HIVE_DEFAULT_PARTITION__/part-0.parquet",
        {"_day": None},
        1,
    )
    assert (other.path, other.partition, other.rows) == ("sales-1.7.1/_day=a%2Fb/part-1.parquet", {"_day": "a/b"}, 2)
    assert json.loads(other.stats) == {
        "numRecords": 2,
        "minValues": {"n": 5},
        "maxValues": {"n": 6},
        "nullCount": {"n": 0},
    }


def test_what_tasks_left_that_were_retried_or_overtaken_is_not_told(stage, tmp_path):
    stage("_day=x/part-0.parquet", 1)
    stage("_temporary/0/_temporary/attempt_1_m_0_1/_day=x/part-0.parquet", 1)
    stage("__magic_job-1/job-1/tasks/attempt_1/__base/_day=x/part-0.parquet", 1)
    stage("_day=x/.part-0.parquet.parquet", 1)
    (tmp_path / ATTEMPT.folder / "_SUCCESS").touch()
    assert [file.path for file in staged(tmp_path)] == ["sales-1.7.1/_day=x/part-0.parquet"]


def test_files_without_rows_and_other_attempts_are_not_told(stage, tmp_path):
    stage("_day=x/part-0.parquet")
    stage("../sales-1.7.2/_day=x/part-0.parquet", 1)
    assert staged(tmp_path) == []
    assert staged(tmp_path / "nowhere") == []

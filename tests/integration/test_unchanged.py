"""What a target tells of a run's partitions that came out as they were, by whoever commits."""

from __future__ import annotations

import pytest
from deltalake import DeltaTable

from sparkassets.core.partitions import EVERYTHING, NOTHING
from tests.depth import deep
from tests.integration.orders import execute, order, rows, save, sql, table, target

pytestmark = pytest.mark.spark
HOURS = "SELECT timestamp_seconds(1735689600 + 3600 * id) AS hour, id %% %s AS n FROM range(0, 6)"


def table_version(asset):
    now = DeltaTable(asset.storage.path)
    return str(now.metadata().id), now.version()


def unchanged(engine, asset, **more):
    """Runs the asset; what of the run came out as it was."""
    run = order(asset, **more)
    execute(engine, run)
    place = target(engine, run)
    (found,) = place.find_commits([run.run])
    first, again = place.detect_unchanged(run, found), place.detect_unchanged(run, place.detect_unchanged(run, found))
    assert first == again
    return first.unchanged_partitions


@pytest.fixture(params=["auto", deep("spark")])
def commit(request):
    return request.param


def test_only_what_was_told_can_be_unchanged(spark, engine, tmp_path, commit):
    asset = table("a", tmp_path, unchanged="skip", commit=commit, **sql("SELECT id FROM range(10)"))
    assert unchanged(engine, asset) == NOTHING
    known = table_version(asset)
    assert unchanged(engine, asset, known_position=known) == EVERYTHING
    assert unchanged(engine, asset) == NOTHING
    DeltaTable(asset.storage.path).delete("id = 3")
    save(spark.sql("SELECT CAST(3 AS BIGINT) AS id"), asset)
    assert unchanged(engine, asset, known_position=known) == NOTHING
    assert unchanged(engine, asset, known_position=table_version(asset)) == EVERYTHING
    assert unchanged(engine, asset, known_position=("another", 1)) == NOTHING


def test_a_column_that_comes_is_news(spark, engine, tmp_path, commit):
    more = {"unchanged": "skip", "commit": commit}
    asset = table("a", tmp_path, **more, **sql("SELECT id FROM range(10)"))
    execute(engine, order(asset))
    wider = table("a", tmp_path, **more, **sql("SELECT id, CAST(NULL AS INT) AS n FROM range(10)"))
    assert unchanged(engine, wider, known_position=table_version(asset)) == NOTHING
    assert unchanged(engine, wider, known_position=table_version(asset)) == EVERYTHING


def test_partitions_that_share_a_file_with_others_are_told_apart(spark, engine, tmp_path, commit):
    def hourly(modulus, keep=""):
        words = ("WITH h AS (", HOURS % modulus, ") SELECT h.* FROM h JOIN {{ partitions }} USING (hour)", keep)
        query = " ".join(words)
        return table("a", tmp_path, by="hour", column="hour", unchanged="skip", commit=commit, **sql(query))

    asset, day = hourly(4), "2025-01-01T00..2025-01-01T05"
    execute(engine, order(asset, keys=day))
    assert len(DeltaTable(asset.storage.path).file_uris()) < 6
    before, two = rows(spark, asset), "2025-01-01T02..2025-01-01T03"
    assert unchanged(engine, asset, keys=two, known_position=table_version(asset)) == asset.partitioning.parse(two)
    assert rows(spark, asset) == before
    other = hourly(3)
    assert unchanged(engine, other, keys=two, known_position=table_version(asset)) == asset.partitioning.parse(
        "2025-01-01T02"
    )
    gone = hourly(3, "WHERE h.n > 0")
    assert unchanged(engine, gone, keys=two, known_position=table_version(asset)) == asset.partitioning.parse(
        "2025-01-01T02"
    )
    assert unchanged(engine, gone, keys=two, known_position=table_version(asset)) == asset.partitioning.parse(two)


def test_a_run_that_changes_nothing_leaves_the_files_as_they_are(engine, tmp_path):
    asset = table("a", tmp_path, unchanged="skip", **sql("SELECT id FROM range(100) ORDER BY hash(id)"))
    execute(engine, order(asset))
    before, known = DeltaTable(asset.storage.path).file_uris(), table_version(asset)
    turned = table("a", tmp_path, unchanged="skip", **sql("SELECT id FROM range(100) ORDER BY hash(id) DESC"))
    assert unchanged(engine, turned, known_position=known) == EVERYTHING
    now = DeltaTable(asset.storage.path)
    assert (now.version(), now.file_uris()) == (known[1] + 1, before)
    assert now.history(1)[0]["operationMetrics"]["numOutputRows"] == "0"

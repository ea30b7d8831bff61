"""What a target tells of a run's blocks that came out as they were, by whoever commits."""

from __future__ import annotations

import pytest
from deltalake import DeltaTable

from sparkassets.core.partitions import EVERYTHING, NOTHING
from tests.integration.orders import execute, order, save, sql, table, target

pytestmark = pytest.mark.spark


def told(asset):
    now = DeltaTable(asset.storage.path)
    return str(now.metadata().id), now.version()


def unchanged(engine, asset, **more):
    """Runs the asset; what of the run came out as it was."""
    run = order(asset, **more)
    execute(engine, run)
    place = target(engine, run)
    (found,) = place.committed([run.run])
    first, again = place.compared(run, found), place.compared(run, place.compared(run, found))
    assert first == again
    return first.unchanged


@pytest.fixture(params=["auto", "spark"])
def commit(request):
    return request.param


def test_only_what_was_told_can_be_unchanged(spark, engine, tmp_path, commit):
    asset = table("a", tmp_path, unchanged="skip", commit=commit, **sql("SELECT id FROM range(10)"))
    assert unchanged(engine, asset) == NOTHING
    known = told(asset)
    assert unchanged(engine, asset, told=known) == EVERYTHING
    assert unchanged(engine, asset) == NOTHING
    DeltaTable(asset.storage.path).delete("id = 3")
    save(spark.sql("SELECT CAST(3 AS BIGINT) AS id"), asset)
    assert unchanged(engine, asset, told=known) == NOTHING
    assert unchanged(engine, asset, told=told(asset)) == EVERYTHING
    assert unchanged(engine, asset, told=("another", 1)) == NOTHING


def test_a_column_that_comes_is_news(spark, engine, tmp_path, commit):
    more = {"unchanged": "skip", "commit": commit}
    asset = table("a", tmp_path, **more, **sql("SELECT id FROM range(10)"))
    execute(engine, order(asset))
    wider = table("a", tmp_path, **more, **sql("SELECT id, CAST(NULL AS INT) AS n FROM range(10)"))
    assert unchanged(engine, wider, told=told(asset)) == NOTHING
    assert unchanged(engine, wider, told=told(asset)) == EVERYTHING


def test_a_run_that_changes_nothing_leaves_the_files_as_they_are(engine, tmp_path):
    asset = table("a", tmp_path, unchanged="skip", **sql("SELECT id FROM range(100) ORDER BY hash(id)"))
    execute(engine, order(asset))
    before, known = DeltaTable(asset.storage.path).file_uris(), told(asset)
    turned = table("a", tmp_path, unchanged="skip", **sql("SELECT id FROM range(100) ORDER BY hash(id) DESC"))
    assert unchanged(engine, turned, told=known) == EVERYTHING
    now = DeltaTable(asset.storage.path)
    assert (now.version(), now.file_uris()) == (known[1] + 1, before)
    assert now.history(1)[0]["operationMetrics"]["numOutputRows"] == "0"

"""Spark SQL reads the state's two tables as they are: merged, checkpointed, with a log that was cut."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from sparkassets.core.journal.rows import JournalRow, SnapshotRow
from sparkassets.state import maintenance
from sparkassets.state.delta_store import DeltaStore

pytestmark = pytest.mark.spark

AT = datetime(2025, 3, 21, 6, 0, 0, 250000, tzinfo=UTC)


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """120 commits, merged, with its oldest log entries gone, and a snapshot."""
    folder = tmp_path_factory.mktemp("state")
    store = DeltaStore(str(folder))
    store.create(project="p")
    commit = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(maintenance, "LOG_KEPT", 40)
        patch.setattr(maintenance, "TIDY_EVERY", 50)
        for seq in range(1, 121):
            kind = "success" if seq % 3 == 0 else "event"
            store.append(
                [JournalRow(seq, AT, "d", kind, "flüge", None, None, None, (seq, 900), (seq + 1, 901))], after=commit
            )
            if seq % 20 == 0:
                store.maintain()
            commit, _ = store.read_after(seq)
    store.save_snapshot([SnapshotRow("b", None, None, 110, 1)], seq=110)
    store.save_snapshot([SnapshotRow("a", None, None, 120, 1, (5,), (9,), ("x",), (5,), (6,), (7,))], seq=120)
    assert not (folder / "journal" / "_delta_log" / f"{0:020d}.json").exists()
    return folder


@pytest.fixture
def views(spark, state):
    """The tables under the names that the queries use."""
    for name in ("journal", "watermarks"):
        spark.table(f"delta.`{state}/{name}`").createOrReplaceTempView(name)
    yield
    for name in ("journal", "watermarks"):
        spark.catalog.dropTempView(name)


@pytest.mark.usefixtures("views")
def test_the_journal(spark):
    (found,) = spark.sql(
        "SELECT count(*) n, count(DISTINCT seq) d, min(seq) a, max(seq) z, min(at) t FROM journal"
    ).collect()
    assert (found.n, found.d, found.a, found.z) == (120, 120, 1, 120)
    assert found.t.astimezone(UTC) == AT
    rows = spark.sql(
        "SELECT seq, asset, run, starts, ends FROM journal WHERE kind = 'success' AND seq > 114 ORDER BY seq"
    ).collect()
    assert [tuple(row) for row in rows] == [
        (117, "flüge", None, [117, 900], [118, 901]),
        (120, "flüge", None, [120, 900], [121, 901]),
    ]
    seconds = spark.sql(
        "SELECT sum(r.ends - r.starts) FROM (SELECT explode(arrays_zip(starts, ends)) r FROM journal)"
    ).first()
    assert seconds[0] == 240


@pytest.mark.usefixtures("views")
def test_the_watermarks(spark):
    (row,) = spark.sql("SELECT * FROM watermarks").collect()
    assert row.asDict() == {
        "asset": "a",
        "uri": None,
        "segment": None,
        "seq": 120,
        "commit": 1,
        "starts": [5],
        "ends": [9],
        "stale_inlets": ["x"],
        "stale_starts": [5],
        "stale_ends": [6],
        "stale_seqs": [7],
        "watermarks": "{}",
        "cursor": "{}",
        "body": "{}",
    }


@pytest.mark.parametrize("table", ["journal", "watermarks"])
def test_they_are_plain_delta(spark, state, table):
    detail = spark.sql(f"DESCRIBE DETAIL delta.`{state}/{table}`").first()
    assert (detail.minReaderVersion, detail.minWriterVersion) == (1, 2)
    assert detail.properties["sparkassets.format"] == "5"
    assert detail.partitionColumns == []

"""The state through a Spark session: beside deltalake on one path, and in a schema of a catalog."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest

from sparkassets.core.journal.rows import JournalRow, SnapshotRow
from sparkassets.errors import JournalConflictError, StateError
from sparkassets.state.delta_store import DeltaStore
from sparkassets.state.session_store import SessionStore
from sparkassets.state.session_table import SessionTable
from sparkassets.wiring import Project
from tests.contracts.journal_histories import play
from tests.depth import examples

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore:the state .* is in file:RuntimeWarning")]

AT = datetime(2025, 3, 21, 6, tzinfo=UTC)
STEPS = examples(25)


def row(seq: int, run: str = "r") -> JournalRow:
    return JournalRow(seq, AT, "d", "event", run=run)


@pytest.fixture
def schema(spark):
    """One that is not there yet, with a name that only quotes carry."""
    name = f"ops_{uuid.uuid4().hex[:8]}"
    yield ("spark_catalog", name)
    spark.sql(f"DROP SCHEMA IF EXISTS {name} CASCADE")


@pytest.mark.deep
def test_stores_of_two_kinds_share_a_path(spark, tmp_path):
    path = str(tmp_path / "st'a`te")
    done = play([SessionStore(lambda: spark, uri=path), DeltaStore(path)], seed=3, steps=STEPS)
    assert {each.partition(" ")[0] for each in done} == {"SessionStore", "DeltaStore"}


@pytest.mark.deep
def test_two_drivers_share_a_schema(spark, schema):
    play([SessionStore(lambda: spark, schema=schema) for _ in range(2)], seed=5, steps=STEPS // 2)


def test_who_loses_is_told_so_and_wrote_nothing(spark, tmp_path):
    """Both have seen commit 1; Spark skips the second's write, which returns as if it had been done."""
    first, second = (SessionStore(lambda: spark, uri=str(tmp_path / "state")) for _ in range(2))
    first.create(project="p")
    first.append([row(1)], after=0)
    second.read_image(project="p")
    first.append([row(2, "first")], after=1)
    with pytest.raises(JournalConflictError, match="the journal is at commit 2, not at 1"):
        second.append([row(2, "second")], after=1)
    assert second.read_after(1) == (2, [row(2, "first")])
    with pytest.raises(StateError, match="belongs to the project 'p', not to 'q'"):
        first.create(project="q")


def known(seq: int) -> list[SnapshotRow]:
    return [SnapshotRow("a", None, None, seq, seq)]


def seqs(rows) -> list[int]:
    return [each.seq for each in rows]


def test_entries_are_let_go_of(spark, tmp_path):
    """Beside a driver that slept; and the driver's own store reads what is left."""
    path = str(tmp_path / "state")
    store, sleeper = (SessionStore(lambda: spark, uri=path) for _ in range(2))
    store.create(project="p")
    store.append([row(seq) for seq in range(1, 6)], after=0)
    store.expire(known(3), seq=3)
    assert seqs(sleeper.read_after(1)[1]) == [4, 5]
    sleeper.append([row(6)], after=1)
    for each in (store, DeltaStore(path)):
        image = each.read_image(project="p")
        assert (image.snapshot, image.snapshot_seq, seqs(image.tail)) == (known(3), 3, [4, 5, 6])
        assert each.oldest_seq() == 4


@pytest.mark.deep
def test_letting_go_that_is_killed_is_done_again(spark, tmp_path, monkeypatch):
    """Before the journal is cut; and what is missing after it is told."""
    path = str(tmp_path / "state")
    store = SessionStore(lambda: spark, uri=path)
    store.create(project="p")
    assert (store.oldest_seq(), store.read_base()) == (1, ((), 0))
    store.append([row(seq) for seq in range(1, 7)], after=0)
    store.save_snapshot(known(2), seq=2)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(SessionTable, "delete", killed)
        with pytest.raises(KeyboardInterrupt):
            store.expire(known(4), seq=4)
    assert (store.oldest_seq(), store.read_base()) == (1, (known(4), 4))
    assert seqs(store.read_image(project="p").tail) == [3, 4, 5, 6]
    store.expire(known(4), seq=4)
    with pytest.raises(ValueError, match="the newest entry, 6, stays"):
        store.expire(known(6), seq=6)
    store.maintain(fully=True)
    assert (store.oldest_seq(), seqs(store.read_history()), list(store.find_damages())) == (5, [5, 6], [])
    spark.sql(f"DELETE FROM delta.`{path}/journal` WHERE seq = 5")  # noqa: S608  by hand
    with pytest.raises(StateError, match="damaged: entry 5 is missing"):
        store.read_image(project="p")
    assert ["entry 5 is missing" in each.problem for each in store.find_damages()] == [True]


def test_what_merges_files_is_no_commit_of_the_journal(spark, tmp_path, monkeypatch):
    monkeypatch.setattr("sparkassets.state.session_store._FEWEST_TO_MERGE", 2)
    path = str(tmp_path / "state")
    store = SessionStore(lambda: spark, uri=path)
    store.create(project="p")
    store.append([row(1)], after=0)
    store.append([row(2)], after=1)
    store.maintain()
    assert store.read_after(0) == (2, [row(1), row(2)])
    detail = spark.sql(f"DESCRIBE DETAIL delta.`{path}/journal`").first()
    assert (detail.numFiles, detail.minReaderVersion, detail.minWriterVersion) == (1, 1, 2)
    store.append([row(3)], after=2)
    assert [each.seq for each in DeltaStore(path).read_history()] == [1, 2, 3]


class ManagedTables:
    """A session whose catalog merges and removes the files of its tables itself."""

    def __init__(self, spark):
        self.spark = spark

    def sql(self, statement: str):
        if statement.startswith(("OPTIMIZE", "VACUUM")):
            raise ValueError("[DELTA_UNSUPPORTED_CATALOG_MANAGED_TABLE_OPERATION] it is blocked by the catalog")
        return self.spark.sql(statement)


def test_files_that_a_catalog_merges_are_left_to_it(spark, schema):
    store = SessionStore(lambda: ManagedTables(spark), schema=schema)
    store.create(project="p")
    store.maintain(fully=True)


def test_a_place_that_no_one_reaches(spark):
    store = SessionStore(lambda: spark, uri="s3x://lake/state")
    with pytest.raises(StateError, match=r'the state s3x://lake/state/journal cannot be reached: .*scheme "s3x"'):
        store.create(project="p")


def test_a_project_whose_state_is_in_a_catalog(spark, schema, tmp_path, monkeypatch):
    """The session of its run is the state's; who only looks takes the active one."""
    state = "{{catalog: {}, schema: {}}}".format(*schema)
    (tmp_path / "project.yml").write_text(f"project: p\nstate: {state}\nassets: [.]\n")
    (tmp_path / "one.yml").write_text('asset: one\nschedule: "@daily"\nsql: SELECT 1 AS n\n')
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    summary = Project.load(tmp_path).run(spark, at="2025-03-21T06:00:00Z")
    assert [(run.asset, run.status) for run in summary.runs] == [("one", "success")]
    project = Project.load(tmp_path)
    assert not project.plan(at="2025-03-21T07:00:00Z").runs
    assert [(run.asset, run.status) for run in project.history.runs()] == [("one", "success")]
    journal = ".".join((*schema, "journal"))
    assert spark.table(journal).filter("kind = 'success'").count() == 1
    properties = {row["key"] for row in spark.sql(f"SHOW TBLPROPERTIES {journal}").collect()}
    assert "delta.checkpointPolicy" not in properties  # a catalog that manages tables wants its own
    project.close()
    assert spark.range(1).count() == 1  # it is not theirs to stop

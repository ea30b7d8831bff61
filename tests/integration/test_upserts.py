"""`write: {upsert: …}` on real tables: what is merged, what is late, what is deleted, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from sparkassets.core.strategies import LatestOnly
from sparkassets.core.writes import UpsertWrite, row_counts
from sparkassets.errors import FileLocation, RunError
from tests.depth import deep
from tests.integration.orders import execute, order, rows, save, sql, table, target

pytestmark = pytest.mark.spark


class Customers:
    """An upsert of whatever rows a test gives, run by run."""

    def __init__(self, engine, spark, folder, schema, **options):
        self.engine, self.spark, self.schema = engine, spark, schema
        self.feed = table("feed", folder)
        more = {key: options.pop(key) for key in ("schema_change", "columns", "unchanged", "private") if key in options}
        if "schema_change" in more:
            more["schema"] = more.pop("schema_change")
        self.asset = table(
            "customers",
            folder,
            write=UpsertWrite(("id",), **options),
            strategy=LatestOnly(),
            **more,
            **sql("SELECT * FROM {{ inlets.feed }}", "feed"),
        )

    def run(self, *given, schema=None, **more):
        """A run over just these rows."""
        frame = self.spark.createDataFrame(list(given), schema or self.schema)
        save(frame, self.feed, mode="overwrite", again=True)
        run = order(self.asset, self.feed, **more)
        execute(self.engine, run)
        return run

    def rows(self):
        return rows(self.spark, self.asset)

    def unchanged(self, run):
        """What of the run is no news."""
        (found,) = target(self.engine, run).find_commits([run.run])
        return target(self.engine, run).detect_unchanged(run, found).unchanged_partitions

    def counts(self, run):
        (found,) = target(self.engine, run).find_commits([run.run])
        return row_counts(found.operation, found.metrics)


ONE = "  hint: newest_by: <column> decides which of them counts"
NULL = "  hint: leave such rows out: WHERE id IS NOT NULL"
LIST = "  hint: order them by several columns: newest_by: [<column>, <column>]"
HIDDEN = "id int, name string, _lsn int, _op string"
STORED = "id int, name string, lsn int, _op string"


def customers_of(engine, spark, folder, *, hidden):
    """Customers by an order that is not stored, or by one that is."""
    made = Customers(
        engine,
        spark,
        folder,
        HIDDEN if hidden else STORED,
        newest_by=("_lsn" if hidden else "lsn",),
        delete_when="_op = 'd'",
    )
    made.names = lambda: [(row[0], row[1]) for row in made.rows()]
    return made


@pytest.fixture
def customers(engine, spark, tmp_path):
    return customers_of(engine, spark, tmp_path, hidden=True)


@pytest.fixture(params=["hidden", deep("stored")])
def either(request, engine, spark, tmp_path):
    return customers_of(engine, spark, tmp_path, hidden=request.param == "hidden")


def test_rows_take_the_place_of_those_with_their_keys(either):
    either.run((1, "a", 1, "c"), (2, "b", 1, "c"))
    assert either.names() == [(1, "a"), (2, "b")]
    stored = {field.name for field in DeltaTable(either.asset.storage.path).schema().fields}
    assert stored == {name.split()[0] for name in either.schema.split(", ") if not name.startswith("_")}
    run = either.run((2, "B", 2, "u"), (3, "c", 2, "c"), (1, "gone", 2, "d"))
    assert either.names() == [(2, "B"), (3, "c")]
    assert {key: either.counts(run)[key] for key in ("rows", "inserted", "updated", "deleted")} == {
        "rows": 2,
        "inserted": 1,
        "updated": 1,
        "deleted": 1,
    }


@pytest.mark.deep
def test_neither_order_nor_repetition_matters(either):
    either.run((1, "new", 5, "u"), (1, "old", 3, "c"), (1, "new", 5, "u"), (2, "x", 9, "d"))
    assert either.names() == [(1, "new")]
    either.run((1, "late", 4, "u"), (2, "late", 8, "u"))
    assert either.names() == [(1, "new")]
    either.run((1, None, 6, "d"))
    either.run((1, "late", 5, "u"), (2, "late", 8, "u"))
    assert either.names() == []
    either.run((1, "again", 7, "c"), (2, "again", 10, "c"))
    assert either.names() == [(1, "again"), (2, "again")]
    either.run((1, None, 6, "d"), (2, "x", 9, "d"))
    assert either.names() == [(1, "again"), (2, "again")]


def test_what_a_run_remembered_that_never_committed_counts_for_nobody(engine, spark, tmp_path, monkeypatch):
    from sparkassets.spark.targets import driver_commit

    customers = customers_of(engine, spark, tmp_path, hidden=False)
    customers.run((1, "a", 1, "c"), (2, "b", 5, "d"))
    with monkeypatch.context() as broken:
        broken.setattr(driver_commit, "commit_staged", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            customers.run((1, "wrong", 9_000, "d"), (3, "wrong", 9_000, "d"))
    customers.run((1, "b", 2, "u"), (2, "late", 4, "u"), (3, "c", 2, "c"))
    assert customers.names() == [(1, "b"), (3, "c")]
    customers.run((1, None, 3, "d"))
    customers.run((1, "late", 2, "u"), (2, "late", 4, "u"))
    assert customers.names() == [(3, "c")]


@pytest.mark.spark_alone  # shows its plan
def test_a_merge_need_not_sort_the_table_unless_somebody_has_said_how_rows_are_joined(spark):
    from sparkassets.ports import CommitStamp
    from sparkassets.spark.upserts import key_merge

    stamp, key = (
        CommitStamp("app", 1, 0, "r", 1, "data"),
        "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold",
    )
    own, theirs = spark.newSession(), spark.newSession()
    theirs.conf.set(key, "1b")
    for session in (own, theirs):
        with key_merge._stamp_next_commit(session, stamp):
            pass
    assert own.conf.get(key) == own.conf.get("spark.sql.adaptive.advisoryPartitionSizeInBytes")
    assert theirs.conf.get(key) == "1b"


@pytest.mark.spark_alone  # takes RESTORE
def test_a_table_that_is_restored_remembers_what_it_did_then(customers, spark):
    customers.run((1, "a", 1, "c"))
    customers.run((1, None, 9, "d"))
    spark.sql(f"RESTORE TABLE delta.`{customers.asset.storage.path}` TO VERSION AS OF 0")
    customers.run((1, "b", 2, "u"))
    assert customers.names() == [(1, "b")]


@pytest.mark.deep
def test_much_that_is_remembered_is_kept_together(customers, monkeypatch):
    from sparkassets.spark.upserts import upsert_memory

    monkeypatch.setattr(upsert_memory, "_COMPACT_EVERY", 2)
    for number in range(1, 5):
        customers.run((1, "a", number, "d"), (number + 10, "x", 5, "d"))
    customers.run((1, "late", 3, "u"), *((number + 10, "late", 4, "u") for number in range(1, 5)))
    assert customers.names() == []
    remembered = DeltaTable(f"{customers.asset.storage.path}/_sparkassets/remembered")
    assert "WRITE" in {each["operation"] for each in remembered.history()}
    assert remembered.to_pyarrow_table().num_rows <= 7


@pytest.mark.spark_alone  # calls Java
def test_what_is_not_kept_longer_may_come_back(engine, spark, tmp_path):
    from sparkassets.core.instants import Duration

    made = Customers(
        engine,
        spark,
        tmp_path,
        STORED,
        newest_by=("lsn",),
        delete_when="_op = 'd'",
        keep_deletes=Duration.parse("1s"),
    )
    made.run((1, "a", 1, "c"))
    made.run((1, None, 5, "d"))
    spark.sql("SELECT java_method('java.lang.Thread', 'sleep', 1500L)").collect()
    made.run((1, "late", 2, "u"))
    assert [row[:2] for row in made.rows()] == [(1, "late")]


@pytest.mark.deep
def test_without_an_order_the_later_run_counts(engine, spark, tmp_path):
    made = Customers(engine, spark, tmp_path, "id int, name string", unchanged="skip")
    made.run((1, "a"), (2, "b"))
    run = made.run((2, "c"), (3, "d"))
    assert made.rows() == [(1, "a"), (2, "c"), (3, "d")]
    assert not Path(made.asset.storage.path, "_sparkassets").exists() or not list(
        Path(made.asset.storage.path, "_sparkassets").iterdir()
    )
    assert made.counts(run)["updated"] == 1
    assert not made.unchanged(run)
    there = DeltaTable(made.asset.storage.path)
    same = made.run((2, "c"), (3, "d"), known_position=(str(there.metadata().id), there.version()))
    assert made.counts(same)["rows"] == 0
    assert made.unchanged(same).is_everything


@pytest.mark.parametrize(
    "there", [pytest.param(False, id="new table"), pytest.param(True, id="table there", marks=pytest.mark.deep)]
)
@pytest.mark.parametrize(
    ("options", "given", "expected"),
    [
        (
            {},
            [(1, "a", 1), (1, "b", 2), (2, "c", 1)],
            "several rows of one key: id is 1; nothing was written\n{ONE}",
        ),
        (
            {"newest_by": ("lsn",)},
            [(1, "a", 2), (1, "b", 2), (2, "c", 1), (7, "c", 1), (7, "d", 1), (7, "d", 0)],
            "several rows of one key that are equal in lsn: id is 1; 7; nothing was written\n{LIST}",
        ),
        (
            {},
            [(None, "a", 2), (None, "b", 2), (2, "c", 1)],
            "id is NULL in 2 rows: a key cannot be NULL; nothing was written\n{NULL}",
        ),
        (
            {"newest_by": ("lsn",)},
            [(1, "a", None), (2, "c", 1)],
            "lsn is NULL in 1 row, so the newest row of a key is unknown; nothing was written",
        ),
    ],
)
def test_rows_that_cannot_be_told_apart_are_refused(engine, spark, tmp_path, there, options, given, expected):
    made = Customers(engine, spark, tmp_path, "id int, name string, lsn int", **options)
    if there:
        made.run((9, "z", 1))
    before = DeltaTable(made.asset.storage.path).version() if there else None
    with pytest.raises(RunError) as error:
        made.run(*given)
    assert str(error.value) == "customers: " + expected.format(LIST=LIST, ONE=ONE, NULL=NULL)
    assert error.value.is_data_error
    assert (DeltaTable(made.asset.storage.path).version() if there else None) == before


def test_keys_of_a_column_about_people_are_not_shown(engine, spark, tmp_path):
    made = Customers(engine, spark, tmp_path, "ID int, name string", private=frozenset({"id"}))
    with pytest.raises(RunError, match=r"^customers: several rows of one key: ID is •••; nothing was written"):
        made.run((4711, "a"), (4711, "b"))


def test_a_column_that_is_not_there_is_named(engine, spark, tmp_path):
    made = Customers(engine, spark, tmp_path, "idd int, name string")
    with pytest.raises(RunError, match=r"the result of customers has no column 'id'") as error:
        made.run((1, "a"))
    assert "did you mean 'idd'?" in str(error.value)


@pytest.mark.spark_alone  # words its errors so
def test_a_condition_that_spark_cannot_resolve_is_named_with_its_place(engine, spark, tmp_path):
    options = {"delete_when": "_op = d", "condition_place": FileLocation("customers.yml", 4, 9)}
    made = Customers(engine, spark, tmp_path, "id int, _op string", **options)
    with pytest.raises(RunError, match=r"^delete_when of customers at customers.yml:4:9: .*UNRESOLVED_COLUMN.*`d`"):
        made.run((1, "u"))


@pytest.mark.spark_alone  # adds columns to a table
def test_the_columns_change_as_the_asset_lets_them(engine, spark, tmp_path):
    made = Customers(engine, spark, tmp_path, "id int, name string, _v int", schema_change="evolve", newest_by=("_v",))
    made.run((1, "a", 1), (2, "b", 1))
    wider = "int" if spark.version.startswith("3.") else "bigint"  # which Delta 3.3 does not make of an int
    made.run((2, "c", 2, 7), (1, "late", 0, 7), schema=f"id {wider}, name string, _v int, n int")
    assert made.rows() == [(1, "a", None), (2, "c", 7)]
    strict = Customers(engine, spark, tmp_path / "strict", "id int, name string")
    strict.run((1, "a"))
    with pytest.raises(RunError, match=r"column 'n' is not in the target"):
        strict.run((2, "c", 7), schema="id int, name string, n int")


@pytest.mark.alike
def test_a_rebuild_takes_the_place_of_all_and_remembers_anew(customers):
    customers.run((1, "a", 1, "c"), (2, "b", 1, "c"), (3, "c", 1, "c"))
    customers.run((2, None, 9, "d"), (3, "d", 2, "u"))
    customers.run((2, "b", 1, "c"), (3, "x", 1, "c"), (3, None, 4, "d"), rebuilds=True)
    assert customers.names() == [(2, "b")]
    customers.run((3, "late", 3, "u"), (1, "c", 1, "c"))
    assert customers.names() == [(1, "c"), (2, "b")]


@pytest.mark.alike
def test_changes_as_deltas_feed_tells_them(engine, spark, tmp_path):
    schema = "id int, name string, _change_type string, _commit_version bigint, _commit_timestamp timestamp"
    made = Customers(engine, spark, tmp_path, schema)
    made.run((1, "a", "insert", 1, None), (2, "b", "insert", 1, None))
    made.run(
        (1, "a", "update_preimage", 2, None),
        (1, "A", "update_postimage", 2, None),
        (1, "A", "delete", 3, None),
        (1, "A", "insert", 3, None),
        (2, "b", "update_preimage", 2, None),
        (2, "B", "update_postimage", 2, None),
        (2, "B", "delete", 3, None),
    )
    assert made.rows() == [(1, "A")]
    made.run((2, "again", "insert", 4, None))
    assert made.rows() == [(1, "A"), (2, "again")]


def test_partitions_and_keys_narrow_the_search(engine, spark, tmp_path):
    feed = table("feed", tmp_path, by="day")
    asset = table(
        "visits", tmp_path, by="day", write=UpsertWrite(("id",)), **sql("SELECT * FROM {{ inlets.feed }}", "feed")
    )
    given = [(f"2025-01-0{day}", 10 * day + number, "old") for day in (1, 2, 3) for number in range(3)]

    def run(*changes, keys):
        frame = spark.createDataFrame([*changes], "day string, id int, name string")
        save(frame.selectExpr("CAST(day AS DATE) AS day", "id", "name"), feed, mode="overwrite")
        made = order(asset, feed, keys=keys)
        execute(engine, made)
        return made

    run(*given, keys="2025-01-01..2025-01-03")
    made = run(("2025-01-02", 21, "new"), ("2025-01-02", 29, "came"), keys="2025-01-02")
    (committed,) = target(engine, made).find_commits([made.run])
    assert committed.metrics["numTargetFilesRemoved"] == 1
    assert committed.metrics["numTargetRowsCopied"] == 2
    assert len(rows(spark, asset)) == 10
    with pytest.raises(RunError, match=r"rows outside the run's partitions 2025-01-03: day is 2025-01-02"):
        run(("2025-01-02", 21, "new"), keys="2025-01-03")


@pytest.mark.deep
def test_what_one_that_was_given_up_remembers_between_does_not_count(customers, spark, monkeypatch):
    from sparkassets.spark.upserts import upsert_memory

    customers.run((1, "a", 1, "c"), (2, "a", 5, "d"))
    path, has_types_of = f"{customers.asset.storage.path}/_sparkassets/remembered", upsert_memory._has_types_of

    def beside(rows, known):
        of_key_1 = (
            known.limit(1)
            .replace(2, 1)
            .selectExpr(
                *(f"{name} + 9000 AS {name}" if name.startswith("newest") else f"`{name}`" for name in known.columns)
            )
        )
        of_key_1.write.format("delta").mode("append").save(path)
        return has_types_of(rows, known)

    with monkeypatch.context() as patched:
        patched.setattr(upsert_memory, "_has_types_of", beside)
        customers.run((3, "a", 5, "d"))
    customers.run((1, "b", 2, "u"), (2, "late", 4, "u"), (3, "late", 4, "u"))
    assert customers.names() == [(1, "b")]


@pytest.mark.deep
def test_a_table_that_is_restored_to_before_what_is_remembered_is_made_anew(customers, spark, monkeypatch):
    from sparkassets.spark.upserts import upsert_memory

    monkeypatch.setattr(upsert_memory, "_COMPACT_EVERY", 1)
    customers.run((1, "a", 1, "c"), (2, "a", 5, "d"))
    customers.run((3, "a", 5, "d"))
    remembered = DeltaTable(f"{customers.asset.storage.path}/_sparkassets/remembered")
    remembered.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    spark.sql(f"RESTORE TABLE delta.`{customers.asset.storage.path}` TO VERSION AS OF 0")
    with pytest.raises(RunError, match="its table was restored to a commit that needs") as failed:
        customers.run((1, "b", 2, "u"))
    assert "`sparkassets backfill customers --rebuild` rebuilds the table" in failed.value.hint

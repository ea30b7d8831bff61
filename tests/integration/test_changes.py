"""`read: changes` on Spark: Delta's change feed, files that came, and what each run appends of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets import Project, RunFailedError
from sparkassets.core.instants import Duration
from sparkassets.core.runs import TablePosition
from sparkassets.core.spec.model import InletSpec, ReadAfter, ReadChanges
from sparkassets.core.strategies import LatestOnly
from sparkassets.core.writes import AppendWrite, UpsertWrite
from sparkassets.errors import RunError, SourceChangedError
from tests.depth import deep
from tests.e2e.projects import rows as stored
from tests.e2e.projects import write
from tests.integration import catalogs
from tests.integration.orders import computed, held, newest, order, sql, table
from tests.integration.test_examples import example, ran

pytestmark = pytest.mark.spark

ON = "delta.enableChangeDataFeed = true"


class Orders:
    """A Delta table that others write with Spark."""

    def __init__(self, spark, path, *, columns="order_id INT, status STRING", feed=True, more="", there=False):
        self.spark = spark
        self.path = path
        properties = f"TBLPROPERTIES ({ON})" if feed else ""
        if not there:
            self("CREATE TABLE {orders} (" + columns + f") USING delta {more} {properties}")

    def __call__(self, *statements):
        for each in statements:
            self.spark.sql(each.replace("{orders}", f"delta.`{self.path}`"))

    @property
    def version(self):
        return DeltaTable(self.path).version()


def audit(tmp_path, query=None):
    """Example 11 as it stands, over a path."""
    folder = example("11_audit_log", tmp_path)
    if query is not None:
        (folder / "audit_log.sql").write_text(query)
    return folder, folder / "lake/orders"


def logged(spark, folder):
    rows = held(spark, folder / "warehouse/audit_log")
    return sorted(tuple(row)[:4] for row in rows.collect())


def test_the_audit_log_has_every_change_once(spark, tmp_path):
    folder, path = audit(tmp_path)
    orders = Orders(spark, path)
    orders("INSERT INTO {orders} VALUES (1, 'new'), (2, 'new')")
    project = Project.load(folder, env={})
    assert ran(project.run(spark)) == [("audit_log", "success")]
    first = [(1, "new", "insert", 1), (2, "new", "insert", 1)]
    assert logged(spark, folder) == first
    orders(
        "UPDATE {orders} SET status = 'paid' WHERE order_id = 1",
        "DELETE FROM {orders} WHERE order_id = 2",
        "INSERT INTO {orders} VALUES (3, 'new')",
    )
    (run,) = project.plan().runs
    assert run.reason == "orders updated, reads the changes of orders in versions 2..4"
    assert ran(project.run(spark)) == [("audit_log", "success")]
    then = [(1, "paid", "update_postimage", 2), (2, "new", "delete", 3), (3, "new", "insert", 4)]
    assert logged(spark, folder) == sorted(first + then)
    assert project.run(spark).runs == ()


def test_sql_that_does_not_tell_changes_apart_fails_on_the_first_update(spark, tmp_path):
    folder, path = audit(tmp_path, "SELECT order_id, status FROM {{ inlets.orders }} -- not _change_type")
    orders = Orders(spark, path)
    orders("INSERT INTO {orders} VALUES (1, 'new'), (2, 'new')")
    project = Project.load(folder, env={})
    project.run(spark)
    orders("INSERT INTO {orders} VALUES (3, 'new')")
    project.run(spark)
    assert logged(spark, folder) == [(1, "new"), (2, "new"), (3, "new")]
    orders("UPDATE {orders} SET status = 'paid' WHERE order_id = 1", "DELETE FROM {orders} WHERE order_id = 2")
    with pytest.raises(RunFailedError) as failed:
        project.run(spark)
    (result,) = failed.value.summary.runs
    assert result.error == (
        "audit_log: version 3 of the inlet 'orders' has an update, which its SQL would take for a new row: it does "
        "not use _change_type"
    )
    assert result.hint == (
        "distinguish _change_type insert, update_preimage, update_postimage and delete, as in WHERE _change_type "
        "<> 'update_preimage'"
    )
    assert logged(spark, folder) == [(1, "new"), (2, "new"), (3, "new")]
    (folder / "audit_log.sql").write_text(
        "SELECT order_id, status FROM {{ inlets.orders }} WHERE {{ inlets.orders['_change_type'] }} = 'insert'"
    )
    Project.load(folder, env={}).run(spark)
    assert logged(spark, folder) == [(1, "new"), (2, "new"), (3, "new")]


def test_without_a_feed_what_was_appended_is_read_and_the_plan_tells_of_the_rest(spark, tmp_path):
    folder, path = audit(tmp_path)
    orders = Orders(spark, path, feed=False)
    orders("INSERT INTO {orders} VALUES (1, 'new')", "INSERT INTO {orders} VALUES (2, 'new')")
    project = Project.load(folder, env={})
    project.run(spark)
    orders("INSERT INTO {orders} VALUES (3, 'new')", "OPTIMIZE {orders}", "INSERT INTO {orders} VALUES (4, 'it\\'s')")
    project.run(spark)
    there = [(1, "new", "insert", 2), (2, "new", "insert", 2), (3, "new", "insert", 3), (4, "it's", "insert", 5)]
    assert logged(spark, folder) == there
    orders("DELETE FROM {orders} WHERE order_id = 1")
    with pytest.raises(RunFailedError, match="audit_log waits for a person: the changes of orders are not available"):
        project.run(spark)
    (waiting,) = project.plan().waiting
    assert waiting.reason.startswith(
        "the changes of orders are not available: version 6 (DELETE) changed or removed rows"
    )
    orders("ALTER TABLE {orders} SET TBLPROPERTIES (" + ON + ")", "INSERT INTO {orders} VALUES (5, 'new')")
    assert not project.run(spark, check=False).ok
    (waiting,) = project.plan().waiting
    assert "version 6 (DELETE) changed rows before its change feed was on; `sparkassets mark" in waiting.reason
    assert logged(spark, folder) == there


def reading(tmp_path, orders, query="SELECT * FROM {{ inlets.orders }}", **more):
    source = table("orders", orders.path.parent, **more)
    inlets = {"orders": InletSpec("orders", "orders", None, read=ReadChanges())}
    log = table("log", tmp_path, **{**sql(query), "inlets": inlets, "strategy": LatestOnly(), "write": AppendWrite()})
    return log, source


def changed_rows(engine, log, source, since):
    """The rows of the versions after ``since``, without their time."""
    pin = newest(source)
    low = None if since is None else str(TablePosition(pin.table_id, since))
    return [row[:-1] for row in computed(engine, order(log, source, pins={"orders": newest(source, low=low)}))]


def test_a_row_that_was_there_twice_and_is_there_once_stays_in_an_upsert(engine, spark, tmp_path):
    orders = Orders(spark, tmp_path / "orders", columns="day INT, id INT", more="PARTITIONED BY (day)")
    orders("INSERT INTO {orders} VALUES (1, 1), (1, 1), (1, 2), (1, 2), (1, 3)")
    twice = orders.version
    orders("INSERT INTO {orders} REPLACE WHERE day = 1 VALUES (1, 1), (1, 3), (1, 3), (1, 4)")
    once = orders.version
    log, source = reading(tmp_path, orders, "SELECT id, _change_type, _commit_version, 0 FROM {{ inlets.orders }}")
    came, went = [(3, "insert", once), (4, "insert", once)], [(2, "delete", once), (2, "delete", once)]
    assert sorted(changed_rows(engine, log, source, twice)) == sorted([(1, "delete", once), *came, *went])
    upsert = replace(log, write=UpsertWrite(keys=("id",)))
    assert sorted(changed_rows(engine, upsert, source, twice)) == sorted([*came, *went])


@pytest.mark.parametrize("vectors", [False, deep(True)])  # noqa: FBT003
def test_rows_that_a_replaced_partition_has_as_before_are_no_changes(engine, spark, tmp_path, vectors):
    columns = "day INT, id INT, v DOUBLE, s STRUCT<a: ARRAY<STRING>>"
    orders = Orders(spark, tmp_path / "orders", columns=columns, more="PARTITIONED BY (day)")
    if vectors:
        orders("ALTER TABLE {orders} SET TBLPROPERTIES (delta.enableDeletionVectors = true)")
    row = "SELECT day, id, CAST(1 AS DOUBLE), named_struct('a', array('x', NULL)) FROM VALUES "
    orders("INSERT INTO {orders} " + row + "(1, 1), (1, 2), (1, 2), (2, 9), (1, NULL) AS (day, id)")
    before = orders.version
    orders("INSERT INTO {orders} REPLACE WHERE day = 1 " + row + "(1, 1), (1, 2), (1, 3), (1, NULL) AS (day, id)")
    log, source = reading(tmp_path, orders, "SELECT id, v, _change_type, _commit_version, 0 FROM {{ inlets.orders }}")
    replaced = orders.version
    assert changed_rows(engine, log, source, before) == [(2, 1.0, "delete", replaced), (3, 1.0, "insert", replaced)]
    orders("DELETE FROM {orders} WHERE id = 1", "UPDATE {orders} SET v = 7 WHERE id = 3")
    assert changed_rows(engine, log, source, replaced) == [
        (1, 1.0, "delete", replaced + 1),
        (3, 1.0, "update_preimage", replaced + 2),
        (3, 7.0, "update_postimage", replaced + 2),
    ]


@pytest.mark.deep
def test_a_restored_table_tells_what_that_changed(engine, spark, tmp_path):
    orders = Orders(spark, tmp_path / "orders")
    orders("INSERT INTO {orders} VALUES (1, 'a'), (2, 'a')", "UPDATE {orders} SET status = 'b' WHERE order_id = 1")
    orders("INSERT INTO {orders} VALUES (3, 'a')", "RESTORE {orders} TO VERSION AS OF 1")
    log, source = reading(tmp_path, orders)
    assert changed_rows(engine, log, source, 3) == [(1, "a", "insert", 4), (1, "b", "delete", 4), (3, "a", "delete", 4)]


def late(tmp_path, overlap):
    inlets = {"orders": InletSpec("orders", "orders", None, read=ReadAfter("at", Duration.parse(overlap)))}
    query = "SELECT order_id, '{{ watermark.high }}' AS high FROM {{ inlets.orders }}"
    log = table("log", tmp_path, **{**sql(query), "inlets": inlets, "strategy": LatestOnly(), "write": AppendWrite()})
    return log, table("orders", tmp_path)


@pytest.mark.parametrize(
    ("kind", "overlap", "low", "expected"),
    [
        ("TIMESTAMP", "1h", "2025-03-01T12:00:00Z", [2, 3, 4]),
        ("TIMESTAMP", "1h30m", "2025-03-01T12:00:00Z", [1, 2, 3, 4]),
        ("TIMESTAMP_NTZ", "1d", "2025-03-01T12:30:00", [1, 2, 3, 4]),
        ("DATE", "1d", "2025-03-02", [1, 2, 3, 4]),
        ("DATE", "1h", "2025-03-02", [1, 2, 3, 4]),
        ("TIMESTAMP", "1h", None, [1, 2, 3, 4]),
    ],
)
def test_rows_that_came_late_are_read_from_the_overlap_on(engine, tmp_path, kind, overlap, low, expected):
    times = [datetime(2025, 3, 1, *at) for at in ((10, 30), (11, 0), (12, 0), (12, 30))]  # noqa: DTZ001  of each kind
    types = {"TIMESTAMP": pa.timestamp("us", "UTC"), "TIMESTAMP_NTZ": pa.timestamp("us"), "DATE": pa.date32()}
    came = pa.table({"order_id": [1, 2, 3, 4], "at": pa.array(times, pa.timestamp("us")).cast(types[kind], safe=False)})
    write_deltalake(tmp_path / "orders", came)
    log, source = late(tmp_path, overlap)
    read = computed(engine, order(log, source, pins={"orders": newest(source, low=low)}))
    assert [number for number, _ in read] == expected
    newest_value = {"DATE": "2025-03-01", "TIMESTAMP_NTZ": "2025-03-01T12:30:00.000000"}
    high = newest_value.get(kind, "2025-03-01T12:30:00.000000Z")
    assert {high for _, high in read} == {max(high, low) if kind == "DATE" else high}  # a watermark never goes back


def test_no_overlap_is_taken_off_what_is_no_time(engine, tmp_path):
    write_deltalake(tmp_path / "orders", pa.table({"order_id": [1], "at": pa.array([1], pa.int32())}))
    log, source = late(tmp_path, "1h")
    with pytest.raises(RunError) as refused:
        engine.compute(order(log, source, pins={"orders": newest(source, low="0")}), attempt=1)
    assert str(refused.value) == (
        "the column 'at' of the inlet 'orders' is INT, but 'overlap' needs a date or a timestamp\n  hint: use a "
        "date or timestamp column, or leave 'overlap' out"
    )


def test_a_column_of_a_changes_own_name_is_refused(engine, spark, tmp_path):
    orders = Orders(spark, tmp_path / "orders", columns="order_id INT, _change_type STRING", feed=False)
    orders("INSERT INTO {orders} VALUES (1, 'mine')", "INSERT INTO {orders} VALUES (2, 'mine')")
    log, source = reading(tmp_path, orders)
    with pytest.raises(RunError) as refused:
        changed_rows(engine, log, source, 1)
    assert str(refused.value) == (
        "the inlet 'orders' has a column '_change_type', a name that the change feed reserves\n  hint: rename it, "
        "or read it by {after: <column>}"
    )


def test_what_went_after_the_plan_fails_the_run_and_is_planned_anew(engine, spark, tmp_path):
    orders = Orders(spark, tmp_path / "orders")
    orders("INSERT INTO {orders} VALUES (1, 'a')", "DELETE FROM {orders}")
    log, source = reading(tmp_path, orders)
    for each in (tmp_path / "orders").glob("*.parquet"):
        each.unlink()
    with pytest.raises(SourceChangedError) as changed:
        changed_rows(engine, log, source, 1)
    assert str(changed.value) == "the changes of the inlet 'orders' cannot be determined: files of version 2 are gone"
    pin = newest(source, low=str(TablePosition("another", 0)))
    with pytest.raises(SourceChangedError) as changed:
        engine.compute(order(log, source, pins={"orders": pin}), attempt=1)
    assert str(changed.value) == (
        "the changes of the inlet 'orders' after version 0 of table another, up to which it was read, cannot "
        "be determined"
    )


@pytest.mark.parametrize("mapped", [False, deep(True)])  # noqa: FBT003
def test_files_that_came_are_read_with_their_partitions_and_later_columns(engine, spark, tmp_path, mapped):
    """From the files themselves, or by Delta where these have other names for the columns."""
    orders = Orders(
        spark, tmp_path / "orders", columns="order_id INT, day DATE", feed=False, more="PARTITIONED BY (day)"
    )
    if mapped:
        orders("ALTER TABLE {orders} SET TBLPROPERTIES (delta.columnMapping.mode = 'name')")
    orders("INSERT INTO {orders} VALUES (1, DATE'2025-03-01')")
    since = orders.version
    orders(
        "INSERT INTO {orders} VALUES (2, DATE'2025-03-02'), (3, NULL)",
        "ALTER TABLE {orders} ADD COLUMN (note STRING)",
        "INSERT INTO {orders} VALUES (4, DATE'2025-03-01', 'x')",
    )
    log, source = reading(
        tmp_path, orders, "SELECT order_id, day, note, _change_type, _commit_version - 0, 0 FROM {{ inlets.orders }}"
    )
    assert changed_rows(engine, log, source, since) == [
        (2, date(2025, 3, 2), None, "insert", since + 1),
        (3, None, None, "insert", since + 1),
        (4, date(2025, 3, 1), "x", "insert", since + 3),
    ]
    pin = newest(source, low=str(TablePosition(newest(source).table_id, since)))
    times = engine.compute(order(log, source, pins={"orders": pin}), attempt=1).inlets.frames["orders"]
    assert times.where("_commit_timestamp > current_timestamp() - INTERVAL 1 HOUR").count() == 3


CHAIN = {
    "project.yml": "project: shop\nstate: state\nwarehouse: warehouse\nassets: [.]\n",
    "orders.yml": "asset: orders\nsource: delta\npath: lake/orders\n",
    "ledger.yml": "asset: ledger\ninlets: {orders: {read: changes}}\nwrite: append\n",
    "ledger.sql": "SELECT order_id, status, _change_type AS was FROM {{ inlets.orders }}",
    "newest.yml": "asset: newest\nsql: SELECT max(order_id) AS order_id FROM {{ inlets.orders }}\n",
    "audit.yml": "asset: audit\ninlets: {ledger: {read: changes}}\nwrite: append\n",
    "audit.sql": "SELECT order_id, was FROM {{ inlets.ledger }}",
    "changed.yml": "asset: changed\ninlets: {newest: {read: changes}}\nwrite: append\n",
    "changed.sql": "SELECT order_id, _change_type AS was FROM {{ inlets.newest }}",
}


def test_assets_of_the_project_are_read_by_their_changes(spark, tmp_path):
    """One that appends by its files alone; one that replaces by the feed that its table keeps from the first run on."""
    folder = write(tmp_path, CHAIN)
    orders = Orders(spark, folder / "lake/orders")
    orders("INSERT INTO {orders} VALUES (1, 'a')")
    project = Project.load(folder, env={})
    assert {status for _, status in ran(project.run(spark))} == {"success"}
    for insert in ("INSERT INTO {orders} VALUES (2, 'a')", "INSERT INTO {orders} VALUES (3, 'a')"):
        orders(insert)
        assert {status for _, status in ran(project.run(spark))} == {"success"}
    assert stored(folder / "warehouse/audit", "order_id", "was") == [(1, "insert"), (2, "insert"), (3, "insert")]
    steps = [(1, "insert"), (1, "delete"), (2, "insert"), (2, "delete"), (3, "insert")]
    assert stored(folder / "warehouse/changed", "order_id", "was") == sorted(steps)
    assert project.run(spark).runs == ()


DAYS = """asset: {name}
{more}partition: {{by: day, column: day}}
"""
BY_DAY = {
    "project.yml": "project: shop\nstate: state\nwarehouse: warehouse\nassets: [.]\ndefaults: {retries: 0}\n",
    "raw.yml": DAYS.format(name="raw", more="source: delta\npath: lake/raw\n"),
    "changed.yml": "asset: changed\ninlets: {daily: {read: changes}}\nwrite: append\n",
    "changed.sql": "SELECT id, day, amount, _change_type AS was FROM {{ inlets.daily }}",
    "daily.sql": "SELECT id, day, amount FROM {{ inlets.raw }}",
}
"""Days that are replaced, and what follows their changes."""


@pytest.mark.parametrize("where", ["warehouse", deep("catalog"), deep("spark")])
def test_a_table_whose_changes_are_read_keeps_its_feed_from_the_first_run_on(spark, tmp_path, where):
    with catalogs.schema(spark, tmp_path) as schema:
        named = f"table: {schema}.daily\n" if where == "catalog" else ""
        more = named + ("commit: spark\n" if where == "spark" else "")
        folder = write(tmp_path / "p", {**BY_DAY, "daily.yml": DAYS.format(name="daily", more=more)})
        raw = Orders(spark, folder / "lake/raw", columns="id INT, day DATE, amount INT", feed=False)
        raw("INSERT INTO {orders} VALUES (1, DATE'2025-01-01', 10), (2, DATE'2025-01-01', 20)")
        raw("INSERT INTO {orders} VALUES (3, DATE'2025-01-02', 30)")
        project = Project.load(folder, env={})
        assert project.run(spark).ok
        raw("UPDATE {orders} SET amount = 11 WHERE id = 1", "DELETE FROM {orders} WHERE id = 3")
        assert project.run(spark).ok
        first = [(1, 10, "insert"), (2, 20, "insert"), (3, 30, "insert")]
        then = [(1, 10, "delete"), (1, 11, "insert"), (3, 30, "delete")]
        assert stored(folder / "warehouse/changed", "id", "amount", "was") == sorted([*first, *then])
        assert project.run(spark).runs == ()
        if where == "warehouse":
            engines = {
                each["engineInfo"].partition(":")[0] for each in DeltaTable(folder / "warehouse/daily").history()
            }
            assert engines == {"delta-rs"}


def test_rows_that_share_a_file_with_changed_ones_are_none_of_a_feed(spark, tmp_path):
    """They are moved to a file of their own first, by a commit that changes no row."""
    folder = write(tmp_path, {**BY_DAY, "daily.yml": DAYS.format(name="daily", more="")})
    raw = Orders(spark, folder / "lake/raw", columns="id INT, day DATE, amount INT", feed=False)
    values = "VALUES (1, DATE'2025-01-01', 10), (2, DATE'2025-01-02', 20)"
    raw(f"INSERT INTO {{orders}} {values}")
    daily = Orders(spark, folder / "warehouse/daily", columns="id INT, day DATE, amount INT")
    project = Project.load(folder, env={})
    assert project.run(spark).ok
    daily("OPTIMIZE {orders}")  # one file of both days
    table = DeltaTable(daily.path)
    assert len(table.file_uris()) == 1
    raw("UPDATE {orders} SET amount = 11 WHERE id = 1")
    assert project.run(spark).ok
    feed = spark.read.format("delta").option("readChangeFeed", "true")
    feed = feed.option("startingVersion", table.version() + 1).load(str(daily.path))
    assert sorted((row.id, row.amount, row["_change_type"]) for row in feed.collect()) == [
        (1, 10, "delete"),
        (1, 11, "insert"),
    ]

"""`read: changes` on Spark: Delta's change feed, files that came, and what each run appends of them."""

from __future__ import annotations

import pytest
from deltalake import DeltaTable

from sparkassets import Project, RunFailedError
from sparkassets.core.runs import Position
from sparkassets.core.spec.model import InletSpec, ReadChanges
from sparkassets.core.strategies import LatestOnly
from sparkassets.core.writes import Append
from tests.integration.orders import computed, newest, order, sql, table
from tests.integration.test_examples import example, ran

pytestmark = pytest.mark.spark

ON = "delta.enableChangeDataFeed = true"


class Orders:
    """A Delta table that others write with Spark."""

    def __init__(self, spark, path, *, columns="order_id INT, status STRING", feed=True, more=""):
        self.spark = spark
        self.path = path
        properties = f"TBLPROPERTIES ({ON})" if feed else ""
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
    rows = spark.read.format("delta").load(str(folder / "warehouse/audit_log"))
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
        "audit_log: version 3 of the inlet 'orders' has an update, but its SQL does not name _change_type, so that it "
        "would be taken for a new row"
    )
    assert result.hint == (
        "_change_type is insert, update_preimage, update_postimage or delete: tell them apart by it, as in WHERE "
        "_change_type <> 'update_preimage'"
    )
    assert logged(spark, folder) == [(1, "new"), (2, "new"), (3, "new")]
    (folder / "audit_log.sql").write_text(
        "SELECT order_id, status FROM {{ inlets.orders }} WHERE {{ inlets.orders._change_type }} = 'insert'"
    )
    Project.load(folder, env={}).run(spark)
    assert logged(spark, folder) == [(1, "new"), (2, "new"), (3, "new")]


def test_without_a_feed_what_was_appended_is_read_and_the_plan_tells_of_the_rest(spark, tmp_path):
    folder, path = audit(tmp_path)
    orders = Orders(spark, path, feed=False)
    orders("INSERT INTO {orders} VALUES (1, 'new')", "INSERT INTO {orders} VALUES (2, 'new')")
    project = Project.load(folder, env={})
    project.run(spark)
    orders("INSERT INTO {orders} VALUES (3, 'new')", "OPTIMIZE {orders}", "INSERT INTO {orders} VALUES (4, 'it''s')")
    project.run(spark)
    there = [(1, "new", "insert", 2), (2, "new", "insert", 2), (3, "new", "insert", 3), (4, "it's", "insert", 5)]
    assert logged(spark, folder) == there
    orders("DELETE FROM {orders} WHERE order_id = 1")
    project.run(spark)
    (waiting,) = project.plan().waiting
    assert waiting.reason.startswith("the changes of orders are not told: version 6 (DELETE) changed or removed rows")
    orders("ALTER TABLE {orders} SET TBLPROPERTIES (" + ON + ")", "INSERT INTO {orders} VALUES (5, 'new')")
    project.run(spark)
    (waiting,) = project.plan().waiting
    assert "version 6 (DELETE) changed rows before its change feed was on; to read all" in waiting.reason
    assert logged(spark, folder) == there


def reading(tmp_path, orders, query="SELECT * FROM {{ inlets.orders }}", **more):
    source = table("orders", orders.path.parent, **more)
    inlets = {"orders": InletSpec("orders", "orders", None, read=ReadChanges())}
    log = table("log", tmp_path, **{**sql(query), "inlets": inlets, "strategy": LatestOnly(), "write": Append()})
    return log, source


def told(engine, log, source, since):
    """The rows of the versions after ``since``, without their time."""
    pin = newest(source)
    low = None if since is None else str(Position(pin.table_id, since))
    return [row[:-1] for row in computed(engine, order(log, source, pins={"orders": newest(source, low=low)}))]


@pytest.mark.parametrize("vectors", [False, True])
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
    assert told(engine, log, source, before) == [(2, 1.0, "delete", replaced), (3, 1.0, "insert", replaced)]
    orders("DELETE FROM {orders} WHERE id = 1", "UPDATE {orders} SET v = 7 WHERE id = 3")
    assert told(engine, log, source, replaced) == [
        (1, 1.0, "delete", replaced + 1),
        (3, 1.0, "update_preimage", replaced + 2),
        (3, 7.0, "update_postimage", replaced + 2),
    ]


def test_a_restored_table_tells_what_that_changed(engine, spark, tmp_path):
    orders = Orders(spark, tmp_path / "orders")
    orders("INSERT INTO {orders} VALUES (1, 'a'), (2, 'a')", "UPDATE {orders} SET status = 'b' WHERE order_id = 1")
    orders("INSERT INTO {orders} VALUES (3, 'a')", "RESTORE {orders} TO VERSION AS OF 1")
    log, source = reading(tmp_path, orders)
    assert told(engine, log, source, 3) == [(1, "a", "insert", 4), (1, "b", "delete", 4), (3, "a", "delete", 4)]

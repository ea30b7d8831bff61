"""Columns that are known before anything runs: of declarations, SELECT lists and tables."""

from tests.core.spec.in_memory import compiled, errors

ORDERS = "asset: orders\nsource: delta\npath: /lake/orders\n"
READER = "asset: a\nsql: SELECT {{ inlets.b.dep_dely }}, {{ inlets.b.DAY }}, {{ inlets.b.day }} FROM {{ inlets.b }}\n"


def test_the_select_of_an_upstream_asset():
    b = "asset: b\nsql: SELECT day, avg(x) AS dep_delay FROM {{ inlets.orders }}\n"
    assert (
        errors({"a.yml": READER, "b.yml": b, "orders.yml": ORDERS})
        == """\
a.yml:2:25: the SELECT of asset 'b' yields no column 'dep_dely'
    sql: SELECT {{ inlets.b.dep_dely }}, {{ inlets.b.DAY }}, {{ inlets.b.day }} FROM {{ inlets.b }}
                            ^^^^^^^^
  hint: did you mean 'dep_delay'?"""
    )


def test_a_select_that_does_not_tell():
    b = "asset: b\nsql: SELECT * FROM {{ inlets.orders }}\n"
    assert compiled({"a.yml": READER, "b.yml": b, "orders.yml": ORDERS}).assets


def test_a_watermark_above_a_column_that_the_select_lacks():
    b = "asset: b\nsql: SELECT id, x FROM {{ inlets.orders }}\n"
    a = "asset: a\ninlets: {b: {read: {after: ids}}}\nwrite: append\nsql: SELECT * FROM {{ inlets.b }}\n"
    assert (
        errors({"a.yml": a, "b.yml": b, "orders.yml": ORDERS})
        == """\
a.yml:2:28: the SELECT of asset 'b' yields no column 'ids'
    inlets: {b: {read: {after: ids}}}
                               ^^^
  hint: did you mean 'id'?"""
    )


def test_a_partition_whose_column_the_select_lacks():
    a = "asset: a\npartition: {by: day, column: day}\nschedule: '@daily'\nsql: SELECT date, x FROM {{ inlets.orders }}"
    assert (
        errors({"a.yml": a, "orders.yml": ORDERS})
        == """\
a.yml:2:30: the SELECT of asset 'a' yields no column 'day', by which it is partitioned
    partition: {by: day, column: day}
                                 ^^^
  hint: known are date, x"""
    )


def test_a_table_that_others_write():
    a = "asset: a\nsql: SELECT {{ inlets.orders.amout }} FROM {{ inlets.orders }}\n"
    asked = []

    def tables(path):
        asked.append(path)
        return ["id", "amount"]

    told = errors({"a.yml": a, "orders.yml": ORDERS}, tables=tables)
    assert (
        told
        == """\
a.yml:2:30: the table of asset 'orders' has no column 'amout'
    sql: SELECT {{ inlets.orders.amout }} FROM {{ inlets.orders }}
                                 ^^^^^
  hint: did you mean 'amount'?"""
    )
    assert asked == ["/lake/orders"]
    assert compiled({"a.yml": a, "orders.yml": ORDERS}, tables=lambda _: None).assets
    assert compiled({"a.yml": a, "orders.yml": ORDERS + "columns: {amout: bigint}\n"}, tables=tables).assets
    assert asked == ["/lake/orders"]


def test_assets_that_are_named_without_braces():
    files = {
        "a.yml": "asset: a\nsql: |\n  SELECT 1 FROM Orders o\n  JOIN `b` USING (id) JOIN a JOIN d.b\n",
        "b.yml": "asset: b\nsql: WITH orders AS (SELECT 1) SELECT * FROM orders JOIN {{ inlets.orders }}\n",
        "orders.yml": ORDERS,
    }
    assert (
        errors(files)
        == """\
a.yml:3:17: 'Orders' without braces is a table of Spark's catalog, not an asset
      SELECT 1 FROM Orders o
                    ^^^^^^
  hint: write {{ inlets.orders }}; for a catalog table write its schema too, as in default.Orders
a.yml:4:8: 'b' without braces is a table of Spark's catalog, not an asset
      JOIN `b` USING (id) JOIN a JOIN d.b
           ^
  hint: write {{ inlets.b }}; for a catalog table write its schema too, as in default.b
a.yml:4:28: 'a' without braces is a table of Spark's catalog, not an asset
      JOIN `b` USING (id) JOIN a JOIN d.b
                               ^
  hint: write {{ outlets.a }}; for a catalog table write its schema too, as in default.a"""
    )

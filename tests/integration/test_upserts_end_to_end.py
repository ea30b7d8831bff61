"""Whole projects that upsert what changed: an example as it stands, and a copy that follows its source."""

from __future__ import annotations

import random
from textwrap import dedent

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from sparkassets import Project
from tests.depth import examples
from tests.e2e.projects import rows as table_rows
from tests.e2e.projects import write
from tests.integration.test_examples import example, ran, rows

pytestmark = pytest.mark.spark

COPY = {
    "project.yml": """
        project: shop
        state: state
        warehouse: warehouse
        assets: [.]
    """,
    "items.yml": """
        asset: items
        source: delta
        path: lake/items
    """,
    "copy.yml": """
        asset: copy
        inlets: {items: {read: changes}}
        write: {upsert: {keys: [id]}}
        sql: SELECT id, name, _change_type, _commit_version FROM {{ inlets.items }}
    """,
}


def test_changes_that_come_in_any_order_become_customers(spark, tmp_path):
    folder = example("03_cdc_upsert", tmp_path)

    def feed(*changes):
        names = ("customer_id", "name", "city", "lsn", "op")
        columns = dict(zip(names, map(list, zip(*changes, strict=True)), strict=True))
        write_deltalake(folder / "lake/customers_cdc", pa.table(columns), mode="append")

    project = Project.load(folder, env={})
    feed((1, "Ann", "Rome", 1, "c"), (2, "Bob", "Oslo", 2, "c"), (1, "Ann", "Pisa", 4, "u"))
    assert ran(project.run(spark)) == [("customers", "success")]
    assert rows(folder, "customers") == [(1, "Ann", "Pisa"), (2, "Bob", "Oslo")]
    feed((1, "Ann", "Bari", 3, "u"), (2, "", "", 6, "d"), (3, "Cy", "Bonn", 7, "c"))
    project.run(spark)
    feed((2, "Bob", "Bergen", 5, "u"))
    project.run(spark)
    assert rows(folder, "customers") == [(1, "Ann", "Pisa"), (3, "Cy", "Bonn")]
    assert project.run(spark).runs == ()


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(examples(1)))
def test_an_upsert_of_its_changes_is_the_source(spark, tmp_path, seed):
    rng, folder = random.Random(seed), write(tmp_path, {name: dedent(text) for name, text in COPY.items()})  # noqa: S311
    home = tmp_path / "lake/items"
    feed = "TBLPROPERTIES (delta.enableChangeDataFeed = true)"
    spark.sql(f"CREATE TABLE delta.`{home}` (id INT, name STRING) USING delta {feed}")

    def change(number):
        some = f"id % 5 = {rng.randrange(5)}"
        last = rng.randrange(10, 30)
        given = f"SELECT CAST(id AS INT) AS id, '{number}' AS name FROM range({rng.randrange(10)}, {last})"  # noqa: S608
        match rng.randrange(5):
            case 0:
                new = spark.sql(given).join(spark.read.format("delta").load(str(home)), "id", "left_anti")
                new.write.format("delta").mode("append").save(str(home))
            case 1:
                spark.sql(f"UPDATE delta.`{home}` SET name = '{number}' WHERE {some}")  # noqa: S608  the test's own
            case 2:
                spark.sql(f"DELETE FROM delta.`{home}` WHERE {some}")  # noqa: S608  the test's own
            case 3:
                spark.sql(given).write.format("delta").mode("overwrite").save(str(home))
            case _:
                part = spark.sql(given).filter(some).write.format("delta").mode("overwrite")
                part.option("replaceWhere", some).save(str(home))

    project = Project.load(folder, env={})
    for tick in range(examples(2)):
        for step in range(rng.randint(1, 4)):
            change(10 * tick + step)
        project.run(spark)
        wanted = sorted(tuple(row) for row in spark.read.format("delta").load(str(home)).collect())
        assert table_rows(folder / "warehouse/copy", "id", "name") == wanted
    project = Project.load(folder, env={})
    assert project.run(spark).runs == ()

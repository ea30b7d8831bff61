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


@pytest.mark.parametrize("seed", range(examples(1)))
def test_an_upsert_of_its_changes_is_the_source(spark, tmp_path, seed):
    rng, folder = random.Random(seed), write(tmp_path, {name: dedent(text) for name, text in COPY.items()})  # noqa: S311
    place = f"delta.`{tmp_path}/lake/items`"
    spark.sql(
        f"CREATE TABLE {place} (id INT, name STRING) USING delta TBLPROPERTIES (delta.enableChangeDataFeed = true)"
    )

    def change(number):
        some = f"id % 5 = {rng.randrange(5)}"
        last = rng.randrange(10, 30)
        given = f"SELECT CAST(id AS INT) AS id, '{number}' AS name FROM range({rng.randrange(10)}, {last})"  # noqa: S608
        spark.sql(
            rng.choice(
                [
                    f"INSERT INTO {place} SELECT * FROM ({given}) n WHERE id NOT IN (SELECT id FROM {place})",  # noqa: S608
                    f"UPDATE {place} SET name = '{number}' WHERE {some}",  # noqa: S608
                    f"DELETE FROM {place} WHERE {some}",  # noqa: S608
                    f"INSERT OVERWRITE {place} {given}",
                    f"INSERT INTO {place} REPLACE WHERE {some} SELECT * FROM ({given}) n WHERE {some}",  # noqa: S608
                ]
            )
        )

    project = Project.load(folder, env={})
    for tick in range(4):
        for step in range(rng.randint(1, 4)):
            change(10 * tick + step)
        project.run(spark)
        wanted = sorted(tuple(row) for row in spark.read.format("delta").load(f"{tmp_path}/lake/items").collect())
        assert table_rows(folder / "warehouse/copy", "id", "name") == wanted
    project = Project.load(folder, env={})
    assert project.run(spark).runs == ()

"""Descriptions of columns are comments of the table, and change without a row being written."""

from dataclasses import replace

import pytest
from deltalake import DeltaTable

from sparkassets.core.spec.model import ColumnSpec
from sparkassets.core.writes import AppendWrite
from sparkassets.errors import RunError
from sparkassets.spark import sqltext
from tests.integration.orders import execute, order, rows, sql, table


def described(asset, **texts):
    return replace(asset, listed_columns={name: ColumnSpec(description=text) for name, text in texts.items()})


def comments(spark, asset):
    found = spark.sql(f"DESCRIBE TABLE delta.{sqltext.name(asset.storage.path)}").collect()
    return {each["col_name"]: each["comment"] for each in found if each["comment"]}


@pytest.mark.parametrize("commit", ["auto", "spark"])
def test_descriptions_are_comments_of_the_table(engine, spark, tmp_path, commit):
    plain = table(
        "people", tmp_path, commit=commit, write=AppendWrite(), **sql("SELECT 1 AS id, 'a@b' AS Mail, 2 AS n")
    )
    first = described(plain, id="The person's \\ own 'id'", mail="Where bills go")
    execute(engine, order(first))
    assert comments(spark, first) == {"id": "The person's \\ own 'id'", "Mail": "Where bills go"}
    version = DeltaTable(first.storage.path).version()
    execute(engine, order(first))
    assert DeltaTable(first.storage.path).version() == version + 1

    second = described(plain, mail="Where reminders go")
    execute(engine, run := order(second))
    assert comments(spark, second) == {"id": "The person's \\ own 'id'", "Mail": "Where reminders go"}
    newest, data = DeltaTable(second.storage.path).history(2)
    assert newest["operation"] in ("UPDATE FIELD METADATA", "CHANGE COLUMN")
    assert '"kind":"layout"' in newest["userMetadata"]
    assert run.run in data["userMetadata"]
    assert rows(spark, second, "id", "Mail", "n") == [(1, "a@b", 2)] * 3


def test_a_listed_column_that_the_result_lacks(engine, tmp_path):
    people = described(table("people", tmp_path, **sql("SELECT 1 AS id")), mail="Where bills go")
    with pytest.raises(
        RunError, match=r"^people: the result does not match the declared columns: column 'mail' is mis"
    ):
        execute(engine, order(people))
    typed = replace(people, listed_columns={"id": ColumnSpec("bigint"), "ID2": ColumnSpec()})
    with pytest.raises(RunError, match=r"column 'ID2' is missing; column 'id' is int, but bigint"):
        execute(engine, order(typed))


def test_a_violated_constraint_shows_no_personal_data(engine, spark, tmp_path):
    people = table("people", tmp_path, private=frozenset({"Mail"}), **sql("SELECT 1 AS id, 'a@b' AS mail"))
    execute(engine, order(people))
    place = sqltext.name(people.storage.path)
    spark.sql(f"ALTER TABLE delta.{place} ADD CONSTRAINT known CHECK (id < 5 AND length(mail) < 9)")
    worse = replace(people, **sql("SELECT 7 AS id, 'secret@b' AS mail"))
    with pytest.raises(RunError, match="id is 7, mail is •••; nothing was written"):
        execute(engine, order(worse))

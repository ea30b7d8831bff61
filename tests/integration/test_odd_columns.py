"""Names and types of columns that not every table can have: as if Spark had committed, whoever does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from deltalake import DeltaTable

from sparkassets.errors import RunError
from tests.depth import deep
from tests.integration.orders import execute, order, parses, sql, stamp_of, table, target

pytestmark = pytest.mark.spark

REFUSED = {
    "SELECT 1 AS `a b`": r"in the column names of your schema\. Invalid column names: a b\.",
    "SELECT array(named_struct('x;y', 1)) AS s": r"of your schema\. Invalid column names: s\.element\.x;y\.",
    "SELECT named_struct('x', 1, 'X', 2) AS s": r"Found duplicate column\(s\).*: s\.x",
    "SELECT array() AS s": r"Found nested NullType in column s which is of ArrayType\.",
    "SELECT struct() AS s, 1 AS n": r"column s is a struct with no fields\.|with an empty group: optional group s",
    "SELECT INTERVAL '1' DAY AS s": "The DeltaDataSource datasource doesn't support the column `s` of the type",
    "SELECT array(TIME'10:00:00') AS s": "The DeltaDataSource datasource doesn't support the column `s` of the type",
    "SELECT 'a' COLLATE UTF8_LCASE AS s": r"columns using unsupported data types: \[s: StringType\(UTF8_LCASE\)\]\.",
}
ODD = """
SELECT 1 AS interval, 2 AS variant, 3 AS timestamp_ntz, 4 AS void, 5 AS `a.b`, 6 AS `c``d"'`, 7 AS `e%20f`,
  8 AS _metadata, 9 AS `Größe`, 10 AS `😀`, named_struct('g.h', named_struct('i`j', 11, '_k', 12)) AS nested,
  map(named_struct('x', 13), named_struct('x', 14)) AS keyed, array(named_struct('x', 15)) AS listed
"""


def writers(asset):
    told = DeltaTable(asset.storage.path).history()
    return ["driver" if each["engineInfo"].startswith("delta-rs") else "spark" for each in told]


@pytest.mark.needs("pyspark>=4")
@pytest.mark.parametrize(("query", "told"), REFUSED.items())
def test_what_delta_refuses_is_refused_in_its_words_of_runs_and_fences_alike(engine, spark, tmp_path, query, told):
    if not parses(spark, query):
        pytest.skip("this Spark has no such type")
    new = order(table("new", tmp_path, **sql(query)))
    computation = engine.compute(new, attempt=1)
    with pytest.raises(RunError) as refused:
        target(engine, new).write(computation, stamp=stamp_of(new, computation))
    assert re.search(told, str(refused.value))
    assert not refused.value.retryable
    assert refused.value.wrote_nothing
    with pytest.raises(RunError) as refused:
        target(engine, new).fence(computation, stamp=stamp_of(new, kind="fence", version=2 * new.token))
    assert re.search(told, str(refused.value))
    assert not list(Path(new.asset.storage.path).glob("[!_]*"))
    assert not DeltaTable.is_deltatable(new.asset.storage.path)


@pytest.mark.deep
def test_a_table_that_is_there_gets_no_such_columns_either(engine, spark, tmp_path):
    execute(engine, order(table("there", tmp_path, **sql("SELECT 1 AS n"))))
    for query, told in REFUSED.items():
        if parses(spark, query):
            with pytest.raises(RunError, match=told):
                execute(engine, order(table("there", tmp_path, **sql(query))))
    assert DeltaTable(tmp_path / "there").version() == 0


def test_names_that_are_allowed_are_the_drivers_however_odd(engine, spark, tmp_path):
    found = []
    for commit in ("auto", "spark"):
        asset = table(commit, tmp_path, commit=commit, **sql(ODD))
        execute(engine, order(asset))
        execute(engine, order(asset))
        frame = spark.read.format("delta").load(asset.storage.path)
        found.append((frame.schema.json(), frame.selectExpr("to_json(struct(*))").collect()))
        assert writers(asset) == ["driver" if commit == "auto" else "spark"] * 2
    assert found[0] == found[1]


@pytest.mark.needs("pyspark>=4")  # has variants
@pytest.mark.parametrize("first", [deep("SELECT 1 AS n"), None])
def test_types_that_only_spark_knows_are_its_own(engine, spark, tmp_path, first):
    if first:
        execute(engine, order(table("odd", tmp_path, **sql(first))))
    asset = table("odd", tmp_path, **sql("SELECT array(parse_json('1')) AS v, named_struct('x', NULL, 'y', 2) AS s"))
    execute(engine, order(asset))
    assert writers(asset) == ["spark", *(["driver"] if first else [])]
    assert [str(row) for row in spark.read.format("delta").load(asset.storage.path).selectExpr("v[0]", "s.y").collect()]


def test_time_without_a_zone_is_the_drivers_in_a_new_table_and_in_one_that_has_it(engine, spark, tmp_path):
    zoneless = sql("SELECT array(TIMESTAMP_NTZ'2013-01-01 00:00:00') AS t")
    for query in (zoneless, sql("SELECT 1 AS n"), zoneless):
        execute(engine, order(new := table("new", tmp_path, **query)))
    assert writers(new) == ["driver"] * 3
    execute(engine, order(table("there", tmp_path, **sql("SELECT 1 AS n"))))
    there = table("there", tmp_path, **zoneless)
    with pytest.raises(RunError, match=r"enablement of the following table feature\(s\): timestampNtz"):
        execute(engine, order(there))
    spark.sql(
        f"ALTER TABLE delta.`{there.storage.path}` SET TBLPROPERTIES ('delta.feature.timestampNtz' = 'supported')"
    )
    execute(engine, order(there))
    assert writers(there) == ["driver", "spark", "driver"]

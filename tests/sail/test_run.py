"""A project on Sail: planned, claimed, computed without a JVM, committed by the driver and recorded."""

from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from time import monotonic

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets import Project
from sparkassets.errors import RunError
from sparkassets.project import load_project
from sparkassets.spark.capabilities import capabilities_of, require_commits, union_all
from sparkassets.spark.delta_files import read_version
from sparkassets.spark.frame_conversion import to_spark
from sparkassets.testing.case_runner import choose_engine
from sparkassets.testing.given_rows import as_frame
from tests.e2e.projects import rows, write

pytestmark = pytest.mark.sail

SHOP = {
    "project.yml": "project: shop\nengine: sail\nassets: [.]\n",
    "orders.yml": """
asset: orders
source: csv
path: landing/{day}.csv
partition: {by: day, column: day}
columns: {shop: string, amount: int}
""",
    "daily.yml": """
asset: daily
partition: {by: day, column: day}
sql: SELECT day, shop, sum(amount) AS total FROM {{ inlets.orders }} GROUP BY ALL
""",
}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    write(tmp_path, SHOP)
    write(tmp_path, {"landing/2025-01-01.csv": "shop,amount\na,1\na,2\nb,5\n"})
    write(tmp_path, {"landing/2025-01-02.csv": "shop,amount\na,7\n"})
    return tmp_path


def stored(shop: Path) -> list[tuple]:
    read = pa.table(DeltaTable(shop / "warehouse/daily").scan().read_all())
    return [tuple(row[name] for name in ("day", "shop", "total")) for row in read.to_pylist()]


def test_days_of_csv_files_are_summed_and_recorded(shop):
    project = Project.load(shop)
    summary = project.run()
    assert [(each.asset, each.status) for each in summary.runs] == [("daily", "success")]
    first, second = date(2025, 1, 1), date(2025, 1, 2)
    assert rows(shop / "warehouse/daily", "day", "shop", "total") == [
        (first, "a", 3),
        (first, "b", 5),
        (second, "a", 7),
    ]
    assert not project.plan().runs


def test_the_text_of_a_run_reads_files_without_what_only_spark_4_knows(shop, spark):
    write(shop, {"daily.yml": SHOP["daily.yml"].replace("GROUP BY ALL", "GROUP BY day, shop")})
    (code,) = Project.load(shop).queries.render("daily", partition="2025-01-01").code
    for statement in code.statements[1:]:  # a session of Sail that is opened here is in UTC already
        frame = spark.sql(statement)
    assert sorted(map(tuple, frame.collect())) == [(date(2025, 1, 1), "a", 3), (date(2025, 1, 1), "b", 5)]


def test_a_day_with_a_value_that_does_not_parse_holds_back_no_other(shop):
    write(shop, {"landing/2025-01-03.csv": "shop,amount\na,oops\n", "landing/2025-01-04.csv": "shop,amount\na,3\n"})
    with Project.load(shop) as project:
        project.run(check=False)
        assert ("2025-01-03", "failed") in project.partitions.statuses("daily")
    assert [day.day for (day,) in rows(shop / "warehouse/daily", "day")] == [1, 1, 2, 4]


@pytest.mark.parametrize("folders", [[], ["day"]])
def test_a_version_before_the_last_checkpoint_is_read_whatever_the_number_of_its_files(spark, tmp_path, folders):
    place = tmp_path / "lake"
    for day in range(40):
        write_deltalake(place, pa.table({"day": [day], "n": [day]}), mode="append", partition_by=folders or None)
    DeltaTable(place).create_checkpoint()
    frame, is_exact = read_version(spark, DeltaTable(place), 36, path=str(place))
    assert is_exact
    assert sorted(row.n for row in frame.collect()) == [*range(37)]


def test_texts_in_quotes_are_read_as_by_spark(shop):
    write(shop, {"landing/2025-01-01.csv": 'shop,amount\n"x\\"y",1\n"p""q",2\n'})
    with Project.load(shop) as project:
        project.run()
    assert [shop for (shop,) in rows(shop / "warehouse/daily", "shop")] == ["a", 'p"q', 'x"y']


def test_a_text_that_stands_for_null_is_an_option(shop):
    write(shop, {"orders.yml": SHOP["orders.yml"] + "options: {nullValue: NA}\n"})
    write(shop, {"landing/2025-01-01.csv": "shop,amount\nNA,1\nb,NA\n"})
    with Project.load(shop) as project:
        project.run()
    first = {row[1:] for row in stored(shop) if row[0].day == 1}
    assert first == {(None, 1), ("b", None)}


def test_files_with_another_header_are_refused(shop):
    write(shop, {"landing/2025-01-02.csv": "amount,shop\n7,a\n"})
    summary = Project.load(shop).run(check=False)
    assert "the header of" in summary.failures[0]
    assert "differs from that of the first file in column 1 of 2" in summary.failures[0]


def test_hundreds_of_frames_are_put_together(spark):
    frames = [spark.range(1).selectExpr(f"{n} AS n") for n in range(400)]
    assert union_all(frames).groupBy().sum("n").collect()[0][0] == sum(range(400))


def test_a_commit_that_only_spark_can_make_is_refused(spark):
    assert not capabilities_of(spark).commits
    with pytest.raises(RunError, match=r"^daily: Sail cannot commit to its table: it has deletion vectors\n.*spark$"):
        require_commits(spark, "daily", "it has deletion vectors")


def test_columns_that_only_names_of_folders_hold_are_refused(tmp_path):
    write(tmp_path, {"project.yml": "project: shop\nengine: sail\nassets: [.]\n"})
    write(tmp_path, {"orders.yml": "asset: orders\nsource: csv\npath: landing\n"})
    write(tmp_path, {"all_orders.yml": "asset: all_orders\nsql: SELECT * FROM {{ inlets.orders }}\n"})
    write(tmp_path, {"landing/country=nl/1.csv": "id\n1\n", "landing/country=de/1.csv": "id\n2\n"})
    summary = Project.load(tmp_path).run(check=False)
    assert "a column in the name of the folder 'country=de', which only Spark reads" in summary.failures[0]


def test_tests_of_rows_are_computed_by_sail_unless_another_engine_is_asked_for(shop):
    project = load_project(shop, {})
    assert choose_engine(replace(project, engine=None)) == "sail"
    assert choose_engine(replace(project, engine="spark")) == "spark"


def test_given_rows_have_the_types_of_their_columns_or_are_refused(spark):
    types = {"id": "bigint", "at": "timestamp", "tags": "array<string>", "price": "decimal(9,2)"}
    given = {"id": 1, "at": "2026-10-25T02:30:00+02:00", "tags": ["a"], "price": 1.5}
    (row,) = as_frame(spark, [given], types, owner="the rows").collect()
    assert row.asDict() == {"id": 1, "at": datetime(2026, 10, 25, 0, 30), "tags": ["a"], "price": Decimal("1.50")}  # noqa: DTZ001
    with pytest.raises(RunError, match=r'the rows: {"id": "x"} does not fit id bigint'):
        as_frame(spark, [{"id": 1}, {"id": "x"}], {"id": "bigint"}, owner="the rows")


def test_fields_of_a_null_struct_are_null_in_given_rows(spark):
    types = {"a": "struct<id: int, name: string, of: struct<x: int>>", "b": "array<struct<x: int>>"}
    given = [{"a": None, "b": [None, {"x": 2}]}, {"a": {"id": 1}, "b": None}]
    frame = as_frame(spark, given, types, owner="the rows")
    assert frame.selectExpr("a.id", "a.name", "a.of.x", "b[0].x", "b[1].x").collect() == [
        (None, None, None, None, 2),
        (1, None, None, None, None),
    ]


def test_fields_of_a_null_struct_are_null_in_rows_that_a_function_returns(spark):
    kind = pa.struct({"id": pa.int64(), "of": pa.struct({"name": pa.string()})})
    table = pa.table({"a": pa.array([None, {"id": 1, "of": None}], kind)})
    frame = to_spark(spark, table, asset="changes", declared=None, table_schema=None)
    assert frame.selectExpr("a.id", "a.of.name").collect() == [(None, None), (1, None)]


@pytest.mark.parametrize("feed", ["true", "false"])
def test_changes_of_a_table_are_appended_once(tmp_path, feed):
    project = {
        "project.yml": "project: shop\nengine: sail\nassets: [.]\n",
        "orders.yml": "asset: orders\nsource: delta\npath: orders\n",
        "log.yml": """
asset: log
inlets: {orders: {read: changes}}
write: append
sql: SELECT id, day, _change_type AS kind FROM {{ inlets.orders }}
""",
    }
    write(tmp_path, project)
    orders, day = tmp_path / "orders", date(2025, 1, 1)
    options = {"partition_by": ["day"], "configuration": {"delta.enableChangeDataFeed": feed}}
    write_deltalake(orders, pa.table({"id": [1, 2], "day": [day, day]}), **options)
    with Project.load(tmp_path) as opened:
        opened.run()
        write_deltalake(orders, pa.table({"id": [3], "day": [day]}), mode="append")
        if feed == "true":
            DeltaTable(orders).delete("id = 1")
        opened.run()
        assert not opened.plan().runs
        (code,) = opened.queries.render("log").code
        assert any(statement.endswith(" WHERE false") for statement in code.statements)
    deleted = [(1, day, "delete")] if feed == "true" else []
    inserted = [(number, day, "insert") for number in (1, 2, 3)]
    assert rows(tmp_path / "warehouse/log", "id", "day", "kind") == sorted([*deleted, *inserted])


def test_a_file_whose_name_looks_like_a_pattern_is_refused_and_one_with_an_escape_is_read(shop):
    write(shop, {"orders.yml": SHOP["orders.yml"].replace("{day}.csv", "{day}*.csv")})
    (shop / "landing/2025-01-02.csv").rename(shop / "landing/2025-01-02 %20.csv")
    with Project.load(shop) as project:
        project.run()
        assert len(rows(shop / "warehouse/daily", "day", "total")) == 3
        write(shop, {"landing/2025-01-03[1].csv": "shop,amount\na,1\n"})
        assert "has a name that Sail takes for a pattern" in project.run(check=False).failures[0]


def test_a_run_that_takes_too_long_is_cancelled(tmp_path):
    write(tmp_path, {"project.yml": "project: shop\nengine: sail\nassets: [.]\n"})
    query = "SELECT count(*) AS n FROM range(1000000000) a CROSS JOIN range(100000) b WHERE a.id + b.id = 7"
    write(
        tmp_path,
        {"long.yml": f"asset: long\nschedule: '@daily'\nstart: 2025-01-01\ntimeout: 2s\nretries: 0\nsql: {query}\n"},
    )
    with Project.load(tmp_path) as project:
        began = monotonic()
        (failure,) = project.run(at="2025-01-02T01:00", check=False).failures
    assert "2 s" in failure
    assert monotonic() - began < 60


def test_rows_of_one_key_that_nothing_puts_in_order_are_named(tmp_path):
    write(tmp_path, {"project.yml": "project: shop\nengine: sail\nassets: [.]\n"})
    write(tmp_path, {"changes.yml": "asset: changes\nsource: delta\npath: changes\n"})
    write(
        tmp_path,
        {
            "subs.yml": """
asset: subs
inlets: {changes: {read: changes}}
write: {upsert: {keys: [id], newest_by: lsn}}
sql: SELECT id, name, lsn FROM {{ inlets.changes }}
"""
        },
    )
    given = {"id": ["1", "1", "2", "3", "3"], "name": ["a", "b", "c", "d", "e"], "lsn": [5, 5, 3, 1, 1]}
    write_deltalake(tmp_path / "changes", pa.table(given))
    summary = Project.load(tmp_path).run(check=False)
    assert "several rows of one key that are equal in lsn: id is 1; 3; nothing was written" in summary.failures[0]


def test_a_run_says_how_many_rows_an_upsert_deleted(tmp_path):
    write(tmp_path, {"project.yml": "project: shop\nengine: sail\nassets: [.]\n"})
    write(tmp_path, {"changes.yml": "asset: changes\nsource: delta\npath: changes\n"})
    write(
        tmp_path,
        {
            "subs.yml": """
asset: subs
inlets: {changes: {read: {after: lsn}}}
write: {upsert: {keys: [id], newest_by: lsn, delete_when: "_op = 'd'"}}
sql: SELECT id, lsn, op AS _op FROM {{ inlets.changes }}
"""
        },
    )
    write_deltalake(tmp_path / "changes", pa.table({"id": ["a", "b"], "lsn": [1, 2], "op": ["c", "c"]}))
    with Project.load(tmp_path) as project:
        (first,) = project.run().runs
        write_deltalake(
            tmp_path / "changes", pa.table({"id": ["a", "b"], "lsn": [3, 4], "op": ["u", "d"]}), mode="append"
        )
        (second,) = project.run().runs
    assert [(each.rows, each.deleted) for each in (first, second)] == [(2, 0), (1, 1)]
    assert rows(tmp_path / "warehouse/subs", "id", "lsn") == [("a", 3)]


COUNTRIES = {
    "project.yml": "project: shop\nengine: sail\nassets: [.]\n",
    "orders.yml": """
asset: orders
source: csv
path: landing/{day}-{country}.csv
partition: [{by: day, column: day}, {segments: runtime, column: country}]
columns: {amount: bigint}
""",
    "daily.yml": """
asset: daily
partition: [{by: day, column: day}, {segments: runtime, column: country}]
sql: SELECT day, country, amount FROM {{ inlets.orders }}
""",
    "log.yml": """
asset: log
inlets: {daily: {read: changes}}
write: append
sql: SELECT country, amount, _change_type AS kind FROM {{ inlets.daily }}
""",
    **{f"landing/2025-01-01-{country}.csv": "amount\n1\n" for country in ("de", "nl")},
}


def test_a_country_of_a_day_that_has_others_is_corrected_in_a_table_with_a_change_feed(tmp_path):
    write(tmp_path, COUNTRIES)
    with Project.load(tmp_path) as project:
        project.run()
        write(tmp_path, {"landing/2025-01-01-nl.csv": "amount\n2\n", "landing/2025-01-01-fr.csv": "amount\n3\n"})
        project.run()
    assert rows(tmp_path / "warehouse/daily", "country", "amount") == [("de", 1), ("fr", 3), ("nl", 2)]
    first = [("de", 1, "insert"), ("nl", 1, "insert")]
    later = [("fr", 3, "insert"), ("nl", 1, "delete"), ("nl", 2, "insert")]
    assert rows(tmp_path / "warehouse/log", "country", "amount", "kind") == sorted([*first, *later])


@pytest.mark.parametrize(
    ("feature", "mode", "reason"),
    [
        (
            "delta.enableChangeDataFeed",
            "{upsert: {keys: [id]}}",
            "its rows are merged by keys, and it has a change feed",
        ),
        ("delta.enableDeletionVectors", "append", "it has deletion vectors"),
    ],
)
def test_a_table_that_sail_cannot_commit_to_is_named_with_the_reason(tmp_path, feature, mode, reason):
    copy = "asset: copy\ninlets: {orders: {read: {after: id}}}\nsql: SELECT * FROM {{ inlets.orders }}\nwrite: "
    write(tmp_path, {"project.yml": "project: shop\nengine: sail\nassets: [.]\n", "copy.yml": copy + mode})
    write(tmp_path, {"orders.yml": "asset: orders\nsource: delta\npath: orders\n"})
    write_deltalake(tmp_path / "orders", pa.table({"id": [1]}))
    write_deltalake(tmp_path / "warehouse/copy", pa.table({"id": [1]}), configuration={feature: "true"})
    with Project.load(tmp_path) as project:
        said = project.explain("copy").children[-1].text
        (failure,) = project.run(check=False).failures
    assert str(said) == f"runs fail, because only Spark can commit them: {reason}"
    assert f"Sail cannot commit to its table: {reason}" in failure

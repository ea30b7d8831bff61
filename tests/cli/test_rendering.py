"""`sparkassets render` and `show`: what a run executes, and rows of tables, without Spark."""

import datetime as dt
import json
from decimal import Decimal

import pyarrow as pa
import pytest
from deltalake import write_deltalake

PROJECT = {
    "project.yml": "project: shop\nassets: [assets]\npython: [jobs]\n",
    "assets/orders.yml": (
        "asset: orders\nsource: delta\npath: lake/orders\ncolumns: {email: {type: string, pii: true}, day: date,"
        " id: bigint}\npartition: {by: day, column: day}\n"
    ),
    "assets/landed.yml": "asset: landed\nsource: csv\npath: landing/{day}/*.csv\ncolumns: {id: bigint}\n"
    "partition: {by: day, column: day}\n",
    "assets/daily.yml": "asset: daily\npath: lake/daily\npartition: {by: day, column: day}\nstart: 2025-01-01\n"
    'params: {least: "it\'s 3"}\n',
    "assets/daily.sql": (
        "SELECT day, count(*) AS orders -- {}\nFROM {{ inlets.orders }} AS o JOIN {{ partitions }} USING (day)\n"
        "WHERE {{ inlets.orders.ID }} > '{{ params.least }}' GROUP BY day;\n"
    ),
    "assets/files.yml": "asset: files\npartition: {by: day, column: day}\nstart: 2025-01-01\n",
    "assets/files.sql": "SELECT * FROM {{ inlets.landed }}\n",
    "assets/newer.yml": "asset: newer\nwrite: append\ninlets: {orders: {read: {after: id}}}\n",
    "assets/newer.sql": "SELECT *, '{{ watermark.high }}' AS high FROM {{ inlets.orders }}\n",
    "assets/scores.yml": "asset: scores\npython: jobs.scores:score\nschedule: '@daily'\n",
    "jobs/__init__.py": "",
    "jobs/scores.py": "def score(orders, context):\n    return orders\n",
    "assets/stamped.yml": "asset: stamped\nschedule: manual\n",
    "assets/stamped.sql": "SELECT '{{ ds }}' AS day FROM {{ inlets.orders }}\n",
}
DAYS = [dt.date(2025, 1, 1), dt.date(2025, 1, 2)]


@pytest.fixture(autouse=True)
def lake(tmp_path, make_conf):
    make_conf(PROJECT)
    folder = tmp_path / "conf" / "lake" / "orders"
    columns = {"day": pa.array(DAYS), "id": [1, 2], "email": ["ann@x.org", None], "amount": [Decimal("1.50"), None]}
    write_deltalake(folder, pa.table(columns))
    write_deltalake(folder, pa.table({**columns, "id": [3, 4]}), mode="append")
    for day in DAYS:
        landed = tmp_path / "conf" / "landing" / str(day) / "a,{b}.csv"
        landed.parent.mkdir(parents=True)
        landed.write_text("id,note\n1,a\n")
    return tmp_path / "conf"


def test_sql_with_pins_partitions_and_literals(run_cli, lake):
    code, out, err = run_cli("render", "daily", "--partition", "2025-01-02")
    assert (code, err) == (0, "")
    assert out == (
        "-- daily 2025-01-02: a run by hand\n"
        "SET TIME ZONE 'UTC';\n"
        "CREATE OR REPLACE TEMPORARY VIEW `orders` AS\n"
        f"SELECT * FROM delta.`{lake}/lake/orders` VERSION AS OF 1\n"
        "WHERE ((`day` >= DATE'2025-01-02' AND `day` < DATE'2025-01-03'));\n"
        "CREATE OR REPLACE TEMPORARY VIEW partitions (`day`, `start`, `end`) AS\n"
        "VALUES\n"
        "  (DATE'2025-01-02', TIMESTAMP'2025-01-02T00:00:00Z', TIMESTAMP'2025-01-03T00:00:00Z');\n"
        "SELECT day, count(*) AS orders -- {}\n"
        "FROM `orders` AS o JOIN partitions USING (day)\n"
        "WHERE `id` > CAST(X'697427732033' AS STRING) GROUP BY day;\n"
    )


def test_the_next_run_of_the_plan_without_a_partition(run_json):
    run = run_json("render", "daily")
    assert (run["due"], run["partitions"]) == (True, ["2025-01-01..2025-01-02"])
    assert run["reason"] == "2 partitions missing"


def test_a_plan_has_the_sql_of_its_runs(run_json, run_cli):
    document = run_json("plan", "--sql", "--select", "daily,scores,newer")
    rendered = {each["asset"]: each for each in document["sql"]}
    assert [each["asset"] for each in document["sql"]] == [run["asset"] for run in document["runs"]]
    assert rendered["daily"]["code"] == run_json("render", "daily")["code"]
    assert "sql" not in run_json("plan")
    for options in ((), ("--json", "--as-of", "2025-01-03")):
        code, out, err = run_cli("plan", "--sql", *options)
        assert code == 2
        assert "--sql needs --json, and excludes --as-of" in out + err


def test_code_that_cannot_be_written_is_a_note(run_json, make_conf):
    make_conf({"assets/stamped.yml": "asset: stamped\n"})
    rendered = {each["asset"]: each for each in run_json("plan", "--sql")["sql"]}
    assert rendered["stamped"]["code"] == []
    assert "the run has no data interval, so 'ds' has no value" in rendered["stamped"]["notes"][0]
    assert rendered["daily"]["code"]


def test_files_are_views_of_just_the_pinned_ones(run_json, lake):
    _, files, landed, query = run_json("render", "files", "--partition", "2025-01-02")["code"][0]["statements"]
    assert files == (
        "CREATE OR REPLACE TEMPORARY VIEW `landed_files_1` (`id` bigint, `note` string) USING csv OPTIONS ("
        "'header' = 'true', 'enforceSchema' = 'false', 'mode' = 'FAILFAST', "
        f"'path' = 'file://{lake}/landing/2025-01-02/a,\\\\{{b\\\\}}.csv')"
    )
    assert landed == (
        "CREATE OR REPLACE TEMPORARY VIEW `landed` AS\n"
        "SELECT `id`, `note`, CAST(DATE'2025-01-02' AS DATE) AS `day` FROM `landed_files_1`"
    )
    assert query == "SELECT * FROM `landed`"


@pytest.mark.parametrize("header", ['"id",note', "id,ID", "id,", "\ufeffid,note"])
def test_columns_that_only_a_session_knows_are_read_by_its_means(run_json, lake, header):
    (lake / "landing/2025-01-02/a,{b}.csv").write_text(f"{header}\n1,a\n", encoding="utf-8")
    run = run_json("render", "files", "--partition", "2025-01-02")
    _, files, landed, _ = run["code"][0]["statements"]
    assert files.startswith("CREATE OR REPLACE TEMPORARY VIEW `landed_files_1` USING csv")
    assert "SELECT * EXCEPT (`id`), CAST(`id` AS bigint) AS `id`, " in landed
    assert run["notes"] == ["only a session knows the columns of landed: the text may need Spark 4"]


def test_a_declared_column_that_no_header_names_is_refused(run_cli, lake):
    (lake / "landing/2025-01-02/a,{b}.csv").write_text("it,note\n1,a\n")
    code, _, err = run_cli("render", "files", "--partition", "2025-01-02")
    assert code
    assert f"{lake}/landing/2025-01-02/a,{{b}}.csv of 'landed' has no column 'id' in its header of 2 columns" in err


def test_a_watermark_has_its_newest_value_from_the_log(run_json, lake):
    (code,) = run_json("render", "newer")["code"]
    _, view, query = code["statements"]
    assert view.splitlines()[1:] == [
        f"SELECT * FROM delta.`{lake}/lake/orders` VERSION AS OF 1",  # noqa: S608
        "WHERE (`id` IS NOT NULL)",
    ]
    assert query == "SELECT *, '4' AS high FROM `orders`"


def test_a_function_is_said_what_it_is_passed(run_cli, run_json):
    (code,) = run_json("render", "scores")["code"]
    assert code["function"] == "jobs.scores:score"
    assert code["arguments"] == {"orders": "the rows of the view `orders`", "context": "the run's context"}
    _, out, _ = run_cli("render", "scores")
    assert "-- jobs.scores:score is called with\n--   orders: the rows of the view `orders`\n" in out


@pytest.mark.parametrize(
    ("asset", "message"),
    [
        ("orders", "asset 'orders' is a source: others write it, so there is nothing to render"),
        ("stamped", "conf/assets/stamped.sql:1:12: the run has no data interval, so 'ds' has no value"),
        ("dayly", "no asset 'dayly' in project 'shop'"),
    ],
)
def test_what_cannot_be_rendered(run_cli, asset, message):
    code, out, err = run_cli("render", asset)
    assert (code != 0, out) == (True, "")
    assert message in err


def test_no_credential_is_shown(run_json, lake):
    (lake / "assets" / "daily.sql").write_text("SELECT day FROM {{ inlets.orders }} WHERE 'password=hunter22x' > ''\n")
    assert "hunter22x" not in json.dumps(run_json("render", "daily"))


def test_rows_of_a_table_without_personal_data(run_json, run_cli):
    sample = run_json("show", "orders", "--partition", "2025-01-01")
    assert (sample["version"], sample["columns"]) == (1, ["day", "id", "email", "amount"])
    assert sorted(sample["rows"]) == [["2025-01-01", 1, "***", "1.50"], ["2025-01-01", 3, "***", "1.50"]]
    assert len(run_json("show", "orders", "--limit", "3")["rows"]) == 3
    _, out, _ = run_cli("show", "orders", "--partition", "2025-01-02", "--limit", "1")
    header, row = out.splitlines()
    assert header.split() == ["day", "id", "email", "amount"]
    assert row.split() in (["2025-01-02", "2", "NULL", "NULL"], ["2025-01-02", "4", "NULL", "NULL"])


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["daily"], "'daily' has no table yet: there is none at"),
        (["landed"], "asset 'landed' has no Delta table, so it has no rows to show"),
        (["newer", "--partition", "2025-01-01"], "asset 'newer' has no partitions"),
    ],
)
def test_what_cannot_be_shown(run_cli, args, message):
    code, out, err = run_cli("show", *args)
    assert (code != 0, out) == (True, "")
    assert message in err

"""The code of a project changes: what the commands say, and how a table of two becomes one again."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.usefixtures("shop", "engine")
ALL = {"ranges": ["2025-01-01..2025-01-02"], "count": 2}


def rewrite(path, before, after):
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


@pytest.fixture
def sql(shop, run_cli):
    """The query of a table of two days, which was computed."""
    assert run_cli("run")[0] == 0
    return shop / "assets/daily_revenue.sql"


def test_layout_and_comments_are_no_change(sql, run_json):
    sql.write_text("-- by day\n" + sql.read_text().replace("SELECT", "select").replace(",", ",\n    "))
    plan = run_json("plan")
    assert (plan["runs"], plan["notes"], plan["code_changes"]) == ([], [], [])


def test_a_change_is_told_with_what_it_costs_and_healed(sql, run_cli, run_json):
    rewrite(sql, "sum(amount)", "sum(amount) * 2")
    plan = run_json("plan")
    assert plan["runs"] == []
    (note,) = plan["notes"]
    assert (note["asset"], note["partitions"]) == ("daily_revenue", ALL)
    assert note["note"].endswith("recompute it by `sparkassets backfill daily_revenue --all`")
    (change,) = plan["code_changes"]
    assert (change["on_code_change"], change["partitions"], change["newer"]) == ("warn", ALL, False)
    assert [line for line in change["difference"] if line[0] in "+-"] == [
        "- SUM(amount) AS revenue",
        "+ SUM(amount) * 2 AS revenue",
    ]
    assert (change["category"], change["readers"]) == ("breaking", ["best_shops"])
    assert change["columns"] == {"added": [], "removed": [], "changed": ["revenue"]}
    assert change["recompute"]["runs"] == 1
    assert change["recompute"]["downstream"] == [{"asset": "best_shops", "partitions": None}]
    text = run_cli("plan")[1]
    assert (
        "code changed:\n  daily_revenue (breaking): it changes revenue, which best_shops may read; recomputing takes"
        in text
    )
    assert "    + SUM(amount) * 2 AS revenue\n" in text
    assert "the code changed since" in run_cli("status")[1]
    assert "it changes revenue, which best_shops may read" in run_cli("explain", "daily_revenue")[1]

    (run,) = run_json("backfill", "daily_revenue", "--all", "--dry-run")["runs"]
    assert run["partitions"] == ALL
    assert run_cli("backfill", "daily_revenue", "--all")[0] == 0
    assert run_json("plan")["code_changes"] == []
    assert {each["definition"] for each in run_json("partitions", "daily_revenue")} == {change["definition"]}
    assert run_json("backfill", "daily_revenue", "--all", "--dry-run")["runs"] == []
    assert len(run_json("backfill", "daily_revenue", "--all", "--force", "--dry-run")["runs"]) == 1


def test_a_table_of_two_is_told_by_partitions(shop, sql, run_cli, run_json):
    rewrite(sql, "sum(amount)", "sum(amount) * 2")
    (shop / "landing/orders/2025-01-03.csv").write_text("order_id,shop,amount\n1,berlin,3\n")
    (note,) = run_json("run")["notes"]
    assert (note["asset"], note["partitions"]) == ("daily_revenue", ALL)
    old, same, new = (each["definition"] for each in run_json("partitions", "daily_revenue"))
    assert old == same != new
    assert [each["partitions"]["count"] for each in run_json("plan")["code_changes"][0]["computed_by"]] == [2, 1]


def test_a_column_that_nobody_reads_is_said_to_be_one(shop, sql, run_json):
    (shop / "assets/best_shops.sql").write_text("SELECT shop, revenue FROM {{ inlets.daily_revenue }}\n")
    rewrite(sql, "sum(amount) AS revenue", "sum(amount) AS revenue, max(amount) AS largest")
    (change,) = [each for each in run_json("plan")["code_changes"] if each["asset"] == "daily_revenue"]
    assert (change["category"], change["columns"]["added"], change["readers"]) == ("non-breaking", ["largest"], [])


def test_backfill_and_forward_only(shop, sql, run_cli, run_json):
    yaml = shop / "assets/daily_revenue.yml"
    rewrite(sql, "sum(amount)", "sum(amount) * 2")
    text = yaml.read_text()
    yaml.write_text(f"{text}on_code_change: forward_only\n")
    plan = run_json("plan")
    assert (plan["runs"], plan["notes"], plan["code_changes"]) == ([], [], [])
    assert "computed by different code (on_code_change: forward_only)" in run_cli("explain", "daily_revenue")[1]
    yaml.write_text(f"{text}on_code_change: backfill\n")
    (run,) = run_json("plan")["runs"]
    assert (run["asset"], run["partitions"], run["reason"]) == ("daily_revenue", ALL, "2 stale: its code changed")
    assert run_cli("run")[0] == 0
    assert run_json("plan")["runs"] == []


def test_another_order_of_ctes_is_no_change_and_is_said_to_be_none(shop, sql, run_cli, run_json):
    yaml, query = shop / "assets/daily_revenue.yml", sql.read_text().rstrip()
    sql.write_text(f"WITH one AS (SELECT 1 AS x), two AS (SELECT 2 AS y) {query} HAVING 1 IN (SELECT x FROM one)\n")  # noqa: S608  of a test
    yaml.write_text(f"{yaml.read_text()}on_code_change: backfill\n")
    assert run_cli("run")[0] == 0
    sql.write_text(f"WITH second AS (SELECT 1 AS x) {query} HAVING 1 IN (SELECT x FROM second)\n")  # noqa: S608  of a test
    plan = run_json("plan")
    (change,) = plan["code_changes"]
    assert (plan["runs"], plan["notes"]) == ([], [])
    assert (change["category"], change["partitions"], change["reached"]) == ("none", ALL, [])
    assert change["recompute"] == {"runs": 0, "seconds": None, "downstream": []}
    text = "daily_revenue (none): it is written in another way and returns the same rows; nothing is recomputed"
    assert text in run_cli("plan")[1]


def test_columns_are_followed_to_readers_of_readers(shop, sql, run_json):
    (shop / "assets/best_shops.sql").write_text("SELECT shop, revenue AS best FROM {{ inlets.daily_revenue }}\n")
    for name, column in (("named", "best"), ("other", "shop")):
        (shop / f"assets/{name}.yml").write_text(f"asset: {name}\n")
        (shop / f"assets/{name}.sql").write_text(f"SELECT {column} AS found FROM {{{{ inlets.best_shops }}}}\n")  # noqa: S608  of a test
    rewrite(sql, "sum(amount)", "sum(amount) * 2")
    (change,) = [each for each in run_json("plan")["code_changes"] if each["asset"] == "daily_revenue"]
    assert change["readers"] == ["best_shops"]
    assert change["reached"] == [
        {"asset": "best_shops", "columns": ["best"]},
        {"asset": "named", "columns": ["found"]},
    ]


def test_a_change_is_accepted_from_now_on(sql, run_cli, run_json):
    said_by = ("mark", "daily_revenue", "--forward-only", "--reason", "the old rate stays for old days")
    code, _, err = run_cli(*said_by)
    assert (code, err) == (2, "error: no other code computed any current partition of 'daily_revenue'\n")
    rewrite(sql, "sum(amount)", "sum(amount) * 2")
    assert len(run_json("plan")["code_changes"]) == 1
    assert run_cli(*said_by)[0] == 0
    plan = run_json("plan")
    assert (plan["runs"], plan["notes"], plan["code_changes"]) == ([], [], [])
    assert "the old rate stays for old days" in run_cli("explain", "daily_revenue")[1]
    assert {each["definition"] for each in run_json("partitions", "daily_revenue")} != {None}
    code, _, err = run_cli(*said_by, "--partition", "2025-01-01")
    assert (code, err.partition("\n")[0]) == (2, "error: --forward-only finds the partitions itself")


def test_all_goes_with_no_partition(run_cli):
    code, _, err = run_cli("backfill", "daily_revenue", "--all", "--partition", "2025-01-01")
    assert (code, err) == (
        2,
        "error: --all excludes --partition, --interval and --segment: it computes every expected partition\n",
    )


def test_a_value_that_on_code_change_has_not(shop, run_cli):
    yaml = shop / "assets/daily_revenue.yml"
    yaml.write_text(f"{yaml.read_text()}on_code_change: backfil\n")
    code, _, err = run_cli("validate")
    assert code == 2
    assert "did you mean 'backfill'?" in err

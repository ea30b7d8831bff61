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
def sql(shop, said):
    """The query of a table of two days, which was computed."""
    assert said("run")[0] == 0
    return shop / "assets/daily_revenue.sql"


def test_layout_and_comments_are_no_change(sql, asked):
    sql.write_text("-- by day\n" + sql.read_text().replace("SELECT", "select").replace(",", ",\n    "))
    plan = asked("plan")
    assert (plan["runs"], plan["notes"], plan["code_changes"]) == ([], [], [])


def test_a_change_is_told_with_what_it_costs_and_healed(sql, said, asked):
    rewrite(sql, "sum(amount)", "sum(amount) * 2")
    plan = asked("plan")
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
    assert (change["verdict"], change["readers"]) == ("breaking", ["best_shops"])
    assert change["columns"] == {"added": [], "removed": [], "changed": ["revenue"]}
    assert change["recompute"]["runs"] == 1
    assert change["recompute"]["downstream"] == [{"asset": "best_shops", "partitions": None}]
    text = said("plan")[1]
    assert "code changed:\n  daily_revenue: it changes revenue, which best_shops may read; recomputing takes" in text
    assert "    + SUM(amount) * 2 AS revenue\n" in text
    assert "the code changed since" in said("status")[1]
    assert "it changes revenue, which best_shops may read" in said("explain", "daily_revenue")[1]

    (run,) = asked("backfill", "daily_revenue", "--all", "--dry-run")["runs"]
    assert run["partitions"] == ALL
    assert said("backfill", "daily_revenue", "--all")[0] == 0
    assert asked("plan")["code_changes"] == []
    assert {each["definition"] for each in asked("partitions", "daily_revenue")} == {change["definition"]}
    assert asked("backfill", "daily_revenue", "--all", "--dry-run")["runs"] == []
    assert len(asked("backfill", "daily_revenue", "--all", "--force", "--dry-run")["runs"]) == 1


def test_a_table_of_two_is_told_by_partitions(shop, sql, said, asked):
    rewrite(sql, "sum(amount)", "sum(amount) * 2")
    (shop / "landing/orders/2025-01-03.csv").write_text("order_id,shop,amount\n1,berlin,3\n")
    (note,) = asked("run")["notes"]
    assert (note["asset"], note["partitions"]) == ("daily_revenue", ALL)
    old, same, new = (each["definition"] for each in asked("partitions", "daily_revenue"))
    assert old == same != new
    assert [each["partitions"]["count"] for each in asked("plan")["code_changes"][0]["computed_by"]] == [2, 1]


def test_a_column_that_nobody_reads_is_said_to_be_one(shop, sql, asked):
    (shop / "assets/best_shops.sql").write_text("SELECT shop, revenue FROM {{ inlets.daily_revenue }}\n")
    rewrite(sql, "sum(amount) AS revenue", "sum(amount) AS revenue, max(amount) AS largest")
    (change,) = [each for each in asked("plan")["code_changes"] if each["asset"] == "daily_revenue"]
    assert (change["verdict"], change["columns"]["added"], change["readers"]) == ("additive", ["largest"], [])


def test_backfill_and_ignore(shop, sql, said, asked):
    yaml = shop / "assets/daily_revenue.yml"
    rewrite(sql, "sum(amount)", "sum(amount) * 2")
    text = yaml.read_text()
    yaml.write_text(f"{text}on_code_change: ignore\n")
    plan = asked("plan")
    assert (plan["runs"], plan["notes"], plan["code_changes"]) == ([], [], [])
    assert "computed by different code (on_code_change: ignore)" in said("explain", "daily_revenue")[1]
    yaml.write_text(f"{text}on_code_change: backfill\n")
    (run,) = asked("plan")["runs"]
    assert (run["asset"], run["partitions"], run["reason"]) == ("daily_revenue", ALL, "2 stale: its code changed")
    assert said("run")[0] == 0
    assert asked("plan")["runs"] == []


def test_all_goes_with_no_partition(said):
    code, _, err = said("backfill", "daily_revenue", "--all", "--partition", "2025-01-01")
    assert (code, err) == (
        2,
        "error: --all excludes --partition, --interval and --segment: it computes every expected partition\n",
    )


def test_a_value_that_on_code_change_has_not(shop, said):
    yaml = shop / "assets/daily_revenue.yml"
    yaml.write_text(f"{yaml.read_text()}on_code_change: backfil\n")
    code, _, err = said("validate")
    assert code == 2
    assert "did you mean 'backfill'?" in err

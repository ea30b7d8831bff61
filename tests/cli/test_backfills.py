"""`sparkassets backfill` with its order, its limits and its segments, and what is left of one."""

import pytest

DAYS = "2025-01-01..2025-01-02"


@pytest.fixture
def sales(shop):
    """Days of two shops, computed a partition a run."""
    for day in ("2025-01-01", "2025-01-02", "2025-01-03"):
        for city in ("berlin", "paris"):
            path = shop / f"sold/{city}/{day}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("amount\n1\n")
    dimensions = "[{by: day, column: day}, {segments: [berlin, paris], column: city}]"
    (shop / "assets/sold.yml").write_text(
        f"asset: sold\nsource: csv\npath: sold/{{city}}/{{day}}.csv\npartition: {dimensions}\n"
    )
    (shop / "assets/sales.yml").write_text(
        f"asset: sales\npartition: {dimensions}\nstrategy: {{date_range: {{max_partitions_per_run: 2}}}}\n"
    )
    (shop / "assets/sales.sql").write_text("SELECT day, city, amount FROM {{ inlets.sold }}\n")
    return shop


def keys(document):
    return [run["partitions"]["ranges"] for run in document["runs"]]


def test_segments_are_named_with_or_without_their_column(sales, engine, run_cli, run_json):
    run_cli("run")
    args = ("backfill", "sales", "--force", "--dry-run")
    berlin = [["2025-01-01..2025-01-02,berlin"], ["2025-01-03..2025-01-03,berlin"]]
    assert keys(run_json(*args, "--segment", "berlin")) == berlin
    assert keys(run_json(*args, "--segment", "city=berlin")) == berlin
    assert keys(run_json(*args, "--segment", "berlin", "--partition", "2025-01-02..2025-01-03")) == [
        ["2025-01-02..2025-01-03,berlin"]
    ]
    assert (
        sum(run["partitions"]["count"] for run in run_json(*args, "--segment", "berlin", "--segment", "paris")["runs"])
        == 6
    )
    assert len(engine.data("sales")) == 3


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["sales", "--segment", "rome"], "error: 'rome' is not a segment of city\n  hint: known are berlin, paris\n"),
        (
            ["sales", "--segment", "berlin", "--partition", "2025-01-01,paris"],
            "error: --partition 2025-01-01,paris and --segment have no segment in common\n",
        ),
        (
            ["sales", "--segment", "berlin", "--all"],
            "error: --all excludes --partition, --interval and --segment: it computes every expected partition\n",
        ),
        (
            ["daily_revenue", "--segment", "berlin"],
            "error: asset 'daily_revenue' has no segments: leave --segment out\n",
        ),
        (
            ["best_shops", "--max-runs", "1"],
            "error: asset 'best_shops' has no partitions, so --max-runs does not apply\n",
        ),
        (
            ["best_shops", "--newest-first"],
            "error: asset 'best_shops' has no partitions, so --newest-first does not apply\n",
        ),
        (
            ["daily_revenue", "--rebuild", "--max-runs", "1"],
            "error: --rebuild excludes --newest-first and --max-runs: it is a single run\n",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(sales, engine, run_cli, args, message):
    assert run_cli("backfill", *args) == (2, "", message)
    assert engine.started == 0


def test_so_many_runs_the_newest_first_and_the_same_command_goes_on(sales, engine, run_cli, run_json):
    run_cli("run")
    args = ("backfill", "sales", "--segment", "paris", "--force", "--newest-first", "--max-runs", "1")
    first = run_json(*args)
    assert keys(first) == [["2025-01-03..2025-01-03,paris"]]
    assert [(item["asset"], item["reason"], item["partitions"]["ranges"]) for item in first["waiting"]] == [
        ("sales", "left by --max-runs 1; run the same command again to continue", ["2025-01-01..2025-01-02,paris"])
    ]
    quiet = [item["reason"] for item in run_json("plan")["waiting"] if item["asset"] == "sales"]
    assert "2 partitions left of a backfill with --max-runs; run the same command again to continue" in quiet
    dry = run_json(*args, "--dry-run")
    assert keys(dry) == [["2025-01-01..2025-01-02,paris"]]
    assert "continues the backfill requested" in dry["notes"][0]["note"]
    assert keys(run_json(*args)) == [["2025-01-01..2025-01-02,paris"]]
    assert len(engine.data("sales")) == 5


def test_what_a_failed_run_left_is_gone_on_with_by_the_next_run_or_given_up(sales, engine, run_cli, run_json):
    run_cli("run")
    broken = [ValueError("no such day")]

    def once(order):
        if order.partitions and len(engine.data("sales")) == 4 and broken:
            raise broken.pop()

    (sales / "assets/sales.yml").write_text((sales / "assets/sales.yml").read_text() + "retries: 0\n")
    engine.hooks["sales", "compute"] = once
    assert run_cli("backfill", "sales", "--segment", "paris", "--force")[0] == 1
    (run,) = run_json("plan")["runs"]
    assert run["reason"].startswith("backfill of 1 partition, 1 failed before, asked ")
    assert run["partitions"]["ranges"] == ["2025-01-03..2025-01-03,paris"]
    assert run_cli("backfill", "sales", "--give-up") == (0, "sales: 2025-01-03,paris abandoned\n", "")
    assert run_json("plan")["runs"] == []
    assert run_json("backfill", "sales", "--give-up") == {"given_up": {"ranges": [], "count": 0}}

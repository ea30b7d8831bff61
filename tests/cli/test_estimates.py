"""`plan --estimate` and `backfill --dry-run`: what runs are to cost, for people and for programs."""

import shutil

import pytest

from sparkassets.cli.plan_details import cost_cells, sum_cells, totals_line
from sparkassets.core.planner.plan import CostEstimate, CostTotals

DAYS = "2025-01-01..2025-01-02"
pytestmark = pytest.mark.usefixtures("shop", "engine")


def orders(shop):
    """The bytes of the landed files."""
    return sum(file.stat().st_size for file in (shop / "landing").rglob("*.csv"))


def test_a_plan_is_without_a_price_unless_somebody_asks(run_cli, run_json):
    assert "totals" not in run_json("plan")
    assert all("estimate" not in run for run in run_json("plan")["runs"])
    assert "reads" not in run_cli("plan")[1]


def test_bytes_are_those_of_the_landed_files_and_seconds_are_unknown_before_the_first_run(shop, run_cli, run_json):
    document = run_json("plan", "--estimate")
    (run,) = document["runs"]
    size = orders(shop)
    assert run["estimate"] == {
        "bytes": size,
        "files": 2,
        "seconds": None,
        "rows": None,
        "seconds_between": None,
        "earlier_runs": 0,
        "unknown": [],
        "assumed": False,
    }
    assert document["totals"] == {
        "runs": 1,
        "bytes": size,
        "files": 2,
        "seconds": 0.0,
        "rows": 0,
        "unknown": {"seconds": 1, "rows": 1},
    }
    code, out, _ = run_cli("plan", "--estimate")
    assert code == 0
    assert f"  daily_revenue  {DAYS}  {size} B  unknown  2 partitions missing" in out
    assert f"in all 1 run: reads {size} B in 2 files, takes unknown, writes unknown rows" in out


def test_a_dry_backfill_tells_what_earlier_runs_took_and_what_follows(shop, run_cli, run_json):
    run_cli("run")
    document = run_json(
        "backfill", "daily_revenue", "--partition", "2025-01-02", "--force", "--dry-run", "--downstream"
    )
    (run,) = document["runs"]
    assert (run["estimate"]["files"], run["estimate"]["earlier_runs"]) == (1, 1)
    assert run["estimate"]["rows"] == 2  # five rows of two partitions
    assert 0 < run["estimate"]["bytes"] < orders(shop)
    (after,) = document["downstream"]
    assert (after["asset"], after["estimate"]["assumed"], after["estimate"]["runs"]) == ("best_shops", True, 1)
    assert after["estimate"]["unknown"] == {"bytes": 1, "files": 1}


def test_what_cannot_be_told_is_said(run_cli):
    run_cli("run")  # into tables that are nowhere
    out = run_cli("backfill", "best_shops", "--dry-run")[1]
    assert "unknown how much best_shops reads of daily_revenue: there is no Delta table at " in out


def test_what_cannot_be_told_of_many_runs_is_said_once(shop, run_cli):
    run_cli("run")
    asset = shop / "assets" / "daily_revenue.yml"
    asset.write_text(f"{asset.read_text()}strategy: {{date_range: {{max_partitions_per_run: 1}}}}\n")
    shutil.rmtree(shop / "landing")
    out = run_cli("backfill", "daily_revenue", "--partition", DAYS, "--force", "--dry-run")[1]
    assert "in all 2 runs" in out
    assert out.count("unknown how much daily_revenue reads of orders") == 1


def test_figures_are_told_in_units_that_fit():
    one = CostEstimate(12_345_000_000, 40, 90.0, 10, (40.0, 360.0), 3)
    assert cost_cells(one) == ["12.3 GB", "~2 min (40 s to 6 min)"]
    assert cost_cells(CostEstimate(None, None, 3.0, 1, (3.0, 3.0), 1)) == ["unknown", "~3.0 s"]
    assert sum_cells([one, one]) == ["24.7 GB", "~3 min in 2 runs"]
    assert sum_cells([one, CostEstimate(None, None, None, None)]) == ["unknown", "unknown in 2 runs"]
    told = "in all 2 runs: reads 5 B in 1 file (unknown for 1 run), takes ~2 min, writes ~7 rows"
    assert totals_line(CostTotals(2, 5, 1, 90.0, 7, {"bytes": 1, "files": 1})) == told
    nothing = dict.fromkeys(("bytes", "files", "seconds", "rows"), 2)
    assert (
        totals_line(CostTotals(2, 0, 0, 0.0, 0, nothing))
        == "in all 2 runs: reads unknown, takes unknown, writes unknown rows"
    )


def test_what_is_over_budget_waits_until_it_is_let_run(shop, engine, run_cli, run_json):
    file = shop / "assets/daily_revenue.yml"
    file.write_text(f"{file.read_text()}budget: {{bytes: 10, seconds: 60}}\n")
    held = f"over budget: reads {orders(shop)} B, budget 10 B; --over-budget runs it anyway"
    waiting = {item["asset"]: item["reason"] for item in run_json("plan")["waiting"]}
    assert waiting["daily_revenue"] == held
    assert waiting["best_shops"] == f"waits for daily_revenue {DAYS}, held by its budget"
    code, _, err = run_cli("run")
    assert (code, engine.started) == (0, 0)
    assert held in " ".join(err.split())
    (status,) = [each for each in run_json("status") if each["asset"] == "daily_revenue"]
    assert status["notes"] == [f"{DAYS}: {held}"]
    assert run_cli("run", "--select", "daily_revenue", "--over-budget")[0] == 0
    assert len(engine.data("daily_revenue")) == 1
    force = ("backfill", "daily_revenue", "--partition", "2025-01-01", "--force")
    assert run_json(*force)["runs"] == []
    assert len(run_json(*force, "--dry-run", "--over-budget")["runs"]) == 1
    assert len(run_json(*force, "--over-budget")["runs"]) == 1

"""``plan --as-of`` and ``explain --as-of``, typed."""

from datetime import UTC, datetime

import pytest

pytestmark = pytest.mark.usefixtures("shop", "engine")


def test_as_of_now_everything_is_as_it_was_recorded_whatever_the_sources_hold(shop, run_cli, run_json):
    assert run_cli("run")[0] == 0
    (shop / "landing/orders/2025-01-03.csv").write_text("order_id,shop,amount\n1,berlin,3\n")
    assert len(run_json("plan")["runs"]) == 1
    now = datetime.now(UTC).isoformat(timespec="seconds")
    plan = run_json("plan", "--as-of", now)
    assert (plan["runs"], plan["notes"]) == ([], [])
    assert "2025-01-03" not in run_cli("explain", "daily_revenue", "--as-of", now)[1]
    yaml = shop / "assets/daily_revenue.yml"
    yaml.write_text(f"{yaml.read_text()}on_code_change: backfill\n")
    sql = shop / "assets/daily_revenue.sql"
    sql.write_text(sql.read_text().replace("sum(amount)", "sum(amount) * 2"))
    assert "its files changed after" in run_cli("explain", "daily_revenue", "--as-of", now)[1]


def test_what_cannot_be_asked_is_refused(run_cli):
    assert run_cli("run")[0] == 0
    code, _, err = run_cli("plan", "--as-of", "2024-01-01")
    assert (code, err.partition("begins at")[0]) == (2, "error: the journal ")
    code, _, err = run_cli("plan", "--as-of", "2024-01-01", "--spark")
    assert (code, err) == (
        2,
        "error: --as-of excludes --spark: sources are taken from the journal, as they were known then\n",
    )

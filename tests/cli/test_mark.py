"""`sparkassets mark`: what it says, in words and in JSON, and what it refuses."""

import json

import pytest

pytestmark = pytest.mark.usefixtures("shop", "engine")


def test_partitions_are_skipped_and_wanted_again(run_cli, run_json):
    assert run_cli(
        "mark", "daily_revenue", "--partition", "2025-03-01", "--skip", "--reason", "the shop was closed"
    ) == (
        0,
        "daily_revenue  2025-03-01  marked as skipped\n",
        "",
    )
    told = run_json("mark", "daily_revenue", "--partition", "2025-03-01..2025-03-02", "--skip", "--reason", "closed")
    assert (told["mark"], told["changed"], told["reason"]) == ("skip", True, "closed")
    assert told["partitions"] == {"ranges": ["2025-03-02..2025-03-02"], "count": 1}
    assert told["unchanged"] == {"ranges": ["2025-03-01..2025-03-01"], "count": 1}
    (row,) = (each for each in run_json("status") if each["asset"] == "daily_revenue")
    assert row["partitions"]["skipped"] == 2
    assert {each["partition"]: each["status"] for each in run_json("partitions", "daily_revenue")}[
        "2025-03-01"
    ] == "skipped"
    code, out, _ = run_cli("plan")
    assert (code, "the shop was closed; `sparkassets mark daily_revenue" in " ".join(out.split())) == (0, True)
    assert "marked as skipped" in run_cli("explain", "daily_revenue", "--partition", "2025-03-01")[1]
    keys = ("--partition", "2025-03-01", "--partition", "2025-03-02")
    assert run_cli("mark", "daily_revenue", *keys, "--missing", "--reason", "it was open")[0] == 0
    assert run_cli("mark", "daily_revenue", *keys, "--missing", "--reason", "it was open")[1] == (
        "daily_revenue  2025-03-01..2025-03-02  was already missing\n"
    )


def test_what_is_done_is_an_event(run_cli, run_json):
    run_cli("mark", "daily_revenue", "--partition", "2025-03-01", "--done", "--reason", "loaded by hand")
    event = run_json("events", "list", "--last", "1")[0]
    assert (event["asset"], event["partitions"], event["run"]) == (
        "daily_revenue",
        ["2025-03-01..2025-03-01"],
        None,
    )
    assert (event["extra"]["mark"], event["extra"]["reason"]) == ("done", "loaded by hand")


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (
            ("daily_revenue", "--partition", "2025-03-01", "--reason", "x"),
            "pass one of --done, --missing, --skip and --forward-only",
        ),
        (
            ("daily_revenue", "--partition", "2025-03-01", "--done", "--skip", "--reason", "x"),
            "pass one of --done, --missing, --skip and --forward-only",
        ),
        (("daily_revenue", "--done", "--reason", "x"), "asset 'daily_revenue' has partitions: name them by --part"),
        (("daily_revenue", "--partition", "March", "--done", "--reason", "x"), "'March'"),
        (("daily_revenue", "--partition", "2025-03-01", "--done", "--reason", " "), "the reason has 0 characters"),
        (
            ("orders", "--partition", "2025-03-01", "--done", "--reason", "x"),
            "asset 'orders' is a source",
        ),
        (("best_shops", "--partition", "2025-03-01", "--done", "--reason", "x"), "'best_shops' has no partitions"),
        (("nothing", "--done", "--reason", "x"), "'nothing'"),
    ],
)
def test_what_cannot_be_marked_is_refused(run_cli, args, told):
    code, out, err = run_cli("mark", *args)
    assert (code, out) == (2, "")
    assert told in err


def test_a_reason_is_asked_for_and_holds_no_credential(run_cli):
    code, _, err = run_cli("mark", "best_shops", "--done")
    assert (code, "--reason" in err) == (2, True)
    code, _, err = run_cli("mark", "best_shops", "--done", "--reason", "password=hunter2hunter2")
    assert (code, "hunter2" in err, "the reason contains" in err) == (2, False, True)


def test_refusals_are_documents_too(run_cli):
    code, out, _ = run_cli("mark", "best_shops", "--partition", "x", "--done", "--reason", "x", "--json")
    assert (code, json.loads(out)["error"]["message"]) == (2, "asset 'best_shops' has no partitions")


@pytest.fixture
def invoices(shop):
    """An asset that has a run for each day since long ago."""
    text = """
asset: invoices
strategy: every_instance
partition: none
write: append
schedule: {cron: "0 0 * * *", start: 2025-03-01, end: 2025-03-05}
sql: SELECT 1 AS n
"""
    (shop / "assets" / "invoices.yml").write_text(text, encoding="utf-8")


@pytest.mark.usefixtures("invoices")
def test_one_instance_is_named_by_its_interval(run_cli, run_json):
    first = "2025-03-02T00:00Z", "2025-03-03T00:00Z"
    assert run_cli("mark", "invoices", "--interval", "..".join(first), "--skip", "--reason", "closed") == (
        0,
        "invoices  2025-03-02T00:00Z to 2025-03-03T00:00Z  marked as skipped\n",
        "",
    )
    told = run_json("mark", "invoices", "--interval", "2025-03-03", "--done", "--reason", "by hand")
    assert (told["changed"], told["partitions"]) == (True, None)
    assert told["data_interval"] == {"start": "2025-03-03T00:00:00Z", "end": "2025-03-04T00:00:00Z"}
    plan = run_json("plan", "--select", "invoices")
    assert [run["data_interval"]["start"][:10] for run in plan["runs"]] == ["2025-03-01", "2025-03-04"]
    reasons = [wait["reason"] for wait in plan["waiting"]]
    assert any("2025-03-02T00:00Z..2025-03-03T00:00Z marked as skipped by" in reason for reason in reasons)
    assert "instances" in run_cli("explain", "invoices")[1]
    event = run_json("events", "list", "--last", "1")[0]
    assert event["extra"]["interval"] == "2025-03-03T00:00:00Z..2025-03-04T00:00:00Z"
    other = "2025-03-02T06:00..2025-03-02T08:00"
    code, _, err = run_cli("mark", "invoices", "--interval", other, "--skip", "--reason", "x")
    assert (code, "is not an interval of its schedule 0 0 * * *" in err) == (2, True)
    assert "the next interval is 2025-03-02T00:00Z" in err

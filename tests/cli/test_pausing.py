"""`pause` and `resume`: a request is kept, never run."""

import json

import pytest

from sparkassets import Project

pytestmark = pytest.mark.usefixtures("shop", "engine")


def test_a_paused_asset_does_not_run_and_keeps_its_backlog(engine, run_cli, run_json):
    assert run_cli("pause", "daily_revenue") == (0, "daily_revenue  paused\n", "")
    assert run_json("run")["runs"] == []
    assert engine.started == 0
    status = {item["asset"]: item for item in run_json("status")}
    assert status["daily_revenue"]["paused"] is True
    assert status["daily_revenue"]["partitions"]["missing"] == 2
    assert status["best_shops"]["paused"] is False
    assert "daily_revenue" in run_cli("status")[1]
    assert "paused, 2 missing" in run_cli("status")[1]
    told = {"asset": "daily_revenue", "reason": "paused", "until": None, "partitions": None, "quiet": True}
    assert told in run_json("plan")["waiting"]
    assert run_cli("resume", "daily_revenue") == (0, "daily_revenue  resumed\n", "")
    assert [run["asset"] for run in run_json("run")["runs"]] == ["daily_revenue", "best_shops"]


def test_pausing_twice_says_so(run_cli, run_json):
    assert run_json("pause", "daily_revenue", "best_shops") == {
        "paused": ["daily_revenue", "best_shops"],
        "unchanged": [],
    }
    assert run_json("pause", "daily_revenue") == {"paused": [], "unchanged": ["daily_revenue"]}
    assert run_cli("pause", "daily_revenue")[1] == "daily_revenue  was already paused\n"
    assert run_json("resume", "daily_revenue") == {"resumed": ["daily_revenue"], "unchanged": []}
    assert run_cli("resume", "daily_revenue")[1] == "daily_revenue  was not paused\n"


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_what_cannot_be_paused(verb, run_cli):
    code, out, err = run_cli(verb, "daily_revenu")
    assert (code, out) == (2, "")
    assert err == "error: no asset 'daily_revenu' in project 'shop'\n  hint: did you mean 'daily_revenue'?\n"
    code, _, err = run_cli(verb, "orders")
    assert (code, err) == (
        2,
        f"error: asset 'orders' is a source: others write it, so there is nothing to {verb}\n",
    )
    assert run_cli(verb)[0] == 2


def test_what_the_yaml_pauses_only_the_yaml_resumes(shop, run_cli):
    file = shop / "assets/daily_revenue.yml"
    file.write_text(file.read_text() + "\npaused: true\n")
    code, out, _ = run_cli("resume", "daily_revenue", "--json")
    assert (code, json.loads(out)["error"]) == (
        2,
        {
            "message": "asset 'daily_revenue' is paused by `paused: true` in conf/assets/daily_revenue.yml; "
            "`resume` cannot change that",
            "hint": "remove that line",
            "help": "docs/troubleshooting.md#invalid-argument",
        },
    )


def test_from_python():
    project = Project.load("conf")
    assert project.assets.pause("daily_revenue", "daily_revenue") == ["daily_revenue"]
    assert project.assets.pause("daily_revenue") == []
    assert project.assets.resume("daily_revenue", "best_shops") == ["daily_revenue"]

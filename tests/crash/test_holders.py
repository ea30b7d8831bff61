"""`status` tells which drivers hold runs, how long since they proved to be alive, and whether they are gone."""

from __future__ import annotations

import json

import pytest

from sparkassets.cli import main
from tests.crash.processes import start
from tests.crash.shop import SCENARIOS, Shop


@pytest.fixture
def show_status(capfd):
    """What `status` says, for programs and for people."""

    def ask(shop):
        capfd.readouterr()
        assert main(["status", "--project", str(shop.folder), "--json"]) == 0
        (found,) = [each for each in json.loads(capfd.readouterr().out) if each["asset"] == "copy"]
        assert main(["status", "--project", str(shop.folder)]) == 0
        return found, capfd.readouterr().out

    return ask


def test_a_driver_that_stands_holds_its_run_and_one_that_was_killed_is_gone(tmp_path, figures, show_status):
    shop = Shop(tmp_path, SCENARIOS["date_range, replace"])
    shop.sell()
    driver = start(shop.folder, point="read:ready", act="stop")
    assert driver.ends() == "stopped"
    document, text = show_status(shop)
    (holder,) = document["holders"]
    assert holder["run"] == document["running"]
    assert holder["driver"].endswith(f":{driver.pid} run")
    assert (holder["lease_seconds"], holder["gone"]) == (600, False)
    assert 0 <= holder["silent_seconds"] < 600
    assert f"copy: {holder['run']} is held by {holder['driver']} since " in text
    assert "last seen alive " in text
    driver.kill()
    assert figures.killed(driver)
    document, text = show_status(shop)
    assert document["running"] is None
    assert [(each["run"], each["gone"]) for each in document["holders"]] == [(holder["run"], True)]
    assert "which is gone: the next run recovers it" in text
    assert start(shop.folder).ends() == "exited 0"
    assert show_status(shop)[0]["holders"] == []


def test_of_a_driver_of_another_host_nobody_says_that_it_is_gone(tmp_path, figures, show_status):
    shop = Shop(tmp_path, SCENARIOS["date_range, replace"])
    shop.sell()
    assert figures.killed(start(shop.folder, point="read:ready", host="elsewhere", ahead=7 * 60))
    document, text = show_status(shop)
    (holder,) = document["holders"]
    assert (holder["gone"], holder["silent_seconds"]) == (False, 0)
    assert document["running"] == holder["run"]
    assert "last seen alive just now" in text

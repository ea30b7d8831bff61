"""What an update reaches downstream."""

from sparkassets.core.instants import Duration
from sparkassets.core.partitions import EVERYTHING, WindowMapping
from sparkassets.core.planner.impact import impact
from sparkassets.core.spec.model import InletSpec
from tests.builders import Story, asset, at, days, project, source, timed

WEEK = InletSpec("daily", "", WindowMapping.trailing(Duration.parse("7d")))
IGNORED = InletSpec("daily", "", None, on_update="ignore")


def reached(*assets, now="2025-02-01", **updated):
    return impact(Story(project(*assets), now=now).context(), updated)


def test_partitions_go_through_the_mappings_all_the_way_down():
    assets = (source("s"), asset("daily", "s"), asset("rolling", WEEK), asset("monthly", "rolling", by="month"))
    assert reached(*assets, daily=days("2025-01-20")) == {
        "rolling": days("2025-01-20..2025-01-26"),
        "monthly": days("2025-01", by="month"),
    }


def test_only_what_is_over_and_within_the_bounds():
    assets = (source("s"), asset("daily", "s"), asset("rolling", WEEK, start=at("2025-01-22")))
    assert reached(*assets, now="2025-01-25", daily=days("2025-01-20")) == {"rolling": days("2025-01-22..2025-01-24")}


def test_what_ignores_updates_and_what_only_time_starts_is_not_reached():
    by_time = asset("nightly", "daily", by=None, schedule=timed("@daily"))
    assets = (source("s"), asset("daily", "s"), asset("ignoring", IGNORED), by_time, asset("after", "nightly", by=None))
    assert reached(*assets, daily=days("2025-01-20")) == {}


def test_assets_without_partitions_are_reached_as_a_whole():
    waits = asset("waits", by=None, schedule="report")
    assets = (source("s"), asset("daily", "s"), asset("report", "daily", by=None), waits)
    assert reached(*assets, daily=days("2025-01-20")) == {"report": EVERYTHING, "waits": EVERYTHING}


def test_no_update_reaches_nothing():
    assert reached(source("s"), asset("daily", "s")) == {}

"""What an update reaches downstream."""

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.instants import Duration
from sparkassets.core.partitions import EVERYTHING, PartitionSet, WholeMapping, WindowMapping
from sparkassets.core.planner.explain.impact import recomputed_by_update, trace_impact
from sparkassets.core.spec.model import InletSpec
from sparkassets.core.writes import AppendWrite
from tests.builders import Story, asset, at, days, project, source, timed
from tests.core.planner.test_products import History, inside, partitions_of, set_of
from tests.depth import histories

WEEK = InletSpec("daily", "", WindowMapping.trailing(Duration.parse("7d")))
IGNORED = InletSpec("daily", "", None, on_update="ignore")


def reached(*assets, now="2025-02-01", **updated):
    return recomputed_by_update(Story(project(*assets), now=now).context(), updated)


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


def test_of_an_inlet_that_is_read_whole_all_that_is_there_or_wanted_is_reached():
    story = Story(project(source("s"), asset("share", InletSpec("s", "", WholeMapping()))), now="2025-02-01")
    story.observed("s", "2025-01-20..2025-01-22")
    story.run_all()
    there = story.state.assets["share"].coverage
    assert there
    assert recomputed_by_update(story.context(), {"s": days("2025-01-20")}) == {"share": there}


def test_no_update_reaches_nothing():
    assert reached(source("s"), asset("daily", "s")) == {}


def impact_of(story, name, partitions):
    """What is reached: (asset, keys, computed keys, through, why it stays)."""
    found, keys = trace_impact(story.context(), story.project.assets[name], partitions), story.keys
    return [
        (each.asset, keys(each.asset, each.partitions), keys(each.asset, each.computed), each.through, each.stays)
        for each in found.reaches
    ]


def test_what_is_there_of_it_and_through_what_is_told():
    assets = (source("s"), asset("daily", "s"), asset("rolling", WEEK), asset("both", "daily", "rolling"))
    story = Story(project(*assets))
    story.observed("s", "2025-01-20..2025-01-27")
    story.run("daily")
    assert impact_of(story, "s", days("2025-01-21")) == [
        ("daily", ["2025-01-21"], ["2025-01-21"], ("s",), ""),
        ("rolling", ["2025-01-21..2025-01-27"], [], ("daily",), ""),
        ("both", ["2025-01-21..2025-01-27"], [], ("daily", "rolling"), ""),
    ]


def test_what_is_not_computed_again_by_itself_says_why_and_ends_the_way():
    by_time = asset("nightly", "daily", by=None, schedule=timed("@daily"))
    ignoring = asset("ignoring", InletSpec("daily", "", None, on_update="ignore"))
    assets = (source("s"), asset("daily", "s"), ignoring, by_time, asset("after", "nightly", by=None))
    story = Story(project(*assets))
    assert impact_of(story, "daily", days("2025-01-20")) == [
        ("ignoring", ["2025-01-20"], [], ("daily",), "not rerun automatically (on_update: ignore of daily)"),
        ("nightly", [], [], ("daily",), "runs at its own times (@daily)"),
    ]


def test_a_table_that_is_read_whole_touches_all_that_was_made_with_it():
    story = Story(project(source("s"), source("rates", by=None), asset("daily", "s", "rates")))
    story.observed("rates")
    story.observed("s", "2025-01-20..2025-01-22")
    story.run_all()
    reached_days = ["2025-01-20..2025-01-22"]
    stays = "not rerun automatically (on_update: ignore of rates)"
    assert impact_of(story, "rates", EVERYTHING) == [("daily", reached_days, reached_days, ("rates",), stays)]


@histories(40)
@given(st.randoms(use_true_random=False))
def test_it_is_what_single_partitions_say(random):
    history = History(random)
    history.story.now = "2025-01-06"
    specs = history.story.project.assets
    for name in ("s", "t", "one"):
        partitioning = specs[name].partitioning
        changed = random.sample(partitions_of(partitioning), min(2, len(partitions_of(partitioning))))
        expected = {name: set(changed)}
        for consumer in specs.values():
            if consumer.source is None and consumer.name != name:
                touched = {
                    partition
                    for partition in partitions_of(consumer.partitioning)
                    for inlet in consumer.inlets
                    if consumer.inlets[inlet].on_update == "rerun"
                    and set(history.needed(consumer, inlet, partition)) & expected.get(inlet, set())
                }
                if touched:
                    expected[consumer.name] = touched
        parts = PartitionSet.union(set_of(partitioning, each) for each in changed)
        found = recomputed_by_update(history.story.context(), {name: parts})
        known = {each: set(inside(specs[each].partitioning, partitions)) for each, partitions in found.items()}
        assert known == {each: partitions for each, partitions in expected.items() if each != name}


def test_what_was_appended_is_not_computed_again_and_ends_the_way():
    log = asset("log", "s", write=AppendWrite())
    story = Story(project(source("s"), log, asset("report", "log")))
    story.observed("s", "2025-01-01..2025-01-02")
    story.run_all()
    story.observed("s", "2025-01-03")
    changed = days("2025-01-02..2025-01-03")
    assert recomputed_by_update(story.context(), {"s": changed}) == {
        "log": days("2025-01-03"),
        "report": days("2025-01-03"),
    }
    story.run_all()
    assert recomputed_by_update(story.context(), {"s": changed}) == {}
    (reach,) = trace_impact(story.context(), story.project.assets["s"], changed).reaches
    assert (reach.asset, reach.partitions) == ("log", changed)
    assert reach.stays == "already appended, and not recomputed"

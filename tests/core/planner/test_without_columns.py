"""Partitions without a column: runs, claims and coverage are by partition; readers see the newest published one."""

from dataclasses import replace

import pytest

from sparkassets.core.iterations import visible_iterations
from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.partitions import EVERYTHING, Partitioning, SegmentPartition, TimePartition
from sparkassets.core.planner.batch.iterations import keeps_newest_iteration, retire_iterations
from sparkassets.core.spec.model import InletSpec
from sparkassets.core.strategies import EveryInstance
from sparkassets.core.writes import AppendWrite, PublishWrite
from tests.builders import Story, asset, at, project, source, timed
from tests.core.journal.test_lineage import traced

DAYS = Partitioning(TimePartition("day", "UTC", start=at("2025-01-01")))


def of(write, **more):
    made = asset("log", "s", by=None, schedule=timed("@daily"), strategy=EveryInstance(), write=write)
    return replace(made, partitioning=DAYS, start=at("2025-01-01"), **more)


def story(write, *others):
    return Story(project(source("s", by="hour"), of(write), *others), now="2025-01-04T00:30")


def filled(write, *others):
    made = story(write, *others)
    made.observed("s", "2025-01-01T00..2025-01-03T23")
    return made


def publish(made, run, version):
    """Succeeds with a run, as a driver records what it published."""
    item, state = made.project.assets["log"], made.state.assets["log"]
    beside = keeps_newest_iteration(item, state, run.request)
    made.succeed("log", made.claim(run), version=version, iteration=f"i{version}", is_hidden_iteration=beside)


def test_each_interval_is_a_run_of_what_it_maps_to():
    made = filled(AppendWrite())
    made.run("log")
    runs = made.plan().runs
    assert [made.keys("log", run.partitions) for run in runs] == [["2025-01-02"], ["2025-01-03"]]
    assert [run.run_slot for run in runs] == [1, 2]
    (pin,) = {made.keys("s", run.request.pins["s"].parts)[0] for run in runs[:1]}
    assert pin == "2025-01-02T00..2025-01-02T23"
    assert runs[0].interval == (at("2025-01-02"), at("2025-01-03"))
    made.fail("log", made.claim(runs[0]))
    made.succeed("log", made.claim(runs[1]))
    assert made.keys("log", made.state.assets["log"].coverage) == ["2025-01-01", "2025-01-03"]
    assert made.due(invocation="other") == {"log": ["2025-01-02"]}


def test_what_is_published_takes_the_place_of_the_one_before_so_that_they_go_one_at_a_time():
    made = filled(PublishWrite(2))
    for version, day in enumerate(("2025-01-01", "2025-01-02", "2025-01-03"), start=1):
        (run,) = made.plan().runs
        assert made.keys("log", run.partitions) == [day]
        publish(made, run, version)
    assert made.plan().runs == ()
    iterations = made.state.assets["log"].iterations
    assert [each.name for each in visible_iterations(iterations)] == ["i3"]
    assert [made.keys("log", each.partitions) for each in iterations] == [
        ["2025-01-01"],
        ["2025-01-02"],
        ["2025-01-03"],
    ]
    assert retire_iterations(made.state, "log", keep=2).runs == (iterations[0].run,)
    assert decode(encode(made.state), journal_id="journal").assets["log"].iterations == iterations


def test_one_of_an_earlier_interval_is_beside_the_newest():
    made = filled(PublishWrite(5))
    for version in (1, 2, 3):
        publish(made, made.plan().runs[0], version)
    made.observed("s", "2025-01-02T05")
    made.now = "2025-01-05T00:30"
    made.observed("s", "2025-01-04T00..2025-01-04T23")
    older, newer = sorted(_all(made), key=lambda run: run.partitions.first)
    assert made.keys("log", older.partitions) == ["2025-01-02"]
    assert made.keys("log", newer.partitions) == ["2025-01-04"]
    assert [each.name for each in visible_iterations(made.state.assets["log"].iterations)] == ["i5"]
    assert [each.shown for each in made.state.assets["log"].iterations] == [(1,), (2,), (3,), (), (5,)]


def _all(made):
    done = []
    while runs := made.plan().runs:
        publish(made, runs[0], 4 + len(done))
        done.append(runs[0])
    return done


@pytest.mark.parametrize("whole", [True, False])
def test_readers_pin_the_newest_or_that_of_their_interval(whole):
    aligned = InletSpec("log", "", None, aligned=not whole)
    reader = asset("r", aligned, by=None, schedule=timed("0 12 * * *") if not whole else None)
    made = filled(PublishWrite(5), reader)
    for version in (1, 2, 3):
        publish(made, next(run for run in made.plan().runs if run.asset == "log"), version)
    made.now = "2025-01-02T13:00" if not whole else made.now
    (run,) = (run for run in made.plan().runs if run.asset == "r")
    pin = run.request.pins["log"]
    assert (pin.iteration, pin.parts.is_everything) == ("i3" if whole else "i1", True)


def test_params_are_runs_of_their_own_in_each_interval():
    models = SegmentPartition("model", ("a", "b"), in_rows=False)
    both = Partitioning(DAYS.time, (models,))
    made = Story(project(source("s", by="hour"), replace(of(AppendWrite()), partitioning=both)), now="2025-01-03T00:30")
    made.observed("s", "2025-01-01T00..2025-01-02T23")
    made.run("log")
    runs = made.plan().runs
    assert [made.keys("log", run.partitions) for run in runs] == [["2025-01-01,b"], ["2025-01-02,a"], ["2025-01-02,b"]]
    assert [run.run_slot for run in runs] == [1, 2, 3]
    assert decode(encode(made.state), journal_id="journal") == made.state


@pytest.mark.parametrize("column", [None, "day"])
def test_intervals_that_ran_before_they_were_partitions_are_not_appended_once_more(column):
    plain = replace(of(AppendWrite()), partitioning=Partitioning(), schedule=timed("@daily", start=at("2025-01-01")))
    made = Story(project(source("s", by="hour"), plain), now="2025-01-03T00:30")
    made.observed("s", "2025-01-01T00..2025-01-04T23")
    assert [run.request.interval for run in made.run_all()] == [
        (at("2025-01-01"), at("2025-01-02")),
        (at("2025-01-02"), at("2025-01-03")),
    ]
    days = Partitioning(TimePartition("day", "UTC", column, start=at("2025-01-01")))
    made.change(source("s", by="hour"), replace(plain, partitioning=days))
    made.now = "2025-01-05T00:30"
    assert [made.keys("log", run.partitions) for run in made.run_all()] == [["2025-01-03"], ["2025-01-04"]]
    assert made.keys("log", made.state.assets["log"].coverage) == ["2025-01-01..2025-01-04"]
    assert made.state.dataset("log").coverage == made.state.assets["log"].coverage
    assert decode(encode(made.state), journal_id="journal") == made.state


@pytest.mark.parametrize("whole", [True, False])
def test_what_a_reader_saw_came_from_the_run_of_that_iteration(whole):
    aligned = InletSpec("log", "", None, aligned=not whole)
    reader = asset("r", aligned, by=None, schedule=timed("0 12 * * *") if not whole else None)
    made = filled(PublishWrite(5), reader)
    for version in (1, 2, 3):
        publish(made, next(run for run in made.plan().runs if run.asset == "log"), version)
    made.now = "2025-01-02T13:00" if not whole else made.now
    made.run("r")
    (origin,) = traced(made, "r", EVERYTHING, depth=2).origins
    (read,) = origin.reads
    assert [made.keys("log", each.partitions) for each in read.origins] == [["2025-01-03" if whole else "2025-01-01"]]

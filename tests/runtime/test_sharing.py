"""Assets that append to one table, which Spark commits to: Spark of one driver at a time, by claims of the journal."""

from dataclasses import replace

import pytest

from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.spec.storage_overlaps import find_table_sharers
from sparkassets.core.writes import AppendWrite
from sparkassets.runtime.driver_work import DueWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, project, source
from tests.runtime.fakes import World, dying


def at(spec, path):
    return replace(spec, storage=StorageLocation(path, path))


def world(*, places, commits=True) -> World:
    """``a`` and ``b`` append to tables at these places, each when its own source has news."""
    both = (at(asset(name, up, retries=0, write=AppendWrite()), place) for name, up, place in zip("ab", "st", places))  # noqa: B905
    w = World(project(source("s"), source("t"), *both), MemoryStore())
    w.engine.commits, w.alive = commits, True
    return w


@pytest.mark.parametrize(
    ("places", "commits", "waits"),
    [
        (("s3://lake/x", "s3a://lake/x/"), True, True),
        (("s3://lake/x", "s3://lake/y"), True, False),
        (("s3://lake/x", "s3://lake/x"), False, False),
    ],
)
def test_spark_of_one_driver_commits_to_a_table_at_a_time(places, commits, waits):
    w = world(places=places, commits=commits)
    w.tell("s", "2025-01-01")
    dying(w, "write", commits=commits)
    w.tell("t", "2025-01-01")
    told = [run.error for run in w.driver().run_works([DueWork()]).runs if run.asset == "b"]
    if waits:
        assert str(told[0]).startswith(
            "b: its run may not commit: the Spark session of another driver is committing to"
        )
        w.alive = False
        assert sorted((run.asset, run.error) for run in w.driver().run_works([DueWork()]).runs) == [
            ("a", ""),
            ("b", ""),
        ]
    else:
        assert told == [""]


def test_who_shares_a_table_however_its_store_is_called():
    paths = {"a": "s3://lake/x", "b": "s3a://lake/y/../x/", "c": "s3://lake2/x", "d": "/lake/x"}
    spec = project(*(at(asset(name), path) for name, path in paths.items()), asset("e"))
    assert find_table_sharers(spec, "a") == ("a", "b")
    assert find_table_sharers(spec, "b") == ("b", "a")
    assert [find_table_sharers(spec, name) for name in "cde"] == [("c",), ("d",), ("e",)]

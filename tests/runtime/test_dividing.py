"""A driver finds the bad slice of a fused run in the same invocation, and publishes all others."""

from dataclasses import replace

import pytest

from sparkassets.core.partitions import PartitionSet
from sparkassets.core.spec.model import SourceSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.errors import RunError
from sparkassets.ports import HistoryQuery
from sparkassets.runtime.driver_work import DueWork
from sparkassets.runtime.requested_works import BackfillWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, at, days, project, source
from tests.runtime.fakes import FakeEngine, World


def failing(partitions: PartitionSet, *, of_data: bool = True):
    """Fails for runs that hold one of the partitions."""

    def hook(order):
        if order.partitions.overlaps(partitions):
            error = RunError("division by zero")
            error.is_data_error = of_data
            raise error

    return hook


@pytest.fixture
def world() -> World:
    made = World(project(source("s"), asset("a", "s", retries=1, retry_delay_seconds=0)), MemoryStore())
    made.tell("s", "2025-01-01..2025-01-08")
    return made


def run_outcomes(summary) -> list[tuple[str, str]]:
    return [(", ".join(asset_keys(result.partitions)), result.status) for result in summary.runs]


def asset_keys(partitions: PartitionSet) -> list[str]:
    return asset("a").partitioning.labels(partitions)


def test_all_but_the_bad_day_is_published_and_the_bad_one_is_told_once(world):
    world.engine.hooks["a", "compute"] = failing(days("2025-01-02"))
    summary = world.driver().run_works([DueWork()])
    assert run_outcomes(summary) == [
        ("2025-01-01..2025-01-08", "replanned"),
        ("2025-01-01..2025-01-04", "replanned"),
        ("2025-01-05..2025-01-08", "success"),
        ("2025-01-01..2025-01-02", "replanned"),
        ("2025-01-03..2025-01-04", "success"),
        ("2025-01-01", "success"),
        ("2025-01-02", "failed"),
    ]
    assert not summary.ok
    assert [result.attempts for result in summary.runs if result.status == "replanned"] == [1, 1, 1]
    assert world.store.read_history(HistoryQuery(kinds=["failure"]))
    again = world.driver().run_works([DueWork()])
    assert run_outcomes(again) == [("2025-01-02", "failed")]


def unreadable(*bad: str, scheme: str = "file:"):
    """Fails for runs that read one of these days' files, and names the first."""

    def hook(order):
        if found := [day for day in bad if order.partitions.overlaps(days(day))]:
            error = RunError("a file cannot be read")
            error.is_data_error, error.files = True, (f"{scheme}/data/landing/{found[0].replace('-', '')}/a%20b.csv",)
            raise error

    return hook


@pytest.fixture
def landed() -> World:
    path = "/data/landing/{day:%Y%m%d}/*.csv"
    landing = replace(source("s"), source=SourceSpec("csv"), storage=StorageLocation(path, path))
    made = World(project(landing, asset("a", "s", retries=1, retry_delay_seconds=0)), MemoryStore())
    made.tell("s", "2025-01-01..2025-01-08", cursor={str(at(f"2025-01-0{day}")): "seen" for day in range(1, 9)})
    return made


@pytest.mark.parametrize("scheme", ["file:", "file://"])
def test_where_the_error_names_the_file_nobody_looks_for_its_day(landed, scheme):
    landed.engine.hooks["a", "compute"] = unreadable("2025-01-02", scheme=scheme)
    assert run_outcomes(landed.driver().run_works([DueWork()])) == [
        ("2025-01-01..2025-01-08", "failed"),
        ("2025-01-01, 2025-01-03..2025-01-08", "success"),
    ]
    landed.tell("s", "2025-01-09", cursor={str(at("2025-01-09")): "seen"})
    assert run_outcomes(landed.driver().run_works([DueWork()])) == [("2025-01-09", "success"), ("2025-01-02", "failed")]


def test_of_several_bad_files_each_run_names_one(landed):
    landed.engine.hooks["a", "compute"] = unreadable("2025-01-02", "2025-01-07")
    assert [keys for keys, _ in run_outcomes(landed.driver().run_works([DueWork()]))] == [
        "2025-01-01..2025-01-08",
        "2025-01-01, 2025-01-03..2025-01-08",
        "2025-01-01, 2025-01-03..2025-01-06, 2025-01-08",
    ]


def test_a_file_that_is_of_no_partition_is_looked_for_in_halves(landed):
    def hook(order):
        if order.partitions.overlaps(days("2025-01-02")):
            error = RunError("a file cannot be read")
            error.is_data_error, error.files = True, ("file:/data/other/20250102/a.csv",)
            raise error

    landed.engine.hooks["a", "compute"] = hook
    assert len(run_outcomes(landed.driver().run_works([DueWork()]))) == 7


def test_rows_outside_the_partitions_are_found_alike_after_the_write_has_begun(world):
    world.engine.hooks["a", "write"] = failing(days("2025-01-08"))
    assert [keys for keys, status in run_outcomes(world.driver().run_works([DueWork()])) if status == "failed"] == [
        "2025-01-08"
    ]


def test_what_is_not_of_the_data_is_tried_again_as_it_was(world):
    world.engine.hooks["a", "compute"] = failing(days("2025-01-02"), of_data=False)
    assert run_outcomes(world.driver().run_works([DueWork()])) == [("2025-01-01..2025-01-08", "failed")]


def test_a_driver_that_dies_among_the_parts_loses_nothing(world):
    world.engine.hooks["a", "compute"] = failing(days("2025-01-02"))
    dying = FakeEngine(world.engine.tables)
    runs = []

    def hook(order):
        runs.append(order.run)
        if len(runs) == 3:
            dying.hooks["a", "compute"] = failing(days("2025-01-01..2025-01-08"), of_data=False)
        failing(days("2025-01-02"))(order)

    dying.hooks["a", "compute"] = hook
    world.driver(engine=dying).run_works([DueWork()])
    world.driver().run_works([DueWork()])
    world.driver().run_works([DueWork()])
    state = world.driver()
    state.ledger.open()
    assert asset_keys(state.ledger.state.assets["a"].coverage) == ["2025-01-01", "2025-01-03..2025-01-08"]


def test_a_backfill_finds_it_too(world):
    world.engine.hooks["a", "compute"] = failing(days("2025-01-02"))
    work = BackfillWork(world.project.assets["a"], days("2025-01-01..2025-01-04"))
    summary = world.driver().run_works([work])
    assert run_outcomes(summary)[-1] == ("2025-01-02", "failed")
    assert [keys for keys, status in run_outcomes(summary) if status == "success"] == [
        "2025-01-03..2025-01-04",
        "2025-01-01",
    ]

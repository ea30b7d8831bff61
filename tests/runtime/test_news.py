"""What is found in sources, on its way into the journal."""

import shutil
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from threading import Barrier, current_thread

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.patterns import is_of_slot
from sparkassets.core.planner.explain.status import partition_grid
from sparkassets.core.spec.model import InletSpec, SourceSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.errors import SourceError
from sparkassets.ports import Observation
from sparkassets.runtime.file_pins import _slot_fingerprints
from sparkassets.runtime.observation import changed_spec_entries, observe_sources
from sparkassets.sources import make_observer
from tests.builders import Story, asset, days, project, source
from tests.sources.looks import write
from tests.sources.texts import PlainTexts


def add(path, *days):
    write_deltalake(path, pa.table({"day": [date(2025, 1, day) for day in days]}), mode="append")


def at(path, item):
    return replace(item, storage=StorageLocation(str(path), item.name))


def look(story):
    news = observe_sources(
        story.project, story.state, partial(make_observer, texts=PlainTexts()), now=datetime.now(UTC)
    )
    assert news.faults == {}
    if news.entries:
        story.add(*news.entries)


def restored(path):
    DeltaTable(path).restore(0)


def made_anew(path):
    shutil.rmtree(path)
    add(path, 1, 2)


@pytest.mark.parametrize(("on_removed", "status"), [("rerun", "current"), ("keep", "kept")])
@pytest.mark.parametrize("going", [restored, made_anew])
def test_partitions_that_went_with_a_restore_or_a_new_table_are_computed_without_them_or_kept(
    tmp_path, going, on_removed, status
):
    path = tmp_path / "s"
    story = Story(project(at(path, source("s")), asset("a", InletSpec("s", "", None, on_removed=on_removed))))
    add(path, 1, 2)
    add(path, 3)
    look(story)
    story.run_all()
    going(path)
    look(story)
    assert story.state.dataset("x-s").coverage == days("2025-01-01..2025-01-02")
    again = [story.keys("a", run.partitions) for run in story.run_all()]
    assert any("2025-01-03" in keys for partitions in again for keys in partitions) == (on_removed == "rerun")
    known = dict(partition_grid(story.context(), story.project.assets["a"]))
    assert known["2025-01-02"] == "current"
    assert known["2025-01-03"] == status
    look(story)
    assert story.due() == {}


def test_what_another_asset_of_the_dataset_holds_is_not_missing(tmp_path):
    """Two tables make up one dataset: one of them is restored."""
    one, other = at(tmp_path / "one", source("one")), at(tmp_path / "other", source("other"))
    story = Story(project(replace(one, uri="x-both"), replace(other, uri="x-both")))
    add(tmp_path / "one", 1)
    add(tmp_path / "one", 2)
    add(tmp_path / "other", 3)
    look(story)
    restored(tmp_path / "one")
    look(story)
    assert story.state.dataset("x-both").coverage.covers(days("2025-01-03"))


def test_what_the_project_has_no_more_keeps_no_events_and_finds_the_rest_when_it_comes_back():
    here, gone = source("s"), asset("d", "s")
    story = Story(project(here, gone))
    story.observed("s", "2025-01-01")
    story.run_all()
    story.project = project(here)
    story.add(*changed_spec_entries(story.project, story.state))
    for day in range(2, 6):
        newest = story.observed("s", f"2025-01-0{day}")
    assert [ref.seq for ref in story.state.dataset("x-s").recent] == [newest]
    assert changed_spec_entries(story.project, story.state) == []
    story.project = project(here, gone)
    story.add(*changed_spec_entries(story.project, story.state))
    assert story.due() == {"d": ["2025-01-02..2025-01-05"]}


def test_a_segment_of_files_that_leaves_the_list_and_comes_back(tmp_path):
    def listing(*regions):
        path = f"{tmp_path}/{{region}}/{{day:%Y%m%d}}.csv"
        landed = at(path, replace(source("s", segments={"region": regions}), source=SourceSpec(kind="csv")))
        return landed, asset("a", "s")

    for name in ("de/20250101.csv", "nl/20250101.csv", "nl/20250102.csv"):
        write(tmp_path, name)
    story = Story(project(*listing("de", "nl")))
    look(story)
    story.run_all()
    story.change(*listing("de"))
    look(story)
    story.run_all()
    landed, position = story.project.assets["s"], story.state.assets["s"].position
    assert len([key for key in position if is_of_slot(key)]) == 3
    assert [*_slot_fingerprints(landed, position, EVERYTHING)] == [
        *_slot_fingerprints(landed, position, days("2025-01-01..2025-01-02"))
    ]
    assert [key.partition(",")[2] for key in _slot_fingerprints(landed, position, EVERYTHING)] == ["de"]
    (tmp_path / "nl/20250102.csv").unlink()
    story.change(*listing("de", "nl"))
    look(story)
    assert story.keys("s", story.state.dataset("x-s").coverage) == ["2025-01-01,de", "2025-01-01,nl"]
    assert story.due() == {"a": ["2025-01-01"]}
    assert story.waits("a") == ["waits for s: 1 of 2 partitions, missing 2025-01-02,de"]


class Meeting:
    """Looks that wait for one another, and where each was."""

    def __init__(self, others):
        self.all_there = Barrier(others, timeout=20)
        self.threads = {}

    def observe(self, asset, last, *, now):
        self.threads[asset.name] = current_thread()
        if "://" in asset.storage.path:
            self.all_there.wait()
        if asset.name == "s2":
            raise SourceError("no such bucket", hint="make it")
        return Observation(asset.name, days("2025-01-01"), version=1)


def test_sources_in_object_stores_are_looked_at_at_once_and_told_in_the_order_of_the_project():
    places = {"s1": "s3://b/s1", "near": "/data/near", "s2": "s3://b/s2", "s3": "abfss://c@a/s3"}
    story = Story(project(*(at(place, source(name)) for name, place in places.items())))
    meeting = Meeting(3)
    news = observe_sources(story.project, story.state, lambda _: meeting, now=datetime.now(UTC))
    assert [entry.asset for entry in news.entries] == ["s1", "near", "s3"]
    assert news.faults == {"s2": "no such bucket; make it"}
    assert [name for name, thread in meeting.threads.items() if thread is current_thread()] == ["near"]

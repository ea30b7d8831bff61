"""Views of a Delta source tell what a source with such partitions would, at the version that is read."""

from datetime import UTC, date, datetime
from random import Random

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.journal.codec import from_row, to_row
from sparkassets.core.journal.entries import NumberedEntry, ObservedEntry, ViewChanges
from sparkassets.core.partitions import NOTHING, UNPARTITIONED, Partitioning, SegmentPartition, TimePartition
from sparkassets.core.spec.model import AssetSpec, SourceSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.errors import FileLocation, SourceError
from sparkassets.ports import LastLook
from sparkassets.sources import delta as module
from sparkassets.sources.delta import DeltaObserver
from tests.depth import histories

DAYS = Partitioning(TimePartition("day", "UTC", column="happened"))
MONTHS = Partitioning(TimePartition("month", "Europe/Berlin", column="happened"))
BOTH = Partitioning(TimePartition("day", "UTC", column="happened"), (SegmentPartition("region", ("de", "nl")),))
REGIONS = Partitioning(None, (SegmentPartition("region", ("de", "nl")),))
ARRIVAL = Partitioning(TimePartition("day", "UTC", column="arrived"))


class Source:
    """A source with views and its position; `look` takes over what was observed."""

    def __init__(self, path, views, *, partitioning=UNPARTITIONED):
        self.asset = AssetSpec(
            "raw",
            "raw",
            StorageLocation(str(path), "raw"),
            FileLocation("raw.yml"),
            source=SourceSpec("delta"),
            partitioning=partitioning,
            views=views,
        )
        self.table_id, self.version, self.cursor, self.coverage = None, None, {}, NOTHING
        self.viewed = dict.fromkeys(views, NOTHING)
        self.notes = ()

    def look(self):
        last = LastLook(self.table_id, self.version, self.cursor, self.coverage, self.viewed)
        seen = DeltaObserver().observe(self.asset, last, now=datetime.now(UTC))
        self.notes = seen.notes if seen is not None else ()
        if seen is not None:
            self.table_id = seen.table_id or self.table_id
            self.version = self.version if seen.version is None else seen.version
            merged = {**self.cursor, **seen.cursor}
            self.cursor = {key: value for key, value in merged.items() if value is not None}
            self.coverage = (self.coverage | seen.changed) - seen.removed
            for uri, each in seen.views.items():
                self.viewed[uri] = (self.viewed[uri] | each.changed) - each.removed
        return seen


def rows(*some):
    """Rows of (day that it happened, region, day that it arrived)."""
    return pa.table(
        {
            "happened": pa.array([None if day is None else date(2025, 1, day) for day, _, _ in some], pa.date32()),
            "region": pa.array([region for _, region, _ in some], pa.string()),
            "arrived": pa.array([date(2025, 4, day) for _, _, day in some], pa.date32()),
        }
    )


def append(path, *some):
    write_deltalake(path, rows(*some), mode="append", partition_by=["arrived"])


def keys(partitioning, parts):
    return partitioning.labels(parts)


def test_what_arrives_tells_the_days_that_it_is_of(tmp_path):
    path = tmp_path / "raw"
    source = Source(path, {"days": DAYS}, partitioning=ARRIVAL)
    append(path, (1, "de", 1), (5, "nl", 1))
    seen = source.look()
    assert keys(ARRIVAL, seen.changed) == ["2025-04-01"]
    assert keys(DAYS, seen.views["days"].changed) == ["2025-01-01", "2025-01-05"]
    append(path, (3, "de", 2))
    seen = source.look()
    assert keys(ARRIVAL, seen.changed) == ["2025-04-02"]
    assert seen.views == {"days": ViewChanges(DAYS.parse("2025-01-03"))}
    assert source.look() is None


def test_rows_that_go_are_told_by_their_old_values(tmp_path):
    path = tmp_path / "raw"
    source = Source(path, {"days": DAYS})
    append(path, (1, "de", 1), (2, "nl", 1), (2, "de", 1))
    append(path, (3, "de", 2))
    source.look()
    DeltaTable(path).delete("happened = date '2025-01-02' AND region = 'nl' OR happened = date '2025-01-03'")
    seen = source.look()
    assert seen.whole
    assert seen.views == {"days": ViewChanges(DAYS.parse("2025-01-02"), DAYS.parse("2025-01-03"))}


def test_a_view_that_comes_later_begins_with_all_that_is_held(tmp_path):
    path = tmp_path / "raw"
    source = Source(path, {})
    append(path, (1, "de", 1), (None, "nl", 1))
    assert "views" not in source.look().cursor
    before = source.cursor
    source.asset, source.viewed = Source(path, {"days": DAYS}).asset, {"days": NOTHING}
    seen = source.look()
    assert (seen.whole, seen.version, seen.changed) == (False, None, NOTHING)
    assert seen.views == {"days": ViewChanges(DAYS.parse("2025-01-01"))}
    assert seen.notes == ("rows left out whose 'happened' is no day of the years 1000 to 8999: NULL",)
    assert source.look().notes == seen.notes
    source.asset = Source(path, {}).asset
    assert source.look().cursor == {"views": None}
    assert source.cursor == before


def test_a_view_asked_for_again_tells_what_went_meanwhile(tmp_path):
    path = tmp_path / "raw"
    source = Source(path, {"days": DAYS})
    append(path, (1, "de", 1))
    append(path, (2, "de", 1))
    source.look()
    asset, source.asset = source.asset, Source(path, {}).asset
    DeltaTable(path).delete("happened = date '2025-01-02'")
    source.look()
    source.asset = asset
    assert source.look().views == {"days": ViewChanges(DAYS.parse("2025-01-01"), DAYS.parse("2025-01-02"))}


def test_another_table_tells_all_anew(tmp_path):
    path = tmp_path / "raw"
    source = Source(path, {"days": DAYS})
    append(path, (1, "de", 1), (2, "de", 1))
    source.look()
    append(tmp_path / "other", (2, "de", 1), (3, "de", 1))
    source.asset = Source(tmp_path / "other", {"days": DAYS}).asset
    seen = source.look()
    assert seen.extra["reason"] == "the table was replaced by another"
    assert seen.views == {"days": ViewChanges(DAYS.parse("2025-01-02..2025-01-03"), DAYS.parse("2025-01-01"))}


def test_what_is_committed_while_it_looks_is_for_the_next_look(tmp_path, monkeypatch):
    path = tmp_path / "raw"
    source = Source(path, {"days": DAYS})
    append(path, (1, "de", 1))
    viewed = module._observe_view

    def meanwhile(*some, **more):
        append(path, (9, "de", 9))
        return viewed(*some, **more)

    source.look()
    append(path, (2, "de", 1))
    monkeypatch.setattr(module, "_observe_view", meanwhile)
    assert source.look().views == {"days": ViewChanges(DAYS.parse("2025-01-02"))}
    monkeypatch.setattr(module, "_observe_view", viewed)
    assert source.look().views == {"days": ViewChanges(DAYS.parse("2025-01-09"))}


def test_a_column_that_is_not_there_is_named(tmp_path):
    append(tmp_path / "raw", (1, "de", 1))
    source = Source(tmp_path / "raw", {"x": Partitioning(TimePartition("day", "UTC", column="happend"))})
    with pytest.raises(SourceError, match="happend"):
        source.look()


def test_the_journal_keeps_what_is_told_of_views():
    seen = {
        "days": ViewChanges(DAYS.parse("2025-01-01"), DAYS.parse("2025-01-03")),
        "all": ViewChanges(BOTH.parse("2025-01-01")),
    }
    numbered = NumberedEntry(ObservedEntry("raw", "raw", views=seen), 7, datetime(2025, 1, 1, tzinfo=UTC), "d")
    assert from_row(to_row(numbered)) == numbered


@histories(25)
@given(st.randoms(use_true_random=False))
def test_views_tell_what_a_source_of_such_partitions_does(tmp_path_factory, random: Random):
    path = tmp_path_factory.mktemp("views") / "raw"
    views = {"days": DAYS, "months": MONTHS, "both": BOTH, "regions": REGIONS}
    source = Source(path, views)
    others = {name: Source(path, {}, partitioning=each) for name, each in views.items()}
    held: list[tuple] = []
    for _ in range(random.randint(2, 7)):
        what = random.choice(["append", "append", "append", "delete", "optimize", "overwrite"]) if held else "append"
        more = [
            (random.choice([None, *range(1, 9)]), random.choice(["de", "nl", "us"]), random.randint(1, 3))
            for _ in range(random.randint(1, 4))
        ]
        if what == "append":
            append(path, *more)
            held += more
        elif what == "overwrite":
            write_deltalake(path, rows(*more), mode="overwrite")
            held = more
        elif what == "delete":
            day = random.randint(1, 8)
            DeltaTable(path).delete(f"happened = date '2025-01-0{day}'")
            held = [each for each in held if each[0] != day]
        else:
            DeltaTable(path).optimize.compact()
        if random.random() < 0.7:
            seen = source.look()
            for name, other in others.items():
                found = other.look()
                told = seen.views.get(name, ViewChanges()) if seen is not None else ViewChanges()
                expected = ViewChanges() if found is None else ViewChanges(found.changed, found.removed)
                assert told == expected, name
                assert source.viewed[name] == other.coverage
    source.look()
    days = {day for day, _, _ in held if day is not None}
    assert [*DAYS.keys(source.viewed["days"])] == [f"2025-01-{day:02}" for day in sorted(days)]

"""How much a run reads: the sizes of the files that hold what it is pinned to, or why that is unknown."""

import shutil
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets.core.journal.fold_specs import FoldSpec
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING, Partitioning, SegmentPartition
from sparkassets.core.run_costs import InletVolume
from sparkassets.core.runs import InletPin, TablePosition
from sparkassets.delta.log import DeltaLog
from sparkassets.sources.volumes import LogVolumeEstimator
from tests.sources.looks import DAYS, Source, write

SHOPS = Partitioning(DAYS, (SegmentPartition("shop", ("a", "b")),))


def day(number, shop="a", *, count=1):
    return pa.table({"day": [date(2025, 1, number)] * count, "shop": [shop] * count, "x": list(range(count))})


def size(path, *folders):
    """The bytes of the data files below these folders of a table."""
    found = [file for folder in folders for file in Path(path, folder).rglob("*.parquet")]
    return InletVolume(sum(file.stat().st_size for file in found), len(found))


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "table")


def read(source, keys=None, *, version=None, table_id=None, position=None):
    asset = source.asset
    parts = EVERYTHING if keys is None else asset.partitioning.parse(keys)
    known = AssetState(asset.name, FoldSpec(asset.uri), position=position or {})
    return LogVolumeEstimator().estimate_volume(asset, InletPin(asset.uri, 1, table_id, version, parts), known)


class TestATable:
    def test_is_read_as_far_as_the_partitions_lie(self, path):
        for number in range(1, 5):
            write_deltalake(path, day(number, count=10 * number), mode="append", partition_by=["day"])
        source = Source(path, kind="delta")
        assert read(source, "2025-01-02..2025-01-03", version=3) == size(path, "day=2025-01-02", "day=2025-01-03")
        assert read(source, version=3) == size(path, "")
        assert read(source, "2025-02-01", version=3) == InletVolume(0, 0)

    def test_is_read_at_the_pinned_version(self, path):
        write_deltalake(path, day(1), partition_by=["day"])
        before = size(path, "")
        write_deltalake(path, day(1, count=1000), mode="overwrite", partition_by=["day"])
        source = Source(path, kind="delta")
        assert read(source, version=0) == before
        assert read(source, version=1) != before

    def test_without_folders_goes_by_statistics(self, path):
        write_deltalake(path, day(1), mode="append")
        (first,) = Path(path).glob("*.parquet")
        write_deltalake(path, day(2, count=50), mode="append")
        assert read(Source(path, kind="delta"), "2025-01-01", version=1) == InletVolume(first.stat().st_size, 1)

    def test_of_segments_is_read_by_them(self, path):
        for shop in ("a", "b"):
            write_deltalake(path, day(1, shop, count=5), mode="append", partition_by=["day", "shop"])
        source = Source(path, kind="delta", partition=SHOPS)
        assert read(source, "2025-01-01,b", version=1) == size(path, "day=2025-01-01/shop=b")
        assert read(source, "2025-01-01", version=1) == size(path, "")

    def test_of_changes_is_read_what_tells_them(self, path):
        """Of a small commit on a large table its own files, so that a budget holds no such run back."""
        write_deltalake(path, day(1, count=1000), configuration={"delta.enableChangeDataFeed": "true"})
        write_deltalake(path, day(2), mode="append")
        DeltaTable(path).update(updates={"x": "7"}, predicate="day = '2025-01-01' AND x = 3")
        since = TablePosition(str(DeltaTable(path).metadata().id), 0)
        asset = Source(path, kind="delta").asset
        known = AssetState(asset.name, FoldSpec(asset.uri))

        def changed(version, since):
            pin = InletPin(asset.uri, 1, since.table_id, version, low=str(since))
            return LogVolumeEstimator().estimate_volume(asset, pin, known)

        (fed,) = Path(path, "_change_data").glob("*.parquet")
        (came,) = (file.path for file in DeltaLog(path).read_after(0)[0].files)
        assert changed(1, since) == InletVolume(Path(path, came).stat().st_size, 1)
        assert changed(2, since) == InletVolume(Path(path, came).stat().st_size + fed.stat().st_size, 2)
        fed.unlink()
        assert changed(2, since) == InletVolume(None, None, "files of version 2 are gone")
        assert changed(2, TablePosition(since.table_id, 2)) == InletVolume(0, 0)

    def test_that_was_never_written_has_no_rows(self, path):
        assert read(Source(path, kind="delta")) == InletVolume(0, 0)

    def test_that_is_gone_is_not_told(self, path):
        write_deltalake(path, day(1))
        shutil.rmtree(path)
        told = read(Source(path, kind="delta"), version=0)
        assert (told.bytes, told.files) == (None, None)
        assert told.unknown == f"there is no Delta table at '{path}'"

    def test_that_was_made_anew_is_not_told(self, path):
        write_deltalake(path, day(1))
        was = str(DeltaTable(path).metadata().id)
        shutil.rmtree(path)
        write_deltalake(path, day(1))
        told = read(Source(path, kind="delta"), version=0, table_id=was)
        assert (told.bytes, told.unknown) == (None, "the table was re-created since")

    def test_whose_version_left_the_log_is_not_told(self, path):
        for _ in range(3):
            write_deltalake(path, day(1), mode="append")
        DeltaTable(path).create_checkpoint()
        for version in (0, 1):
            Path(path, "_delta_log", f"{version:020d}.json").unlink()
        told = read(Source(path, kind="delta"), version=1)
        assert (told.bytes, told.unknown) == (None, "its log no longer has version 1")

    def test_whose_log_is_damaged_is_not_told(self, path):
        write_deltalake(path, day(1))
        Path(path, "_delta_log", f"{0:020d}.json").write_text("{")
        told = read(Source(path, kind="delta"), version=0)
        assert told.bytes is None
        assert told.unknown.startswith("version 0 of the table cannot be read without Spark: ")

    def test_is_opened_once_for_many_runs(self, path, monkeypatch):
        write_deltalake(path, day(1), partition_by=["day"])
        source, volumes = Source(path, kind="delta"), LogVolumeEstimator()
        known = AssetState("landed", FoldSpec("landed"))
        pins = [InletPin("landed", 1, None, 0, source.asset.partitioning.parse(f"2025-01-0{n}")) for n in (1, 2)]
        assert volumes.estimate_volume(source.asset, pins[0], known).files == 1
        shutil.rmtree(path)
        assert volumes.estimate_volume(source.asset, pins[1], known).files == 0
        assert volumes.estimate_volume(source.asset, pins[0], known).files == 1


class TestFiles:
    def test_are_those_of_the_partitions_that_were_seen(self, tmp_path):
        for number in (1, 2, 3):
            write(tmp_path, f"2025010{number}/a.csv", "a\n" * number)
        write(tmp_path, "20250103/b.csv", "a\n")
        write(tmp_path, "20250103/empty.csv", "")
        source = Source(f"{tmp_path}/{{day:%Y%m%d}}/*.csv")
        source.look()
        assert read(source, "2025-01-02..2025-01-03", position=source.cursor) == InletVolume(12, 3)
        write(tmp_path, "20250104/a.csv")
        assert read(source, position=source.cursor) == InletVolume(14, 4)

    def test_of_a_folder_that_is_gone_are_not_told(self, tmp_path):
        told = read(Source(f"{tmp_path}/landing/{{day:%Y%m%d}}/*.csv"), "2025-01-01")
        assert (told.bytes, told.unknown) == (None, f"'{tmp_path}/landing' does not exist")


def test_what_only_events_tell_of_is_not_read():
    assert read(Source("/nowhere", kind="events"), version=3) == InletVolume(0, 0)

"""A source whose path has fields stands for all the Delta tables that fit."""

import shutil

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from sparkassets.core.journal.fold_specs import FoldSpec
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING, Partitioning, SegmentPartition, TimePartition
from sparkassets.core.runs import InletPin
from sparkassets.errors import SourceError
from sparkassets.files import listing
from sparkassets.sources.volumes import LogVolumeEstimator
from tests.sources.looks import DAYS, Source

ANY = Partitioning(None, (SegmentPartition("region", (), is_open=True),))


def regions(*names):
    return Partitioning(None, (SegmentPartition("region", names),))


def add(folder, *values, mode="append"):
    write_deltalake(folder, pa.table({"x": pa.array(values, pa.int64())}), mode=mode)


@pytest.fixture
def lake(tmp_path):
    for region in ("de", "nl", "fr"):
        add(tmp_path / "lake" / f"raw_{region}", 1)
    add(tmp_path / "lake" / "orders", 1)
    return tmp_path / "lake"


@pytest.fixture
def source(lake):
    return Source(f"{lake}/raw_{{region}}", kind="tables", partition=ANY)


def test_each_table_is_a_segment(source):
    seen = source.look()
    assert source.keys(seen.changed) == ["de", "fr", "nl"]
    assert (seen.whole, seen.version, seen.extra) == (False, None, {"tables": 3})
    assert {key: {place: each["version"] for place, each in tables.items()} for key, tables in seen.cursor.items()} == {
        "de": {"raw_de": 0},
        "fr": {"raw_fr": 0},
        "nl": {"raw_nl": 0},
    }
    assert source.look() is None


def test_only_what_changed_is_told(source, lake):
    source.look()
    add(lake / "raw_nl", 2)
    add(lake / "raw_be", 1)
    shutil.rmtree(lake / "raw_fr")
    seen = source.look()
    assert source.keys(seen.changed) == ["be", "nl"]
    assert source.keys(seen.removed) == ["fr"]
    assert seen.extra == {"tables": 2}
    assert sorted(source.cursor) == ["be", "de", "nl"]
    assert source.look() is None


def test_a_table_that_is_made_anew_has_changed(source, lake):
    source.look()
    shutil.rmtree(lake / "raw_de")
    add(lake / "raw_de", 1)
    assert source.keys(source.look().changed) == ["de"]
    assert source.look() is None


def test_an_optimize_only_moves_the_position(source, lake):
    add(lake / "raw_de", 2)
    source.look()
    DeltaTable(lake / "raw_de").optimize.compact()
    seen = source.look()
    assert not seen.changed
    assert not seen.removed
    assert source.cursor["de"]["raw_de"]["version"] == 2
    assert source.look() is None


def test_a_delete_is_a_change(source, lake):
    source.look()
    DeltaTable(lake / "raw_fr").delete()
    assert source.keys(source.look().changed) == ["fr"]


def test_segments_that_are_not_listed_are_left_out_by_name(lake):
    source = Source(f"{lake}/raw_{{region}}", kind="tables", partition=regions("de", "nl"))
    seen = source.look()
    assert source.keys(seen.changed) == ["de", "nl"]
    assert source.notes == ("1 folder of no segment of 'region' left out: raw_fr",)
    assert seen.extra == {"tables": 2, "ignored": ["raw_fr"], "ignored_count": 1}
    assert source.look() is None
    assert source.notes == ("1 folder of no segment of 'region' left out: raw_fr",)


def test_a_segment_that_is_listed_again_is_told_anew(lake):
    source = Source(f"{lake}/raw_{{region}}", kind="tables", partition=regions("de", "nl"))
    source.look()
    both = source.asset
    source.asset = Source(both.storage.path, kind="tables", partition=regions("de")).asset
    seen = source.look()
    assert not seen.changed
    assert not seen.removed
    source.asset = both
    assert source.keys(source.look().changed) == ["nl"]


def test_a_folder_without_a_table_is_left_out(source, lake):
    (lake / "raw_it").mkdir()
    (lake / "raw_it" / "a.parquet").write_bytes(b"")
    assert source.keys(source.look().changed) == ["de", "fr", "nl"]
    assert source.notes == ("1 folder without a Delta table left out: raw_it",)


def test_a_table_that_lost_its_log_is_gone(source, lake):
    source.look()
    shutil.rmtree(lake / "raw_nl" / "_delta_log")
    assert source.keys(source.look().removed) == ["nl"]


def test_a_link_out_of_the_folder_is_left_out(source, lake, tmp_path):
    add(tmp_path / "secret", 1)
    (lake / "raw_es").symlink_to(tmp_path / "secret")
    assert source.keys(source.look().changed) == ["de", "fr", "nl"]
    assert source.notes == ("1 link out of the source's folder left out: raw_es",)


def test_fields_in_folders_and_in_time(tmp_path):
    for place in ("de/orders_20130105", "nl/orders_20130106", "nl/others_20130106", "nl/orders_2013"):
        add(tmp_path / place, 1)
    both = Partitioning(DAYS, (SegmentPartition("region", (), is_open=True),))
    source = Source(f"{tmp_path}/{{region}}/orders_{{day:%Y%m%d}}", kind="tables", partition=both)
    assert source.keys(source.look().changed) == ["2013-01-05,de", "2013-01-06,nl"]
    add(tmp_path / "nl" / "orders_20130106", 2)
    assert source.keys(source.look().changed) == ["2013-01-06,nl"]


def test_several_tables_of_one_partition(tmp_path):
    for day in ("20130105", "20130106", "20130201"):
        add(tmp_path / f"raw_{day}", 1)
    months = TimePartition("month", "UTC", column="day")
    source = Source(f"{tmp_path}/raw_{{day:%Y%m%d}}", kind="tables", partition=months)
    assert source.keys(source.look().changed) == ["2013-01", "2013-02"]
    shutil.rmtree(tmp_path / "raw_20130106")
    seen = source.look()
    assert (source.keys(seen.changed), source.keys(seen.removed)) == (["2013-01"], [])


def test_in_an_object_store(lake, tmp_path, monkeypatch):
    store = SubTreeFileSystem(str(tmp_path), LocalFileSystem())
    monkeypatch.setattr(listing, "open_store", lambda uri: (store, uri.removeprefix("s3://bucket/")))
    pattern = listing.PathPattern.parse("s3://bucket/lake/raw_{region}", ["region"])
    assert listing.list_folders(pattern, skipped=listing.SkippedFiles()) == ["raw_de", "raw_fr", "raw_nl"]
    missing = listing.PathPattern.parse("s3://bucket/other/raw_{region}", ["region"])
    assert listing.list_folders(missing, skipped=listing.SkippedFiles()) is None


def test_the_folder_of_the_tables_has_vanished(source, lake):
    source.look()
    shutil.rmtree(lake)
    with pytest.raises(SourceError, match="vanished"):
        source.look()


def test_a_table_that_cannot_be_read_is_named(source, lake):
    (lake / "raw_nl" / "_delta_log" / f"{0:020d}.json").write_text("{")
    with pytest.raises(SourceError, match="raw_nl"):
        source.look()


def test_how_much_is_read_of_the_pinned_tables(source, lake):
    source.look()
    add(lake / "raw_de", 2)
    known = AssetState("landed", FoldSpec("landed"), position=source.cursor)
    known_segments = regions("de", "nl")
    both = known_segments.parse("de") | known_segments.parse("nl")
    volumes = LogVolumeEstimator()
    assert volumes.estimate_volume(source.asset, InletPin("landed", 1, parts=both), known).files == 2
    assert volumes.estimate_volume(source.asset, InletPin("landed", 1, parts=EVERYTHING), known).files == 3

import os
import shutil
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from sparkassets.core.partitions import Partitioning, SegmentPartition, TimePartition
from sparkassets.core.patterns import LISTING, PathPattern, fingerprint
from sparkassets.errors import SourceError
from sparkassets.files import list_files, listing
from sparkassets.files.object_stores import open_store
from sparkassets.sources import files
from tests.depth import examples
from tests.sources.looks import DAYS, Source, write

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(params=["", "file://", "s3a://"], ids=["local", "uri", "store"])
def landing(request, tmp_path, monkeypatch):
    """The same folder, listed by the operating system and through an object store's interface."""
    root = tmp_path / "landing"
    root.mkdir()
    if request.param == "s3a://":
        store = SubTreeFileSystem(str(tmp_path), LocalFileSystem())
        monkeypatch.setattr(listing, "open_store", lambda uri: (store, uri.removeprefix("s3a://bucket/")))
        return "s3a://bucket/landing", root
    return request.param + str(root), root


def touch(path, *, age, now=NOW):
    at = (now - timedelta(seconds=age)).timestamp()
    os.utime(path, (at, at))


def names(path):
    """The files that are listed and match, by path."""
    pattern = PathPattern.parse(path)
    return sorted(name for name, _, _ in list_files(pattern) if pattern.match(name) is not None)


# --------------------------------------------------------------------------- what is new


def test_new_files_are_new_partitions(landing):
    uri, root = landing
    write(root, "20130105/a.csv")
    write(root, "20130105/b.csv")
    write(root, "20130107/a.csv")
    source = Source(uri + "/{day:%Y%m%d}/*.csv")
    seen = source.look()
    assert source.keys(seen.changed) == ["2013-01-05", "2013-01-07"]
    assert not seen.removed
    assert seen.whole is False
    assert (seen.table_id, seen.version) == (None, None)
    assert seen.extra == {"files": 3}


def test_a_look_at_the_same_files_ends_with_the_listing_in_whatever_order_the_journal_has_the_slots(
    tmp_path, monkeypatch
):
    for day in (5, 7, 6):
        write(tmp_path, f"2013010{day}.csv")
    source = Source(f"{tmp_path}/{{day:%Y%m%d}}.csv")
    source.look()
    monkeypatch.setattr(files, "_group", None)
    for cursor in (sorted(source.cursor.items()), sorted(source.cursor.items(), reverse=True)):
        source.cursor = dict(cursor)
        assert source.look() is None


def test_the_cursor_holds_a_fingerprint_by_the_start_of_the_slot(tmp_path):
    path = write(tmp_path, "20130105/a.csv")
    source = Source(f"{tmp_path}/{{day:%Y%m%d}}/*.csv")
    files = [("20130105/a.csv", path.stat().st_size, path.stat().st_mtime_ns)]
    assert source.look().cursor == {"1357344000": fingerprint(files), LISTING: source.cursor[LISTING]}


def test_nothing_new_is_none(landing):
    uri, root = landing
    write(root, "2013-01-05.csv")
    source = Source(uri + "/{day}.csv")
    source.look()
    assert source.look() is None


def test_a_look_that_finds_the_same_ends_with_the_listing(landing, monkeypatch):
    uri, root = landing
    write(root, "2013-01-05.csv")
    source = Source(uri + "/{day}.csv")
    source.look()
    monkeypatch.delattr(files, "_group")
    assert source.look() is None
    write(root, "2013-01-06.csv")
    with pytest.raises(NameError):
        source.look()


@pytest.mark.parametrize("held", [2, 100])
@pytest.mark.parametrize("seed", range(6))
def test_the_digest_of_a_look_hides_nothing(tmp_path, monkeypatch, seed, held):
    monkeypatch.setattr(files, "_MOST_FILES_IN_MEMORY", held)
    random, folder = Random(seed), tmp_path / "landing"  # noqa: S311 - the same in every run
    (tmp_path / "elsewhere.csv").write_text("1")
    folder.mkdir()
    sources = [Source(f"{folder}/{{day}}.csv", settle_seconds=seed % 2 * 60) for _ in range(2)]
    now = datetime.now(UTC)
    for _ in range(30):
        path = folder / f"2013-01-{random.randint(1, 5):02}.csv"
        match random.choice(["write", "write", "empty", "remove", "misname", "link", "wait", "nothing"]):
            case "write":
                path.unlink(missing_ok=True)
                path.write_text("x" * random.randint(1, 3))
                os.utime(path, ns=(0, int((now.timestamp() - random.choice([0, 120])) * 10**9)))
            case "empty":
                path.unlink(missing_ok=True)
                path.touch()
            case "remove":
                path.unlink(missing_ok=True)
            case "misname":
                (folder / "monday.csv").write_text("1")
            case "link":
                path.unlink(missing_ok=True)
                path.symlink_to(tmp_path / "elsewhere.csv")
            case "wait":
                now += timedelta(seconds=90)
                (folder / "monday.csv").unlink(missing_ok=True)
        found, whole = (source.look(now=now) for source in sources)
        assert (found is None) == (whole is None)
        assert found is None or (found.changed, found.removed, found.extra) == (
            whole.changed,
            whole.removed,
            whole.extra,
        )
        assert sources[0].notes == sources[1].notes
        sources[1].cursor.pop(LISTING, None)  # so that it looks at everything
        assert {key: seen for key, seen in sources[0].cursor.items() if key != LISTING} == sources[1].cursor


def test_only_the_changed_partition_is_told(landing):
    uri, root = landing
    for day in range(1, 10):
        write(root, f"2013-01-0{day}.csv")
    source = Source(uri + "/{day}.csv")
    source.look()
    write(root, "2013-01-05.csv", "corrected\n")
    assert source.keys(source.look().changed) == ["2013-01-05"]
    assert source.look() is None


def test_a_file_of_the_same_size_but_a_later_time_is_changed(tmp_path):
    path = write(tmp_path, "2013-01-05.csv")
    source = Source(f"{tmp_path}/{{day}}.csv")
    source.look()
    touch(path, age=5)
    assert source.keys(source.look().changed) == ["2013-01-05"]


def test_one_file_less_is_a_change_and_no_file_a_removal(landing):
    uri, root = landing
    first, second = write(root, "20130105/a.csv"), write(root, "20130105/b.csv")
    write(root, "20130106/a.csv")
    source = Source(uri + "/{day:%Y%m%d}/*.csv")
    source.look()
    first.unlink()
    assert source.keys(source.look().changed) == ["2013-01-05"]
    second.unlink()
    seen = source.look()
    assert not seen.changed
    assert source.keys(seen.removed) == ["2013-01-05"]
    assert seen.cursor == {"1357344000": None, LISTING: source.cursor[LISTING]}
    assert source.look() is None


def test_an_empty_folder_where_files_were_removes_all_of_them(landing):
    uri, root = landing
    write(root, "2013-01-05.csv")
    source = Source(uri + "/{day}.csv")
    source.look()
    shutil.rmtree(root)
    root.mkdir()
    assert source.keys(source.look().removed) == ["2013-01-05"]


def test_an_empty_file_is_not_there_and_is_named_at_every_look(landing):
    uri, root = landing
    write(root, "2013-01-05.csv", "")
    write(root, "2013-01-06.csv", "")
    source = Source(uri + "/{day}.csv")
    assert source.look() is None
    assert source.notes == ("2 empty files without rows left out: 2013-01-05.csv, 2013-01-06.csv",)
    write(root, "2013-01-05.csv")
    assert source.keys(source.look().changed) == ["2013-01-05"]
    assert source.notes == ("1 empty file without rows left out: 2013-01-06.csv",)
    write(root, "2013-01-05.csv", "")
    assert source.keys(source.look().removed) == ["2013-01-05"]


def test_an_empty_file_that_is_still_written_removes_nothing(tmp_path):
    path = write(tmp_path, "2013-01-05.csv")
    touch(path, age=3600)
    source = Source(f"{tmp_path}/{{day}}.csv", settle_seconds=900)
    source.look(now=NOW)
    path.write_text("")
    touch(path, age=10)
    assert source.look(now=NOW) is None
    assert source.notes == ("1 day not settled yet",)


def test_an_empty_parquet_file_is_an_error(tmp_path):
    write(tmp_path, "2013-01-05.parquet", "")
    touch(tmp_path / "2013-01-05.parquet", age=10)
    assert message(Source(f"{tmp_path}/{{day}}.parquet", kind="parquet")) == (
        "the file '2013-01-05.parquet' of the source 'landed' is empty (0 bytes) and not a parquet file\n  hint: "
        "write it again or remove it; 'settle' skips files that are still being written"
    )
    assert Source(f"{tmp_path}/{{day}}.parquet", kind="parquet", settle_seconds=900).look(now=NOW) is None


def test_a_name_that_is_no_text_is_left_out_and_named_where_it_matches(tmp_path):
    write(tmp_path, os.fsdecode(b"2013-01-05 caf\xe9.csv"))
    write(tmp_path, os.fsdecode(b"other \xe9.txt"))
    write(tmp_path, "2013-01-06 b.csv")
    source = Source(f"{tmp_path}/{{day}} *.csv")
    found = source.look()
    assert source.keys(found.changed) == ["2013-01-06"]
    assert found.notes == (
        "1 file whose name is not UTF-8 left out, which Spark cannot read: 2013-01-05 caf\\udce9.csv",
    )
    assert found.extra["ignored"] == ["2013-01-05 caf\\udce9.csv"]


def test_a_link_out_of_the_folder_is_left_out_and_named(tmp_path):
    write(tmp_path, "secret/2013-01-05.csv")
    write(tmp_path, "landing/x/2013-01-06.csv")
    (tmp_path / "landing/2013-01-07.csv").symlink_to(tmp_path / "secret/2013-01-05.csv")
    (tmp_path / "landing/2013-01-08.csv").symlink_to("x/2013-01-06.csv")
    (tmp_path / "landing/up").symlink_to("../secret")
    (tmp_path / "here").symlink_to("landing")
    for root in ("landing", "here"):  # which may be a link itself
        source = Source(f"{tmp_path}/{root}/**/{{day}}.csv")
        found = source.look()
        assert source.keys(found.changed) == ["2013-01-06", "2013-01-08"]
        assert found.notes == ("2 links out of the source's folder left out: 2013-01-07.csv, up",)


def test_a_file_of_the_day_after_tomorrow_never_settles(tmp_path):
    touch(write(tmp_path, "2013-01-05.csv"), age=-3600)
    source = Source(f"{tmp_path}/{{day}}.csv", settle_seconds=900)
    assert source.look(now=NOW) is None  # its clock is an hour ahead
    touch(tmp_path / "2013-01-05.csv", age=-2 * 86400)
    with pytest.raises(SourceError) as error:
        source.look(now=NOW)
    assert str(error.value) == (
        "the file '2013-01-05.csv' of the source 'landed' never settles: its modification time is in the future\n  "
        "hint: touch the file, and correct the clock of its writer"
    )


def test_files_of_finer_names_belong_to_their_partition(tmp_path):
    write(tmp_path, "20130105.csv")
    write(tmp_path, "20130131.csv")
    source = Source(f"{tmp_path}/{{month:%Y%m%d}}.csv", partition=TimePartition("month", "UTC"))
    seen = source.look()
    assert source.keys(seen.changed) == ["2013-01"]
    assert seen.extra == {"files": 2}


def test_a_repeated_local_hour_comes_and_goes_as_both(tmp_path):
    path = write(tmp_path, "2024110301.csv")
    source = Source(f"{tmp_path}/{{hour:%Y%m%d%H}}.csv", partition=TimePartition("hour", "America/New_York"))
    both = ["2024-11-03T01-04:00", "2024-11-03T01-05:00"]
    assert source.keys(source.look().changed) == both
    path.unlink()
    assert source.keys(source.look().removed) == both


def test_another_grain_takes_nothing_away_that_is_still_there(tmp_path):
    write(tmp_path, "20130105.csv")
    source = Source(f"{tmp_path}/{{day:%Y%m%d}}.csv")
    source.look()
    source.asset = Source(f"{tmp_path}/{{day:%Y%m%d}}.csv", partition=TimePartition("month", "UTC")).asset
    seen = source.look()
    assert Partitioning(TimePartition("month", "UTC")).labels(seen.changed) == ["2013-01"]
    assert not seen.removed
    assert set(source.cursor) == {"1356998400", LISTING}


# --------------------------------------------------------------------------- without partitions


@pytest.mark.parametrize("path", ["", "/*.csv", "/**/*.csv"])
def test_a_source_without_partitions_changes_as_a_whole(landing, path):
    uri, root = landing
    write(root, "a.csv")
    source = Source(uri + path, partition=None)
    seen = source.look()
    assert seen.whole is True
    assert not seen.changed
    assert list(seen.cursor) == ["", LISTING]
    assert source.look() is None
    write(root, "b.csv")
    assert source.look().whole is True


def test_one_file_is_a_source(landing):
    uri, root = landing
    write(root, "planes.csv")
    source = Source(uri + "/planes.csv", partition=None)
    assert source.look().extra == {"files": 1}
    assert source.look() is None
    write(root, "planes.csv", "other\n")
    assert source.look().whole is True


def test_a_folder_is_read_as_spark_reads_it(landing):
    uri, root = landing
    write(root, "country=nl/part-0.csv")
    write(root, "part-0.csv")
    write(root, "archive/part-0.csv")
    assert sorted(path for path, _, _ in list_files(PathPattern.parse(uri))) == ["country=nl/part-0.csv", "part-0.csv"]


# --------------------------------------------------------------------------- files to leave alone


def test_hidden_and_temporary_files_are_skipped(landing):
    uri, root = landing
    for name in (
        "_SUCCESS",
        ".2013-01-05.csv.crc",
        "2013-01-06.csv._COPYING_",
        "_temporary/2013-01-07.csv",
        ".x/y.csv",
    ):
        write(root, name)
    assert list_files(PathPattern.parse(uri + "/**/*")) == []
    assert Source(uri + "/**/{day}.csv").look() is None


def test_a_link_to_nowhere_is_no_file(tmp_path):
    (tmp_path / "2013-01-05.csv").symlink_to(tmp_path / "gone")
    assert Source(f"{tmp_path}/{{day}}.csv").look() is None


def test_links_to_folders_are_followed_but_not_in_circles(tmp_path):
    root = tmp_path / "landing"
    write(root, "elsewhere/a.csv")
    (root / "20130105").symlink_to(root / "elsewhere")
    (root / "20130106").symlink_to(root)
    assert names(f"{root}/**/*.csv") == ["elsewhere/a.csv"]
    source = Source(f"{root}/{{day:%Y%m%d}}/*.csv")
    assert source.keys(source.look().changed) == ["2013-01-05"]


def test_below_two_stars_a_folder_is_entered_once_by_its_own_name(tmp_path):
    root = tmp_path / "landing"
    write(root, "2013-01-05/x/a.csv")
    write(root, ".partner/b.csv")
    (root / "1-latest").symlink_to("2013-01-05")
    (root / "2013-01-05" / "up").symlink_to("..")
    (root / "q").symlink_to(".partner")
    (root / "p").symlink_to(".partner")
    (root / "self").symlink_to("self")
    assert names(f"{root}/**/*.csv") == ["2013-01-05/x/a.csv", "p/b.csv"]


def test_each_folder_that_the_path_names_is_entered_by_whatever_links_lead_to_it(tmp_path):
    write(tmp_path, "elsewhere/x/a.csv")
    for day in ("20130105", "20130106"):
        (tmp_path / day).symlink_to("elsewhere")
    assert names(f"{tmp_path}/{{day:%Y%m%d}}/**/*.csv") == ["20130105/x/a.csv", "20130106/x/a.csv"]


def test_a_folder_without_a_pattern_is_entered_once_too(tmp_path):
    write(tmp_path, "country=nl/a.csv")
    (tmp_path / "country=nl" / "again=1").symlink_to("..")
    assert names(str(tmp_path)) == ["country=nl/a.csv"]


def test_what_is_no_regular_file_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "2013-01-05.csv")
    assert names(f"{tmp_path}/{{day}}.csv") == []


def test_a_folder_that_cannot_be_listed_is_named(tmp_path, monkeypatch):
    write(tmp_path, "20130105/a.csv")
    locked = f"{tmp_path}/20130105/"
    real = os.scandir

    def scandir(folder):
        if folder == locked:
            raise PermissionError(13, "Permission denied", folder)
        return real(folder)

    monkeypatch.setattr(listing.os, "scandir", scandir)  # root may list everything
    with pytest.raises(SourceError, match=f"^cannot list '{locked}': Permission denied$"):
        Source(f"{tmp_path}/{{day:%Y%m%d}}/*.csv").look()


def test_a_folder_that_goes_while_it_is_listed_has_no_files(tmp_path, monkeypatch):
    write(tmp_path, "20130105/a.csv")
    write(tmp_path, "20130106/a.csv")
    real = os.scandir

    def scandir(folder):
        if str(folder).endswith("20130105/"):
            shutil.rmtree(folder)
        return real(folder)

    monkeypatch.setattr(listing.os, "scandir", scandir)
    assert names(f"{tmp_path}/{{day:%Y%m%d}}/*.csv") == ["20130106/a.csv"]


@pytest.mark.parametrize(
    "name", ["a b", "100%", "a#b?c", "[x]", "{y}", "Ä", "A\u0308", "a\nb", "a'b\"c", "a\\b", "a+b&c=d"]
)
def test_any_character_in_a_name_stands_for_itself(landing, name):
    uri, root = landing
    write(root, f"{name}/2013-01-05 {name}.csv")
    source = Source(uri + "/*/{day} *.csv")
    assert source.keys(source.look().changed) == ["2013-01-05"]


def test_misnamed_files_are_named_and_skipped(landing):
    uri, root = landing
    write(root, "20130105.csv")
    for name in ("20130230.csv", "backup.csv", *(f"copy{n}.csv" for n in range(5)), "notes.txt"):
        write(root, name)
    source = Source(uri + "/{day:%Y%m%d}.csv")
    seen = source.look()
    assert source.keys(seen.changed) == ["2013-01-05"]
    assert seen.extra == {
        "files": 1,
        "ignored": ["20130230.csv", "backup.csv", "copy0.csv", "copy1.csv", "copy2.csv"],
        "ignored_count": 7,
    }
    assert source.look() is None
    named = "20130230.csv, backup.csv, copy0.csv, copy1.csv, copy2.csv and 2 more"
    assert source.notes == (f"7 files whose name has no day left out: {named}",)


@pytest.mark.parametrize(
    ("by", "field", "names"),
    [
        ("day", "{day}", ("9999-12-31", "0001-01-01", "2013-01-05")),
        ("day", "{day:%Y%m%d}", ("99991231", "00010101", "20130105")),
        ("hour", "{day:%Y%m%d%H}", ("9999123123", "0001010100", "2013010500")),
        ("hour", "{day}", ("9999-12-31T23", "0001-01-01T00", "2013-01-05T00")),
        ("week", "{day:%G%V}", ("999952", "000101", "201301")),
        ("year", "{day:%Y}", ("9999", "0001", "2013")),
    ],
)
def test_files_of_years_that_cannot_be_planned_are_told_at_every_look(tmp_path, by, field, names):
    for name in names:
        write(tmp_path, f"{name}.csv")
    source = Source(f"{tmp_path}/{field}.csv", partition=TimePartition(by, "UTC", column="day"))
    assert len(source.keys(source.look().changed)) == 1
    told = f"2 files of no {by} of the years 1000 to 8999 left out: {names[1]}.csv, {names[0]}.csv"
    assert source.notes == (told,)
    assert source.look() is None
    assert source.notes == (told,)


def test_a_misnamed_file_is_named_although_its_name_is_no_text(tmp_path):
    name = os.fsdecode(b"caf\xe9.csv")
    write(tmp_path, name)
    write(tmp_path, "20130105.csv")
    assert Source(f"{tmp_path}/{{day:%Y%m%d}}.csv").look().extra["ignored"] == ["caf\\udce9.csv"]


def test_what_is_still_written_is_left_alone(landing):
    uri, root = landing
    touch(write(root, "20130105/a.csv"), age=901)
    touch(write(root, "20130106/a.csv"), age=901)
    young = write(root, "20130106/b.csv")
    touch(young, age=899)
    source = Source(uri + "/{day:%Y%m%d}/*.csv", settle_seconds=900)
    seen = source.look(now=NOW)
    assert source.keys(seen.changed) == ["2013-01-05"]
    assert seen.extra == {"files": 1, "unsettled": 1}
    assert source.look(now=NOW) is None
    assert source.keys(source.look(now=NOW + timedelta(seconds=1)).changed) == ["2013-01-06"]


def test_a_settled_partition_keeps_what_was_seen_while_it_changes_again(tmp_path):
    path = write(tmp_path, "2013-01-05.csv")
    touch(path, age=3600)
    source = Source(f"{tmp_path}/{{day}}.csv", settle_seconds=900)
    source.look(now=NOW)
    before = dict(source.cursor)
    path.write_text("half of it")
    touch(path, age=10)
    assert source.look(now=NOW) is None
    assert source.cursor == before
    assert source.keys(source.look(now=NOW + timedelta(hours=1)).changed) == ["2013-01-05"]


def test_without_settle_a_clock_that_runs_ahead_hides_nothing(tmp_path):
    touch(write(tmp_path, "2013-01-05.csv"), age=-3600)
    assert Source(f"{tmp_path}/{{day}}.csv").look(now=NOW) is not None


# --------------------------------------------------------------------------- trouble


def message(source):
    with pytest.raises(SourceError) as error:
        source.look()
    return str(error.value)


def test_a_folder_that_is_not_there_is_an_error_with_the_nearest_name(tmp_path):
    (tmp_path / "landing").mkdir()
    assert message(Source(f"{tmp_path}/lnading/{{day}}.csv")) == (
        f"the source 'landed' has no folder '{tmp_path}/lnading'\n  hint: did you mean '{tmp_path}/landing'? if "
        "not, create the folder: the source then waits for its data"
    )
    assert message(Source(f"{tmp_path}/inbox/deep/{{day}}.csv")) == (
        f"the source 'landed' has no folder '{tmp_path}/inbox/deep'\n  hint: create the folder: the source then "
        "waits for its data"
    )
    assert Source(f"{tmp_path}/landing/{{day}}.csv").look() is None


def test_a_name_of_other_characters_that_look_alike_is_told(tmp_path):
    (tmp_path / "a\u0308").mkdir()
    assert message(Source(f"{tmp_path}/\u00e4/{{day}}.csv")).endswith(
        f"'{tmp_path}' has the same name in another Unicode form (NFC or NFD); rename one of the two"
    )


def test_a_file_may_come_into_its_folder_and_files_into_a_store(tmp_path, monkeypatch):
    source = Source(f"{tmp_path}/planes.csv", partition=None)
    assert source.look() is None
    assert source.notes == (f"the file '{tmp_path}/planes.csv' does not exist yet",)
    monkeypatch.setattr(
        listing, "open_store", lambda uri: (SubTreeFileSystem(str(tmp_path), LocalFileSystem()), "later")
    )
    source = Source("s3a://bucket/later/{day}.csv")
    assert source.look() is None
    assert source.notes == ("'s3a://bucket/later' contains no files yet",)


def test_a_file_whose_folder_is_not_there_and_one_that_vanished(tmp_path):
    source = Source(f"{tmp_path}/lists/planes.csv", partition=None)
    assert message(source) == (
        f"the source 'landed' has no folder '{tmp_path}/lists'\n  hint: create the folder: the source then "
        "waits for its data"
    )
    write(str(tmp_path), "lists/planes.csv")
    source.look()
    (tmp_path / "lists/planes.csv").unlink()
    assert message(source) == (
        f"the source 'landed' vanished: '{tmp_path}/lists/planes.csv' is no longer there\n  hint: restore it; if "
        "its data is gone for good, put a file without rows in its place"
    )


def test_a_folder_that_vanished_is_an_error(landing):
    uri, root = landing
    write(root, "2013-01-05.csv")
    source = Source(uri + "/{day}.csv")
    source.look()
    shutil.rmtree(root)
    with pytest.raises(SourceError) as error:
        source.look()
    assert str(error.value) == (
        f"the source 'landed' vanished: '{uri}' is no longer there\n  hint: restore it; if its data is gone for "
        "good, put an empty folder in its place"
    )


def test_a_file_in_the_place_of_the_folder_is_an_error(landing):
    uri, root = landing
    write(root, "file")
    with pytest.raises(SourceError) as error:
        Source(uri + "/file/{day}.csv").look()
    assert str(error.value) == f"'{uri}/file' is a file; the path '{uri}/file/{{day}}.csv' needs a folder there"


def test_a_store_that_is_not_known_is_an_error():
    with pytest.raises(SourceError) as error:
        Source("ftp://host/landing/{day}.csv").look()
    assert str(error.value) == (
        "cannot read 'ftp://host/landing': unsupported scheme 'ftp://'\n  hint: supported are local paths, "
        "file://, s3:// and s3a://, gs://, abfss:// and az://, hdfs://"
    )


@pytest.mark.parametrize(
    ("uri", "store", "path"),
    [
        ("s3a://bucket/my files/100%", "s3", "bucket/my files/100%"),
        ("s3://bucket/landing", "s3", "bucket/landing"),
        ("abfss://container@account.dfs.core.windows.net/landing", "abfs", "container/landing"),
        ("az://container/100%", "abfs", "container/100%"),
        ("abfs://container@account.dfs.core.chinacloudapi.cn/", "abfs", "container"),
        ("gs://bucket/landing", "gcs", "bucket/landing"),
    ],
)
def test_hadoops_names_of_a_store_are_known(monkeypatch, uri, store, path):
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://localhost:1")  # else the bucket is asked for its region
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    opened, found = open_store(uri)
    assert (opened.type_name, found) == (store, path)


def test_a_container_of_no_account_is_told_how_to_name_it(monkeypatch):
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    with pytest.raises(SourceError) as error:
        open_store("az://lake/landing")
    assert str(error.value) == (
        "cannot read 'az://lake/landing': the account of the container is unknown\n  hint: write "
        "abfss://lake@<account>.dfs.core.windows.net/…, or set AZURE_STORAGE_ACCOUNT_NAME"
    )


def test_spaces_and_percent_signs_in_a_folder_are_just_characters(tmp_path):
    for prefix in ("", "file://"):
        write(tmp_path, "my files/100%/2013-01-05.csv")
        assert Source(f"{prefix}{tmp_path}/my files/100%/{{day}}.csv").look() is not None


# --------------------------------------------------------------------------- any sequence of changes

NAMES = st.tuples(st.integers(1, 4), st.sampled_from(["de", "nl", "zz"]), st.sampled_from("ab"))
STEPS = st.lists(st.one_of(st.tuples(st.just("write"), NAMES), st.tuples(st.just("delete"), NAMES)), max_size=6)
REGIONS = SegmentPartition("region", ("de", "nl"))
SHAPES = {
    "day": ("{day:%Y%m%d}/*.csv", Partitioning(DAYS)),
    "region": ("region={region}/**/*.csv", Partitioning(None, (REGIONS,))),
    "region and day": ("{region}/{day}-*.csv", Partitioning(DAYS, (REGIONS,), 1)),
    "day and region": ("{day:%Y/%m/%d}/*_{region}.csv", Partitioning(DAYS, (REGIONS,))),
}
FILES = {
    "day": "2013010{day}/{region}{name}.csv",
    "region": "region={region}/{day}/{name}.csv",
    "region and day": "{region}/2013-01-0{day}-{name}.csv",
    "day and region": "2013/01/0{day}/{name}_{region}.csv",
}
KEYS = {
    "day": "2013-01-0{day}",
    "region": "{region}",
    "region and day": "{region},2013-01-0{day}",
    "day and region": "2013-01-0{day},{region}",
}


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(SHAPES)), st.lists(STEPS, max_size=5))
def test_the_observations_add_up_to_what_is_there(tmp_path, shape, rounds):
    root = tmp_path / "landing"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    text, partitioning = SHAPES[shape]
    source, clock, before, there = Source(f"{root}/{text}", partition=partitioning), 0, {}, {}
    for steps in rounds:
        for verb, (day, region, name) in steps:
            path = FILES[shape].format(day=day, region=region, name=name)
            if verb == "write":
                clock += 1
                os.utime(write(root, path), (clock, clock))
                there[path] = KEYS[shape].format(day=day, region=region), clock
            else:
                (root / path).unlink(missing_ok=True)
                there.pop(path, None)
        after = {}
        for path, (key, changed) in there.items():
            after.setdefault(key, set()).add((path, changed))
        left_out = [path for path, (key, _) in there.items() if "zz" in key]
        after = {key: files for key, files in after.items() if "zz" not in key}
        seen = source.look()
        changed = source.keys(seen.changed) if seen else []
        removed = source.keys(seen.removed) if seen else []
        assert sorted(changed) == [key for key in sorted(after) if after[key] != before.get(key)]
        assert sorted(removed) == [key for key in sorted(before) if key not in after]
        assert sorted(source.keys(source.coverage)) == sorted(after)
        assert len(source.notes) == bool(left_out)
        before = after


def test_files_of_other_segments_are_named_and_skipped(landing):
    uri, root = landing
    for name in ("region=de/20130105/a.csv", "region=be/20130105/a.csv", "region=de/9999/a.csv"):
        write(root, name)
    write(root, "region=__HIVE_DEFAULT_PARTITION__/20130105/a.csv")
    source = Source(uri + "/region={region}/{day:%Y%m%d}/*.csv", partition=Partitioning(DAYS, (REGIONS,)))
    seen = source.look()
    assert source.keys(seen.changed) == ["2013-01-05,de"]
    assert seen.extra["ignored_count"] == 3
    unnamed, others = source.notes
    assert unnamed == "1 file whose name has no day left out: region=de/9999/a.csv"
    assert others == (
        "2 files of no segment of 'region' left out: region=__HIVE_DEFAULT_PARTITION__/20130105/a.csv,"
        " region=be/20130105/a.csv"
    )
    assert source.look() is None


def test_segments_that_come_to_be_known_are_news_of_theirs_alone(landing):
    uri, root = landing
    for name in ("de/20130105.csv", "be/20130105.csv"):
        write(root, name)
    path = uri + "/{region}/{day:%Y%m%d}.csv"
    source = Source(path, partition=Partitioning(DAYS, (REGIONS,)))
    source.look()
    more = Partitioning(DAYS, (SegmentPartition("region", ("be", "de", "nl")),))
    source.asset = Source(path, partition=more).asset
    seen = source.look()
    assert (source.keys(seen.changed), source.keys(seen.removed)) == (["2013-01-05,be"], [])
    assert source.look() is None


@pytest.mark.parametrize("looked", [True, False])
def test_segments_that_are_listed_again_tell_what_happened_meanwhile(landing, looked):
    uri, root = landing
    for name in ("de/20130105.csv", "nl/20130105.csv", "nl/20130106.csv", "nl/20130107.csv"):
        write(root, name)
    path = uri + "/{region}/{day:%Y%m%d}.csv"
    source = Source(path, partition=Partitioning(DAYS, (REGIONS,)))
    both = source.asset
    source.look()
    source.asset = Source(path, partition=Partitioning(DAYS, (SegmentPartition("region", ("de",)),))).asset
    seen = source.look()
    assert (source.keys(seen.changed), source.keys(seen.removed)) == ([], [])
    (root / "nl/20130105.csv").unlink()
    write(root, "nl/20130106.csv", "a,b\n1,2\n")
    write(root, "nl/20130108.csv")
    if looked:
        assert source.look() is None
    source.asset = both
    seen = source.look()
    assert source.keys(seen.changed) == ["2013-01-06,nl", "2013-01-07,nl", "2013-01-08,nl"]
    assert source.keys(seen.removed) == ["2013-01-05,nl"]
    assert source.look() is None


def test_other_dimensions_are_other_partitions(landing):
    uri, root = landing
    write(root, "de/20130105.csv")
    source = Source(uri + "/*/{day:%Y%m%d}.csv", partition=Partitioning(DAYS))
    source.look()
    source.asset = Source(uri + "/{region}/*.csv", partition=Partitioning(None, (REGIONS,))).asset
    seen = source.look()
    assert source.keys(seen.changed) == ["de"]
    assert not seen.removed

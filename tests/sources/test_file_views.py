"""Views of a source of files: what new, changed and lost files held and hold, against a plain look at every row."""

import gzip
import json
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from sparkassets.core.journal.codec import decode, encode, from_row, to_row
from sparkassets.core.journal.entries import NumberedEntry, ObservedEntry
from sparkassets.core.journal.fold_specs import FoldSpec
from sparkassets.core.journal.state import AssetState, State
from sparkassets.core.partitions import (
    EVERYTHING,
    NOTHING,
    UNPARTITIONED,
    Partitioning,
    SegmentPartition,
    TimePartition,
)
from sparkassets.core.patterns import path_of_key
from sparkassets.core.run_costs import InletVolume
from sparkassets.core.runs import InletPin
from sparkassets.core.spec.model import AssetSpec, InletSpec, SourceSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.errors import FileLocation, SourceError
from sparkassets.ports import LastLook
from sparkassets.runtime.file_pins import find_pinned_files
from sparkassets.sources.files import FileObserver
from sparkassets.sources.volumes import LogVolumeEstimator
from tests.depth import histories
from tests.sources.texts import PlainTexts

DAYS = Partitioning(TimePartition("day", "UTC", column="happened"))
BERLIN = Partitioning(TimePartition("month", "Europe/Berlin", column="at"))
REGIONS = Partitioning(None, (SegmentPartition("region", ("de", "nl")),))
BY_SHOP = Partitioning(TimePartition("day", "UTC", column="happened"), (SegmentPartition("shop", ("a", "b")),))
ARRIVAL = Partitioning(TimePartition("day", "UTC", column="arrived"))
ARRIVAL_BY_SHOP = Partitioning(ARRIVAL.time, BY_SHOP.segments)
COLUMNS = {"happened": "date", "at": "timestamp", "region": "string", "n": "bigint"}
VIEWS = {"days": DAYS, "months": BERLIN, "regions": REGIONS}
PATHS = {
    UNPARTITIONED: "*.{kind}",
    ARRIVAL: "{arrived}/*.{kind}",
    ARRIVAL_BY_SHOP: "{shop}/{arrived}/*.{kind}",
}


class Source:
    """A source of files and what is known of it; `look` takes over what was observed, by way of the journal."""

    def __init__(self, root, *, kind="csv", layout=UNPARTITIONED, views=VIEWS, options=None, settle=0):
        path = f"{root}/{PATHS[layout].replace('{kind}', kind + '*')}"
        self.asset = AssetSpec(
            "raw",
            "raw",
            StorageLocation(path, "raw"),
            FileLocation("raw.yml"),
            source=SourceSpec(kind, options or {}, settle),
            partitioning=layout,
            columns=COLUMNS,
            views=views,
        )
        self.cursor, self.coverage, self.texts = {}, NOTHING, PlainTexts()
        self.viewed = dict.fromkeys(views, NOTHING)

    def look(self, now=None):
        viewed = {uri: self.viewed.get(uri, NOTHING) for uri in self.asset.views}
        last = LastLook(cursor=self.cursor, coverage=self.coverage, view_coverage=viewed)
        seen = FileObserver(self.texts).observe(self.asset, last, now=now or datetime.now(UTC))
        if seen is not None:
            entry = ObservedEntry("raw", "raw", cursor=seen.cursor, views=seen.views)
            entry = from_row(to_row(NumberedEntry(entry, 1, datetime(2025, 1, 1, tzinfo=UTC), "d"))).entry
            merged = {**self.cursor, **entry.cursor}
            self.cursor = {key: value for key, value in merged.items() if value is not None}
            self.coverage = (self.coverage | seen.changed) - seen.removed
            for uri, each in entry.views.items():
                self.viewed[uri] = (self.viewed.get(uri, NOTHING) | each.changed) - each.removed
        return seen

    def news(self, uri="days"):
        """The keys of what changed and of what is gone."""
        seen = self.look()
        if seen is None or uri not in seen.views:
            return [], []
        view, told = self.asset.views[uri], seen.views[uri]
        return view.labels(told.changed), view.labels(told.removed)


def row(day, region="de"):
    """A row that happened on that day of January, at noon."""
    if day is None:
        return {"happened": None, "at": None, "region": region, "n": 1}
    when = datetime(2025, 1, 1, 12, tzinfo=UTC) + timedelta(days=day - 1)
    return {"happened": when.date(), "at": when, "region": region, "n": day}


def write(file, rows, *, seconds=None):
    """Writes the rows in the way that the file's name says."""
    file.parent.mkdir(parents=True, exist_ok=True)
    kind = file.name.split(".")[1]
    if kind == "parquet":
        schema = pa.schema(
            [("happened", pa.date32()), ("at", pa.timestamp("us", "UTC")), ("region", pa.string()), ("n", pa.int64())]
        )
        parquet.write_table(pa.Table.from_pylist(rows, schema=schema), file, row_group_size=2)
    else:
        text = as_csv(rows) if kind == "csv" else "".join(json.dumps(each, default=str) + "\n" for each in rows)
        file.write_bytes(gzip.compress(text.encode()) if file.suffix == ".gz" else text.encode())
    if seconds is not None:
        os.utime(file, (seconds, seconds))


def as_csv(rows):
    lines = [["happened", "at", "region", "n"]]
    lines += [["" if value is None else str(value) for value in each.values()] for each in rows]
    return "\n".join(",".join(line) for line in lines) + "\n"


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.json", "a.json.gz", "a.parquet"])
def test_a_late_file_makes_exactly_its_days_stale(tmp_path, name):
    source = Source(tmp_path, kind=name.split(".")[1])
    write(tmp_path / name, [row(1), row(2, "nl"), row(90)])
    seen = source.look()
    assert DAYS.labels(seen.views["days"].changed) == ["2025-01-01..2025-01-02", "2025-03-31"]
    assert BERLIN.labels(seen.views["months"].changed) == ["2025-01", "2025-03"]
    assert REGIONS.labels(seen.views["regions"].changed) == ["de", "nl"]
    assert source.look() is None
    write(tmp_path / f"b{name[1:]}", [row(2), row(5)])
    assert source.news() == (["2025-01-02", "2025-01-05"], [])


def test_the_old_values_of_a_changed_file_are_stale_too(tmp_path):
    source = Source(tmp_path)
    write(tmp_path / "a.csv", [row(1), row(2)])
    write(tmp_path / "b.csv", [row(9)])
    source.look()
    write(tmp_path / "a.csv", [row(2), row(3, "nl")])
    seen = source.look()
    assert DAYS.labels(seen.views["days"].changed) == ["2025-01-01..2025-01-03"]
    assert not seen.views["days"].removed
    assert seen.extra["files_read"] == 1


def test_a_file_that_is_gone_takes_away_what_nobody_else_holds(tmp_path):
    source = Source(tmp_path)
    write(tmp_path / "a.csv", [row(1), row(2)])
    write(tmp_path / "b.csv", [row(2)])
    source.look()
    (tmp_path / "a.csv").unlink()
    assert source.news() == (["2025-01-02"], ["2025-01-01"])
    assert source.look() is None


def test_a_slot_that_is_written_again_loses_nothing_silently(tmp_path):
    source = Source(tmp_path, layout=ARRIVAL, views={"days": DAYS})
    write(tmp_path / "2025-04-01" / "part-1.csv", [row(1), row(2)])
    write(tmp_path / "2025-04-02" / "part-1.csv", [row(3)])
    source.look()
    (tmp_path / "2025-04-01" / "part-1.csv").unlink()
    write(tmp_path / "2025-04-01" / "part-2.csv", [row(2)])
    assert source.news() == (["2025-01-01..2025-01-02"], [])
    (tmp_path / "2025-04-01" / "part-2.csv").unlink()
    assert source.news() == ([], ["2025-01-02"])


def test_segments_that_the_path_tells_match_as_ever(tmp_path):
    source = Source(tmp_path, layout=ARRIVAL_BY_SHOP, views={"both": BY_SHOP})
    write(tmp_path / "a" / "2025-04-01" / "x.csv", [row(1)])
    write(tmp_path / "b" / "2025-04-01" / "x.csv", [row(2)])
    write(tmp_path / "c" / "2025-04-01" / "x.csv", [row(3)])
    assert source.news("both") == (["2025-01-01,a", "2025-01-02,b"], [])


def test_what_is_not_settled_stands_as_it_was_seen(tmp_path):
    source = Source(tmp_path, settle=60)
    now = datetime.now(UTC)
    write(tmp_path / "a.csv", [row(1)], seconds=now.timestamp() - 100)
    source.look(now)
    before = dict(source.viewed)
    write(tmp_path / "a.csv", [row(2)], seconds=now.timestamp() - 10)
    assert not source.look(now).views
    assert source.viewed == before
    seen = source.look(now + timedelta(seconds=100))
    assert DAYS.labels(seen.views["days"].changed) == ["2025-01-01..2025-01-02"]


def test_values_in_no_partition_are_told_at_every_look(tmp_path):
    source = Source(tmp_path, views={"days": DAYS, "regions": REGIONS})
    (tmp_path / "a.csv").write_text("region,happened\nus,2025-01-01\nde,soon\nde,\n")
    told = (
        "rows left out whose 'happened' is no day of the years 1000 to 8999: NULL",
        "rows left out whose 'region' is none of its segments: us",
    )
    assert source.look().notes == told
    assert source.look().notes == told
    assert DAYS.labels(source.viewed["days"]) == ["2025-01-01"]
    (tmp_path / "a.csv").write_text("region,happened\nde,2025-01-01\n")
    assert source.look().notes == ()


def test_a_view_begins_with_all_that_is_held_and_ends_without_a_trace(tmp_path):
    source = Source(tmp_path, views={})
    write(tmp_path / "a.csv", [row(1), row(2)])
    source.look()
    before = dict(source.cursor)
    source.asset = Source(tmp_path).asset
    seen = source.look()
    assert (seen.whole, seen.changed) == (False, NOTHING)
    assert DAYS.labels(seen.views["days"].changed) == ["2025-01-01..2025-01-02"]
    source.asset = Source(tmp_path, views={}).asset
    source.look()
    assert source.cursor == before
    write(tmp_path / "a.csv", [row(2)])
    source.look()
    source.asset = Source(tmp_path).asset
    assert source.news() == (["2025-01-02"], ["2025-01-01"])


def test_more_segments_are_looked_for_in_all_files_and_only_they_are_new(tmp_path):
    source = Source(tmp_path, views={"regions": REGIONS})
    write(tmp_path / "a.csv", [row(1, "de"), row(1, "us")])
    source.look()
    more = Partitioning(None, (SegmentPartition("region", ("de", "nl", "us")),))
    source.asset = Source(tmp_path, views={"regions": more}).asset
    assert source.news("regions") == (["us"], [])


def test_another_type_or_another_separator_is_read_anew(tmp_path):
    source = Source(tmp_path, views={"days": DAYS})
    (tmp_path / "a.csv").write_text("happened;x\n2025-01-01;1\n")
    with pytest.raises(SourceError) as raised:
        source.look()
    assert str(raised.value.args[0]) == ("the source 'raw' has no column 'happened' (in the file 'a.csv')")
    source.asset = Source(tmp_path, views={"days": DAYS}, options={"sep": ";"}).asset
    assert source.news() == (["2025-01-01"], [])


def test_a_broken_file_is_named(tmp_path):
    source = Source(tmp_path, kind="parquet", views={"days": DAYS})
    (tmp_path / "a.parquet").write_text("no")
    with pytest.raises(
        SourceError, match=r"the file 'a\.parquet' of the source 'raw' cannot be read: Parquet"
    ) as error:
        source.look()
    assert error.value.hint.startswith("remove it or write it again")


def test_without_a_session_text_files_are_not_read_yet_and_what_their_paths_tell_is(tmp_path):
    source = Source(tmp_path, layout=ARRIVAL, views={"days": DAYS})
    write(tmp_path / "2025-04-01" / "a.csv", [row(1)])
    source.texts = PlainTexts(ready=False)
    seen = source.look()
    assert (seen.session_needed_reason, seen.views) == ("1 new file not read yet", {})
    assert seen.notes == ("1 new file not read yet: only Spark reads csv (`plan --spark` starts it)",)
    assert ARRIVAL.labels(seen.changed) == ["2025-04-01"]
    assert source.look().has_news is False
    source.texts = PlainTexts()
    seen = source.look()
    assert (seen.session_needed_reason, seen.changed) == ("", NOTHING)
    assert DAYS.labels(seen.views["days"].changed) == ["2025-01-01"]
    source.texts = PlainTexts(ready=False)
    assert source.look() is None


def labels(view, rows):
    """The partitions of rows, one by one."""
    if view is REGIONS:
        return {each["region"] for each in rows if each["region"] in ("de", "nl")}
    if view is DAYS:
        return {str(each["happened"]) for each in rows if each["happened"] is not None}
    return {f"{each['at']:%Y-%m}" for each in rows if each["at"] is not None}


def viewed_keys(view, parts):
    return set(view.keys(parts))


@histories(40)
@given(st.randoms(use_true_random=False))
def test_any_history_of_files_against_a_look_at_every_row(tmp_path_factory, random: Random):
    root = tmp_path_factory.mktemp("files")
    kind, layout = random.choice(["csv", "json", "parquet"]), random.choice([UNPARTITIONED, ARRIVAL])
    source = Source(root, kind=kind, layout=layout)
    files, seen, covered = {}, {}, {uri: set() for uri in VIEWS}
    for step in range(random.randint(1, 6)):
        for _ in range(random.randint(1, 3)):
            slot = f"2025-04-0{random.randint(1, 3)}/" if layout is ARRIVAL else ""
            name = f"{slot}{random.choice('abc')}.{kind}"
            if name in files and random.random() < 0.4:
                (root / name).unlink()
                del files[name]
            else:
                some = [row(random.choice([None, 1, 2, 3, 40]), random.choice(["de", "nl", "us"])) for _ in range(2)]
                write(root / name, some, seconds=1_000_000 + step)
                files[name] = (step, some)
        if random.random() < 0.3:
            continue
        found = source.look()
        for uri, view in VIEWS.items():
            changed, removed = news(view, files, seen, layout, covered[uri])
            views = found.views if found is not None else {}
            assert viewed_keys(view, views[uri].changed if uri in views else NOTHING) == changed, (uri, files, seen)
            assert viewed_keys(view, views[uri].removed if uri in views else NOTHING) == removed, (uri, files, seen)
            covered[uri] = (covered[uri] | changed) - removed
            assert viewed_keys(view, source.viewed[uri]) == covered[uri]
        seen = dict(files)
    source.look()
    again = source.look()
    assert again is None or not again.has_news


def news(view, files, seen, layout, covered):
    """What changed since what was seen, and what nobody holds any more, by what the page about late rows says."""
    changed, lost, aged = set(), set(), set()
    slots = {name.partition("/")[0] for name in files}
    for name in {*files, *seen}:
        was, is_now = (labels(view, each[name][1]) if name in each else set() for each in (seen, files))
        if name not in files:
            gone = layout is UNPARTITIONED or name.partition("/")[0] not in slots
            (aged if gone else lost).update(was)
        elif name not in seen or files[name] != seen[name]:
            changed |= was | is_now
            lost |= was - is_now
    present = lost.union(*(labels(view, some) for _, some in files.values()))
    first = covered if not seen else set()
    return changed | lost | (aged & present), (aged | first) - present


def test_a_run_reads_and_weighs_the_files_of_its_partitions_alone(tmp_path):
    source = Source(tmp_path, layout=ARRIVAL, views={"days": DAYS})
    for number, some in {1: [row(1), row(2)], 2: [row(2)], 3: [row(9)]}.items():
        write(tmp_path / f"2025-04-0{number}" / "a.csv", some)
    source.look()
    raw = AssetState("raw", FoldSpec("raw"), position=source.cursor)
    inlet = InletSpec("raw", "days", None, view=DAYS)
    reader = AssetSpec("events", "events", None, FileLocation("e.yml"), partitioning=DAYS, inlets={"raw": inlet})
    project = ProjectSpec("p", "/p", "/p/state", "/p/lake", {"raw": source.asset, "events": reader})
    pin = InletPin("days", 1, parts=DAYS.parse("2025-01-02"))
    state = State("journal", assets={"raw": raw})
    assert decode(encode(state), journal_id="journal").assets["raw"].position == source.cursor
    found = find_pinned_files(project, state, reader, {"raw": pin})
    assert [path_of_key(key) for key in found["raw"]] == ["2025-04-01/a.csv", "2025-04-02/a.csv"]
    weighed = LogVolumeEstimator().estimate_volume(project.inlet_with_mapping(reader, "raw"), pin, raw)
    sizes = [(tmp_path / f"2025-04-0{number}" / "a.csv").stat().st_size for number in (1, 2)]
    assert weighed == InletVolume(sum(sizes), 2)
    plain = replace(reader, inlets={"raw": InletSpec("raw", "raw", None)})
    assert [*find_pinned_files(project, state, plain, {"raw": replace(pin, parts=EVERYTHING)})["raw"]] == [
        key for key in source.cursor if not key.startswith("%/")
    ]

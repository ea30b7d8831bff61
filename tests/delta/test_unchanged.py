"""The files that hold each partition before and after a run, and whether consumers know those before it."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets.core.partitions import EVERYTHING, UNPARTITIONED, PartitionSet, SegmentPartition
from sparkassets.delta.file_split import split_files
from sparkassets.delta.partition_files import (
    PartitionGroup,
    UnchangedFiles,
    examine_mixed_files,
    group_by_files,
    is_known_position,
)
from sparkassets.delta.staging import StagingAttempt, list_staged_files
from tests.builders import days, partitioned

ATTEMPT = StagingAttempt("sales-1", 7, 1)
DAYS = partitioned("day")
PARTITIONS = days("2025-01-01..2025-01-04")
SCHEMA = {"fields": [{"name": "day", "type": "date"}, {"name": "n", "type": "long"}]}


@pytest.fixture
def there(tmp_path):
    """A table of three days, a file each."""
    rows = {"day": [date(2025, 1, day) for day in (1, 1, 2, 3)], "n": [1, 2, 3, 4]}
    write_deltalake(tmp_path, pa.table(rows), partition_by=["day"])
    return tmp_path


def copied(folder: Path, *, but: dict[int, list[int]] | None = None) -> None:
    """Stages the table's files once more, but for those of days with other rows."""
    for path in folder.glob("day=*/*.parquet"):
        day = int(path.parent.name[-2:])
        place = folder / ATTEMPT.folder / path.parent.name / path.name
        place.parent.mkdir(parents=True, exist_ok=True)
        if day in (but or {}):
            pq.write_table(pa.table({"n": pa.array((but or {})[day], pa.int64())}), place)
        else:
            place.write_bytes(path.read_bytes())


def groups(folder: Path, partitions=PARTITIONS, partitioning=DAYS, layout=("day",)) -> list[PartitionGroup]:
    table = DeltaTable(folder)
    staged = list_staged_files(str(folder), ATTEMPT, schema=SCHEMA, layout=list(layout), properties={})
    inside = split_files(table, partitions, partitioning=partitioning).inside
    return group_by_files(table, partitions, partitioning=partitioning, table_files=inside, staged=staged)


def differing(folder: Path) -> PartitionSet:
    return PartitionSet.union(group.parts for group in groups(folder) if group.differs)


def test_each_day_has_its_files_and_days_without_any_are_together(there):
    copied(there, but={2: [3]})
    found = {str(DAYS.labels(each.parts)): (len(each.table_files), len(each.staged_files)) for each in groups(there)}
    assert found == {
        "['2025-01-01']": (1, 1),
        "['2025-01-02']": (1, 1),
        "['2025-01-03']": (1, 1),
        "['2025-01-04']": (0, 0),
    }
    assert not differing(there)


def test_a_day_that_comes_or_goes_has_other_rows(there):
    copied(there, but={2: [3, 3]})
    for path in (there / ATTEMPT.folder / "day=2025-01-03").iterdir():
        path.unlink()
    place = there / ATTEMPT.folder / "day=2025-01-04"
    place.mkdir()
    pq.write_table(pa.table({"n": pa.array([1], pa.int64())}), place / "part-0.parquet")
    assert differing(there) == days("2025-01-02..2025-01-04")


def test_without_partitions_all_is_one_partition(there):
    copied(there)
    (group,) = groups(there, EVERYTHING, UNPARTITIONED)
    assert (group.parts, len(group.table_files), len(group.staged_files)) == (EVERYTHING, 3, 3)
    same = UnchangedFiles.from_groups([group])
    assert (same.parts, same.rows) == (EVERYTHING, 4)
    assert {path.partition("/")[0] for path in same.table_paths} == {
        "day=2025-01-01",
        "day=2025-01-02",
        "day=2025-01-03",
    }


def test_a_file_of_several_days_makes_them_one(tmp_path):
    rows = {"day": [date(2025, 1, 1), date(2025, 1, 2)], "n": [1, 2]}
    write_deltalake(tmp_path, pa.table(rows))
    (path,) = tmp_path.glob("*.parquet")
    (tmp_path / ATTEMPT.folder).mkdir()
    (tmp_path / ATTEMPT.folder / "part-0.parquet").write_bytes(path.read_bytes())
    (group,) = groups(tmp_path, layout=())
    assert group.parts == PARTITIONS


def test_of_a_slot_whose_files_hold_several_segments_only_the_rows_tell_which_differs(there):
    """More rows come than go in two days: in one a segment of its own files, in the other nobody knows which."""
    rows = {"day": [date(2025, 1, day) for day in (1, 1, 2, 3, 3)], "region": ["de", "nl", "de", "de", "nl"]}
    folder = there / "by_region"
    write_deltalake(folder, pa.table(rows), partition_by=["day"])
    for day, regions in ((1, ["de", "nl", "nl"]), (2, ["de", "de"]), (3, ["de", "nl"])):
        place = folder / ATTEMPT.folder / f"day=2025-01-0{day}" / "part-0.parquet"
        place.parent.mkdir(parents=True)
        pq.write_table(pa.table({"region": regions}), place)
    partitioning = replace(DAYS, segments=(SegmentPartition("region", ("de", "nl")),))
    partitions = partitioning.parse("2025-01-01..2025-01-03,*")
    table, schema = DeltaTable(folder), {"fields": [*SCHEMA["fields"][:1], {"name": "region", "type": "string"}]}
    staged = list_staged_files(str(folder), ATTEMPT, schema=schema, layout=["day"], properties={})
    lying = split_files(table, partitions, partitioning=partitioning)
    inside = examine_mixed_files(str(folder), table, lying, partitions, partitioning=partitioning).inside
    found = group_by_files(table, partitions, partitioning=partitioning, table_files=inside, staged=staged)
    told = {",".join(partitioning.labels(each.parts)): (len(each.table_files), each.differs) for each in found}
    assert told == {
        "2025-01-01,de,2025-01-01,nl": (1, False),
        "2025-01-02,de": (1, True),
        "2025-01-02,nl": (0, False),
        "2025-01-03,de,2025-01-03,nl": (1, False),
    }


def test_a_table_is_told_up_to_a_version_that_nobody_changed_rows_after(there):
    table = DeltaTable(there)
    told, path = (str(table.metadata().id), 0), str(there)
    assert is_known_position(path, table, told)
    assert not is_known_position(path, table, None)
    assert not is_known_position(path, table, ("another", 0))
    assert not is_known_position(path, table, (told[0], 1))
    DeltaTable(there).optimize.compact()
    assert is_known_position(path, DeltaTable(there), told)
    DeltaTable(there).delete("n = 4")
    assert not is_known_position(path, DeltaTable(there), told)
    assert is_known_position(path, DeltaTable(there), (told[0], DeltaTable(there).version()))


def test_columns_that_others_added_were_not_told(there):
    from deltalake import Field

    table = DeltaTable(there)
    told = str(table.metadata().id), 0
    table.alter.add_columns([Field("more", "string")])
    assert not is_known_position(str(there), DeltaTable(there), told)

"""What a run stages is the same as what is there where the files of a block are, byte for byte."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets.core.partitions import EVERYTHING, NOTHING, UNPARTITIONED
from sparkassets.delta import unchanged
from sparkassets.delta.slices import sliced
from sparkassets.delta.staged import Attempt, staged_files
from sparkassets.delta.unchanged import Same, grouped, is_told, same_files
from tests.builders import days, partitioned

ATTEMPT = Attempt("sales-1", 7, 1)
DAYS = partitioned("day")
BLOCKS = days("2025-01-01..2025-01-04")
SCHEMA = {"fields": [{"name": "day", "type": "date"}, {"name": "n", "type": "long"}]}


@pytest.fixture
def there(tmp_path):
    """A table of three days, a file each."""
    rows = {"day": [date(2025, 1, day) for day in (1, 1, 2, 3)], "n": [1, 2, 3, 4]}
    write_deltalake(tmp_path, pa.table(rows), partition_by=["day"])
    return tmp_path


def copied(folder: Path, *, but: dict[int, list[int]] | None = None, apart: bool = False) -> None:
    """Stages the table's files once more, but for those of days with other rows."""
    for path in folder.glob("day=*/*.parquet"):
        day = int(path.parent.name[-2:])
        place = folder / ATTEMPT.folder / path.parent.name / (path.name if not apart else f"x-{path.name}")
        place.parent.mkdir(parents=True, exist_ok=True)
        if day in (but or {}):
            pq.write_table(pa.table({"n": pa.array((but or {})[day], pa.int64())}), place)
        else:
            place.write_bytes(path.read_bytes())


def found(folder: Path, blocks=BLOCKS, partitioning=DAYS) -> Same:
    table = DeltaTable(folder)
    staged = staged_files(str(folder), ATTEMPT, schema=SCHEMA, layout=["day"], properties={})
    inside = sliced(table, blocks, partitioning=partitioning).inside
    groups = grouped(table, blocks, partitioning=partitioning, there=inside, staged=staged)
    return Same.of(same_files(str(folder), groups))


def test_days_with_the_same_files_are_the_same_and_so_are_days_without_any(there):
    copied(there, but={2: [3]}, apart=True)
    same = found(there)
    assert same.parts == days("2025-01-01", "2025-01-03..2025-01-04")
    assert same.rows == 3
    assert {path.partition("/")[0] for path in same.there} == {"day=2025-01-01", "day=2025-01-03"}
    assert {path.split("/")[1] for path in same.staged} == {"day=2025-01-01", "day=2025-01-03"}


def test_a_day_that_comes_or_goes_is_not_the_same(there):
    copied(there)
    for path in (there / ATTEMPT.folder / "day=2025-01-03").iterdir():
        path.unlink()
    place = there / ATTEMPT.folder / "day=2025-01-04"
    place.mkdir()
    pq.write_table(pa.table({"n": pa.array([1], pa.int64())}), place / "part-0.parquet")
    assert found(there).parts == days("2025-01-01..2025-01-02")


def test_files_of_one_size_are_read(there):
    copied(there)
    for path in (there / ATTEMPT.folder / "day=2025-01-01").iterdir():
        content = bytearray(path.read_bytes())
        content[6] ^= 1
        path.write_bytes(content)
    assert found(there).parts == days("2025-01-02..2025-01-04")


def test_without_partitions_all_is_one_block(there):
    copied(there)
    assert found(there, EVERYTHING, UNPARTITIONED).parts == EVERYTHING
    copied(there, but={3: [5]})
    assert found(there, EVERYTHING, UNPARTITIONED) == Same()


def test_a_file_of_several_days_makes_them_one(tmp_path):
    rows = {"day": [date(2025, 1, 1), date(2025, 1, 2)], "n": [1, 2]}
    write_deltalake(tmp_path, pa.table(rows))
    (path,) = tmp_path.glob("*.parquet")
    (tmp_path / ATTEMPT.folder).mkdir()
    (tmp_path / ATTEMPT.folder / "part-0.parquet").write_bytes(path.read_bytes())
    table = DeltaTable(tmp_path)
    staged = staged_files(str(tmp_path), ATTEMPT, schema=SCHEMA, layout=[], properties={})
    inside = sliced(table, BLOCKS, partitioning=DAYS).inside
    (group,) = grouped(table, BLOCKS, partitioning=DAYS, there=inside, staged=staged)
    assert (group.parts, same_files(str(tmp_path), [group])) == (BLOCKS, [group])


def test_of_too_much_nothing_is_read(there, monkeypatch):
    copied(there)
    monkeypatch.setattr(unchanged, "MOST_BYTES", 100)
    assert found(there) == Same()


def test_files_that_are_gone_are_not_the_same(there):
    copied(there)
    for path in there.glob("day=2025-01-01/*.parquet"):
        path.unlink()
    assert found(there).parts == NOTHING


def test_a_table_is_told_up_to_a_version_that_nobody_changed_rows_after(there):
    table = DeltaTable(there)
    told, path = (str(table.metadata().id), 0), str(there)
    assert is_told(path, table, told)
    assert not is_told(path, table, None)
    assert not is_told(path, table, ("another", 0))
    assert not is_told(path, table, (told[0], 1))
    DeltaTable(there).optimize.compact()
    assert is_told(path, DeltaTable(there), told)
    DeltaTable(there).delete("n = 4")
    assert not is_told(path, DeltaTable(there), told)
    assert is_told(path, DeltaTable(there), (told[0], DeltaTable(there).version()))


def test_columns_that_others_added_were_not_told(there):
    from deltalake import Field

    table = DeltaTable(there)
    told = str(table.metadata().id), 0
    table.alter.add_columns([Field("more", "string")])
    assert not is_told(str(there), DeltaTable(there), told)

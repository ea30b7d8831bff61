"""A table whose log has a missing or broken file is refused by that file's name, whoever opens it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from sparkassets.delta.tables import find_damage, load_table
from sparkassets.errors import SourceError
from sparkassets.spark.open_tables import open_table

CHECKPOINT = f"{1:020d}.checkpoint.parquet"


def lose_entry(log: Path) -> str:
    (log / f"{1:020d}.json").unlink()
    return f"the entry {1:020d}.json of its log is missing"


def name_no_checkpoint(log: Path) -> str:
    (log / "_last_checkpoint").write_text('{"version": 1, "size": 3}')
    return f"{log}/_last_checkpoint names a missing checkpoint: move that file away"


def spoil_checkpoint(log: Path) -> str:
    (log / CHECKPOINT).write_text("garbage")
    (log / "_last_checkpoint").write_text('{"version": 1, "size": 3}')
    return f"its checkpoint {CHECKPOINT} cannot be read: "


def spoil_entry(log: Path) -> str:
    (log / f"{2:020d}.json").write_text('{"add": ')
    return f"the entry {2:020d}.json of its log is not JSON: "


@pytest.fixture
def path(tmp_path: Path) -> str:
    for number in range(3):
        write_deltalake(tmp_path / "t", pa.table({"n": [number]}), mode="append")
    return str(tmp_path / "t")


@pytest.mark.parametrize("damage", [lose_entry, name_no_checkpoint, spoil_checkpoint, spoil_entry])
def test_a_run_that_opens_a_damaged_table_names_the_file(path: str, damage: Callable[[Path], str]):
    fault = damage(Path(path, "_delta_log"))
    with pytest.raises(SourceError) as error:
        open_table(path)
    assert str(error.value).startswith(f"cannot read the Delta table at '{path}': {fault}")


def test_a_whole_table_and_none_have_no_damage(path: str, tmp_path: Path):
    assert load_table(path).version() == 2
    assert find_damage(path) is None
    assert find_damage(str(tmp_path / "nothing")) is None
    assert open_table(str(tmp_path / "nothing")) is None

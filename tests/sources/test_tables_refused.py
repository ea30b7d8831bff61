"""What a table at a path has is looked at before runs write to it: without a JVM."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.writes import AppendWrite
from sparkassets.errors import SourceError
from sparkassets.sources import DeltaTargetObserver
from tests.builders import asset
from tests.delta.spark_tables import recorded, write_log

RECORDED = recorded()
SCHEMA = {"type": "struct", "fields": [{"name": "n", "type": "integer", "nullable": True, "metadata": {}}]}


def table(path: Path, *features: str) -> Path:
    """A table whose readers must know these."""
    metadata = {
        "id": "t",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(SCHEMA),
        "partitionColumns": [],
        "configuration": {},
    }
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}
    write_log(path, [[{"protocol": protocol}, {"metaData": metadata}]])
    return path


def check(path: Path) -> None:
    DeltaTargetObserver().check_writable(
        replace(asset("a", write=AppendWrite()), storage=StorageLocation(str(path), "a"))
    )


@pytest.mark.parametrize("name", RECORDED)
def test_whatever_open_source_spark_makes_is_taken(tmp_path, name):
    write_log(tmp_path, RECORDED[name])
    check(tmp_path)


def test_what_is_not_there_is_fine(tmp_path):
    check(tmp_path / "a")
    (tmp_path / "b").mkdir()
    check(tmp_path / "b")


def test_a_feature_that_is_not_known_is_named(tmp_path):
    with pytest.raises(SourceError) as raised:
        check(table(tmp_path, "collations"))
    assert str(raised.value.args[0]) == (
        f"no run can write to the Delta table at '{tmp_path}': it has collations, which only Spark can read"
    )
    assert raised.value.hint == "register it in a catalog, and write to it by its name"


@pytest.mark.parametrize("feature", ["catalogManaged", "catalogOwned-preview"])
def test_a_table_that_its_catalog_manages_is_named(tmp_path, feature):
    with pytest.raises(SourceError, match=r"^cannot read the Delta table at .*catalog-managed") as raised:
        check(table(tmp_path, feature))
    assert raised.value.hint == (
        "its newest commits are in its catalog: read and write it by its name, 'table: catalog.schema.name'"
    )

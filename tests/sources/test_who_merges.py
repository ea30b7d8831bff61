"""Who commits to a table whose rows go by their keys is told before it is there."""

from dataclasses import replace

from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.writes import AppendWrite, UpsertWrite
from sparkassets.sources import DeltaTargetObserver
from tests.builders import asset


def test_spark_merges(tmp_path):
    there = StorageLocation(str(tmp_path / "a"), "a")
    merged = replace(asset("a", write=UpsertWrite(("id",))), storage=there)
    assert DeltaTargetObserver().spark_commit_reason(merged) == "its rows are merged by their keys"
    assert DeltaTargetObserver().spark_commit_reason(replace(merged, write=AppendWrite())) is None

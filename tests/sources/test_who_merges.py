"""Who commits to a table whose rows go by their keys is told before it is there."""

from dataclasses import replace

from sparkassets.core.spec.model import StorageLocation
from sparkassets.core.writes import Append, Upsert
from sparkassets.sources import DeltaTargets
from tests.builders import asset


def test_spark_merges(tmp_path):
    there = StorageLocation(str(tmp_path / "a"), "a")
    merged = replace(asset("a", write=Upsert(("id",))), storage=there)
    assert DeltaTargets().why_spark(merged) == "its rows are merged by their keys"
    assert DeltaTargets().why_spark(replace(merged, write=Append())) is None

"""Who commits to a table whose rows go by their keys is told before a run."""

from dataclasses import replace

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.writes import AppendWrite, UpsertWrite
from sparkassets.sources import DeltaTargetObserver
from tests.builders import asset


@pytest.mark.parametrize("feed", ["true", "false"])
def test_spark_merges_into_a_table_with_a_change_feed(tmp_path, feed):
    there = StorageLocation(str(tmp_path / "a"), "a")
    merged = replace(asset("a", write=UpsertWrite(("id",))), storage=there)
    assert DeltaTargetObserver().spark_commit_reason(merged) is None
    write_deltalake(there.path, pa.table({"id": [1]}), configuration={"delta.enableChangeDataFeed": feed})
    reason = "its rows are merged by keys, and it has a change feed"
    assert DeltaTargetObserver().spark_commit_reason(merged) == (reason if feed == "true" else None)
    assert DeltaTargetObserver().spark_commit_reason(replace(merged, write=AppendWrite())) is None

"""Partitions that a person names: what is told of a key that is wrong."""

from dataclasses import replace

import pytest

from sparkassets.app.backfills import partitions_of
from sparkassets.core.partitions import PartitionError, Partitioning, SegmentPartition, TimePartition
from tests.builders import asset

ADD = "`sparkassets partitions a add KEY` adds a segment"
OPEN = replace(
    asset("a", segments={"region": "runtime"}),
    partitioning=Partitioning(TimePartition("day", "UTC"), (SegmentPartition("region", ("nl",), is_open=True),)),
)


@pytest.mark.parametrize(
    ("keys", "message", "hint"),
    [
        ("2025-01-01,xx", "'xx' is not a known segment of region", f"known is nl; {ADD}"),
        ("2025-13-01", "partition key '2025-13-01' is not a valid date: month must be in 1..12", None),
        ("2025-01-01,nl,x", "'2025-01-01,nl,x' has 3 parts separated by commas; expected day,region", "name one key"),
    ],
)
def test_only_a_segment_that_is_not_known_is_made_known(keys, message, hint):
    with pytest.raises(PartitionError) as error:
        partitions_of(OPEN, keys)
    assert str(error.value.args[0]) == message
    said = error.value.hint or ""
    assert said.startswith(hint or "")
    assert (ADD in said) == keys.endswith("xx")

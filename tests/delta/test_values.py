"""Values of a column, counted by the slots that they lie in, against a look at each."""

from collections import Counter
from datetime import datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.partitions import TimePartition
from sparkassets.delta.partition_columns import FileTimes, PartitionColumn
from sparkassets.delta.rows import count_slots


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Australia/Lord_Howe"])
@pytest.mark.parametrize("by", ["hour", "day", "*/10 * * * *", "*/15 * * * *", "7 3,15 * * *"])
@given(st.lists(st.integers(0, 3 * 24 * 60 * 60), max_size=9))
def test_local_times_are_counted_by_their_slots(by, zone, seconds):
    values = [datetime.fromisoformat("2024-11-02T00:00") + timedelta(seconds=each) for each in seconds]
    times = FileTimes(PartitionColumn("at", "timestamp_ntz", "at"), TimePartition(by, zone))
    expected = Counter(times.of_value(each) for each in values)
    assert count_slots(pa.array(values, pa.timestamp("us")), times) == expected

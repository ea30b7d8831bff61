"""Paths of files of a partition by cron: the glob of a slot finds all its files, and their names tell the slot."""

from datetime import timedelta
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.partitions import TimePartition
from sparkassets.core.patterns import PathPattern
from tests.core.clocks import instants_near_changes, wall_clock, zones

FORMS = {
    "%Y%m%dT%H%M": ["*/15 * * * *", "0 6 * * *", "10,30 5,6 * * *", "0 0 * * SUN", "hour", "day", "week", "quarter"],
    "%j%Y/%H%M": ["*/15 * * * *", "0 0 1 * *", "hour"],
    "%H-%d-%m-%Y": ["0 6,18 * * *", "0 0 * * SUN", "month"],
    "%Y%m%d": ["0 0 * * SUN", "day", "year"],
}
cases = st.sampled_from([(form, by) for form, grains in FORMS.items() for by in grains])


@given(st.data(), cases, zones)
def test_a_file_is_found_by_its_slot_and_tells_it(data, case, zone):
    form, by = case
    partition, pattern = TimePartition(by, zone), PathPattern.parse(f"in/{{at:{form}}}.csv")
    when = data.draw(instants_near_changes(zone)) // 60 * 60
    start = partition.floor(when)
    shown = wall_clock(when, zone)
    name = f"in/{shown:{form}}.csv"
    text = pattern.match(name)
    low, high = pattern.slot_of_text(text, partition)
    if "H" in form:
        assert low <= when < high
        assert fnmatchcase(name, pattern.render(start, partition))
        assert low <= pattern.extent(start, partition)[0] or pattern.extent(start, partition)[1] <= high
    else:
        assert partition.floor(low) == low
        assert fnmatchcase(name, pattern.render(low, partition))


def test_a_minute_that_is_repeated_has_both_slots():
    partition, pattern = TimePartition("*/15 * * * *", "Europe/Berlin"), PathPattern.parse("{at:%Y%m%d%H%M}.csv")
    low, high = pattern.slot_of_text("202510260215", partition)
    assert (partition.key(low), high - low) == ("2025-10-26T02:15+02:00", 3600 + 900)
    assert pattern.extent(low, partition) == pattern.extent(low + 3600, partition) == (low, high)


@pytest.mark.parametrize(
    ("by", "key", "glob"),
    [
        ("*/15 * * * *", "2025-03-01T06:15", "2025030106??"),
        ("0 6 * * *", "2025-03-31T06:00", "2025????????"),
        ("0 0 * * SUN", "2025-03-02", "202503??????"),
        ("10,30 5,6 * * *", "2025-03-02T06:30", "202503??????"),
    ],
)
def test_globs(by, key, glob):
    partition, pattern = TimePartition(by, "UTC"), PathPattern.parse("{at:%Y%m%d%H%M}")
    assert pattern.render(partition.parse_key(key)[0], partition) == glob
    assert timedelta(seconds=partition.parse_key(key)[1] - partition.parse_key(key)[0]) > timedelta(0)

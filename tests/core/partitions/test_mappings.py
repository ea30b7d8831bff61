import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.instants import Duration
from sparkassets.core.partitions import OverlapMapping, PartitionError, RangeSet, TimePartition, WindowMapping
from tests.core.clocks import instants_near_changes, zones

GRAINS = ["hour", "day", "week", "month", "quarter", "year"]
SLOT_SECONDS = {
    "hour": 3600,
    "day": 86_400,
    "week": 7 * 86_400,
    "month": 31 * 86_400,
    "quarter": 92 * 86_400,
    "year": 366 * 86_400,
}


def window(text):
    low, high = text.strip("[]").split(", ")
    return WindowMapping(Duration.parse(low), Duration.parse(high))


def span(partition, keys):
    return RangeSet.span(*partition.parse_keys(keys))


trailing = st.sampled_from(["30m", "1h", "24h", "90m", "1d", "7d", "2w", "1mo", "1y"]).map(
    lambda text: WindowMapping.trailing(Duration.parse(text))
)
around = st.sampled_from(
    [
        "[0s, 0s]",
        "[-6d, 0d]",
        "[-1d, 1d]",
        "[-1d, -1d]",
        "[1d, 1d]",
        "[-24h, 0s]",
        "[-90m, 30m]",
        "[-24h, -1d]",
        "[-1d, 24h]",
        "[-1mo, 0d]",
        "[-1mo, -1mo]",
        "[0d, 1mo]",
        "[-1mo, -28d]",
        "[-1y, -1y]",
    ]
).map(window)
mappings = st.just(OverlapMapping()) | trailing | around


@st.composite
def neighbours(draw):
    """A mapping between two partitions, and a few slots of each near one of the partitions' clock changes."""
    down = TimePartition(draw(st.sampled_from(GRAINS[:4])), draw(zones))
    up = TimePartition(draw(st.sampled_from(GRAINS)), draw(zones | st.just(down.timezone)))
    mapping, near = draw(mappings), draw(instants_near_changes(down.timezone))

    def some(partition):
        start = near + draw(st.integers(-3, 3)) * SLOT_SECONDS[partition.by]
        pairs = []
        for _ in range(draw(st.integers(1, 3))):
            end = start + draw(st.integers(1, 3 * SLOT_SECONDS[partition.by]))
            pairs.append((start, end))
            start = end + draw(st.integers(1, 2 * SLOT_SECONDS[partition.by]))
        return partition.cover(RangeSet.from_pairs(pairs))

    return mapping, down, up, some(down), some(up)


@given(neighbours())
def test_up_of_partitions_is_the_union_of_the_up_of_each(drawn):
    mapping, down, up, partitions, _ = drawn
    each = RangeSet()
    for slot in down.slots(partitions):
        each = each | mapping.required_ranges(RangeSet.span(*slot), consumer_time=down, inlet_time=up)
    assert mapping.required_ranges(partitions, consumer_time=down, inlet_time=up) == each


@given(neighbours())
def test_up_is_whole_inlet_partitions_and_never_nothing(drawn):
    mapping, down, up, partitions, _ = drawn
    needed = mapping.required_ranges(partitions, consumer_time=down, inlet_time=up)
    assert needed
    assert needed == up.cover(needed)


@given(neighbours())
def test_down_is_the_adjoint_of_up(drawn):
    mapping, down, up, _, changed = drawn
    touched = mapping.affected_ranges(changed, consumer_time=down, inlet_time=up)
    assert touched == down.cover(touched)
    width = 3 * SLOT_SECONDS[down.by]
    edges = {down.floor(at) for start, end in touched.pairs() for at in (start - width, end - 1)}
    edges |= {down.floor(at) for start, end in changed.pairs() for at in (start, end - 1)}
    for edge in edges:
        for slot in list(down.slots(down.cover(RangeSet.span(edge, edge + 2 * width))))[:6]:
            partition = RangeSet.span(*slot)
            needs = mapping.required_ranges(partition, consumer_time=down, inlet_time=up)
            assert touched.covers(partition) == touched.overlaps(partition) == needs.overlaps(changed)


@given(neighbours())
def test_down_of_what_partitions_need_holds_the_partitions(drawn):
    mapping, down, up, partitions, _ = drawn
    assert mapping.affected_ranges(
        mapping.required_ranges(partitions, consumer_time=down, inlet_time=up), consumer_time=down, inlet_time=up
    ).covers(partitions)


@pytest.mark.parametrize("mapping", [OverlapMapping(), window("[-6d, 0d]"), WindowMapping.trailing(Duration(days=7))])
def test_nothing_maps_to_nothing(mapping):
    days = TimePartition("day", "UTC")
    assert mapping.required_ranges(RangeSet(), consumer_time=days, inlet_time=days) == RangeSet()
    assert mapping.affected_ranges(RangeSet(), consumer_time=days, inlet_time=days) == RangeSet()


@pytest.mark.parametrize(
    ("mapping", "down", "up", "zone", "partitions", "needs"),
    [
        (OverlapMapping(), "day", "hour", "Europe/Berlin", "2025-03-30", ["2025-03-30T00..2025-03-30T23"]),
        (OverlapMapping(), "hour", "day", "UTC", "2025-03-21T05..2025-03-22T05", ["2025-03-21..2025-03-22"]),
        (OverlapMapping(), "week", "month", "UTC", "2025-W14", ["2025-03..2025-04"]),
        (WindowMapping.trailing(Duration(days=7)), "day", "day", "UTC", "2025-03-21", ["2025-03-15..2025-03-21"]),
        (window("[-6d, 0d]"), "day", "day", "UTC", "2025-03-21", ["2025-03-15..2025-03-21"]),
        (window("[-6d, 0d]"), "day", "day", "UTC", "2025-03-21..2025-03-23", ["2025-03-15..2025-03-23"]),
        (window("[0d, 1d]"), "day", "day", "UTC", "2025-03-21", ["2025-03-21..2025-03-22"]),
        (window("[-1d, -1d]"), "day", "day", "UTC", "2025-03-21", ["2025-03-20"]),
        (window("[-1mo, -1mo]"), "month", "day", "UTC", "2025-03", ["2025-02-01..2025-02-28"]),
        (WindowMapping.trailing(Duration(seconds=1800)), "day", "hour", "UTC", "2025-03-21..2025-03-22",
         ["2025-03-21T23", "2025-03-22T23"]),
        # calendar days: the week before a clock change begins at local midnight too
        (WindowMapping.trailing(Duration(days=7)), "day", "hour", "Europe/Berlin", "2025-03-30",
         ["2025-03-24T00..2025-03-30T23"]),
        # the day whose midnight is skipped is a day like any other
        (WindowMapping.trailing(Duration(days=3)), "day", "hour", "America/Sao_Paulo", "2018-11-06",
         ["2018-11-04T01..2018-11-06T23"]),
        (window("[0d, 1d]"), "day", "day", "America/Sao_Paulo", "2018-11-03", ["2018-11-03..2018-11-04"]),
        # the same hour yesterday: both occurrences need it, and what was skipped is what came instead
        (window("[-1d, -1d]"), "hour", "hour", "Europe/Berlin", "2025-10-26T02+02:00", ["2025-10-25T02"]),
        (window("[-1d, -1d]"), "hour", "hour", "Europe/Berlin", "2025-10-26T02+01:00", ["2025-10-25T02"]),
        (window("[-1d, -1d]"), "hour", "hour", "Europe/Berlin", "2025-10-27T02",
         ["2025-10-26T02+02:00..2025-10-26T02+01:00"]),
        (window("[-1d, -1d]"), "hour", "hour", "Europe/Berlin", "2025-03-31T02", ["2025-03-30T03"]),
        # several days stand for the last one of a short month: each needs all of it
        (window("[-1mo, -1mo]"), "hour", "hour", "UTC", "2025-03-27T05", ["2025-02-27T05"]),
        (window("[-1mo, -1mo]"), "hour", "hour", "UTC", "2025-03-30T05", ["2025-02-28T00..2025-02-28T23"]),
    ],
)  # fmt: skip
def test_examples(mapping, down, up, zone, partitions, needs):
    down, up = TimePartition(down, zone), TimePartition(up, zone)
    assert up.labels(mapping.required_ranges(span(down, partitions), consumer_time=down, inlet_time=up)) == needs


@pytest.mark.parametrize(
    ("mapping", "changed", "partitions"),
    [
        (WindowMapping.trailing(Duration(days=7)), "2025-03-30", ["2025-03-30..2025-04-05"]),
        (window("[-6d, 0d]"), "2025-03-30", ["2025-03-30..2025-04-05"]),
        (window("[0d, 1d]"), "2025-03-30", ["2025-03-29..2025-03-30"]),
        (window("[-1mo, -1mo]"), "2025-02-28", ["2025-03-28..2025-03-31"]),
        (OverlapMapping(), "2025-03-30", ["2025-03-30"]),
    ],
)
def test_examples_of_down(mapping, changed, partitions):
    days = TimePartition("day", "Europe/Berlin")
    assert days.labels(mapping.affected_ranges(span(days, changed), consumer_time=days, inlet_time=days)) == partitions


def test_cut_partition_counts_as_a_whole():
    days = TimePartition("day", "UTC")
    assert days.labels(
        OverlapMapping().required_ranges(RangeSet.span(3600, 7200), consumer_time=days, inlet_time=days)
    ) == ["1970-01-01"]


@pytest.mark.parametrize("text", ["[1d, -1d]", "[0s, -1s]", "[0s, -1mo]", "[-27d, -1mo]"])
def test_window_that_ends_before_it_starts(text):
    with pytest.raises(PartitionError) as error:
        window(text)
    assert str(error.value) == f"window {text} ends before it starts"


@pytest.mark.parametrize("length", ["0d", "-7d"])
def test_empty_trailing_window(length):
    with pytest.raises(PartitionError) as error:
        WindowMapping.trailing(Duration.parse(length))
    text = Duration.parse(length).text
    assert str(error.value) == f"window '{text}' is empty; expected a positive duration such as 7d"

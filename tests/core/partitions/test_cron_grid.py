"""Crons as grains: the slots, keys and mappings of a grid, against the ticks of the same cron as a schedule."""

from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.instants import Duration, from_unix
from sparkassets.core.partitions import OverlapMapping, PartitionError, RangeSet, TimePartition, WindowMapping
from sparkassets.core.timetables.ticks import cron_ticks
from tests.core.clocks import instants_near_changes, wall_clock, zones
from tests.core.partitions.test_mappings import GRAINS, SLOT_SECONDS, mappings
from tests.core.partitions.test_time_partition import at

DAY = 86_400
CRONS = {
    "0 6 * * *": DAY,
    "*/15 * * * *": 900,
    "*/20 2-4 * * *": DAY,
    "0 * * * *": 3600,
    "30 2 * * *": DAY,
    "15,45 0-23 * * *": 1800,
    "0 0 * * SUN": 7 * DAY,
    "0 0 * * *": DAY,
    "0 12 * * MON-FRI": 3 * DAY,
    "0 0 15 * *": 31 * DAY,
    "0 0,12 1 */3 *": 92 * DAY,
    "59 23 L * *": 31 * DAY,
}
"""With about how long their slots are."""
crons = st.sampled_from(list(CRONS))


@st.composite
def placed(draw):
    """A partition by a cron, and an instant mostly near a change of its clocks."""
    partition = TimePartition(draw(crons), draw(zones))
    return partition, draw(instants_near_changes(partition.timezone))


# ------------------------------------------------------------------ slots


@given(placed())
def test_slots_go_from_tick_to_tick_of_the_schedule(drawn):
    partition, when = drawn
    ticks = cron_ticks(partition.by, partition.timezone)
    start, end = partition.floor(when), partition.next(when)
    assert (start, end) == (ticks.before(when + 1), ticks.after(when))
    assert partition.ceil(start) == start == partition.previous(end)
    assert partition.ceil(start + 1) == end


@given(placed(), st.integers(0, 400))
def test_edges_and_counts_are_those_of_the_ticks(drawn, slots):
    partition, when = drawn
    low = partition.floor(when)
    high = partition.floor(low + slots * CRONS[partition.by])
    ticks = cron_ticks(partition.by, partition.timezone).between(low, high)
    assert [start for start, _ in partition.slots(RangeSet.span(low, high))] == ticks
    assert partition.count(RangeSet.span(low, high)) == len(ticks)
    assert partition.count(RangeSet.span(low + 1, high)) == max(0, len(ticks) - 1)


@given(placed())
def test_no_slot_is_longer_than_the_longest(drawn):
    partition, when = drawn
    start, end = partition.floor(when), partition.next(when)
    shown = wall_clock(end, partition.timezone) - wall_clock(start, partition.timezone)
    longest = partition.longest
    assert longest.months == 0
    most = timedelta(days=longest.days, seconds=longest.seconds)
    assert timedelta(seconds=end - start) <= most or shown <= most  # a zone may skip a whole day of its calendar


@given(placed(), st.integers(1, 3))
def test_sets_keep_to_slots(drawn, most):
    partition, when = drawn
    length = CRONS[partition.by]
    some = RangeSet.from_pairs([(when, when + 2 * length), (when + 5 * length, when + 9 * length)])
    covered, inside = partition.cover(some), partition.inside(some)
    assert covered.covers(some)
    assert some.covers(inside)
    slots = list(partition.slots(covered))
    assert [end for _, end in slots[:-1] if end not in covered.ends] == [
        start for (start, _), (_, before) in zip(slots[1:], slots, strict=False) if start == before
    ]
    assert RangeSet.from_pairs(slots) == covered == partition.cover(covered) == partition.inside(covered)
    assert all(RangeSet.span(*slot).overlaps(some) for slot in slots)
    assert [slot for slot in slots if some.covers(RangeSet.span(*slot))] == list(partition.slots(inside))
    chunks = partition.split_into_chunks(covered, most)
    assert RangeSet.union(chunks) == covered
    assert {partition.count(chunk) for chunk in chunks[:-1]} <= {most}


def test_weeks_that_begin_on_sunday_keep_to_midnight_across_clock_changes():
    weeks, days = (TimePartition(by, "America/Sao_Paulo") for by in ("0 0 * * SUN", "day"))
    found = list(weeks.slots(RangeSet.span(*days.parse_keys("2018-10-28..2018-11-17"))))
    assert [weeks.key(start) for start, _ in found] == ["2018-10-28", "2018-11-04", "2018-11-11"]
    assert [(end - start) // 3600 for start, end in found] == [168, 167, 168]
    assert [wall_clock(start, "America/Sao_Paulo").hour for start, _ in found] == [0, 1, 0]  # 00:00 was skipped


def test_a_day_of_quarters_has_those_that_the_day_has():
    quarters, days = TimePartition("*/15 * * * *", "Europe/Berlin"), TimePartition("day", "Europe/Berlin")
    counts = {key: quarters.count(RangeSet.span(*days.parse_key(key))) for key in ("2025-03-30", "2025-10-26")}
    assert counts == {"2025-03-30": 92, "2025-10-26": 100}


# ------------------------------------------------------------------ keys


@given(placed())
def test_keys_go_round_and_tell_slots_apart(drawn):
    partition, when = drawn
    start, end = partition.floor(when), partition.next(when)
    keys = partition.key(start), partition.key(end)
    assert partition.parse_key(keys[0]) == (start, end)
    assert keys[0] != keys[1]
    assert keys[0].startswith(wall_clock(start, partition.timezone).isoformat()[: 16 if "T" in keys[0] else 10])


@given(placed(), st.integers(-400, 400))
def test_only_starts_have_keys(drawn, minutes):
    partition, when = drawn
    local = wall_clock(partition.floor(when) + minutes * 60, partition.timezone).replace(second=0)
    text = local.isoformat(timespec="minutes") if partition.precision != "day" else str(local.date())
    around = range(partition.floor(when - 2 * DAY), when + 2 * DAY, 60)
    starts = {start for start in map(partition.floor, around) if partition.key(start) == text}
    try:
        found = {partition.parse_key(text)[0]}
    except PartitionError:
        found = set()
    assert found >= starts


@pytest.mark.parametrize(
    ("cron", "zone", "key", "start"),
    [
        ("0 6 * * *", "UTC", "2025-03-01T06:00", "2025-03-01T06:00Z"),
        ("*/15 * * * *", "Europe/Berlin", "2025-10-26T02:15+02:00", "2025-10-26T00:15Z"),
        ("*/15 * * * *", "Europe/Berlin", "2025-10-26T02:15+01:00", "2025-10-26T01:15Z"),
        ("*/15 * * * *", "Europe/Berlin", "2025-10-26T03:00", "2025-10-26T02:00Z"),
        ("0 0 * * SUN", "Europe/Berlin", "2025-03-30", "2025-03-29T23:00Z"),
        ("30 2 * * *", "Europe/Berlin", "2025-03-30T03:30", "2025-03-30T01:30Z"),  # 02:30 was skipped
        ("30 2 * * *", "Europe/Berlin", "2025-10-26T02:30", "2025-10-26T01:30Z"),  # once, at its second occurrence
    ],
)
def test_keys(cron, zone, key, start):
    partition = TimePartition(cron, zone)
    assert partition.key(at(start)) == key
    assert partition.parse_key(key)[0] == at(start)


@pytest.mark.parametrize(
    ("cron", "key", "message"),
    [
        ("0 6 * * *", "2025-03-01", "{} is not a partition key by {}; expected one such as 2013-01-05T06:00"),
        ("0 0 * * SUN", "2025-03-30T00:00", "{} is not a partition key by {}; expected one such as 2013-01-05"),
        (
            "0 0 * * SUN",
            "2025-03-31",
            "no partition by {1} begins at 2025-03-31\n  hint: the partition that contains it is 2025-03-30",
        ),
        (
            "0 6 * * *",
            "2025-03-01T07:00",
            (
                "no partition by {1} begins at 2025-03-01T07:00\n  hint: the partition that contains it is "
                "2025-03-01T06:00"
            ),
        ),
        (
            "*/15 * * * *",
            "2025-03-30T02:15",
            (
                "partition key {} does not exist: the clocks of Europe/Berlin skip it\n  hint: the partition that "
                "contains it is 2025-03-30T03:15"
            ),
        ),
        (
            "*/15 * * * *",
            "2025-10-26T02:15",
            (
                "partition key {}: that time is repeated in Europe/Berlin; "
                "expected 2025-10-26T02:15+02:00 or 2025-10-26T02:15+01:00"
            ),
        ),
        (
            "*/15 * * * *",
            "2025-10-26T03:15+02:00",
            "partition key {}: that time has another offset in Europe/Berlin; expected 2025-10-26T03:15+01:00",
        ),
        ("*/15 * * * *", "2025-13-01T00:00", "partition key {} is not a valid date: month must be in 1..12"),
        ("*/15 * * * *", "0999-12-01T00:00", "partition key {} is outside the years 1000 to 8999"),
    ],
)
def test_wrong_keys(cron, key, message):
    with pytest.raises(PartitionError) as error:
        TimePartition(cron, "Europe/Berlin").parse_key(key)
    assert str(error.value) == message.format(f"'{key}'", f"'{cron}'")


# ------------------------------------------------------------------ what names a slot


@given(placed())
def test_a_local_time_tells_the_slot_that_holds_it(drawn):
    partition, when = drawn
    low, high = partition.slot_of_local_time(wall_clock(when, partition.timezone))
    assert low <= when < high
    assert (partition.floor(low), partition.ceil(high)) == (low, high)


@given(placed())
def test_a_date_tells_the_slot_that_it_is_in(drawn):
    partition, when = drawn
    day = wall_clock(when, partition.timezone).date()
    if not partition.has_dates:
        return
    start, end = partition.slot_of_date(day)
    assert wall_clock(start, partition.timezone).date() <= day
    assert day < wall_clock(end, partition.timezone).date()


def test_a_date_that_the_clocks_skip_is_in_no_slot():
    assert TimePartition("0 0 * * FRI", "Pacific/Apia").slot_of_date(date(2011, 12, 30)) is None


def test_a_local_time_that_the_clocks_skip_is_in_no_slot():
    assert (
        TimePartition("*/15 * * * *", "Europe/Berlin").slot_of_local_time(datetime.fromisoformat("2025-03-30T02:15"))
        is None
    )


# ------------------------------------------------------------------ mappings


@st.composite
def neighbours(draw):
    """A mapping between two partitions, one of them by a cron at least, and a few slots of each near a clock change."""
    grains, lengths = [*GRAINS[:4], *list(CRONS)], SLOT_SECONDS | CRONS
    down = TimePartition(draw(st.sampled_from(grains)), draw(zones))
    others = list(CRONS) if down.by in GRAINS else [*GRAINS, *list(CRONS)]
    up = TimePartition(draw(st.sampled_from(others)), draw(zones | st.just(down.timezone)))
    mapping, near = draw(mappings), draw(instants_near_changes(down.timezone))

    def some(partition):
        length = min(lengths[partition.by], 4 * DAY)
        start = near + draw(st.integers(-3, 3)) * length
        pairs = []
        for _ in range(draw(st.integers(1, 3))):
            end = start + draw(st.integers(1, 3 * length))
            pairs.append((start, end))
            start = end + draw(st.integers(1, 2 * length))
        return partition.cover(RangeSet.from_pairs(pairs))

    return mapping, down, up, some(down), some(up)


@given(neighbours())
def test_up_of_partitions_is_the_union_of_the_up_of_each(drawn):
    mapping, down, up, partitions, _ = drawn
    each = RangeSet.union(
        mapping.required_ranges(RangeSet.span(*slot), consumer_time=down, inlet_time=up)
        for slot in down.slots(partitions)
    )
    assert mapping.required_ranges(partitions, consumer_time=down, inlet_time=up) == each


@given(neighbours())
def test_down_is_the_adjoint_of_up(drawn):
    mapping, down, up, _, changed = drawn
    touched = mapping.affected_ranges(changed, consumer_time=down, inlet_time=up)
    assert touched == down.cover(touched)
    edges = {down.floor(at) for start, end in touched.pairs() for at in (start, end - 1)}
    edges |= {down.floor(at) for start, end in changed.pairs() for at in (start, end - 1)}
    for edge in edges:
        partition = down.previous(edge)
        for _ in range(4):
            slot = RangeSet.span(partition, down.next(partition))
            needs = mapping.required_ranges(slot, consumer_time=down, inlet_time=up)
            assert touched.covers(slot) == touched.overlaps(slot) == needs.overlaps(changed)
            partition = down.next(partition)


@pytest.mark.parametrize(
    ("down", "up", "window", "zone", "partition", "needs"),
    [
        ("0 6 * * *", "hour", None, "UTC", "2025-03-01T06:00", "2025-03-01T06..2025-03-02T05"),
        ("day", "*/15 * * * *", None, "Europe/Berlin", "2025-03-30", "2025-03-30T00:00..2025-03-30T23:45"),
        ("0 0 * * SUN", "day", None, "Europe/Berlin", "2025-03-30", "2025-03-30..2025-04-05"),
        ("week", "0 0 * * SUN", None, "UTC", "2025-W14", "2025-03-30..2025-04-06"),
        ("*/15 * * * *", "*/15 * * * *", "1h", "UTC", "2025-03-01T06:45", "2025-03-01T06:00..2025-03-01T06:45"),
        ("0 0 * * SUN", "0 0 * * SUN", "14d", "America/Sao_Paulo", "2018-11-04", "2018-10-28..2018-11-04"),
    ],
)
def test_examples(down, up, window, zone, partition, needs):
    mapping = WindowMapping.trailing(Duration.parse(window)) if window else OverlapMapping()
    down, up = TimePartition(down, zone), TimePartition(up, zone)
    found = mapping.required_ranges(RangeSet.span(*down.parse_keys(partition)), consumer_time=down, inlet_time=up)
    assert up.labels(found) == [needs]
    assert mapping.affected_ranges(found, consumer_time=down, inlet_time=up).covers(
        RangeSet.span(*down.parse_keys(partition))
    )


def test_what_is_far_apart_costs_nothing():
    quarters = TimePartition("*/15 * * * *", "Europe/Berlin")
    decade = RangeSet.span(quarters.floor(at("2016-01-01")), quarters.floor(at("2026-01-01")))
    assert quarters.count(decade) == sum(1 for _ in range(at("2016-01-01"), at("2026-01-01"), 900))
    assert str(from_unix(quarters.oldest(decade, 1).last)) == "2016-01-01 00:15:00+00:00"

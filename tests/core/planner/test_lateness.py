"""What is late: by a plain model of the calendar, and told once that it began and once that it is over."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.instants import from_unix, to_unix
from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.journal.entries import PauseEntry
from sparkassets.core.journal.marks import MarkEntry
from sparkassets.core.journal.notified import LateEntry
from sparkassets.core.planner.explain.lateness import (
    describe_lateness,
    find_all_lateness,
    find_lateness,
    lateness_changes,
)
from sparkassets.core.planner.plan import AssetLateness
from sparkassets.core.spec.asset_services import DeadlineSpec, NotifyRule
from sparkassets.core.timetables.parse import parse_timetable
from tests.builders import Story, asset, at, project, source

TOLD = (NotifyRule(("late", "recovery"), ("ALERTS_URL",)),)
FIRST = date(2025, 3, 20)


def by(cron, zone="UTC", **bounds):
    return DeadlineSpec(parse_timetable({"at": cron}, timezone=zone, **bounds), f"by {cron}")


def orders(cron="0 8 * * *", zone="UTC", **more):
    return source("orders", zone=zone, timezone=zone, deadlines=by(cron, zone), **{"notify": TOLD, **more})


def late_of(story, name="orders"):
    context = story.context()
    return find_lateness(context, context.asset(name))


@given(
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York"]),
    st.integers(4, 23),
    st.sets(st.integers(0, 20)),
    st.integers(0, 21 * 24 * 60),
)
def test_the_newest_day_that_was_over_by_the_newest_deadline_has_to_be_there(zone, hour, there, minutes):
    here = ZoneInfo(zone)
    now = datetime.combine(FIRST, time(), UTC) + timedelta(minutes=minutes)
    story = Story(project(orders(f"0 {hour} * * *", zone)), now=now.isoformat())
    if there:
        story.observed("orders", *(str(FIRST + timedelta(days=day)) for day in there))
    deadlines = (datetime.combine(FIRST + timedelta(days=day), time(hour), here) for day in range(-2, 23))
    last = max(each for each in deadlines if each <= now)
    wanted = last.date() - timedelta(days=1)
    found = late_of(story)
    assert (found is not None) == ((wanted - FIRST).days not in there)
    if found is not None:
        assert (from_unix(found.by), story.keys("orders", found.partitions)) == (last.astimezone(UTC), [str(wanted)])


def test_every_known_segment_of_it_has_to_be_there():
    story = Story(project(orders(segments={"region": ("de", "nl")})), now="2025-01-05T09:00")
    story.observed("orders", "2025-01-04,nl")
    assert story.keys("orders", late_of(story).partitions) == ["2025-01-04,de"]
    story.observed("orders", "2025-01-04,de")
    assert late_of(story) is None


def test_what_is_out_of_bounds_skipped_or_not_yet_to_be_there_is_not_late():
    story = Story(project(orders(start=at("2025-01-05"))), now="2025-01-05T09:00")
    assert late_of(story) is None
    story.now = "2025-01-06T07:59"
    assert late_of(story) is None
    story.now = "2025-01-06T08:00"
    assert story.keys("orders", late_of(story).partitions) == ["2025-01-05"]
    made = Story(project(source("s"), asset("a", "s", deadlines=by("0 8 * * *"))), now="2025-01-06T09:00")
    (day,) = [made.project.assets["a"].partitioning.parse("2025-01-05")]
    assert late_of(made, "a") is not None
    made.add(MarkEntry("a", "a", "skip", day, "a holiday", "me"))
    assert late_of(made, "a") is None


@pytest.mark.parametrize(("ran", "now", "is_late"), [
    (None, "2025-01-03T08:00", True),
    ("2025-01-02T08:00", "2025-01-03T08:00", True),
    ("2025-01-02T08:01", "2025-01-03T07:59", False),
    ("2025-01-02T08:01", "2025-01-03T08:00", False),
    ("2025-01-02T08:01", "2025-01-04T08:00", True),
    ("2025-01-03T09:00", "2025-01-03T10:00", False),
])  # fmt: skip
def test_without_partitions_a_run_has_to_be_there_since_the_deadline_before(ran, now, is_late):
    story = Story(project(source("s", by=None), asset("a", "s", by=None, deadlines=by("0 8 * * *"))), now=now)
    if ran is not None:
        story.clock = ran
        story.observed("s")
        story.now, now = ran, story.now
        story.run("a")
        story.now, story.clock = now, None
    found = late_of(story, "a")
    assert (found is not None) == is_late
    if found is not None:
        told = describe_lateness(found, story.project.assets["a"])
        assert told.startswith("late: it never ran; expected by" if ran is None else "late: no run since")


def test_of_a_source_that_has_no_partitions_an_update_has_to_be_there():
    story = Story(project(source("s", by=None, deadlines=by("0 8 * * *"))), now="2025-01-03T08:00")
    assert describe_lateness(late_of(story, "s"), story.project.assets["s"]) == (
        "late: it never was updated; expected by 2025-01-03T08:00Z"
    )
    story.clock = "2025-01-02T09:00"
    story.observed("s")
    assert late_of(story, "s") is None


def tell(story):
    """What a driver records at its end."""
    entries = [*lateness_changes(story.context())]
    if entries:
        story.add(*entries)
    story.state = decode(encode(story.state), journal_id=story.state.journal_id)  # another driver starts again
    return [(each.asset, each.over) for each in entries]


def test_a_lateness_is_told_once_and_that_it_is_over_once_whoever_looks():
    story = Story(project(orders()), now="2025-01-05T07:00")
    story.observed("orders", "2025-01-03")
    assert tell(story) == []
    story.now = "2025-01-05T08:00"
    assert tell(story) == [("orders", False)]
    story.now = "2025-01-09T12:00"
    assert tell(story) == []
    story.observed("orders", "2025-01-08")
    assert tell(story) == [("orders", True)]
    assert tell(story) == []
    story.now = "2025-01-10T12:00"
    assert tell(story) == [("orders", False)]


def test_a_pause_says_nothing_and_what_nobody_is_told_any_more_is_forgotten():
    made = asset("a", "s", deadlines=by("0 8 * * *"), notify=TOLD)
    story = Story(project(source("s"), made), now="2025-01-05T08:00")
    assert tell(story) == [("a", False)]
    story.add(PauseEntry("a", paused=True))
    assert (late_of(story, "a"), tell(story)) == (None, [])
    story.add(PauseEntry("a", paused=False))
    assert tell(story) == []
    story.change(source("s"), asset("a", "s", deadlines=by("0 8 * * *")))
    assert tell(story) == [("a", True)]
    assert [each.asset for each in find_all_lateness(story.context())] == ["a"]
    story.change(source("s"), made)
    assert tell(story) == [("a", False)]


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 40)), max_size=12))
def test_beginnings_and_ends_take_turns_and_the_last_is_how_it_is(steps):
    story, hours, told = Story(project(orders()), now="2025-01-01T00:00"), 0, []
    for comes, wait in steps:
        hours += wait
        now = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(hours=hours)
        story.now = now.isoformat()
        if comes:
            story.observed("orders", str((now - timedelta(days=1)).date()))
        told += [over for _, over in tell(story)]
        assert bool(story.state.assets["orders"].late) == (late_of(story) is not None)
    assert told == [bool(number % 2) for number in range(len(told))]


def test_a_lateness_of_the_journal_is_read_as_it_was_written():
    from sparkassets.core.journal.codec import from_row, to_row
    from sparkassets.core.journal.entries import NumberedEntry

    story = Story(project(orders(segments={"region": ("de", "nl")})))
    partitions = story.project.assets["orders"].partitioning.parse("2025-01-04,nl")
    for entry in (
        LateEntry("orders", 5, partitions),
        LateEntry("orders", 5),
        LateEntry("orders", 5, partitions, over=True),
    ):
        numbered = NumberedEntry(entry, 3, datetime(2025, 1, 1, tzinfo=UTC), "d")
        assert from_row(to_row(numbered)) == numbered


def test_the_sentence_is_on_the_clock_of_the_asset():
    spec = orders(zone="Europe/Berlin")
    late = AssetLateness("orders", to_unix(datetime(2025, 7, 2, 6, tzinfo=UTC)), spec.partitioning.parse("2025-07-01"))
    assert describe_lateness(late, spec) == "late: 2025-07-01 was expected by 2025-07-02T08:00+02:00"

"""Which days and times a cron matches, against croniter's own search without a zone."""

from datetime import datetime, timedelta

import pytest
from croniter import croniter
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from sparkassets.core.crons.cron import CronError, expand
from sparkassets.core.instants import local_datetime, local_seconds, to_unix
from sparkassets.core.timetables.parse import parse_timetable

SYNTAX = "minute hour day-of-month month day-of-week"
BOUNDS = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)]


def by_croniter(cron, start, count):
    found = croniter(cron, start - timedelta(minutes=1), ret_type=datetime)
    return [found.get_next() for _ in range(count)]


def by_fields(cron, start, count):
    fields, found, low, length = expand(cron), [], local_seconds(start), 86_400
    while len(found) < count:
        found += fields.between(low, low + length)
        low, length = low + length, 2 * length
    return [local_datetime(time) for time in found[:count]]


def naive(text):
    return datetime.fromisoformat(text)


@pytest.mark.parametrize(
    "cron",
    [
        "0 0 L * *",
        "0 0 L,15 * *",
        "0 0 15W * *",
        "0 0 W1 * *",
        "0 0 31W * *",
        "0 0 * * L5",
        "0 0 * * L0",
        "0 0 * * 5#2",
        "0 0 * * MON#1,WED#3",
        "0 0 * * 1#5",
        "0 0 * * MON-FRI",
        "0 0 * JAN,JUN-AUG *",
        "0 0 * * 7",
        "0 0 * * 5-7",
        "0 0 * * 0-7",
        "0 0 * * SAT-MON",
        "0 0 1 * MON",
        "0 0 1,L */2 5,7",
        "0 0 */2 * MON",
        "0 0 1-7 * 0-6",
        "0 0 ? * MON",
        "0 22-2 * * *",
        "0 0 29 2 *",
        "0 0 31 * *",
        "5/15 3/7 * * *",
        "10-40/7,50 8-18/2 1-15/3 2-12/5 1-5/2",
    ],
)
def test_days_and_times_are_those_of_croniter(cron):
    start = naive("2023-12-31T12:34")
    assert by_fields(cron, start, 12) == by_croniter(cron, start, 12)


@st.composite
def plain_crons(draw):
    """Five fields of numbers, lists, ranges and steps; many of them wrong."""

    def part(low, high):
        first, last = draw(st.integers(low, high + 1)), draw(st.integers(low, high + 1))
        step = draw(st.integers(0, 40))
        return draw(
            st.sampled_from(
                ["*", f"{first}", f"{first}-{last}", f"*/{step}", f"{first}/{step}", f"{first}-{last}/{step}"]
            )
        )

    fields = [",".join(part(*bounds) for _ in range(draw(st.sampled_from([1, 1, 1, 2])))) for bounds in BOUNDS]
    if draw(st.booleans()):
        fields[draw(st.sampled_from([2, 4]))] = "*"
    return " ".join(fields)


@settings(suppress_health_check=[HealthCheck.filter_too_much])  # wrong ones are looked at before they are left out
@given(plain_crons(), st.datetimes(naive("2000-01-01"), naive("2030-01-01")))
def test_plain_crons_match_as_in_croniter(cron, start):
    try:
        expand(cron)
    except CronError as error:
        never = "never fires" in str(error)
        itself = "starts and ends at the same value" in str(error)
        beyond = "exceeds its range" in str(error)
        assert never or itself or beyond or not croniter.is_valid(cron)
        assume(False)  # noqa: FBT003 - the signature of hypothesis
    start = start.replace(second=0, microsecond=0)
    assert by_fields(cron, start, 6) == by_croniter(cron, start, 6)


@pytest.mark.parametrize(
    ("cron", "first"),
    [
        # day of the month or weekday, also where croniter would drop one of the two
        ("0 0 1 * 5#2", ["2025-01-01", "2025-01-10", "2025-02-01", "2025-02-14"]),
        ("0 0 15W * MON#1", ["2025-01-06", "2025-01-15", "2025-02-03", "2025-02-14"]),
        # days with the last one, and the nth of each weekday, which croniter counts together and takes for all days
        ("0 0 2-31,L * *", ["2025-01-02", "2025-01-03", "2025-01-04", "2025-01-05"]),
        ("0 0 * * SUN-SAT#4", ["2025-01-22", "2025-01-23", "2025-01-24", "2025-01-25"]),
        # a fifth Monday in February takes a leap year that begins on the right day
        ("0 0 * 2 1#5", ["2044-02-29", "2072-02-29", "2112-02-29", "2140-02-29"]),
    ],
)
def test_days_beyond_croniter(cron, first):
    assert by_fields(cron, naive("2025-01-01"), 4) == [naive(day) for day in first]


@pytest.mark.parametrize(
    ("cron", "message"),
    [
        ("0", f"has 1 field; expected five: {SYNTAX}"),
        ("0 6 * *", f"has 4 fields; expected five: {SYNTAX}"),
        ("", f"has 0 fields; expected five: {SYNTAX}"),
        ("0 0 6 * * *", f"has 6 fields; expected five: {SYNTAX}\n  hint: seconds and years are not supported"),
        ("0 0 6 * * * 2025", f"has 7 fields; expected five: {SYNTAX}\n  hint: seconds and years are not supported"),
        ("0 0 31 2 *", "never fires: no year has such a day"),
        ("0 0 31 4,6,9,11 *", "never fires: no year has such a day"),
    ],
)
def test_wrong_as_a_whole(cron, message):
    with pytest.raises(CronError) as error:
        expand(cron)
    assert str(error.value) == f"cron '{cron}' {message}"


def test_a_cron_has_a_length():
    with pytest.raises(CronError, match=r"^the cron '1,1,.*…' has 2,007 characters; expected at most 500$"):
        expand(",".join("1" * 1000) + " 0 * * *")


NO_DRAWING = "H and R (values chosen by hash or at random) are not supported"
NO_MIXING = "# and L cannot be mixed with plain weekdays"


@pytest.mark.parametrize(
    ("cron", "name", "field", "hint"),
    [
        ("60 * * * *", "minute", "60", ""),
        ("*/0 * * * *", "minute", "*/0", ""),
        ("1,,2 * * * *", "minute", "1,,2", ""),
        ("-1 * * * *", "minute", "-1", ""),
        ("1.5 * * * *", "minute", "1.5", ""),
        ("\u0660 * * * *", "minute", "\u0660", ""),
        ("0 24 * * *", "hour", "24", ""),
        ("0 L * * *", "hour", "L", ""),
        ("0 0 0 * *", "day-of-month", "0", ""),
        ("0 0 5-0 * *", "day-of-month", "5-0", ""),
        ("0 0 * 5-0 *", "month", "5-0", ""),
        ("0 0 L-3 * *", "day-of-month", "L-3", ""),
        ("0 0 1W,15 * *", "day-of-month", "1W,15", ""),
        ("0 0 * 13 *", "month", "13", ""),
        ("0 0 * FOO *", "month", "FOO", ""),
        ("0 0 * * 8", "day-of-week", "8", ""),
        ("0 0 * * 1#6", "day-of-week", "1#6", ""),
        ("0 0 * * 5L", "day-of-week", "5L", ""),
        ("H 0 * * *", "minute", "H", NO_DRAWING),
        ("0 H(0-5) * * *", "hour", "H(0-5)", NO_DRAWING),
        ("R/10 * * * *", "minute", "R/10", NO_DRAWING),
        ("0 0 * * 5,L5", "day-of-week", "5,L5", NO_MIXING),
        ("0 0 * * 1#1,2", "day-of-week", "1#1,2", NO_MIXING),
        ("0 6-6 * * *", "hour", "6-6", "'6-6' starts and ends at the same value; write one value, or * for all"),
        (
            "0 0 * * 1,5-05",
            "day-of-week",
            "1,5-05",
            "'5-05' starts and ends at the same value; write one value, or * for all",
        ),
        *(
            (cron, name, field, f"the step of '{part}' exceeds its range; write one value, or a smaller step")
            for cron, name, field, part in [
                ("*/60 * * * *", "minute", "*/60", "*/60"),
                ("0-59/70 * * * *", "minute", "0-59/70", "0-59/70"),
                ("5,50/10 * * * *", "minute", "5,50/10", "50/10"),
                ("0 22-23/2 * * *", "hour", "22-23/2", "22-23/2"),
                ("0 0 */31 * MON", "day-of-month", "*/31", "*/31"),
                ("0 0 * JAN-FEB/2 *", "month", "JAN-FEB/2", "JAN-FEB/2"),
                ("0 0 * * MON,*/7", "day-of-week", "MON,*/7", "*/7"),
            ]
        ),
        (
            "0 0 31-L * *",
            "day-of-month",
            "31-L",
            "'31-L' starts and ends at the same value; write one value, or * for all",
        ),
        (
            "0 0 * JAN-1 *",
            "month",
            "JAN-1",
            "'JAN-1' starts and ends at the same value; write one value, or * for all",
        ),
    ],
)
def test_wrong_field(cron, name, field, hint):
    expected = {
        "minute": "0-59",
        "hour": "0-23",
        "day-of-month": "1-31, L (the last) or 15W (the nearest working day)",
        "month": "1-12 or JAN-DEC",
        "day-of-week": "0-7 or SUN-SAT, 5#2 (the second Friday) or L5 (the last)",
    }[name]
    with pytest.raises(CronError) as error:
        expand(cron)
    hint = f"\n  hint: {hint}" if hint else ""
    assert str(error.value) == f"cron '{cron}': {name} '{field}' is not valid; expected {expected}{hint}"


words = st.sampled_from(
    ["*", "?", "L", "W", "#", "-", "/", ",", "MON", "sun", "JAN", "dec", "H", "R", "@", "(", ")", "x"]
)
scraps = st.lists(words | st.integers(0, 99).map(str), min_size=1, max_size=4).map("".join)


@given(st.lists(scraps, min_size=5, max_size=5).map(" ".join))
def test_any_text_is_a_cron_or_a_clear_error(cron):
    try:
        wrong = "" if expand(cron).times else "no times"
    except CronError as error:
        wrong = str(error)
    assert wrong == "" or wrong.startswith(f"cron '{cron}'")


def test_leap_day_across_a_century():
    timetable = parse_timetable("0 0 29 2 *", timezone="UTC")
    slot = timetable.first_after(datetime.fromisoformat("2097-01-01T00:00Z"))
    assert (slot.start.year, slot.end.year) == (2096, 2104)
    assert to_unix(slot.end) > 0

"""Crons as Quartz and systemd write them mean the same moments."""

import re
import shutil
import subprocess
from datetime import UTC, datetime, timedelta

import pytest
from croniter import croniter
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.crons.cron import expand
from sparkassets.errors import InputError
from sparkassets.features.deploy.deployment_kinds import to_on_calendar, to_quartz

START = datetime(2025, 1, 1, tzinfo=UTC)
DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]


def numbers(low, high):
    one = st.integers(low, high).map(str)
    step = st.integers(2, (high - low) // 2 + 1).map(lambda each: f"*/{each}")
    span = st.lists(st.integers(low, high), min_size=2, max_size=2, unique=True).map(lambda ab: f"{min(ab)}-{max(ab)}")
    return st.one_of(st.just("*"), one, step, span, st.lists(one, min_size=2, max_size=3).map(",".join))


DATES = st.tuples(numbers(1, 28), st.just("*"))
WEEKDAYS = st.tuples(st.just("*"), numbers(0, 6))
CRONS = st.tuples(numbers(0, 59), numbers(0, 23), st.one_of(DATES, WEEKDAYS), numbers(1, 12)).map(
    lambda parts: f"{parts[0]} {parts[1]} {parts[2][0]} {parts[3]} {parts[2][1]}"
)


def among(text, value, names=()):
    """Whether a value is in a list with commas."""
    return text in ("*", "?") or str(value) in text.split(",") or (names and names[value] in text.split(","))


def is_quartz(text, moment):
    seconds, minute, hour, day, month, weekday = text.split()
    assert seconds == "0"
    assert (day == "?") != (weekday == "?")
    told = [(minute, moment.minute), (hour, moment.hour), (day, moment.day), (month, moment.month)]
    return all(among(*each) for each in told) and among(weekday, moment.isoweekday() % 7, DAYS)


def is_calendar(text, moment):
    parts = re.fullmatch(r"(?:([A-Z,a-z]+) )?\*-([\d*,]+)-([\d*,]+) ([\d*,]+):([\d*,]+):00 UTC", text)
    weekdays, month, day, hour, minute = parts.groups()
    told = [(minute, moment.minute), (hour, moment.hour), (day, moment.day), (month, moment.month)]
    names = [each.capitalize() for each in DAYS]
    return all(among(*each) for each in told) and among(weekdays or "*", moment.isoweekday() % 7, names)


@given(CRONS, st.integers(0, 366 * 24 * 60))
def test_they_match_the_same_minutes(cron, offset):
    expand(cron)
    ticks = croniter(cron, START + timedelta(minutes=offset))
    moments = [START + timedelta(minutes=offset), *(ticks.get_next(datetime) for _ in range(3))]
    for moment in [
        *moments,
        *(each + timedelta(minutes=1) for each in moments),
        *(each + timedelta(days=1) for each in moments),
    ]:
        expected = croniter.match(cron, moment)
        assert is_quartz(to_quartz(cron), moment) == expected
        assert is_calendar(to_on_calendar(cron, "UTC"), moment) == expected


@pytest.mark.parametrize("write", [to_quartz, lambda cron: to_on_calendar(cron, "UTC")])
@pytest.mark.parametrize(
    ("cron", "told"),
    [
        ("0 0 1 * MON", "combines days of the month with weekdays"),
        ("0 0 * * MON#1", "uses W, # or L of a weekday"),
        ("0 0 15W * *", "uses W, # or L of a weekday"),
        ("0 0 * *", "expected five"),
    ],
)
def test_what_they_cannot_say_is_refused(write, cron, told):
    with pytest.raises(InputError, match=told):
        write(cron)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
@pytest.mark.parametrize("cron", ["*/15 * * * *", "30 6 * * MON-FRI", "0 0 L * *", "5 4 1,15 3 *"])
def test_systemd_reads_it_as_it_is_meant(cron):
    calendar = to_on_calendar(cron, "UTC")
    command = ["systemd-analyze", "calendar", "--iterations=3", "--base-time=2025-01-31 23:59:30 UTC", calendar]
    told = subprocess.run(
        command, capture_output=True, text=True, check=False, env={"TZ": "UTC", "PATH": "/usr/bin:/bin"}
    )
    assert told.returncode == 0, told.stderr
    found = re.findall(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC", told.stdout)
    ticks = croniter(cron, datetime(2025, 1, 31, 23, 59, 30, tzinfo=UTC))
    expected = [ticks.get_next(datetime).strftime("%Y-%m-%d %H:%M:%S") for _ in range(3)]
    assert list(dict.fromkeys(found)) == expected

"""Which upstream run belongs to a downstream run."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.timetables import Timetable
from sparkassets.core.timetables.parse import parse_timetable
from sparkassets.core.timetables.timetable import RunAlignment, align_runs
from sparkassets.errors import InputError


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def cron(text: str, **bounds: str) -> Timetable:
    return parse_timetable({"cron": text, **bounds}, timezone="UTC")


def alignment(upstream: Timetable, downstream: Timetable, now: str) -> RunAlignment:
    return align_runs(upstream, downstream, at(now), names=("up", "down"))


# the timelines of the classic proposal
@pytest.mark.parametrize(
    ("upstream", "downstream", "now", "theirs", "own", "delta", "case"),
    [
        ("0 0 * * *", "0 0 */2 * *", "2025-03-21T00:00", "2025-03-20T00:00", "2025-03-19T00:00", -86400, 1),
        ("0 6 * * *", "0 * * * *", "2025-03-22T04:00", "2025-03-20T06:00", "2025-03-22T03:00", 162000, 2),
        ("0 6 * * *", "0 6 * * *", "2025-03-21T06:00", "2025-03-20T06:00", "2025-03-20T06:00", 0, 1),
        ("0 6 * * *", "0 6 * * 1,3,5", "2025-03-21T06:00", "2025-03-20T06:00", "2025-03-19T06:00", -86400, 1),
        ("0 6 * * 2,4", "0 6 * * *", "2025-03-21T06:00", "2025-03-18T06:00", "2025-03-20T06:00", 172800, 2),
        ("0 6 * * 1,3,5", "0 6 * * *", "2025-03-21T06:00", "2025-03-19T06:00", "2025-03-20T06:00", 86400, 1),
    ],
)
def test_execution_delta(
    upstream: str, downstream: str, now: str, theirs: str, own: str, delta: int, case: int
) -> None:
    found = alignment(cron(upstream), cron(downstream), now)
    assert (found.upstream.start, found.downstream.start) == (at(theirs), at(own))
    assert (found.delta_seconds, found.case) == (delta, case)


def test_between_two_ticks_it_is_the_downstream_run_before() -> None:
    found = alignment(cron("0 6 * * *"), cron("0 6 * * *"), "2025-03-21T17:45")
    assert found.downstream.end == at("2025-03-21T06:00")


def test_upstream_that_starts_too_late_has_no_run() -> None:
    upstream = cron("0 6 * * *", start="2025-03-21T06:00Z")
    with pytest.raises(InputError, match=r"^'up' has no run by 2025-03-21T06:00Z, when 'down' runs: 0 6 \* \* \* "):
        alignment(upstream, cron("0 6 * * *"), "2025-03-21T06:00")
    assert upstream.last_over(at("2025-03-22T06:00")) is not None


def test_downstream_that_starts_too_late_has_no_alignment() -> None:
    with pytest.raises(InputError, match=r"^'down' has no run by 2025-03-21T12:00Z: @daily \(UTC\) from 2025-03-21"):
        alignment(cron("@daily"), cron("@daily", start="2025-03-21"), "2025-03-21T12:00")


def test_a_long_delay_at_the_ends_of_the_calendar() -> None:
    late = parse_timetable({"at": "0 6 1 1 *", "delay": "999y"}, timezone="UTC")
    for now in ("9990-01-01", "9999-12-31T23:59"):
        assert alignment(cron("@yearly"), late, now).downstream.end <= at(now)
    with pytest.raises(InputError, match="'down' has no run by 0001-01-01"):
        alignment(cron("@yearly"), late, "0001-01-01")


@given(
    text=st.sampled_from(["@hourly", "@daily", "*/20 * * * *", "0 6 * * 1,3,5", "0 0 1 * *"]),
    delay=st.integers(0, 40 * 24 * 60),
    minutes=st.integers(0, 200 * 24 * 60),
    start=st.sampled_from([None, "2025-03-01", "2025-06-01"]),
)
def test_delay_changes_nothing(text: str, delay: int, minutes: int, start: str | None) -> None:
    bounds = {"start": start} if start else {}
    timetable = cron(text, **bounds)
    now = at("2025-01-01") + timedelta(minutes=minutes)

    plain, late = timetable.last_over(now), cron(text, **bounds, delay=f"{delay}m").last_over(now)

    assert (plain and (plain.start, plain.end)) == (late and (late.start, late.end))
    assert plain == timetable.last_at(now)


@pytest.mark.parametrize("delay", ["1d", "1mo", "2mo1d"])
@pytest.mark.parametrize(
    "rule",
    [{"cron": "@daily"}, {"cron": "0 2,3 * * *", "interval": "1d"}, {"cron": "0 0 * * 1,3,5", "interval": "1mo"}],
    ids=str,
)
def test_delay_by_the_calendar_changes_nothing_either(rule: dict[str, str], delay: str) -> None:
    """Although several runs may then start at one instant."""
    plain = parse_timetable(rule, timezone="Europe/Berlin")
    late = parse_timetable({**rule, "delay": delay}, timezone="Europe/Berlin")
    for day in range(430):
        now = at("2024-01-28T01:00") + timedelta(days=day)
        own, theirs = plain.last_at(now), late.last_over(now)
        assert own is not None
        assert theirs is not None
        assert (theirs.start, theirs.end) == (own.start, own.end)
        assert plain.last_over(now) == own

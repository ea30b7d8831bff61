import sys
from datetime import UTC, date, datetime
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkassets.core.crons.cron import expand
from sparkassets.core.crons.wall_clock import WallClockTicks
from sparkassets.core.instants import DAY, day_number, format_instant, from_unix, to_unix
from sparkassets.core.timetables.calendars import ROLLS, RolledTicks, find_calendar
from sparkassets.core.timetables.exchanges import SessionTicks, TradingIntervals, find_trading_calendar
from sparkassets.core.timetables.timetable import TimetableError
from tests.depth import examples

CODES = ["DE", "DE-BY", "US-NY", "AE", "XNYS", "XSHG"]


def at(text):
    return to_unix(datetime.fromisoformat(text).replace(tzinfo=UTC))


def rolled(cron, code, roll, timezone="UTC"):
    return RolledTicks(WallClockTicks(cron, timezone, expand(cron)), find_calendar(code), roll, timezone)


def listed(ticks, start, end):
    return [format_instant(from_unix(tick)) for tick in ticks.between(at(start), at(end))]


@pytest.mark.parametrize(
    ("code", "day", "is_open"),
    [
        ("DE", "2025-03-14", True),
        ("DE", "2025-03-15", False),
        ("DE", "2025-10-03", False),
        ("DE", "2025-11-01", False),
        ("DE", "2025-06-19", True),
        ("DE-BY", "2025-06-19", False),
        ("AE", "2021-01-01", False),
        ("US-NY", "2025-02-12", False),
        ("US", "2025-02-12", True),
        ("XNYS", "2024-11-28", False),
        ("XNYS", "2024-11-29", True),
        ("NYSE", "2024-11-28", False),
        ("XSHG", "2024-10-03", False),
    ],
)
def test_a_day_is_open_or_closed(code, day, is_open):
    assert find_calendar(code).is_open(day_number(date.fromisoformat(day))) is is_open


def test_the_15th_or_the_last_working_day_before_it():
    ticks = rolled("0 9 15 * *", "DE", "back", "Europe/Berlin")
    assert listed(ticks, "2025-02-01", "2025-07-01") == [
        "2025-02-14T08:00:00Z",
        "2025-03-14T08:00:00Z",
        "2025-04-15T07:00:00Z",
        "2025-05-15T07:00:00Z",
        "2025-06-13T07:00:00Z",
    ]
    assert format_instant(from_unix(ticks.after(at("2025-03-14T07:59")))) == "2025-03-14T08:00:00Z"
    assert format_instant(from_unix(ticks.after(at("2025-03-14T08:00")))) == "2025-04-15T07:00:00Z"
    assert format_instant(from_unix(ticks.before(at("2025-03-15T12:00")))) == "2025-03-14T08:00:00Z"


def test_the_first_or_the_next_working_day():
    ticks = rolled("0 9 1 * *", "DE", "forward")
    assert listed(ticks, "2024-12-15", "2025-04-15") == [
        "2025-01-02T09:00:00Z",
        "2025-02-03T09:00:00Z",
        "2025-03-03T09:00:00Z",
        "2025-04-01T09:00:00Z",
    ]
    assert format_instant(from_unix(ticks.before(at("2025-02-03T09:00")))) == "2025-01-02T09:00:00Z"


def test_trading_days_only():
    assert listed(rolled("0 18 * * *", "XNYS", "skip"), "2024-11-27", "2024-12-03") == [
        "2024-11-27T18:00:00Z",
        "2024-11-29T18:00:00Z",
        "2024-12-02T18:00:00Z",
    ]


def test_ticks_that_meet_are_one():
    assert listed(rolled("0 9 * * *", "DE", "back"), "2025-03-13", "2025-03-18") == [
        "2025-03-13T09:00:00Z",
        "2025-03-14T09:00:00Z",
        "2025-03-17T09:00:00Z",
    ]


def test_the_closed_day_is_the_local_one():
    ticks = rolled("0 2 * * *", "DE", "skip", "Asia/Tokyo")
    assert listed(ticks, "2025-03-13T17:00", "2025-03-16T18:00") == ["2025-03-13T17:00:00Z", "2025-03-16T17:00:00Z"]


def test_a_moved_time_that_the_clocks_skip_moves_on_by_the_gap():
    # Sunday is a working day in Israel; on 9 March 2025 the clocks of New York skip 02:30
    moved = rolled("30 2 8 3 *", "IL", "forward", "America/New_York")
    assert listed(moved, "2025-03-01", "2025-04-01") == ["2025-03-09T07:30:00Z"]


def test_a_date_that_the_zone_skips_is_no_open_day():
    ticks = rolled("0 9 31 12 *", "DE", "back", "Pacific/Apia")
    assert listed(ticks, "2011-12-25", "2012-01-05") == ["2011-12-29T19:00:00Z"]


def test_a_tick_that_never_meets_an_open_day_does_not_exist():
    ticks = rolled("0 9 1 1 *", "DE", "skip")
    assert ticks.after(at("2025-01-01")) is None
    assert ticks.before(at("2025-01-01")) is None


def test_outside_what_an_exchange_knows_there_are_no_ticks():
    for roll in ROLLS:
        ticks = rolled("0 9 * * *", "XBOM", roll)
        assert ticks.between(at("2027-02-01"), at("2027-03-01")) == []
        assert from_unix(ticks.before(at("2099-01-01"))).date() == date(2026, 12, 31)
        assert from_unix(ticks.after(at("1900-01-01"))).year == 1997


def test_sessions_open_and_close_when_they_really_do():
    exchanged = find_trading_calendar("XNYS")
    closes = SessionTicks(exchanged, "close")
    assert listed(closes, "2024-11-27", "2024-12-03") == [
        "2024-11-27T21:00:00Z",
        "2024-11-29T18:00:00Z",
        "2024-12-02T21:00:00Z",
    ]
    assert closes.after(at("2024-11-27T21:00")) == at("2024-11-29T18:00")
    assert closes.before(at("2024-11-29T18:00")) == at("2024-11-27T21:00")
    opens = SessionTicks(exchanged, "open")
    assert listed(opens, "2024-11-28", "2024-12-01") == ["2024-11-29T14:30:00Z"]
    assert list(TradingIntervals(exchanged).intervals(opens, at("2024-11-28"), at("2024-12-01"))) == [
        (at("2024-11-29T14:30"), at("2024-11-29T18:00"))
    ]


@settings(max_examples=examples(150))
@given(
    code=st.sampled_from(CODES),
    roll=st.sampled_from(ROLLS),
    cron=st.sampled_from(["0 9 15 * *", "30 2 * * *", "0 */6 * * *", "0 * * * *", "0 0 1 * MON", "30 1 * * SUN"]),
    timezone=st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"]),
    start=st.integers(at("1995-01-01"), at("2026-01-01")),
)
def test_rolled_ticks_ascend_keep_to_open_days_and_next_and_previous_are_inverse(code, roll, cron, timezone, start):
    ticks = rolled(cron, code, roll, timezone)
    found = ticks.between(start, start + 40 * DAY)
    halves = ticks.between(start, start + 17 * DAY) + ticks.between(start + 17 * DAY, start + 40 * DAY)
    assert found == halves
    for tick, later in pairwise(found[:6]):
        assert tick < later
        assert (ticks.after(tick), ticks.before(later)) == (later, tick)
        assert (ticks.after(later - 1), ticks.before(tick + 1)) == (later, tick)
    if found:
        assert ticks.after(start - 1) == found[0]
        assert ticks.before(start + 40 * DAY) == found[-1]


EXPECTED = "expected a country such as DE, a part of one such as US-NY, or an exchange such as XNYS"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("de", f"unknown country 'de' of the calendar 'de'; {EXPECTED}\n  hint: did you mean 'DE'?"),
        (
            "GB-EN",
            (
                "unknown subdivision 'EN' of the calendar 'GB-EN'; expected one of ENG, NIR, SCT, WLS\n"
                "  hint: did you mean 'ENG'?"
            ),
        ),
        ("SG-X", "unknown subdivision 'X' of the calendar 'SG-X'; expected 'SG' alone"),
        ("XNY", f"unknown calendar 'XNY'; {EXPECTED}\n  hint: did you mean 'XNYS'?"),
    ],
)
def test_a_code_of_no_calendar(code, message):
    with pytest.raises(TimetableError) as refused:
        find_calendar(code)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("code", "module", "package", "extra"),
    [
        ("DE", "holidays", "holidays", "calendars"),
        ("XNYS", "exchange_calendars", "exchange_calendars", "exchanges"),
    ],
)
def test_a_calendar_whose_package_is_missing(code, module, package, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(TimetableError) as refused:
        find_calendar(code)
    assert str(refused.value) == (
        f"the calendar '{code}' needs the package '{package}', which is not installed\n"
        f"  hint: pip install 'sparkassets[{extra}]'"
    )


def test_a_calendar_that_its_library_cannot_compute(monkeypatch):
    import exchange_calendars

    def fails(*_, **__):
        raise NotImplementedError("implemented by subclasses")

    monkeypatch.setattr(exchange_calendars, "get_calendar", fails)
    with pytest.raises(TimetableError) as refused:
        find_calendar("XSTO")
    assert str(refused.value) == (
        "the package 'exchange_calendars' cannot compute the calendar 'XSTO': NotImplementedError: implemented by "
        "subclasses\n  hint: try another version of it or of pandas"
    )


def test_the_rule_for_people():
    assert rolled("0 9 15 * *", "DE", "back").describe() == "0 9 15 * *, or the last open day of DE before"
    assert rolled("0 9 15 * *", "DE", "skip").describe() == "0 9 15 * *, on open days of DE only"
    assert SessionTicks(find_trading_calendar("XNYS"), "close").describe() == "close of XNYS"

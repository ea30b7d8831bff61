import sys
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import count, repeat
from typing import Annotated

import pytest
from annotated_types import Ge

from sparkassets.core.instants import format_instant
from sparkassets.core.timetables import Slot, TimetableError
from sparkassets.core.timetables.parse import parse_timetable

BEGIN, END = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@dataclass(frozen=True)
class Payday:
    """The day of each month, at midnight of the zone."""

    day: Annotated[int, Ge(1)]
    since: date = date(1970, 1, 1)
    timezone: str = "UTC"

    def __post_init__(self):
        if self.day > 28:
            raise ValueError("not every month has that day")

    def slots(self, start, end):
        month = start.replace(day=1, hour=0, minute=0, second=0) - timedelta(days=40)
        while month < end:
            run_after = month.replace(day=self.day)
            if start <= run_after < end and run_after.date() >= self.since:
                yield Slot(run_after, run_after - timedelta(days=7), run_after)
            month = (month.replace(day=1) + timedelta(days=32)).replace(day=1)


@dataclass(frozen=True)
class Late:
    """Each UTC day from 2025 on, some hours after it is over."""

    hours: int

    def slots(self, start, end):
        day = max(start.replace(hour=0, minute=0, second=0) - timedelta(days=40), at("2025-01-01"))
        while (run_after := day + timedelta(days=1, hours=self.hours)) < end:
            if start <= run_after:
                yield Slot(run_after, day, day + timedelta(days=1))
            day += timedelta(days=1)


class Wrong:
    def __init__(self, how: str):
        self.how = how

    def slots(self, start, end):
        match self.how:
            case "raises":
                raise KeyError("day")
            case "naive":
                return [Slot(start, start.replace(tzinfo=None), start)]
            case "early":
                return [Slot(start - timedelta(1), start, start)]
            case "reversed":
                return [Slot(start, start, start - timedelta(1))]
            case "exits":
                sys.exit(0)
            case "stuck":
                return repeat(Slot(start, start, start))
            case "endless":
                return (Slot(day, day, day) for day in (start + timedelta(number) for number in count()))
        return [3]


def nothing(hour: int):
    return hour


def fails(day: int):
    raise KeyError(day)


def unresolved(x: "Nope"):  # noqa: F821 - what another package may have written
    return x


def no_type(x: 5):
    return x


def swallowed(window: str):
    return window


@dataclass(frozen=True)
class Named:
    """Parameters whose names a pydantic model has itself."""

    schema: int
    copy: int = 0
    model_config: int = 0

    def slots(self, start, end):
        return [] if self.schema else [Slot(start, start, end)]


INSTALLED = {"payday": Payday, "late": Late, "wrong": Wrong, "nothing": nothing}
FAULTY = {"fails": fails, "unresolved": unresolved, "no_type": no_type, "builtin": dict, "swallowed": swallowed}


def parsed(value, **options):
    return parse_timetable(value, timezone="UTC", installed=INSTALLED, **options)


def slots(timetable, start, end):
    found = timetable.between(at(start), at(end))
    return [tuple(format_instant(each)[:16] for each in (slot.run_after, slot.start, slot.end)) for slot in found]


def test_the_15th_or_the_last_working_day_before_it():
    written = {"at": "0 9 15 * *", "calendar": "DE", "roll": "back", "timezone": "Europe/Berlin"}
    timetable = parsed(written)
    assert slots(timetable, "2025-03-01", "2025-05-01") == [
        ("2025-03-14T08:00", "2025-03-14T08:00", "2025-03-14T08:00"),
        ("2025-04-15T07:00", "2025-04-15T07:00", "2025-04-15T07:00"),
    ]
    assert timetable.describe() == "at 0 9 15 * *, or the last open day of DE before (Europe/Berlin)"


def test_a_calendar_alone_skips_and_intervals_go_from_open_day_to_open_day():
    timetable = parsed({"cron": "0 18 * * *", "calendar": "XNYS"})
    assert slots(timetable, "2024-11-28", "2024-12-01") == [
        ("2024-11-29T18:00", "2024-11-27T18:00", "2024-11-29T18:00")
    ]
    assert timetable.abutting


def test_an_interval_of_its_own_goes_with_a_calendar():
    timetable = parsed({"cron": "0 0 * * *", "interval": "1d", "calendar": "DE"})
    assert slots(timetable, "2025-03-15", "2025-03-17T12:00") == [
        ("2025-03-15T00:00", "2025-03-14T00:00", "2025-03-15T00:00")
    ]


def test_every_and_times_keep_to_open_days():
    assert [each[0] for each in slots(parsed({"every": "12h", "calendar": "DE"}), "2025-03-14", "2025-03-17")] == [
        "2025-03-14T00:00",
        "2025-03-14T12:00",
        "2025-03-17T00:00",
    ]
    times = parsed({"times": {"hours": [9]}, "calendar": "DE", "roll": "forward"})
    assert [each[0] for each in slots(times, "2025-03-15", "2025-03-18")] == ["2025-03-17T09:00"]


def test_sessions():
    close = parsed({"at": "close", "calendar": "XNYS", "delay": "30m"})
    assert slots(close, "2024-11-29", "2024-11-30") == [("2024-11-29T18:30", "2024-11-29T18:00", "2024-11-29T18:00")]
    sessions = parsed({"every": "session", "calendar": "XNYS"})
    assert slots(sessions, "2024-11-28", "2024-12-03") == [
        ("2024-11-29T18:00", "2024-11-29T14:30", "2024-11-29T18:00"),
        ("2024-12-02T21:00", "2024-12-02T14:30", "2024-12-02T21:00"),
    ]
    assert format_instant(sessions.first_after(at("2024-11-29T18:00")).run_after) == "2024-12-02T21:00:00Z"
    assert format_instant(sessions.last_at(at("2024-12-02T20:59")).run_after) == "2024-11-29T18:00:00Z"


def test_the_sun():
    timetable = parsed({"sun": "noon", "latitude": 0, "longitude": 0, "start": "2025-06-01"})
    assert [each[0] for each in slots(timetable, "2025-05-01", "2025-06-03")] == [
        "2025-06-01T11:57",
        "2025-06-02T11:58",
    ]


def test_a_registered_timetable():
    timetable = parsed({"timetable": "payday", "day": 15, "timezone": "Europe/Berlin"})
    assert timetable.rule == Payday(15, timezone="Europe/Berlin")
    assert timetable.describe() == "timetable payday {day: 15} (Europe/Berlin)"
    assert slots(timetable, "2025-01-01", "2025-03-01") == [
        ("2025-01-15T00:00", "2025-01-08T00:00", "2025-01-15T00:00"),
        ("2025-02-15T00:00", "2025-02-08T00:00", "2025-02-15T00:00"),
    ]
    first = timetable.first_after(at("2025-01-15"))
    assert format_instant(first.run_after) == "2025-02-15T00:00:00Z"
    assert timetable.last_at(first.run_after) == first
    assert format_instant(timetable.last_at(at("2025-02-14")).run_after) == "2025-01-15T00:00:00Z"


@pytest.mark.parametrize("hours", [0, 6, 30 * 24])
@pytest.mark.parametrize("delay", ["0s", "2h", "1mo"])
def test_the_last_interval_that_is_over_whenever_the_rule_runs_after_it(hours, delay):
    timetable = parsed({"timetable": "late", "hours": hours, "delay": delay})
    ends = [
        ("2025-01-01T23:59", None),
        ("2025-01-02", 1),
        ("2025-01-29", 28),
        ("2025-01-30", 29),
        ("2025-03-02T12:00", 60),
    ]
    for now, day in ends:
        slot = timetable.last_over(at(now))
        end = None if day is None else at("2025-01-01") + timedelta(days=day)
        assert (slot and slot.end) == end
        assert slot is None or slot in timetable.between(slot.run_after, slot.run_after)
    assert parsed({"timetable": "late", "hours": 0, "end": "2024-01-01"}).last_over(at("2025-06-01")) is None


def test_bounds_delay_and_window_of_a_registered_timetable_are_the_frameworks():
    written = {
        "timetable": "payday",
        "day": 15,
        "start": "2025-01-09",
        "end": "2025-04-01",
        "delay": "2d",
        "window": "1mo",
    }
    assert slots(parsed(written), "2025-01-01", "2026-01-01") == [
        ("2025-02-17T00:00", "2025-01-15T00:00", "2025-02-15T00:00"),
        ("2025-03-17T00:00", "2025-02-15T00:00", "2025-03-15T00:00"),
    ]
    assert parsed(written).first_after(at("2025-03-17")) is None
    assert parsed(written).last_at(at("2025-02-16")) is None
    assert parsed(written).last_at(at("2030-01-01")) == parsed(written).first_after(at("2025-02-17"))


def test_a_date_may_be_text_in_a_parameter():
    timetable = parsed({"timetable": "payday", "day": 1, "since": "2025-02-10"})
    assert format_instant(timetable.first_after(at("2025-01-01")).run_after) == "2025-03-01T00:00:00Z"


@pytest.mark.parametrize(
    ("written", "path", "message"),
    [
        (
            {"timetable": "paydy", "day": 1},
            ("timetable",),
            "unknown timetable 'paydy'; installed: late, nothing, payday, wrong\n  hint: did you mean 'payday'?",
        ),
        (
            {"timetable": "cron"},
            ("timetable",),
            "'cron' is a built-in timetable, not one that a package registers\n  hint: write it as a key, {cron: …}",
        ),
        (
            {"timetable": "payday", "dya": 1},
            ("dya",),
            "unknown key 'dya' of timetable 'payday'; expected day, since\n  hint: did you mean 'day'?",
        ),
        ({"timetable": "payday"}, ("timetable",), "timetable 'payday' needs the key 'day'"),
        (
            {"timetable": "payday", "day": "15"},
            ("day",),
            "'day' of timetable 'payday' is '15'; expected a valid integer",
        ),
        (
            {"timetable": "payday", "day": 0},
            ("day",),
            "'day' of timetable 'payday' is 0; expected greater than or equal to 1",
        ),
        (
            {"timetable": "payday", "day": 31},
            ("timetable",),
            "timetable 'payday' rejected its parameters: not every month has that day",
        ),
        (
            {"timetable": "nothing", "hour": 1},
            ("timetable",),
            "timetable 'nothing' has no method 'slots(start, end)'; it is an int",
        ),
        (
            {"timetable": "payday", "day": 1, "calendar": "DE"},
            ("calendar",),
            "'calendar' and 'timetable' exclude each other: a timetable has its own days",
        ),
        (
            {"cron": "0 0 * * *", "roll": "back"},
            ("roll",),
            "'roll' needs a 'calendar', such as DE or XNYS",
        ),
        (
            {"cron": "0 0 * * *", "calendar": "DE", "roll": "bak"},
            ("roll",),
            "'roll' of a schedule is 'bak'; expected skip, back or forward\n  hint: did you mean 'back'?",
        ),
        (
            {"cron": "0 0 * * *", "calendar": "DEE"},
            ("calendar",),
            (
                "unknown calendar 'DEE'; "
                "expected a country such as DE, a part of one such as US-NY, or an exchange such as XNYS"
            ),
        ),
        (
            {"cron": "0 0 1 1 *", "calendar": "XNYS"},
            (),
            "schedule '0 0 1 1 *' never fires: never on an open day of XNYS",
        ),
        (
            {"at": "open"},
            ("at",),
            (
                "'at: open' needs the sessions of an exchange, and there is no 'calendar'\n"
                "  hint: write 'calendar: XNYS'"
            ),
        ),
        (
            {"every": "session", "calendar": "DE"},
            ("every",),
            "'every: session' needs the sessions of an exchange, and 'DE' has none\n  hint: write 'calendar: XNYS'",
        ),
        (
            {"at": "close", "calendar": "XNYS", "roll": "back"},
            ("roll",),
            "'roll' has no effect at close of XNYS, which has a tick in each session",
        ),
        (
            {"cron": "0 0 1 1 *", "calendar": "DE"},
            (),
            "schedule '0 0 1 1 *' never fires: never on an open day of DE",
        ),
        ({"sun": "sunset", "latitude": 52}, ("sun",), "'sun' of a schedule needs 'longitude', in degrees"),
        (
            {"sun": "sunset", "latitude": "52", "longitude": 1},
            ("latitude",),
            "'latitude' of a schedule is '52'; expected degrees such as 52.37",
        ),
        (
            {"sun": ["sunset"], "latitude": 52, "longitude": 1},
            ("sun",),
            "'sun' of a schedule is a list; expected sunrise, sunset, dawn, dusk or noon",
        ),
        (
            {"sun": "noon", "latitude": 99, "longitude": 1},
            ("latitude",),
            "'latitude' of a schedule is 99; expected degrees from -90 to 90",
        ),
        (
            {"sun": "noon", "latitude": 9, "longitude": float("nan")},
            ("longitude",),
            "'longitude' of a schedule is nan; expected degrees from -180 to 180",
        ),
    ],
)
def test_refused(written, path, message):
    with pytest.raises(TimetableError) as refused:
        parsed(written)
    assert str(refused.value).startswith(message)
    assert refused.value.path == path


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"timetable": "fails", "day": 1}, "timetable 'fails' failed: KeyError: 1"),
        (
            {"timetable": "unresolved"},
            "the parameters of timetable 'unresolved' cannot be determined: NameError: name 'Nope' is not defined",
        ),
        (
            {"timetable": "no_type"},
            "the parameters of timetable 'no_type' cannot be determined: ",  # what follows differs by pydantic
        ),
        (
            {"timetable": "builtin"},
            "the parameters of timetable 'builtin' cannot be determined: ValueError: no signature found",
        ),
        (
            {"timetable": "swallowed", "window": "7d"},
            (
                "timetable 'swallowed' has a parameter 'window', a reserved key of every schedule\n  hint: its "
                "package must rename the parameter"
            ),
        ),
    ],
)
def test_a_factory_that_cannot_be_used(written, message):
    with pytest.raises(TimetableError) as refused:
        parse_timetable(written, timezone="UTC", installed=FAULTY)
    assert str(refused.value).startswith(message)
    assert refused.value.path == ("timetable",)


def test_a_parameter_may_have_a_name_that_pydantic_uses_itself():
    timetable = parse_timetable(
        {"timetable": "named", "schema": 1, "model_config": 2}, timezone="UTC", installed={"named": Named}
    )
    assert timetable.rule == Named(1, 0, 2)


@pytest.mark.parametrize(
    "written",
    [
        {"at": "close", "calendar": "XNYS"},
        {"every": "session", "calendar": "XNYS"},
        *(
            {"at": "0 12 * * *", "calendar": code, "roll": roll}
            for code in ("DE", "XNYS")
            for roll in ("skip", "back", "forward")
        ),
    ],
)
def test_outside_the_days_that_a_calendar_knows_there_is_nothing(written):
    timetable = parsed(written)
    first, last = timetable.first_after(BEGIN), timetable.last_at(END)
    assert 1900 <= first.run_after.year <= last.run_after.year <= 2100
    for year in (2, 3, 9990, 9998):
        now = datetime(year, 1, 1, tzinfo=UTC)
        assert timetable.first_after(now) == (first if year < 2000 else None)
        assert timetable.last_at(now) == (None if year < 2000 else last)
        assert list(timetable.between(now, now + timedelta(400))) == []
    assert timetable.first_after(END) is timetable.last_at(BEGIN) is None


def test_without_any_registered_timetable_the_hint_says_how_to_get_one():
    with pytest.raises(TimetableError) as refused:
        parse_timetable({"timetable": "payday"}, timezone="UTC")
    assert str(refused.value) == (
        "unknown timetable 'payday'; installed: none\n"
        "  hint: install the package that registers it in the entry point group 'sparkassets.timetables'"
    )


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("raises", "timetable wrong {how: \"raises\"} failed: KeyError: 'day'"),
        (
            "naive",
            (
                'timetable wrong {how: "naive"} is wrong: '
                "'start' of a slot is 2025-01-01 00:00:01; expected an aware datetime in UTC"
            ),
        ),
        (
            "early",
            'timetable wrong {how: "early"} is wrong: a slot runs after 2024-12-31T00:00:01Z, outside the range',
        ),
        ("reversed", 'timetable wrong {how: "reversed"} is wrong: a slot ends at 2024-12-31T00:00:01Z, before it'),
        ("exits", 'timetable wrong {how: "exits"} failed: SystemExit: 0'),
        ("endless", 'timetable wrong {how: "endless"} is wrong: a slot runs after 2025-02-02T00:00:01Z, '),
        (
            "stuck",
            'timetable wrong {how: "stuck"} is wrong: slots(...) gave the slot that runs after 2025-01-01T00:00:01Z ',
        ),
        ("number", 'timetable wrong {how: "number"} is wrong: slots(...) gave an int; expected sparkassets.Slot'),
    ],
)
def test_what_a_registered_timetable_does_wrong_is_told(how, message):
    with pytest.raises(TimetableError) as refused:
        parsed({"timetable": "wrong", "how": how}).first_after(at("2025-01-01"))
    assert str(refused.value).startswith(message)

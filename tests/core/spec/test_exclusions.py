"""What a partition excludes: what it becomes, from YAML to the plan, and what is refused where it stands."""

from datetime import date

import pytest

from sparkassets.core.journal.codec.row_values import decode_spec, encode_spec
from sparkassets.core.journal.fold_specs import build_fold_spec
from sparkassets.core.partitions import RangeSet
from tests.core.spec.in_memory import compiled, errors_of, one

SQL = "SELECT 1 AS at"


def excluded(written, by="day"):
    text = f"asset: a\npartition: {{by: {by}, column: at, start: 2024-01-01, exclude: {written}}}"
    return one(text, sql=SQL).partitioning.time


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("'* * * * SAT,SUN'", "* * * * SAT,SUN"),
        ("2025-12-24", "2025-12-24"),
        ("['0  0 * * SUN', 2025-12-24, 2025-12-31, '0 0 * * SAT']", "0 0 * * SAT; 0 0 * * SUN; 2025-12-24 2025-12-31"),
    ],
)
def test_what_it_becomes(written, expected):
    assert excluded(written).exclude == expected


def test_it_is_recorded_and_read_back():
    text = "asset: a\npartition: {by: day, column: at, exclude: ['* * * * SAT,SUN', 2025-12-24]}"
    project = compiled({"a.yml": text, "a.sql": SQL})
    spec = build_fold_spec(project.assets["a"], project)
    assert decode_spec(encode_spec(spec)) == spec
    assert encode_spec(spec)["partitioning"]["time"]["exclude"] == "* * * * SAT,SUN; 2025-12-24"


@pytest.mark.parametrize(
    ("code", "week", "sessions"),
    [
        ("DE", "2024-12-30..2025-01-03", 4),
        ("XNYS", "2024-12-30..2025-01-03", 4),
        ("AE", "2025-01-06..2025-01-10", 5),
    ],
)
def test_of_a_calendar_its_open_days_are_left(code, week, sessions):
    time = excluded(code)
    some = RangeSet.span(*time.parse_keys(week))
    assert time.count(some) == sessions
    assert "2025-01-01" in time.exclude


def test_weekends_of_a_calendar_are_excluded_for_all_years():
    time = excluded("DE")
    assert time.exclude.startswith("* * * * SAT,SUN; 2024-01-01 2024-03-29 ")
    assert time.slot_of_date(date(2070, 1, 4)) is None


@pytest.mark.parametrize(
    ("written", "by", "message"),
    [
        ("'* * * * FOO'", "day", "a.yml:2:62: cron '* * * * FOO': day-of-week 'FOO' is not valid; expected 0-7"),
        ("2025-02-30", "day", "a.yml:2:62: '2025-02-30' is not a valid date: day is out of range for month"),
        ("XX", "day", "a.yml:2:62: unknown country 'XX' of the calendar 'XX'; expected a country such as DE"),
        ("DE", "week", "a.yml:2:63: 'DE' excludes single days, but each partition is a week"),
        ("'* * * * *'", "day", "a.yml:2:62: 'exclude' leaves no partition"),
        ("['* * * * SUN', 2025-13-01]", "day", "a.yml:2:78: '2025-13-01' is not a valid date: month must be in"),
        (
            "5",
            "day",
            "a.yml:2:62: 'exclude' in 'partition' is 5; expected a cron, a day such as 2025-12-24, a calendar",
        ),
        ("[]", "day", "a.yml:2:62: 'exclude' leaves out no partition"),
    ],
)
def test_what_is_refused(written, by, message):
    text = f"asset: a\npartition: {{by: {by}, column: at, start: 2024-01-01, exclude: {written}}}"
    found = errors_of(text, sql=SQL)
    assert message in found, found

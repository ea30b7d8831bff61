"""Offsets, ends ahead of now and grains from the schedule: what they become, and what is refused where it stands."""

import pytest

from sparkassets.core.journal.codec.row_values import decode_spec, encode_spec
from sparkassets.core.journal.fold_specs import build_fold_spec
from sparkassets.core.partitions import UNPARTITIONED, TimePartition
from tests.core.spec.in_memory import compiled, errors, errors_of, one

SQL = "SELECT 1 AS at"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("by: day, offset: 6h", TimePartition("day", "UTC", "at", offset=21_600)),
        ("by: week, offset: -1d", TimePartition("week", "UTC", "at", offset=-86_400)),
        ("by: month, offset: 14d6h", TimePartition("month", "UTC", "at", offset=14 * 86_400 + 21_600)),
        ("by: day, end: +2d", TimePartition("day", "UTC", "at", ahead="2d")),
        ("by: '*/15 * * * *', end: +90m", TimePartition("*/15 * * * *", "UTC", "at", ahead="90m")),
    ],
)
def test_what_they_become(written, expected):
    text = f"asset: a\npartition: {{{written}, column: at}}"
    assert one(text, sql=SQL).partitioning.time == expected
    project = compiled({"a.yml": text, "a.sql": SQL})
    spec = build_fold_spec(project.assets["a"], project)
    assert decode_spec(encode_spec(spec)) == spec


def test_a_plain_partition_is_kept_as_ever():
    project = compiled({"a.yml": "asset: a\npartition: {by: day, column: at}", "a.sql": SQL})
    told = encode_spec(build_fold_spec(project.assets["a"], project))["partitioning"]["time"]
    assert told == {"by": "day", "timezone": "UTC", "column": "at"}


@pytest.mark.parametrize(
    ("schedule", "by", "zone"),
    [
        ("'@hourly'", "hour", "UTC"),
        ("'@daily'", "day", "UTC"),
        ("'@midnight'", "day", "UTC"),
        ("'@weekly'", "0 0 * * SUN", "UTC"),
        ("'@monthly'", "month", "UTC"),
        ("'@quarterly'", "quarter", "UTC"),
        ("'@annually'", "year", "UTC"),
        ("0 0 * * MON", "week", "UTC"),
        ("'*/15 * * * *'", "*/15 * * * *", "UTC"),
        ("{cron: 0 6  * * *, timezone: Europe/Berlin, delay: 2h}", "0 6 * * *", "Europe/Berlin"),
    ],
)
def test_auto_is_the_interval_of_the_schedule(schedule, by, zone):
    asset = one(f"asset: a\nschedule: {schedule}\npartition: {{by: auto, column: at}}", sql=SQL)
    assert asset.partitioning.time == TimePartition(by, zone, "at")


def test_auto_takes_the_bounds_of_the_schedule():
    text = "asset: a\nschedule: {cron: '@daily', start: 2025-01-01, end: 2025-02-01}\npartition: {by: auto, column: at}"
    time = one(text, sql=SQL).partitioning.time
    assert (time.start, time.end) == (1_735_689_600, 1_738_368_000)


@pytest.mark.parametrize("schedule", ["manual", "flights", "[flights]", "{any: ['@daily', flights]}"])
def test_auto_alone_is_none_where_the_schedule_is_no_timetable(schedule):
    text = f"asset: a\nschedule: {schedule}\npartition: auto"
    assert one(text, sql="SELECT 1 FROM {{ inlets.flights }}").partitioning == UNPARTITIONED


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "asset: a\npartition: {by: hour, offset: 30m, column: at}\n",
            """\
a.yml:2:23: 'offset' shifts days and longer slots, not those by 'hour'
    partition: {by: hour, offset: 30m, column: at}
                          ^^^^^^
  hint: write by: '30 * * * *'""",
            id="offset_of_hours",
        ),
        pytest.param(
            "asset: a\npartition: {by: 0 6 * * *, offset: 1h, column: at}\n",
            """\
a.yml:2:28: 'offset' shifts days and longer slots, not those by '0 6 * * *'
    partition: {by: 0 6 * * *, offset: 1h, column: at}
                               ^^^^^^
  hint: write the time into the cron""",
            id="offset_of_a_cron",
        ),
        pytest.param(
            "asset: a\npartition: {by: day, offset: 24h, column: at}\n",
            """\
a.yml:2:30: 'offset' is '24h'; expected a duration below 1d, before or after the day begins
    partition: {by: day, offset: 24h, column: at}
                                 ^^^""",
            id="offset_of_a_day",
        ),
        pytest.param(
            "asset: a\npartition: {by: year, offset: 1mo, column: at}\n",
            """\
a.yml:2:31: 'offset' is '1mo'; expected a duration below 365d, before or after the year begins
    partition: {by: year, offset: 1mo, column: at}
                                  ^^^""",
            id="offset_of_months",
        ),
        pytest.param(
            "asset: a\npartition: {by: day, end: +2x, column: at}\n",
            """\
a.yml:2:27: '2x' is not a duration; expected a number and a unit (s m h d w mo y), such as 90s, 1h30m or 7d
    partition: {by: day, end: +2x, column: at}
                              ^^^
  hint: +2d means two days ahead of now""",
            id="ahead_by_no_duration",
        ),
        pytest.param(
            "asset: a\npartition: {by: day, end: +0d, column: at}\n",
            """\
a.yml:2:27: 'end' is '+0d'; expected a positive duration after the +
    partition: {by: day, end: +0d, column: at}
                              ^^^""",
            id="ahead_by_nothing",
        ),
        pytest.param(
            "asset: a\nschedule: manual\npartition: {by: auto, column: at}\n",
            """\
a.yml:3:17: 'auto' needs a timetable as the schedule, whose intervals it takes
    partition: {by: auto, column: at}
                    ^^^^
  hint: write the schedule as a cron or a preset, or by: day""",
            id="auto_without_a_timetable",
        ),
        pytest.param(
            "asset: a\nschedule: {every: 6h}\npartition: {by: auto, column: at}\n",
            """\
a.yml:3:17: 'auto' needs a single cron as the schedule, whose intervals it takes
    partition: {by: auto, column: at}
                    ^^^^
  hint: write a grain such as by: day, or write the schedule as one cron""",
            id="auto_of_no_cron",
        ),
        pytest.param(
            "asset: a\nschedule: {cron: '@daily', window: 7d}\npartition: auto\n",
            """\
a.yml:3:12: 'auto' needs a single cron as the schedule, whose intervals it takes
    partition: auto
               ^^^^
  hint: write a grain such as by: day, or write the schedule as one cron""",
            id="auto_of_windows",
        ),
        pytest.param(
            "asset: a\nschedule: 0 6 * *\npartition: {by: auto, column: at}\n",
            """\
a.yml:2:11: cron '0 6 * *' has 4 fields; expected five: minute hour day-of-month month day-of-week
    schedule: 0 6 * *
              ^^^^^^^""",
            id="auto_of_a_wrong_schedule",
        ),
        pytest.param(
            "asset: a\nschedule: '@daily'\npartition: auto\n",
            """\
a.yml:3:12: the partition has no column, but 'replace' works by partition and needs one
    partition: auto
               ^^^^
  hint: write partition: {by: auto, column: <column>}""",
            id="auto_without_a_column",
        ),
        pytest.param(
            "asset: a\nschedule: '@daily'\nstrategy: date_range\n",
            """\
a.yml:3:11: strategy 'date_range' needs a partition by time
    strategy: date_range
              ^^^^^^^^^^
  hint: write partition: {by: auto, column: <column>}""",
            id="date_range_of_a_timetable",
        ),
    ],
)
def test_refused(text, expected):
    assert errors_of(text, sql=SQL) == expected


def test_runs_of_the_same_tick_are_not_ahead():
    up = "asset: up\npartition: {by: day, column: at}\nschedule: '@daily'"
    down = (
        "asset: a\nschedule: '@daily'\npartition: {by: day, column: at, end: +2d}\ninlets: {up: {partitions: aligned}}"
    )
    found = errors({"up.yml": up, "up.sql": SQL, "a.yml": down, "a.sql": "SELECT at FROM {{ inlets.up }}"})
    message = "'partitions: aligned' needs past ticks, but the partition extends beyond now"
    assert found.startswith(f"a.yml:4:27: {message}\n")

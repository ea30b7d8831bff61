"""Schedules that cannot be read, or can never fire."""

import pytest

from sparkassets.core.instants import from_unix, parse_instant
from tests.core.spec.in_memory import errors_of, one

READS = "SELECT 1 FROM {{ inlets.flights }}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            """\
asset: a
schedule: flights & (flihgts | b)
""",
            """\
a.yml:2:22: unknown asset 'flihgts'
    schedule: flights & (flihgts | b)
                         ^^^^^^^
  hint: did you mean 'flights'?
a.yml:2:32: unknown asset 'b'
    schedule: flights & (flihgts | b)
                                   ^
  hint: known is flights
""",
            id="an_unknown_asset",
        ),
        pytest.param(
            """\
asset: a
schedule: [flights, a]
""",
            """\
a.yml:2:21: asset 'a' cannot wait for itself
    schedule: [flights, a]
                        ^
""",
            id="itself",
        ),
        pytest.param(
            """\
asset: a
uri: x://a
schedule: flights | x://a
""",
            """\
a.yml:3:21: asset 'a' cannot wait for its own dataset 'x://a'
    schedule: flights | x://a
                        ^^^^^
""",
            id="its_own_dataset",
        ),
        pytest.param(
            """\
asset: a
schedule: flights b
""",
            """\
a.yml:2:19: expected an operator, found 'b'
    schedule: flights b
                      ^
  hint: join the two with & or |
""",
            id="two_names_without_an_operator",
        ),
        pytest.param(
            """\
asset: a
schedule: {any: [flights, flights and b]}
""",
            """\
a.yml:2:35: unknown operator 'and' in a condition
    schedule: {any: [flights, flights and b]}
                                      ^^^
  hint: write &
""",
            id="and_in_words",
        ),
        pytest.param(
            """\
asset: a
schedule: 'flights | s3://b/*.csv'
""",
            """\
a.yml:2:22: the dataset URI 's3://b/*.csv' contains '*', as in a glob or a regular expression
    schedule: 'flights | s3://b/*.csv'
                         ^^^^^^^^^^^^
  hint: a URI identifies a single dataset
""",
            id="a_glob",
        ),
        pytest.param(
            """\
asset: a
schedule: {any: [flights, '0 6 31 2 *']}
""",
            """\
a.yml:2:28: cron '0 6 31 2 *' never fires: no year has such a day
    schedule: {any: [flights, '0 6 31 2 *']}
                               ^^^^^^^^^^
""",
            id="a_time_that_never_fires_inside_a_condition",
        ),
        pytest.param(
            """\
asset: a
schedule: {any: [flights], all: [flights]}
""",
            """\
a.yml:2:28: 'any' and 'all' exclude each other in a condition
    schedule: {any: [flights], all: [flights]}
                               ^^^
  hint: a map is {any: [...]}, {all: [...]}, {uri: ...}, {without: a, for: 1d} or a time such as {every: 6h}
""",
            id="a_map_of_two",
        ),
        pytest.param(
            """\
asset: a
schedule: {any: ["61 6 * * *", flihgts, "@dailyy", {every: 6}]}
""",
            """\
a.yml:2:19: cron '61 6 * * *': minute '61' is not valid; expected 0-59
    schedule: {any: ["61 6 * * *", flihgts, "@dailyy", {every: 6}]}
                      ^^^^^^^^^^
a.yml:2:32: unknown asset 'flihgts'
    schedule: {any: ["61 6 * * *", flihgts, "@dailyy", {every: 6}]}
                                   ^^^^^^^
  hint: did you mean 'flights'?
a.yml:2:42: unknown preset '@dailyy'; expected @hourly, @daily, @weekly, @monthly, @quarterly, @yearly, \
@midnight, @annually, \
@once, @continuous
    schedule: {any: ["61 6 * * *", flihgts, "@dailyy", {every: 6}]}
                                             ^^^^^^^
  hint: did you mean '@daily'?
a.yml:2:60: 'every' of a schedule is 6; expected a duration such as 90s, 6h or 7d
    schedule: {any: ["61 6 * * *", flihgts, "@dailyy", {every: 6}]}
                                                               ^
""",
            id="all_that_is_wrong_in_a_condition",
        ),
        pytest.param(
            """\
asset: a
schedule: {any: ["@continuous", "flights & @once", {cron: "@once"}, {cron: "@daily", catchup: all}]}
""",
            """\
a.yml:2:19: '@continuous' cannot be part of a condition: it is always due
    schedule: {any: ["@continuous", "flights & @once", {cron: "@once"}, {cron: "@daily", catchup: all}]}
                      ^^^^^^^^^^^
a.yml:2:44: '@once' in a condition needs a 'start'
    schedule: {any: ["@continuous", "flights & @once", {cron: "@once"}, {cron: "@daily", catchup: all}]}
                                               ^^^^^
  hint: write {cron: "@once", start: 2025-01-31T06:00}
a.yml:2:59: '@once' in a condition needs a 'start'
    schedule: {any: ["@continuous", "flights & @once", {cron: "@once"}, {cron: "@daily", catchup: all}]}
                                                              ^^^^^^^
  hint: write {cron: "@once", start: 2025-01-31T06:00}
a.yml:2:86: 'catchup' has no effect in a condition: all ticks since the last run count as one
    schedule: {any: ["@continuous", "flights & @once", {cron: "@once"}, {cron: "@daily", catchup: all}]}
                                                                                         ^^^^^^^
""",
            id="times_that_say_nothing_in_a_condition",
        ),
        pytest.param(
            """\
asset: a
schedule: {all: [flights, {at: [2025-01-01], start: 2025-02-01}, {cron: "@daily", timezone: Nowhere}]}
""",
            """\
a.yml:2:32: schedule 'at 2025-01-01T00:00Z' never fires after its start
    schedule: {all: [flights, {at: [2025-01-01], start: 2025-02-01}, {cron: "@daily", timezone: Nowhere}]}
                                   ^^^^^^^^^^^^
a.yml:2:93: unknown time zone 'Nowhere'; expected an IANA name such as Europe/Berlin
    schedule: {all: [flights, {at: [2025-01-01], start: 2025-02-01}, {cron: "@daily", timezone: Nowhere}]}
                                                                                                ^^^^^^^
""",
            id="maps_inside_a_condition_each_at_its_place",
        ),
        pytest.param(
            """\
asset: a
schedule:
  cron: "@once"
  start: 2025-01-01
  delay: 2h
  window: 1d
  catchup: all
""",
            """\
a.yml:5:3: 'delay' does nothing to '@once', which has no ticks and no intervals
      delay: 2h
      ^^^^^
a.yml:6:3: 'window' does nothing to '@once', which has no ticks and no intervals
      window: 1d
      ^^^^^^
a.yml:7:3: 'catchup' does nothing to '@once', which has no ticks and no intervals
      catchup: all
      ^^^^^^^
""",
            id="modifiers_of_once",
        ),
        pytest.param(
            """\
asset: a
schedule: []
""",
            """\
a.yml:2:11: expected a list with at least one condition, not an empty list
    schedule: []
              ^^
""",
            id="an_empty_list",
        ),
        pytest.param(
            """\
asset: a
schedule: 0 0 31 2 *
""",
            """\
a.yml:2:11: cron '0 0 31 2 *' never fires: no year has such a day
    schedule: 0 0 31 2 *
              ^^^^^^^^^^
""",
            id="a_cron_that_never_fires",
        ),
        pytest.param(
            """\
asset: a
schedule: 0 25 * * *
""",
            """\
a.yml:2:11: cron '0 25 * * *': hour '25' is not valid; expected 0-23
    schedule: 0 25 * * *
              ^^^^^^^^^^
""",
            id="a_cron_with_an_hour_too_many",
        ),
        pytest.param(
            """\
asset: a
schedule: {cron: 0 0 6 * * *}
""",
            """\
a.yml:2:18: cron '0 0 6 * * *' has 6 fields; expected five: minute hour day-of-month month day-of-week
    schedule: {cron: 0 0 6 * * *}
                     ^^^^^^^^^^^
  hint: seconds and years are not supported
""",
            id="six_fields",
        ),
        pytest.param(
            """\
asset: a
schedule: '@dayly'
""",
            """\
a.yml:2:11: unknown preset '@dayly'; expected @hourly, @daily, @weekly, @monthly, @quarterly, @yearly, \
@midnight, @annually, \
@once, @continuous
    schedule: '@dayly'
              ^^^^^^^^
  hint: did you mean '@daily'?
""",
            id="an_unknown_preset",
        ),
        pytest.param(
            """\
asset: a
schedule: {cron: 0 6 * * *, timezone: Europe/Berln}
""",
            """\
a.yml:2:39: unknown time zone 'Europe/Berln'; expected an IANA name such as Europe/Berlin
    schedule: {cron: 0 6 * * *, timezone: Europe/Berln}
                                          ^^^^^^^^^^^^
  hint: did you mean 'Europe/Berlin'?
""",
            id="an_unknown_zone",
        ),
        pytest.param(
            """\
asset: a
timezone: ""
schedule: {cron: 0 6 * * *, timezone: localtime}
""",
            """\
a.yml:2:11: unknown time zone ''; expected an IANA name such as Europe/Berlin
    timezone: ""
              ^^
a.yml:3:39: unknown time zone 'localtime'; expected an IANA name such as Europe/Berlin
    schedule: {cron: 0 6 * * *, timezone: localtime}
                                          ^^^^^^^^^
""",
            id="what_is_no_zone_of_the_database",
        ),
        pytest.param(
            """\
asset: a
schedule: {cron: []}
""",
            """\
a.yml:2:18: 'cron' of a schedule is an empty list; expected a cron such as '0 6 * * *', a preset, or a list of them
    schedule: {cron: []}
                     ^^
""",
            id="no_crons",
        ),
        pytest.param(
            """\
asset: a
schedule: {at: []}
""",
            """\
a.yml:2:16: 'at' of a schedule is an empty list; expected a cron such as '0 6 * * *', or a list of crons or of instants
    schedule: {at: []}
                   ^^
""",
            id="no_instants",
        ),
        pytest.param(
            """\
asset: a
schedule: {cron: 0 6 * * *, start: 2025-02-01, end: 2025-01-01}
""",
            """\
a.yml:2:53: 'end' is '2025-01-01', which leaves nothing between start and end; expected an end after the start
    schedule: {cron: 0 6 * * *, start: 2025-02-01, end: 2025-01-01}
                                                        ^^^^^^^^^^
""",
            id="an_end_before_the_start",
        ),
        pytest.param(
            """\
asset: a
start: 2025-02-01
schedule: {cron: 0 6 * * *, end: 2025-01-01}
""",
            """\
a.yml:3:34: 'end' is '2025-01-01', which leaves nothing between start and end; expected an end after the start
    schedule: {cron: 0 6 * * *, end: 2025-01-01}
                                     ^^^^^^^^^^
""",
            id="an_end_before_the_assets_start",
        ),
        pytest.param(
            """\
asset: a
schedule: {cron: 0 6 1 1 *, start: 2025-02-01, end: 2025-03-01}
""",
            """\
a.yml:2:18: schedule '0 6 1 1 *' never fires between its start and its end
    schedule: {cron: 0 6 1 1 *, start: 2025-02-01, end: 2025-03-01}
                     ^^^^^^^^^
""",
            id="no_tick_between_start_and_end",
        ),
        pytest.param(
            """\
asset: a
end: soon
""",
            """\
a.yml:2:6: 'soon' is not an instant; expected an ISO date or time, such as 2025-03-21 or 2025-03-21T06:00Z
    end: soon
         ^^^^
""",
            id="a_start_that_is_no_date",
        ),
        pytest.param(
            """\
asset: a
schedule: manuel
""",
            """\
a.yml:2:11: unknown asset 'manuel'
    schedule: manuel
              ^^^^^^
  hint: did you mean 'manual'?
""",
            id="nearly_manual",
        ),
        pytest.param(
            """\
asset: a
schedule: {timezone: UTC}
""",
            """\
a.yml:2:11: the schedule has no rule; expected 'cron', 'at', 'every', 'times', 'sun' or 'timetable'
    schedule: {timezone: UTC}
              ^^^^^^^^^^^^^^^
""",
            id="no_rule",
        ),
        pytest.param(
            """\
asset: a
schedule: {cron: 0 6 * * *, at: 0 6 * * *}
""",
            """\
a.yml:2:29: a schedule has 'cron' and 'at'; expected one of them
    schedule: {cron: 0 6 * * *, at: 0 6 * * *}
                                ^^
  hint: write several schedules as {any: [...]}
""",
            id="several_kinds",
        ),
        pytest.param(
            """\
asset: a
schedule:
  every: 0h
  interval: 0d
  delay: -2h
  window: 0d
""",
            """\
a.yml:3:10: 'every' of a schedule is '0h'; expected a positive duration
      every: 0h
             ^^
a.yml:4:13: 'interval' of a schedule is '0d'; expected a positive duration
      interval: 0d
                ^^
a.yml:5:10: 'delay' of a schedule is '-2h'; expected a duration of at least 0
      delay: -2h
             ^^^
a.yml:6:11: 'window' of a schedule is '0d'; expected a positive duration
      window: 0d
              ^^
""",
            id="modifiers_each_at_its_place",
        ),
        pytest.param(
            """\
asset: a
schedule: {every: 6h, interval: 1d}
""",
            """\
a.yml:2:23: 'interval' needs 'cron', not 'every'
    schedule: {every: 6h, interval: 1d}
                          ^^^^^^^^
  hint: the intervals of 'every' have its own length
""",
            id="an_interval_of_every",
        ),
        pytest.param(
            """\
asset: a
schedule: {cron: [0 6 * * *, 0 0 31 2 *]}
""",
            """\
a.yml:2:30: cron '0 0 31 2 *' never fires: no year has such a day
    schedule: {cron: [0 6 * * *, 0 0 31 2 *]}
                                 ^^^^^^^^^^
""",
            id="one_of_several_crons",
        ),
        pytest.param(
            """\
asset: a
schedule: {cron: [61 6 * * *, 0 6 * * *, bad], window: 0d}
""",
            """\
a.yml:2:19: cron '61 6 * * *': minute '61' is not valid; expected 0-59
    schedule: {cron: [61 6 * * *, 0 6 * * *, bad], window: 0d}
                      ^^^^^^^^^^
a.yml:2:42: cron 'bad' has 1 field; expected five: minute hour day-of-month month day-of-week
    schedule: {cron: [61 6 * * *, 0 6 * * *, bad], window: 0d}
                                             ^^^
a.yml:2:56: 'window' of a schedule is '0d'; expected a positive duration
    schedule: {cron: [61 6 * * *, 0 6 * * *, bad], window: 0d}
                                                           ^^
""",
            id="several_of_several_crons",
        ),
        pytest.param(
            """\
asset: a
schedule: {any: [{times: [{hours: [24, 3, 25], minutes: 60}, {hour: 3}]}, {sun: noon, longitude: x}]}
""",
            """\
a.yml:2:36: 24 is not one of the hours of times; expected 0-23
    schedule: {any: [{times: [{hours: [24, 3, 25], minutes: 60}, {hour: 3}]}, {sun: noon, longitude: x}]}
                                       ^^
a.yml:2:43: 25 is not one of the hours of times; expected 0-23
    schedule: {any: [{times: [{hours: [24, 3, 25], minutes: 60}, {hour: 3}]}, {sun: noon, longitude: x}]}
                                              ^^
a.yml:2:57: 60 is not one of the minutes of times; expected 0-59
    schedule: {any: [{times: [{hours: [24, 3, 25], minutes: 60}, {hour: 3}]}, {sun: noon, longitude: x}]}
                                                            ^^
a.yml:2:63: unknown key 'hour' in times; expected hours, minutes, weekdays, days, months, not
    schedule: {any: [{times: [{hours: [24, 3, 25], minutes: 60}, {hour: 3}]}, {sun: noon, longitude: x}]}
                                                                  ^^^^
  hint: did you mean 'hours'?
a.yml:2:81: 'sun' of a schedule needs 'latitude', in degrees
    schedule: {any: [{times: [{hours: [24, 3, 25], minutes: 60}, {hour: 3}]}, {sun: noon, longitude: x}]}
                                                                                    ^^^^
a.yml:2:98: 'longitude' of a schedule is 'x'; expected degrees such as 52.37
    schedule: {any: [{times: [{hours: [24, 3, 25], minutes: 60}, {hour: 3}]}, {sun: noon, longitude: x}]}
                                                                                                     ^
""",
            id="all_that_is_wrong_in_the_times_of_a_condition",
        ),
        pytest.param(
            """\
asset: a
schedule: {cron: 6}
""",
            """\
a.yml:2:18: 'cron' in 'schedule' is 6; expected a cron such as '0 6 * * *', or a list of them
    schedule: {cron: 6}
                     ^
""",
            id="a_cron_of_a_wrong_kind",
        ),
        pytest.param(
            """\
asset: a
schedule: {at: 18:30}
""",
            """\
a.yml:2:16: '18:30' is not a cron; expected five fields
    schedule: {at: 18:30}
                   ^^^^^
  hint: write '30 18 * * *' for each day
""",
            id="a_time_of_day",
        ),
        pytest.param(
            """\
asset: a
schedule: {at: [2025-02-28, 2025-02-30]}
""",
            """\
a.yml:2:29: '2025-02-30' is not an instant: day is out of range for month; expected an ISO date or time, such as \
2025-03-21 or 2025-03-21T06:00Z
    schedule: {at: [2025-02-28, 2025-02-30]}
                                ^^^^^^^^^^
""",
            id="an_instant_that_is_none",
        ),
        pytest.param(
            """\
asset: a
timezone: Europe/Berlin
start: 2025-03-30T02:30
schedule: {at: [2025-10-26T02:30]}
""",
            """\
a.yml:3:8: '2025-03-30T02:30' does not exist in Europe/Berlin: the clocks skip from 2025-03-30T02:00 to 2025-03-30T03:00
    start: 2025-03-30T02:30
           ^^^^^^^^^^^^^^^^
  hint: write 2025-03-30T03:30
a.yml:4:17: '2025-10-26T02:30' happens twice in Europe/Berlin: the clocks go back from 2025-10-26T03:00 to \
2025-10-26T02:00
    schedule: {at: [2025-10-26T02:30]}
                    ^^^^^^^^^^^^^^^^
  hint: write 2025-10-26T02:30+02:00 or 2025-10-26T02:30+01:00
""",
            id="times_that_the_clocks_skip_or_repeat",
        ),
        pytest.param(
            """\
asset: a
schedule: {at: close, calendar: XNYS, start: 2100-01-01}
""",
            """\
a.yml:2:16: schedule 'at close of XNYS' never fires after its start
    schedule: {at: close, calendar: XNYS, start: 2100-01-01}
                   ^^^^^
""",
            id="a_start_after_all_sessions_that_are_known",
        ),
        pytest.param(
            """\
asset: a
schedule: {sun: sunset, latitude: 91, longitude: .nan}
""",
            """\
a.yml:2:35: 'latitude' of a schedule is 91; expected degrees from -90 to 90
    schedule: {sun: sunset, latitude: 91, longitude: .nan}
                                      ^^
a.yml:2:50: 'longitude' of a schedule is nan; expected degrees from -180 to 180
    schedule: {sun: sunset, latitude: 91, longitude: .nan}
                                                     ^^^^
""",
            id="a_latitude_of_no_place",
        ),
        pytest.param(
            """\
asset: a
schedule: {sun: sunset, lattitude: 5, longitude: "52"}
""",
            """\
a.yml:2:25: unknown key 'lattitude' in 'schedule'
    schedule: {sun: sunset, lattitude: 5, longitude: "52"}
                            ^^^^^^^^^
  hint: did you mean 'latitude'?
a.yml:2:50: 'longitude' in 'schedule' is '52'; expected degrees such as 52.37
    schedule: {sun: sunset, lattitude: 5, longitude: "52"}
                                                     ^^^^
""",
            id="what_is_refused_is_not_missing_too",
        ),
        pytest.param(
            """\
asset: a
schedule: {every: 1d12h}
""",
            """\
a.yml:2:19: 'every' of a schedule is '1d12h', calendar and elapsed time at once; expected one of them
    schedule: {every: 1d12h}
                      ^^^^^
  hint: d, w, mo and y follow the calendar; s, m and h are elapsed time
""",
            id="calendar_and_elapsed_time",
        ),
        pytest.param(
            """\
asset: a
schedule:
  times:
    - {hours: [3, 24]}
""",
            """\
a.yml:4:19: 24 is not one of the hours of times; expected 0-23
        - {hours: [3, 24]}
                      ^^
""",
            id="an_hour_of_times",
        ),
        pytest.param(
            """\
asset: a
schedule:
  times: {hour: 3}
""",
            """\
a.yml:3:11: unknown key 'hour' in times; expected hours, minutes, weekdays, days, months, not
      times: {hour: 3}
              ^^^^
  hint: did you mean 'hours'?
""",
            id="a_key_of_times",
        ),
        pytest.param(
            """\
asset: a
schedule: {times: {months: [FEB], days: [30]}}
""",
            """\
a.yml:2:19: the times never fire: they do not exist in any year
    schedule: {times: {months: [FEB], days: [30]}}
                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
            id="times_that_never_come",
        ),
        pytest.param(
            """\
asset: a
schedule: {at: [2025-01-01], end: 2025-01-01}
""",
            """\
a.yml:2:16: schedule 'at 2025-01-01T00:00Z' never fires before its end
    schedule: {at: [2025-01-01], end: 2025-01-01}
                   ^^^^^^^^^^^^
""",
            id="instants_outside_the_bounds",
        ),
        pytest.param(
            """\
asset: a
schedule: {cron: 0 6 * * *, catchup: lates}
""",
            """\
a.yml:2:38: 'catchup' in 'schedule' is 'lates'; expected all, latest or rollup
    schedule: {cron: 0 6 * * *, catchup: lates}
                                         ^^^^^
  hint: did you mean 'latest'?
""",
            id="an_unknown_catchup",
        ),
    ],
)
def test_refused(text, expected):
    assert errors_of(text) + "\n" == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            """\
asset: a
partition: {by: day, column: day}
inlets: {flights: {on_update: ignore}}
""",
            """\
a.yml:1:8: nothing ever triggers asset 'a': it ignores the updates of all its inlets
    asset: a
           ^
  hint: an inlet without time or partitions has 'on_update: ignore' by default; write 'on_update: rerun' or a schedule
""",
            id="nothing_that_triggers",
        ),
    ],
)
def test_refused_where_flights_are_read(text, expected):
    assert errors_of(text, sql=READS) + "\n" == expected


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ("H H * * *", "cron 'H H * * *': minute 'H' is not valid; expected 0-59"),
        ("a b c d e", "cron 'a b c d e': minute 'a' is not valid; expected 0-59"),
        ("6 * * *", "cron '6 * * *' has 4 fields"),
        ("H * * *", "cron 'H * * *' has 4 fields"),
        ("1.5 * * * *", "cron '1.5 * * * *': minute '1.5' is not valid; expected 0-59"),
        ("06:00", "'06:00' is not a cron; expected five fields\n    schedule: 06:00\n"),
        ("2025-01-01", "'2025-01-01' is not a cron; expected five fields\n    schedule: 2025-01-01\n"),
        ("'@daily2'", "unknown preset '@daily2'"),
        ("0 6 * * * | flights", "'0' is neither an asset name nor a dataset URI"),
        ("flights and b or c", "unknown operator 'and' in a condition"),
        ("flights & manual", "'manual' cannot be part of a condition"),
        ("{any: [manual, flights]}", "'manual' cannot be part of a condition"),
    ],
)
def test_what_is_meant_as_a_time_is_read_as_one(schedule, message):
    text = errors_of(f"asset: a\nschedule: {schedule}\n")
    assert text.split(": ", 1)[1].startswith(message)
    assert text.count("a.yml:") == 1


@pytest.mark.parametrize(
    ("schedule", "hint"),
    [
        ("06:00", "write '0 6 * * *' for each day"),
        ("2025-01-01", "write {at: [2025-01-01]}"),
        (
            "{timetable: my.timetables:Payday}",
            (
                "use the name that a package registers in the entry point group 'sparkassets.timetables', not an "
                "import path"
            ),
        ),
        ("flights & manuel", "known is flights"),
    ],
)
def test_hints(schedule, hint):
    assert errors_of(f"asset: a\nschedule: {schedule}\n").endswith(f"  hint: {hint}")


@pytest.mark.parametrize("rule", ['cron: "@daily"', "every: 1mo", 'cron: ["@daily"], delay: 1y'])
def test_a_start_at_the_beginning_of_the_calendar(rule):
    assert one(f"asset: a\nschedule: {{{rule}, start: 0001-01-01}}\n").schedule.timetable is not None


@pytest.mark.parametrize(
    "text",
    [
        "start: 2025-01-01\nschedule: '@once & flights'\n",
        "schedule: {any: [flights, {cron: '@once', start: 2025-01-01}]}\n",
    ],
)
def test_once_in_a_condition_is_the_time_of_its_start(text):
    (time,) = one("asset: a\n" + text).schedule.condition.times()
    assert time.timetable.first_after(from_unix(0)).run_after == parse_instant("2025-01-01", zone="UTC")


def test_what_an_inlet_triggers_is_not_judged_while_its_partition_is_wrong():
    text = """\
asset: a
partition: {by: day, column: day}
inlets: [s]
sql: SELECT DATE'2025-01-01' AS day
---
asset: s
source: csv
path: landing/{day}.csv
partition: {by: daily, column: day}
"""
    assert [line for line in errors_of(text).splitlines() if line.startswith("a.yml")] == [
        "a.yml:9:17: 'by' in 'partition' is 'daily'; expected hour, day, week, month, quarter, year, auto or a cron"
    ]

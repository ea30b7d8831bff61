"""Keys and kinds of values, each refused at its place."""

import pytest

from tests.core.spec.in_memory import errors_of

READS = "SELECT 1 FROM {{ inlets.flights }}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            """\
asset: a
shedule: manual
""",
            """\
a.yml:2:1: unknown key 'shedule' in asset 'a'
    shedule: manual
    ^^^^^^^
  hint: did you mean 'schedule'?
""",
            id="an_unknown_key",
        ),
        pytest.param(
            """\
asset: a
xyzzy: 1
""",
            """\
a.yml:2:1: unknown key 'xyzzy' in asset 'a'
    xyzzy: 1
    ^^^^^
""",
            id="an_unknown_key_like_no_other",
        ),
        pytest.param(
            """\
asset: a
partition: {by: day, colum: day}
inlets: {flights: {requre: any}}
strategy: {date_range: {lookbak: 1d}}
""",
            """\
a.yml:2:22: unknown key 'colum' in 'partition'
    partition: {by: day, colum: day}
                         ^^^^^
  hint: did you mean 'column'?
a.yml:3:20: unknown key 'requre' in inlet 'flights'
    inlets: {flights: {requre: any}}
                       ^^^^^^
  hint: did you mean 'require'?
a.yml:4:25: unknown key 'lookbak' in 'date_range'
    strategy: {date_range: {lookbak: 1d}}
                            ^^^^^^^
  hint: did you mean 'lookback'?
""",
            id="unknown_keys_inside",
        ),
        pytest.param(
            """\
asset: a
strategy: date_rang
write: insert
""",
            """\
a.yml:2:11: 'strategy' is 'date_rang'; expected full_refresh, every_instance, latest_only, date_range or segments
    strategy: date_rang
              ^^^^^^^^^
  hint: did you mean 'date_range'?
a.yml:3:8: 'write' is 'insert'; expected replace, append, self or a map such as {upsert: {keys: [id]}}
    write: insert
           ^^^^^^
""",
            id="a_value_that_is_no_choice",
        ),
        pytest.param(
            """\
asset: a
paused: NO
""",
            """\
a.yml:2:9: 'paused' is 'NO'; expected true or false
    paused: NO
            ^^
  hint: YAML 1.2 has only the booleans true and false
""",
            id="no_boolean",
        ),
        pytest.param(
            """\
asset: a
retries: 1_000
""",
            """\
a.yml:2:10: 'retries' is '1_000'; expected a whole number of at least 0
    retries: 1_000
             ^^^^^
""",
            id="no_number",
        ),
        pytest.param(
            """\
asset: a
retries: -1
""",
            """\
a.yml:2:10: 'retries' is -1; expected a whole number of at least 0
    retries: -1
             ^^
""",
            id="a_negative_number",
        ),
        pytest.param(
            """\
asset: a
owner: 007
description: 12
""",
            """\
a.yml:3:14: 'description' is 12; expected text
    description: 12
                 ^^
  hint: put it in quotes
""",
            id="a_number_that_must_be_text",
        ),
        pytest.param(
            """\
asset: a
schedule:
retries: ~
""",
            """\
a.yml:2:10: 'schedule' is empty; expected manual, a preset such as "@daily", a cron, or a condition over assets
    schedule:
             ^
a.yml:3:10: 'retries' is empty; expected a whole number of at least 0
    retries: ~
             ^
""",
            id="nothing_given",
        ),
        pytest.param(
            """\
asset: a
timeout: 90
""",
            """\
a.yml:2:10: 'timeout' is 90; expected a number with its unit (s m h d w mo y), such as 90s or 7d
    timeout: 90
             ^^
""",
            id="a_duration_without_a_unit",
        ),
        pytest.param(
            """\
asset: a
timeout: 2 hours
""",
            """\
a.yml:2:10: 'timeout' is '2 hours'; expected a number with its unit (s m h d w mo y), such as 90s or 7d
    timeout: 2 hours
             ^^^^^^^
""",
            id="a_duration_in_words",
        ),
        pytest.param(
            """\
asset: a
lease: 1mo
""",
            """\
a.yml:2:8: '1mo' has no fixed length; expected seconds, minutes, hours, days or weeks
    lease: 1mo
           ^^^
""",
            id="a_duration_without_a_fixed_length",
        ),
        pytest.param(
            """\
asset: a
lease: 0s
retry_delay: -1s
""",
            """\
a.yml:2:8: 'lease' is '0s'; expected a positive duration
    lease: 0s
           ^^
a.yml:3:14: 'retry_delay' is '-1s'; expected a duration of at least 0
    retry_delay: -1s
                 ^^^
""",
            id="a_duration_that_is_too_short",
        ),
        pytest.param(
            """\
asset: a
extra: 1
params: text
columns: [a]
""",
            """\
a.yml:2:8: 'extra' is 1; expected a map
    extra: 1
           ^
a.yml:3:9: 'params' is 'text'; expected a map, or a list of maps
    params: text
            ^^^^
a.yml:4:10: 'columns' is a list; expected a map
    columns: [a]
             ^^^
""",
            id="no_map",
        ),
        pytest.param(
            """\
asset: a
inlets: flights
""",
            """\
a.yml:2:9: 'inlets' is 'flights'; expected a list of asset names, or a map of them to options
    inlets: flights
            ^^^^^^^
""",
            id="no_list_of_inlets",
        ),
        pytest.param(
            """\
asset: a
inlets: [flights, 3]
""",
            """\
a.yml:2:19: item 2 of 'inlets' is 3; expected the name of an asset
    inlets: [flights, 3]
                      ^
""",
            id="a_bad_item",
        ),
        pytest.param(
            """\
asset: a-b
""",
            """\
a.yml:1:8: 'asset' is 'a-b'; expected at most 128 letters, digits and '_', not beginning with a digit
    asset: a-b
           ^^^
""",
            id="a_name_with_a_dash",
        ),
        pytest.param(
            """\
owner: me
retries: x
""",
            """\
a.yml:1:1: missing key 'asset' in this asset
    owner: me
    ^^^^^^^^^
a.yml:2:10: 'retries' is 'x'; expected a whole number of at least 0
    retries: x
             ^
""",
            id="a_missing_name",
        ),
        pytest.param(
            """\
asset: a
partition: {column: day}
""",
            """\
a.yml:2:12: missing key 'by' in 'partition'
    partition: {column: day}
               ^^^^^^^^^^^^^
""",
            id="a_missing_grain",
        ),
        pytest.param(
            """\
asset: a
partition: {by: days, column: day}
""",
            """\
a.yml:2:17: 'by' in 'partition' is 'days'; expected hour, day, week, month, quarter, year, auto or a cron
    partition: {by: days, column: day}
                    ^^^^
  hint: did you mean 'day'?
""",
            id="a_grain_that_is_none",
        ),
        pytest.param(
            """\
asset: a
partition: {by: '@daily', column: day}
""",
            """\
a.yml:2:17: 'by' in 'partition' is '@daily'; expected hour, day, week, month, quarter, year, auto or a cron
    partition: {by: '@daily', column: day}
                    ^^^^^^^^
  hint: did you mean 'day'?
""",
            id="a_preset_as_grain",
        ),
        pytest.param(
            """\
asset: a
partition: day
""",
            """\
a.yml:2:12: 'partition' is 'day'; expected none, auto, a preset such as @daily, or a map such as {by: day, column: day}
    partition: day
               ^^^
  hint: write partition: {by: day, column: <column>}
""",
            id="a_word_as_partition",
        ),
        pytest.param(
            """\
asset: a
python: train
""",
            """\
a.yml:2:9: 'python' is 'train'; expected a function as package.module:function
    python: train
            ^^^^^
""",
            id="a_function_without_a_module",
        ),
        pytest.param(
            """\
asset: a
source: kafka
""",
            """\
a.yml:2:9: unknown source format 'kafka'; installed: none
    source: kafka
            ^^^^^
  hint: expected true, delta, csv, json or parquet, or a format that a package registers in \
the entry point group 'sparkassets.sources'
""",
            id="no_such_source",
        ),
        pytest.param(
            """\
asset: a
source: false
""",
            """\
a.yml:2:9: 'source' is false; expected true, delta, csv, json, parquet or a format of a package
    source: false
            ^^^^^
""",
            id="a_source_that_is_false",
        ),
        pytest.param(
            """\
asset: a
schedule: 5
""",
            """\
a.yml:2:11: 'schedule' is 5; expected manual, a preset such as "@daily", a cron, or a condition over assets
    schedule: 5
              ^
""",
            id="a_list_of_nothing_as_schedule",
        ),
        pytest.param(
            """\
asset: a
start: 2025
""",
            """\
a.yml:2:8: 'start' is 2025; expected a date or a time such as 2025-01-31 or 2025-01-31T06:00
    start: 2025
           ^^^^
""",
            id="a_date_that_is_a_number",
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
inlets:
  flights: {require: most, window: [1d], on_update: maybe, read: {befor: x}}
""",
            """\
a.yml:4:22: 'require' of inlet 'flights' is 'most'; expected all, any or none
      flights: {require: most, window: [1d], on_update: maybe, read: {befor: x}}
                         ^^^^
a.yml:4:36: 'window' of inlet 'flights' is a list; expected two durations, such as [-6d, 0d]
      flights: {require: most, window: [1d], on_update: maybe, read: {befor: x}}
                                       ^^^^
a.yml:4:53: 'on_update' of inlet 'flights' is 'maybe'; expected rerun or ignore
      flights: {require: most, window: [1d], on_update: maybe, read: {befor: x}}
                                                        ^^^^^
a.yml:4:66: missing key 'after' in 'read'
      flights: {require: most, window: [1d], on_update: maybe, read: {befor: x}}
                                                                     ^^^^^^^^^^
a.yml:4:67: unknown key 'befor' in 'read'
      flights: {require: most, window: [1d], on_update: maybe, read: {befor: x}}
                                                                      ^^^^^
  hint: known are after, overlap
""",
            id="options_of_an_inlet",
        ),
    ],
)
def test_refused_where_flights_are_read(text, expected):
    assert errors_of(text, sql=READS) + "\n" == expected

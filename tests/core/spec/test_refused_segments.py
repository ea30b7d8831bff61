"""Partitions by segments and products that cannot be, each refused where it stands."""

import pytest

from tests.core.spec.in_memory import errors

FLIGHTS = """
asset: flights
source: delta
path: flights
partition: [{by: day, column: day}, {segments: [de, nl], column: region}]
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            """\
partition: []
""",
            """\
a.yml:2:12: the list of dimensions is empty
    partition: []
               ^^
  hint: write partition: none, or leave it out
""",
            id="an_empty_list",
        ),
        pytest.param(
            """\
partition: [{by: day, column: day}, {by: hour, column: hour}]
""",
            """\
a.yml:2:37: the partition has two time dimensions; expected at most one
    partition: [{by: day, column: day}, {by: hour, column: hour}]
                                        ^^^^^^^^^^^^^^^^^^^^^^^^
""",
            id="two_of_time",
        ),
        pytest.param(
            """\
partition: [{by: day, column: day}, {segments: [de, nl], column: Day}]
""",
            """\
a.yml:2:66: two dimensions have the column 'Day', which Spark treats as 'day'
    partition: [{by: day, column: day}, {segments: [de, nl], column: Day}]
                                                                     ^^^
""",
            id="one_column_by_case",
        ),
        pytest.param(
            """\
partition: [{by: day, column: day}, {segments: [de, nl], column: day}]
""",
            """\
a.yml:2:66: two dimensions have the column 'day'
    partition: [{by: day, column: day}, {segments: [de, nl], column: day}]
                                                                     ^^^
""",
            id="one_column_twice",
        ),
        pytest.param(
            """\
partition: [{by: day, column: d}, {segments: [de, nl], column: d}]
""",
            """\
a.yml:2:64: two dimensions have the column 'd'
    partition: [{by: day, column: d}, {segments: [de, nl], column: d}]
                                                                   ^
""",
            id="one_letter_twice",
        ),
        pytest.param(
            """\
partition: [{by: day, column: day}, {segments: [a], column: start}, {segments: [b], column: End}]
""",
            """\
a.yml:2:61: segments beside time cannot have the column 'start': {{ partitions }} already has 'start' and 'end'
    partition: [{by: day, column: day}, {segments: [a], column: start}, {segments: [b], column: End}]
                                                                ^^^^^
  hint: rename the column
a.yml:2:93: segments beside time cannot have the column 'End': {{ partitions }} already has 'start' and 'end'
    partition: [{by: day, column: day}, {segments: [a], column: start}, {segments: [b], column: End}]
                                                                                                ^^^
  hint: rename the column
""",
            id="columns_of_the_relation_partitions",
        ),
        pytest.param(
            """\
partition: {segments: [], column: region}
""",
            """\
a.yml:2:23: the list of segments is empty: no partition would be wanted
    partition: {segments: [], column: region}
                          ^^
  hint: write segments: [<key>, …]
""",
            id="no_segments",
        ),
        pytest.param(
            """\
partition: {segments: [de, de, ''], column: region}
""",
            """\
a.yml:2:28: the segment 'de' is listed twice
    partition: {segments: [de, de, ''], column: region}
                               ^^
a.yml:2:32: the key of a segment cannot be empty
    partition: {segments: [de, de, ''], column: region}
                                   ^^
""",
            id="twice_and_empty",
        ),
        pytest.param(
            """\
partition: {segments: [1, true, 2025-01-01, ~, 1.5], column: region}
""",
            """\
a.yml:2:24: item 1 of 'segments' in 'partition' is 1; expected text
    partition: {segments: [1, true, 2025-01-01, ~, 1.5], column: region}
                           ^
  hint: put it in quotes
a.yml:2:27: item 2 of 'segments' in 'partition' is true; expected text
    partition: {segments: [1, true, 2025-01-01, ~, 1.5], column: region}
                              ^^^^
  hint: put it in quotes
a.yml:2:45: item 4 of 'segments' in 'partition' is empty; expected text
    partition: {segments: [1, true, 2025-01-01, ~, 1.5], column: region}
                                                ^
  hint: NULL cannot be a segment
a.yml:2:48: item 5 of 'segments' in 'partition' is 1.5; expected text
    partition: {segments: [1, true, 2025-01-01, ~, 1.5], column: region}
                                                   ^^^
  hint: put it in quotes
""",
            id="no_text",
        ),
        pytest.param(
            """\
partition: [{by: day, column: day}, {segments: [1, ~], column: region}]
""",
            """\
a.yml:2:49: item 1 of 'segments' in item 2 of 'partition' is 1; expected text
    partition: [{by: day, column: day}, {segments: [1, ~], column: region}]
                                                    ^
  hint: put it in quotes
a.yml:2:52: item 2 of 'segments' in item 2 of 'partition' is empty; expected text
    partition: [{by: day, column: day}, {segments: [1, ~], column: region}]
                                                       ^
  hint: NULL cannot be a segment
""",
            id="no_text_in_a_product",
        ),
        pytest.param(
            """\
partition: {segments: de, column: region}
""",
            """\
a.yml:2:23: 'segments' in 'partition' is 'de'; expected a list of keys such as [de, nl], or runtime
    partition: {segments: de, column: region}
                          ^^
""",
            id="no_list",
        ),
        pytest.param(
            """\
partition: {segments: runtime}
""",
            """\
a.yml:2:12: the partition has no column, but 'replace' works by partition and needs one
    partition: {segments: runtime}
               ^^^^^^^^^^^^^^^^^^^
  hint: write partition: {segments: runtime, column: <column>}
""",
            id="runtime_without_a_column",
        ),
        pytest.param(
            """\
partition: {segments: [de]}
""",
            """\
a.yml:2:12: the partition has no column, but 'replace' works by partition and needs one
    partition: {segments: [de]}
               ^^^^^^^^^^^^^^^^
  hint: write partition: {segments: […], column: <column>}
""",
            id="no_column",
        ),
        pytest.param(
            """\
partition: [{segments: [de]}]
""",
            """\
a.yml:2:13: the partition has no column, but 'replace' works by partition and needs one
    partition: [{segments: [de]}]
                ^^^^^^^^^^^^^^^^
  hint: write partition: {segments: […], column: <column>}
""",
            id="no_column_in_a_product",
        ),
        pytest.param(
            """\
partition: {segments: [de], colum: region}
""",
            """\
a.yml:2:29: unknown key 'colum' in 'partition'
    partition: {segments: [de], colum: region}
                                ^^^^^
  hint: did you mean 'column'?
""",
            id="a_key_misspelled",
        ),
        pytest.param(
            """\
partition: {segments: [de], column: region, timezone: UTC, start: 2025-01-01}
""",
            """\
a.yml:2:45: 'timezone' is allowed only in a partition by time, not beside 'segments'
    partition: {segments: [de], column: region, timezone: UTC, start: 2025-01-01}
                                                ^^^^^^^^
  hint: write several dimensions as a list: [{by: day, column: day}, {segments: […], column: <column>}]
a.yml:2:60: 'start' is allowed only in a partition by time, not beside 'segments'
    partition: {segments: [de], column: region, timezone: UTC, start: 2025-01-01}
                                                               ^^^^^
  hint: write several dimensions as a list: [{by: day, column: day}, {segments: […], column: <column>}]
""",
            id="time_beside_segments",
        ),
        pytest.param(
            """\
partition: {segments: [de], column: region, by: day}
""",
            """\
a.yml:2:45: 'by' is allowed only in a partition by time, not beside 'segments'
    partition: {segments: [de], column: region, by: day}
                                                ^^
  hint: write several dimensions as a list: [{by: day, column: day}, {segments: […], column: <column>}]
""",
            id="by_beside_segments",
        ),
        pytest.param(
            """\
partition: [daily]
""",
            """\
a.yml:2:13: item 1 of 'partition' is 'daily'; expected {by: day, column: day} or {segments: [de, nl], column: region}
    partition: [daily]
                ^^^^^
""",
            id="a_word_in_a_list",
        ),
        pytest.param(
            """\
partition: [auto]
""",
            """\
a.yml:2:13: item 1 of 'partition' is 'auto'; expected {by: day, column: day} or {segments: [de, nl], column: region}
    partition: [auto]
                ^^^^
""",
            id="auto_in_a_list",
        ),
        pytest.param(
            """\
partition: [{by: day}, {segments: [de], column: region}]
""",
            """\
a.yml:2:13: the partition has no column, but 'replace' works by partition and needs one
    partition: [{by: day}, {segments: [de], column: region}]
                ^^^^^^^^^
  hint: write partition: {by: day, column: <column>}
""",
            id="time_without_a_column",
        ),
        pytest.param(
            """\
partition: [{by: dya, column: day}, {segments: [de], column: region}]
""",
            """\
a.yml:2:18: 'by' in item 1 of 'partition' is 'dya'; expected hour, day, week, month, quarter, year, auto or a cron
    partition: [{by: dya, column: day}, {segments: [de], column: region}]
                     ^^^
  hint: did you mean 'day'?
""",
            id="no_grain",
        ),
        pytest.param(
            """\
partition: {segments: [de], column: region}
columns: {reg: string}
""",
            """\
a.yml:2:37: 'columns' lacks the partition's column 'region'
    partition: {segments: [de], column: region}
                                        ^^^^^^
  hint: did you mean 'reg'?
""",
            id="a_column_that_is_not_declared",
        ),
        pytest.param(
            """\
partition: {segments: ['1', '01', x, '300'], column: region}
columns: {region: tinyint}
""",
            """\
a.yml:2:29: '01' is not a valid 'tinyint', the declared type of the column 'region'
    partition: {segments: ['1', '01', x, '300'], column: region}
                                ^^^^
a.yml:2:35: 'x' is not a valid 'tinyint', the declared type of the column 'region'
    partition: {segments: ['1', '01', x, '300'], column: region}
                                      ^
a.yml:2:38: '300' is not a valid 'tinyint', the declared type of the column 'region'
    partition: {segments: ['1', '01', x, '300'], column: region}
                                         ^^^^^
""",
            id="no_values_of_the_type",
        ),
        pytest.param(
            """\
partition: {segments: ['1.50'], column: region}
columns: {region: 'numeric(9, 2)'}
""",
            """\
a.yml:2:24: '1.50' is not a valid 'numeric(9, 2)', the declared type of the column 'region'
    partition: {segments: ['1.50'], column: region}
                           ^^^^^^
  hint: write the value as '1.5'
""",
            id="a_decimal_with_a_zero",
        ),
        pytest.param(
            """\
partition: {segments: ['1.50'], column: region}
columns: {region: double}
""",
            """\
a.yml:2:23: the column 'region' is declared as 'double', whose values cannot be segment keys
    partition: {segments: ['1.50'], column: region}
                          ^^^^^^^^
  hint: segments are strings, whole numbers, decimals, dates or booleans
""",
            id="a_type_without_keys",
        ),
        pytest.param(
            """\
partition: {segments: [de], column: region}
strategy: date_range
""",
            """\
a.yml:3:11: strategy 'date_range' needs a partition by time
    strategy: date_range
              ^^^^^^^^^^
  hint: 'a' is partitioned only by segments: write 'segments', or leave it out
""",
            id="date_range_of_segments",
        ),
        pytest.param(
            """\
partition: {segments: [de], column: region}
write: append
""",
            """\
a.yml:3:8: strategy 'segments' cannot 'append': recomputing a segment would duplicate its rows
    write: append
           ^^^^^^
  hint: write 'write: replace'
""",
            id="append",
        ),
        pytest.param(
            """\
partition: [{by: day, column: day}, {segments: [de], column: region}]
strategy: segments
""",
            """\
a.yml:3:11: strategy 'segments' excludes time, but asset 'a' is partitioned by time
    strategy: segments
              ^^^^^^^^
  hint: write 'date_range', or leave it out
""",
            id="segments_of_a_product",
        ),
        pytest.param(
            """\
strategy: segments
""",
            """\
a.yml:2:11: strategy 'segments' needs a partition by segments
    strategy: segments
              ^^^^^^^^
  hint: write partition: {segments: [<key>, …], column: <column>}
""",
            id="segments_of_nothing",
        ),
        pytest.param(
            """\
strategy: {segments: {lookback: 1d}}
""",
            """\
a.yml:2:23: unknown key 'lookback' in 'segments'
    strategy: {segments: {lookback: 1d}}
                          ^^^^^^^^
  hint: known is max_partitions_per_run
""",
            id="lookback_of_segments",
        ),
        pytest.param(
            """\
strategy: {segments: 3}
""",
            """\
a.yml:2:22: 'segments' in 'strategy' is 3; expected a map of its options
    strategy: {segments: 3}
                         ^
""",
            id="options_that_are_no_map",
        ),
        pytest.param(
            """\
strategy: {segments: {}, date_range: {}}
""",
            """\
a.yml:2:26: unknown key 'date_range' in 'strategy'
    strategy: {segments: {}, date_range: {}}
                             ^^^^^^^^^^
  hint: known is segments
""",
            id="two_strategies",
        ),
        pytest.param(
            """\
partition: {segments: [us], column: region}
inlets: {flights: {}}
""",
            """\
a.yml:3:10: 'a' and 'flights' have no segment in common
    inlets: {flights: {}}
             ^^^^^^^
  hint: compare the segments of both assets
""",
            id="no_segment_in_common",
        ),
        pytest.param(
            """\
partition: {segments: [de], column: country}
inlets: {flights: {require: all, window: 7d, on_removed: keep, on_update: rerun}}
""",
            """\
a.yml:3:20: 'require' counts mapped partitions, but 'a' and 'flights' share no dimension
    inlets: {flights: {require: all, window: 7d, on_removed: keep, on_update: rerun}}
                       ^^^^^^^
a.yml:3:34: 'window' maps time partitions, but asset 'a' is not partitioned by time
    inlets: {flights: {require: all, window: 7d, on_removed: keep, on_update: rerun}}
                                     ^^^^^^
a.yml:3:46: 'on_removed' concerns mapped partitions, but 'a' and 'flights' share no dimension
    inlets: {flights: {require: all, window: 7d, on_removed: keep, on_update: rerun}}
                                                 ^^^^^^^^^^
""",
            id="no_dimension_in_common",
        ),
        pytest.param(
            """\
partition: {segments: [de], column: region}
inlets: {flights: {require: {at_least: 3}, window: 7d}}
""",
            """\
a.yml:3:44: 'window' maps time partitions, but asset 'a' is not partitioned by time
    inlets: {flights: {require: {at_least: 3}, window: 7d}}
                                               ^^^^^^
""",
            id="a_window_without_time",
        ),
        pytest.param(
            """\
partition: [{by: day, column: d}, {segments: [de], column: land}]
inlets: {flights: {require: {at_least: 3}}}
""",
            """\
a.yml:3:40: 3 partitions of 'flights' can never exist: at most 2 map to one of 'a'
    inlets: {flights: {require: {at_least: 3}}}
                                           ^
""",
            id="more_than_all_its_segments",
        ),
        pytest.param(
            """\
partition: [{by: day, column: d}, {segments: [de], column: region}]
inlets: {flights: {require: {at_least: 2}}}
""",
            """\
a.yml:3:40: 2 partitions of 'flights' can never exist: at most 1 map to one of 'a'
    inlets: {flights: {require: {at_least: 2}}}
                                           ^
""",
            id="more_than_its_own_segment",
        ),
        pytest.param(
            """\
source: csv
path: x/{day}.csv
partition: [{by: day, column: day}, {segments: [de], column: region}]
""",
            """\
a.yml:3:7: 'x/{day}.csv' does not identify the region of a file
    path: x/{day}.csv
          ^^^^^^^^^^^
  hint: write {region} in place of the segment such as 'de'
""",
            id="files_without_a_field",
        ),
        pytest.param(
            """\
source: csv
path: x/{region}/{day}.csv
partition: {by: day, column: day}
""",
            """\
a.yml:3:7: at most one field may be time; found {region} and {day}
    path: x/{region}/{day}.csv
          ^^^^^^^^^^^^^^^^^^^^
  hint: fields of segments are named like the dimension's column; write '*' for any other part
""",
            id="a_field_without_a_dimension",
        ),
        pytest.param(
            """\
source: csv
path: x/{shop}_*.csv
partition: {segments: ['1', '01'], column: shop}
columns: {id: bigint, shop: int}
""",
            """\
a.yml:4:29: '01' is not a valid 'int', the declared type of the column 'shop'
    partition: {segments: ['1', '01'], column: shop}
                                ^^^^
""",
            id="files_of_a_declared_type",
        ),
        pytest.param(
            """\
partition: [{by: day, column: d}, {segments: [de], column: region}]
sql: SELECT day AS d, x FROM t
""",
            """\
a.yml:2:60: the SELECT of asset 'a' yields no column 'region', by which it is partitioned
    partition: [{by: day, column: d}, {segments: [de], column: region}]
                                                               ^^^^^^
  hint: known are d, x
""",
            id="a_select_without_the_segment",
        ),
        pytest.param(
            """\
partition: [{by: day, column: d, zone: x}, {segments: [de], column: region}]
""",
            """\
a.yml:2:34: unknown key 'zone' in item 1 of 'partition'
    partition: [{by: day, column: d, zone: x}, {segments: [de], column: region}]
                                     ^^^^
  hint: did you mean 'timezone'?
""",
            id="an_unknown_key_in_a_product",
        ),
    ],
)
def test_refused(text, expected):
    files = {"a.yml": f"asset: a\n{text}", "a.sql": "SELECT *", "flights.yml": FLIGHTS}
    assert errors(files) + "\n" == expected

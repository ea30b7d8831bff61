"""Partitions and inlets that do not fit each other."""

import pytest

from tests.core.spec.in_memory import errors_of

READS = "SELECT 1 FROM {{ inlets.flights }}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            """\
asset: a
inlets: {flihgts: {require: any}}
""",
            """\
a.yml:2:10: unknown asset 'flihgts'
    inlets: {flihgts: {require: any}}
             ^^^^^^^
  hint: did you mean 'flights'?
""",
            id="an_unknown_inlet",
        ),
        pytest.param(
            """\
asset: a
partition: {by: month, column: m}
start: 2025-01-02
end: 2025-01-20
""",
            """\
a.yml:2:12: no partition by month begins between start and end: none would be wanted
    partition: {by: month, column: m}
               ^^^^^^^^^^^^^^^^^^^^^^
  hint: a partition counts if it begins at or after start, and before end
""",
            id="no_partition_between_the_bounds",
        ),
        pytest.param(
            """\
asset: a
inlets: {flights: {on_removed: keep}}
""",
            """\
a.yml:2:20: 'on_removed' concerns mapped partitions, but asset 'a' has none
    inlets: {flights: {on_removed: keep}}
                       ^^^^^^^^^^
""",
            id="on_removed_without_partitions",
        ),
        pytest.param(
            """\
asset: a
inlets: [a]
""",
            """\
a.yml:2:10: asset 'a' cannot be its own inlet
    inlets: [a]
             ^
  hint: in SQL, {{ outlets.<asset> }} reads the target as it was before the run
""",
            id="its_own_inlet",
        ),
        pytest.param(
            """\
asset: a
inlets: [flights, flights]
""",
            """\
a.yml:2:19: the inlet 'flights' is listed twice
    inlets: [flights, flights]
                      ^^^^^^^
""",
            id="an_inlet_twice",
        ),
        pytest.param(
            """\
asset: a
inlets: {flights: {window: 7d}}
""",
            """\
a.yml:2:20: 'window' maps partitions, but asset 'a' has none
    inlets: {flights: {window: 7d}}
                       ^^^^^^
""",
            id="a_window_without_partitions",
        ),
        pytest.param(
            """\
asset: a
inlets: {flights: {require: {at_least: 2}}}
""",
            """\
a.yml:2:20: 'require' counts mapped partitions, but asset 'a' has none
    inlets: {flights: {require: {at_least: 2}}}
                       ^^^^^^^
""",
            id="a_count_without_partitions",
        ),
        pytest.param(
            """\
asset: a
inlets: {flights: {require: all}}
""",
            """\
a.yml:2:20: 'require' counts mapped partitions, but asset 'a' has none
    inlets: {flights: {require: all}}
                       ^^^^^^^
""",
            id="all_without_partitions",
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
partition: {by: day}
""",
            """\
a.yml:2:12: the partition has no column, but 'replace' works by partition and needs one
    partition: {by: day}
               ^^^^^^^^^
  hint: write partition: {by: day, column: <column>}
""",
            id="no_column",
        ),
        pytest.param(
            """\
asset: a
partition: '@daily'
""",
            """\
a.yml:2:12: the partition has no column, but 'replace' works by partition and needs one
    partition: '@daily'
               ^^^^^^^^
  hint: write partition: {by: day, column: <column>}
""",
            id="a_short_form_without_a_column",
        ),
        pytest.param(
            """\
asset: a
partition: {by: day, column: dya}
columns: {day: date, x: int}
""",
            """\
a.yml:2:30: 'columns' lacks the partition's column 'dya'
    partition: {by: day, column: dya}
                                 ^^^
  hint: did you mean 'day'?
""",
            id="a_column_that_is_not_declared",
        ),
        pytest.param(
            """\
asset: a
partition: {by: day, column: day, timezone: Mars}
""",
            """\
a.yml:2:45: unknown time zone 'Mars'; expected an IANA name such as Europe/Berlin
    partition: {by: day, column: day, timezone: Mars}
                                                ^^^^
""",
            id="a_zone_that_is_none",
        ),
        pytest.param(
            """\
asset: a
partition: {by: day, column: day, start: 2025-02-01, end: 2025-02-01}
""",
            """\
a.yml:2:59: 'end' is '2025-02-01', which leaves nothing between start and end; expected an end after the start
    partition: {by: day, column: day, start: 2025-02-01, end: 2025-02-01}
                                                              ^^^^^^^^^^
""",
            id="an_end_before_the_start",
        ),
        pytest.param(
            """\
asset: a
partition: {by: week, column: week}
inlets: {flights: {require: {at_least: 8}}}
""",
            """\
a.yml:3:40: 8 partitions of 'flights' can never exist: at most 7 map to one of 'a'
    inlets: {flights: {require: {at_least: 8}}}
                                           ^
""",
            id="more_than_can_be",
        ),
        pytest.param(
            """\
asset: a
partition: {by: day, column: day}
inlets: {flights: {window: [0d, -6d]}}
""",
            """\
a.yml:3:28: window [0s, -6d] ends before it starts
    inlets: {flights: {window: [0d, -6d]}}
                               ^^^^^^^^^
""",
            id="a_window_that_ends_before_it_starts",
        ),
        pytest.param(
            """\
asset: a
partition: {by: day, column: day}
inlets: {flights: {window: 0d}}
""",
            """\
a.yml:3:28: window '0s' is empty; expected a positive duration such as 7d
    inlets: {flights: {window: 0d}}
                               ^^
""",
            id="an_empty_window",
        ),
    ],
)
def test_refused_where_flights_are_read(text, expected):
    assert errors_of(text, sql=READS) + "\n" == expected

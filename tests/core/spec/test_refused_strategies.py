"""Pairs of strategy and write that destroy or double history, with the reason."""

import pytest

from tests.core.spec.in_memory import errors_of

READS = "SELECT 1 FROM {{ inlets.flights }}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            """\
asset: a
strategy: full_refresh
write: append
""",
            """\
a.yml:3:8: strategy 'full_refresh' cannot 'append': every run would append all rows again
    write: append
           ^^^^^^
  hint: write 'write: replace'
""",
            id="full_refresh_and_append",
        ),
        pytest.param(
            """\
asset: a
write: append
""",
            """\
a.yml:2:8: strategy 'full_refresh' cannot 'append': every run would append all rows again
    write: append
           ^^^^^^
  hint: write 'write: replace'; an inlet with 'read: {after: <column>}' makes it 'latest_only', which appends
""",
            id="append_alone",
        ),
        pytest.param(
            """\
asset: a
strategy: latest_only
""",
            """\
a.yml:2:11: strategy 'latest_only' needs 'write'
    strategy: latest_only
              ^^^^^^^^^^^
  hint: write 'write: append'
a.yml:2:11: strategy 'latest_only' needs an inlet with 'read', or a schedule with intervals
    strategy: latest_only
              ^^^^^^^^^^^
  hint: write inlets: {<asset>: {read: changes}} or {<asset>: {read: {after: <column>}}}, or schedule: '@daily'
""",
            id="latest_only_without_a_watermark",
        ),
        pytest.param(
            """\
asset: a
strategy: date_range
""",
            """\
a.yml:2:11: strategy 'date_range' needs a partition by time
    strategy: date_range
              ^^^^^^^^^^
  hint: write partition: {by: day, column: <column>}
""",
            id="date_range_without_a_partition",
        ),
        pytest.param(
            """\
asset: a
write: append
strategy: latest_only
inlets: {flights: {read: {after: id}}}
sql: SELECT 1
""",
            """\
a.yml:4:20: the options of 'flights' have no effect: the code does not read it
    inlets: {flights: {read: {after: id}}}
                       ^^^^
""",
            id="a_watermark_of_what_is_not_read",
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
write: append
""",
            """\
a.yml:3:8: strategy 'date_range' cannot 'append': recomputing a partition would duplicate its rows
    write: append
           ^^^^^^
  hint: write 'write: replace'
""",
            id="date_range_and_append",
        ),
        pytest.param(
            """\
asset: a
inlets: {flights: {read: {after: id}}}
write: replace
""",
            """\
a.yml:3:8: strategy 'latest_only' cannot 'replace': a run has only the new rows and would overwrite all others
    write: replace
           ^^^^^^^
  hint: write 'write: append'
""",
            id="latest_only_and_replace",
        ),
        pytest.param(
            """\
asset: a
inlets: {flights: {read: {after: id}}}
""",
            """\
a.yml:1:8: strategy 'latest_only' needs 'write'
    asset: a
           ^
  hint: write 'write: append'
""",
            id="latest_only_without_its_write",
        ),
        pytest.param(
            """\
asset: a
partition: {by: day, column: day}
inlets: {flights: {read: {after: id}}}
""",
            """\
a.yml:3:20: 'read' needs strategy 'latest_only', but asset 'a' has 'date_range'
    inlets: {flights: {read: {after: id}}}
                       ^^^^
""",
            id="a_watermark_with_a_partition",
        ),
        pytest.param(
            """\
asset: a
partition: {by: day, column: day}
strategy: {date_range: {lookback: -2d}}
""",
            """\
a.yml:3:35: 'lookback' is '-2d'; expected a duration of at least 0
    strategy: {date_range: {lookback: -2d}}
                                      ^^^
""",
            id="a_lookback_into_the_future",
        ),
    ],
)
def test_refused_where_flights_are_read(text, expected):
    assert errors_of(text, sql=READS) + "\n" == expected

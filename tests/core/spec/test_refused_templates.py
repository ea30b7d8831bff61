"""Templates that name what is not there, or are no SELECT."""

import pytest

from tests.core.spec.in_memory import errors


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(
            {
                "a.yml": """\
asset: a
---
asset: b
sql: x.sql
---
asset: c
sql: q.sql
""",
                "assets/d.yml": """\
asset: d
sql: d.sql
""",
                "assets/d.sql": """\
SELECT 1
""",
            },
            """\
a.yml:1:8: asset 'a' has neither 'sql' nor 'python', and the file a.sql does not exist
    asset: a
           ^
  hint: write its SELECT to a.sql
a.yml:4:6: the file 'x.sql' does not exist in the project's folder
    sql: x.sql
         ^^^^^
a.yml:7:6: the file 'q.sql' does not exist in the project's folder
    sql: q.sql
         ^^^^^
assets/d.yml:2:6: the file 'd.sql' does not exist in the project's folder
    sql: d.sql
         ^^^^^
  hint: did you mean 'assets/d.sql'? paths are relative to the project's folder
""",
            id="files_that_are_missing",
        ),
        pytest.param(
            {
                "s.yml": """\
asset: s
source: true
uri: x-s://s
---
asset: same
source: true
uri: x-s://s
---
asset: other
source: true
""",
                "a.yml": """\
asset: a
inlets: [s]
schedule: {any: [s, {uri: x-t}]}
sql: |
  SELECT '{{ triggering_events.s }} {{ triggering_events.same }} {{ triggering_events["x-s://s"] }}
  {{ triggering_events["x-t"] }} {{ triggering_events.other }}'
""",
                "b.yml": """\
asset: b
schedule: manual
sql: SELECT '{{ triggering_events.s }}'
""",
                "c.yml": """\
asset: c
schedule: manuel
sql: SELECT '{{ triggering_events.s }}'
""",
            },
            """\
a.yml:6:55: no event of 'other' can trigger asset 'a'
      {{ triggering_events["x-t"] }} {{ triggering_events.other }}'
                                                          ^^^^^
  hint: known are s, same, x-s://s, x-t
b.yml:3:35: no event of 's' can trigger asset 'b'
    sql: SELECT '{{ triggering_events.s }}'
                                      ^
c.yml:2:11: unknown asset 'manuel'
    schedule: manuel
              ^^^^^^
  hint: did you mean 'manual'?
""",
            id="events_that_cannot_trigger_it",
        ),
        pytest.param(
            {
                "a.yml": """\
asset: s
source: true
---
asset: a
start_date: 2025-01-01
schedule: s
sql: |
  SELECT '{{ triggering_event.extar }} {{ triggering_events.s[0].source_dag_run.conf }}
  {{ triggering_event.source_run.data_interval.begin }}
  {{ execution_date }} {{ data_interval_start.subtrct(days=1) }}
  {{ triggering_event.source_run.data_interval.start.day }} {{ triggering_event.extra.any }}' FROM {{ ref('s') }}
""",
            },
            """\
a.yml:5:1: unknown key 'start_date' in asset 'a'
    start_date: 2025-01-01
    ^^^^^^^^^^
  hint: here it is 'start'
a.yml:8:31: an event has no 'extar'
      SELECT '{{ triggering_event.extar }} {{ triggering_events.s[0].source_dag_run.conf }}
                                  ^^^^^
  hint: did you mean 'extra'?
a.yml:8:66: an event has no 'source_dag_run'
      SELECT '{{ triggering_event.extar }} {{ triggering_events.s[0].source_dag_run.conf }}
                                                                     ^^^^^^^^^^^^^^
  hint: here it is 'source_run'
a.yml:9:48: a data interval has no 'begin'
      {{ triggering_event.source_run.data_interval.begin }}
                                                   ^^^^^
  hint: known are end, start
a.yml:10:6: unknown name 'execution_date' in the template
      {{ execution_date }} {{ data_interval_start.subtrct(days=1) }}
         ^^^^^^^^^^^^^^
  hint: here it is 'logical_date'
a.yml:10:47: a time has no 'subtrct'
      {{ execution_date }} {{ data_interval_start.subtrct(days=1) }}
                                                  ^^^^^^^
  hint: did you mean 'subtract'?
a.yml:11:103: unknown name 'ref' in the template
      {{ triggering_event.source_run.data_interval.start.day }} {{ triggering_event.extra.any }}' FROM {{ ref('s') }}
                                                                                                          ^^^
  hint: here it is {{ inlets.<asset> }}
""",
            id="names_of_others_and_of_nobody",
        ),
        pytest.param(
            {
                "flights.yml": """\
asset: flights
source: csv
path: landing/flights/{day}.csv
partition: {by: day, column: day}
""",
                "a.yml": """\
asset: a
params: {limit: 1}
partition: {by: day, column: day}
""",
                "a.sql": """\
SELECT {{ dss }}, {{ params.limt }}, {{ partition.dya }}
FROM {{ inlets.flihgts }} JOIN {{ inlets.a }} {{ inlets.flights }}
""",
            },
            """\
a.sql:1:11: unknown name 'dss' in the template
    SELECT {{ dss }}, {{ params.limt }}, {{ partition.dya }}
              ^^^
  hint: did you mean 'ds'?
a.sql:1:29: unknown parameter 'limt'; 'params' has no such key
    SELECT {{ dss }}, {{ params.limt }}, {{ partition.dya }}
                                ^^^^
  hint: did you mean 'limit'?
a.sql:1:51: 'dya' is not a partition column of asset 'a'
    SELECT {{ dss }}, {{ params.limt }}, {{ partition.dya }}
                                                      ^^^
  hint: did you mean 'day'?
a.sql:2:16: unknown asset 'flihgts'
    FROM {{ inlets.flihgts }} JOIN {{ inlets.a }} {{ inlets.flights }}
                   ^^^^^^^
  hint: did you mean 'flights'?
a.sql:2:42: asset 'a' cannot be its own inlet
    FROM {{ inlets.flihgts }} JOIN {{ inlets.a }} {{ inlets.flights }}
                                             ^
  hint: in SQL, {{ outlets.<asset> }} reads the target as it was before the run
""",
            id="unknown_names",
        ),
        pytest.param(
            {
                "a.yml": """\
asset: a
""",
                "a.sql": """\
-- daily
INSERT INTO t SELECT 1
""",
            },
            """\
a.sql:2:1: the SQL begins with 'INSERT'; expected one SELECT
    INSERT INTO t SELECT 1
    ^^^^^^
  hint: write the SELECT only, whose rows land as `write` says; with `write: self` statements write the target
""",
            id="an_insert",
        ),
        pytest.param(
            {
                "a.yml": """\
asset: a
""",
                "a.sql": """\
SELECT 1
FROM {{ inlets.x }
""",
            },
            """\
a.sql:2:1: invalid template: unexpected '}'
    FROM {{ inlets.x }
    ^^^^^^^^^^^^^^^^^^
""",
            id="a_broken_template",
        ),
        pytest.param(
            {
                "a.yml": """\
asset: a
""",
                "a.sql": """\
SELECT {{ ''.__class__.__mro__ }}
""",
            },
            """\
a.sql:1:14: '__class__' is not allowed in the template's sandbox
    SELECT {{ ''.__class__.__mro__ }}
                 ^^^^^^^^^
a.sql:1:24: '__mro__' is not allowed in the template's sandbox
    SELECT {{ ''.__class__.__mro__ }}
                           ^^^^^^^
""",
            id="an_escape",
        ),
        pytest.param(
            {
                "a.yml": """\
asset: a
""",
                "a.sql": """\
{% include 'b.sql' %}
""",
            },
            """\
a.sql:1:4: 'include' is not supported: a template cannot use other templates
    {% include 'b.sql' %}
       ^^^^^^^
  hint: name another asset as {{ inlets.<name> }}, or repeat the text
""",
            id="an_include",
        ),
        pytest.param(
            {
                "flights.yml": """\
asset: flights
source: csv
path: landing/flights/{day}.csv
partition: {by: day, column: day}
columns: {dep_delay: int}
""",
                "a.yml": """\
asset: a
""",
                "a.sql": """\
SELECT {{ inlets.flights.dep_dely }}, {{ inlets.flights.day }} FROM {{ inlets.flights }}
""",
            },
            """\
a.sql:1:26: asset 'flights' declares no column 'dep_dely'
    SELECT {{ inlets.flights.dep_dely }}, {{ inlets.flights.day }} FROM {{ inlets.flights }}
                             ^^^^^^^^
  hint: did you mean 'dep_delay'?
""",
            id="an_unknown_column",
        ),
        pytest.param(
            {
                "flights.yml": """\
asset: flights
source: csv
path: landing/flights/{day}.csv
partition: {by: day, column: day}
columns: {id: int}
""",
                "a.yml": """\
asset: a
write: append
inlets: {flights: {read: {after: ids}}}
""",
                "a.sql": """\
SELECT {{ watermark.lo }} FROM {{ inlets.flights }}
""",
            },
            """\
a.sql:1:21: 'watermark' has no 'lo'
    SELECT {{ watermark.lo }} FROM {{ inlets.flights }}
                        ^^
  hint: did you mean 'low'?
a.yml:3:34: asset 'flights' declares no column 'ids'
    inlets: {flights: {read: {after: ids}}}
                                     ^^^
  hint: did you mean 'id'?
""",
            id="an_unknown_column_as_watermark",
        ),
        pytest.param(
            {
                "flights.yml": """\
asset: flights
source: csv
path: landing/flights/{day}.csv
partition: {by: day, column: day}
""",
                "a.yml": """\
asset: a
sql: |
  SELECT *
  FROM {{ inlets.flihgts }}
---
asset: b
sql: 'SELECT {{ xs }}'
""",
            },
            """\
a.yml:4:18: unknown asset 'flihgts'
      FROM {{ inlets.flihgts }}
                     ^^^^^^^
  hint: did you mean 'flights'?
a.yml:7:17: unknown name 'xs' in the template
    sql: 'SELECT {{ xs }}'
                    ^^
  hint: known are inlets, outlets, partitions, params, watermark, run_id and the times of the run
""",
            id="sql_in_the_yaml",
        ),
        pytest.param(
            {
                "e.yml": """\
asset: e
source: true
""",
                "a.yml": """\
asset: a
sql: SELECT * FROM {{ inlets.e }}
""",
            },
            """\
a.yml:2:30: 'e' is known only by its events and cannot be read
    sql: SELECT * FROM {{ inlets.e }}
                                 ^
  hint: to wait for it, list it under 'inlets' without reading it
""",
            id="what_has_no_rows",
        ),
    ],
)
def test_refused(files, expected):
    assert errors(files) + "\n" == expected

"""Sources, paths, columns, identities and credentials."""

import pytest

from tests.core.spec.in_memory import errors_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            """\
asset: a
source: true
sql: x.sql
schedule: manual
retries: 2
""",
            """\
a.yml:3:1: 'sql' is not allowed for a source: others write it, so nothing runs
    sql: x.sql
    ^^^
a.yml:4:1: 'schedule' is not allowed for a source: others write it, so nothing runs
    schedule: manual
    ^^^^^^^^
a.yml:5:1: 'retries' is not allowed for a source: others write it, so nothing runs
    retries: 2
    ^^^^^^^
""",
            id="keys_of_writers",
        ),
        pytest.param(
            """\
asset: a
source: csv
---
asset: b
source: delta
""",
            """\
a.yml:2:9: a source of csv files needs a path, such as path: landing/*.csv
    source: csv
            ^^^
a.yml:5:9: a Delta source needs 'path', the folder of its table, or 'table', its name in a catalog
    source: delta
            ^^^^^
""",
            id="no_path",
        ),
        pytest.param(
            """\
asset: a
source: delta
path: x
options: {a: b}
settle: 5m
""",
            """\
a.yml:4:1: 'options' configure the reader of file sources, but this is a Delta source
    options: {a: b}
    ^^^^^^^
""",
            id="options_of_a_table",
        ),
        pytest.param(
            """\
asset: a
source: true
options: {a: b}
settle: 5m
""",
            """\
a.yml:3:1: 'options' configure the reader of file sources, but this is a source that is known only by its events
    options: {a: b}
    ^^^^^^^
""",
            id="options_of_events",
        ),
        pytest.param(
            """\
asset: a
options: {a: b}
settle: 5m
""",
            """\
a.yml:2:1: 'options' configure the reader of file sources, but this asset is not a source
    options: {a: b}
    ^^^^^^^
a.yml:3:1: 'settle' is supported only for sources
    settle: 5m
    ^^^^^^
""",
            id="options_of_a_target",
        ),
        pytest.param(
            """\
asset: a
source: csv
path: x
settle: -5m
""",
            """\
a.yml:4:9: 'settle' is '-5m'; expected a duration of at least 0
    settle: -5m
            ^^^
""",
            id="a_negative_settle",
        ),
        pytest.param(
            """\
asset: a
path: out/{day}
""",
            """\
a.yml:2:11: the path of a table cannot vary, but contains '{'
    path: out/{day}
              ^
""",
            id="a_pattern_as_target",
        ),
        pytest.param(
            """\
asset: a
source: csv
path: 'x/{day}.csv'
""",
            """\
a.yml:3:7: the field {day} needs a partition
    path: 'x/{day}.csv'
          ^^^^^^^^^^^^^
  hint: add 'partition: {by: day, column: day}', or write '*' for the field
""",
            id="a_field_without_a_partition",
        ),
        pytest.param(
            """\
asset: a
source: csv
path: x/*.csv
partition: {by: day, column: day}
""",
            """\
a.yml:3:7: 'x/*.csv' does not identify the day of a file
    path: x/*.csv
          ^^^^^^^
  hint: write {day} in place of 2013-01-05, or {day:%Y%m%d}
""",
            id="a_partition_without_a_field",
        ),
        pytest.param(
            """\
asset: a
source: csv
path: 'x/{date}.csv'
partition: {by: day, column: day}
""",
            """\
a.yml:3:7: the field {date} is not the partition's column 'day'
    path: 'x/{date}.csv'
          ^^^^^^^^^^^^^^
  hint: write {day} instead, or 'column: date' in the partition
""",
            id="a_field_that_is_not_the_column",
        ),
        pytest.param(
            """\
asset: a
source: csv
path: x/{day.csv
partition: {by: day, column: day}
""",
            """\
a.yml:3:7: the path 'x/{day.csv' has an unmatched '{' at character 3
    path: x/{day.csv
          ^^^^^^^^^^
  hint: a field is written {day} or {day:%Y%m%d}
""",
            id="a_brace_that_is_not_closed",
        ),
        pytest.param(
            """\
asset: a
source: delta
path: x
partition: {by: day}
""",
            """\
a.yml:4:12: the partition has no column, but reading a partition of a Delta table needs one
    partition: {by: day}
               ^^^^^^^^^
  hint: write partition: {by: day, column: <column>}
""",
            id="a_table_without_its_column",
        ),
        pytest.param(
            """\
asset: a
source: delta
path: lake/raw_{region}
""",
            """\
a.yml:3:7: the field {region} needs a partition
    path: lake/raw_{region}
          ^^^^^^^^^^^^^^^^^
  hint: add 'partition: {segments: runtime, column: region}'
""",
            id="tables_without_a_partition",
        ),
        pytest.param(
            """\
asset: a
source: delta
path: lake/raw_{region}_*
partition: {segments: runtime, column: region}
""",
            """\
a.yml:3:25: the path of Delta tables may vary only by fields, but contains '*'
    path: lake/raw_{region}_*
                            ^
  hint: write a field, such as {region}, for the part that varies
""",
            id="tables_by_a_glob",
        ),
        pytest.param(
            """\
asset: a
source: delta
path: lake/raw_{region}
partition: [{by: day, column: day}, {segments: runtime, column: region}]
""",
            """\
a.yml:3:7: 'lake/raw_{region}' does not identify the day of a table
    path: lake/raw_{region}
          ^^^^^^^^^^^^^^^^^
  hint: write {day} in place of 2013-01-05, or {day:%Y%m%d}
""",
            id="partitions_within_tables",
        ),
        pytest.param(
            """\
asset: a
source: delta
table: lake.raw_{region}
partition: [{by: day, column: day}, {segments: runtime, column: region}]
""",
            """\
a.yml:3:8: 'lake.raw_{region}' does not identify the day of a table
    table: lake.raw_{region}
           ^^^^^^^^^^^^^^^^^
  hint: write {day} in place of 2013-01-05, or {day:%Y%m%d}
""",
            id="partitions_within_tables_of_a_catalog",
        ),
        pytest.param(
            """\
asset: a
source: delta
table: "{region}.lake.raw"
partition: {segments: runtime, column: region}
""",
            """\
a.yml:3:8: the catalog of '{region}.lake.raw' has a field; expected fields in the schema or the name of the table
    table: "{region}.lake.raw"
           ^^^^^^^^^^^^^^^^^^^
""",
            id="catalogs_by_a_field",
        ),
        pytest.param(
            """\
asset: a
table: lake.raw_{region}
""",
            """\
a.yml:2:8: 'lake.raw_{region}' names several tables; expected one
    table: lake.raw_{region}
           ^^^^^^^^^^^^^^^^^
  hint: only a Delta source may have fields in its name; put a part with braces in backquotes
""",
            id="several_tables_written",
        ),
        pytest.param(
            """\
asset: a
columns:
  a: bigintt
  b: decimal(40,2)
  c: array<int
""",
            """\
a.yml:3:6: 'bigintt' is not a Spark SQL type
      a: bigintt
         ^^^^^^^
  hint: did you mean 'bigint'?
a.yml:4:13: invalid decimal(40,2); expected a precision of at most 38 digits, and a scale not above it
      b: decimal(40,2)
                ^^^^^^
a.yml:5:14: expected '>' at the end
      c: array<int
                 ^
""",
            id="types_that_are_none",
        ),
        pytest.param(
            """\
asset: a
columns: {Day: date, day: date, 'a b': int}
""",
            """\
a.yml:2:22: the column 'day' differs from 'Day' only by case, which Spark ignores
    columns: {Day: date, day: date, 'a b': int}
                         ^^^
a.yml:2:33: the column 'a b' contains ' ', which Delta does not allow in names
    columns: {Day: date, day: date, 'a b': int}
                                    ^^^^^
""",
            id="names_of_columns",
        ),
        pytest.param(
            """\
asset: a
uri: sparkassets://x
""",
            """\
a.yml:2:6: the dataset URI 'sparkassets://x' uses the scheme 'sparkassets', which is reserved
    uri: sparkassets://x
         ^^^^^^^^^^^^^^^
""",
            id="a_reserved_scheme",
        ),
        pytest.param(
            """\
asset: a
uri: s3://b/*.csv
""",
            """\
a.yml:2:6: the dataset URI 's3://b/*.csv' contains '*', as in a glob or a regular expression
    uri: s3://b/*.csv
         ^^^^^^^^^^^^
  hint: a URI identifies a single dataset
""",
            id="a_glob_as_identity",
        ),
        pytest.param(
            """\
asset: a
uri: postgres://me:pw@h/db
extra: {jdbc: {password: x}, list: [AKIAABCDEFGHIJKLMNOP], by: {x?sig=1: 2}}
""",
            """\
a.yml:2:6: the dataset URI contains a password; events are clear text
  hint: leave it out of the identity
a.yml:3:26: 'extra' contains a credential in 'password', and events store it as clear text
a.yml:3:37: 'extra' contains a key, and events store it as clear text
a.yml:3:64: 'extra' contains a credential in 'sig', as a key, and events store it as clear text
""",
            id="a_password",
        ),
        pytest.param(
            """\
asset: a
path: s3://key:secret@bucket/x
""",
            """\
a.yml:2:7: the path contains a password, and events store it as clear text
""",
            id="a_password_in_a_path",
        ),
        pytest.param(
            """\
asset: a
extra: {x: .inf}
""",
            """\
a.yml:2:8: the extra cannot be written as JSON: Out of range float values are not JSON compliant
    extra: {x: .inf}
           ^^^^^^^^^
  hint: use text, numbers, and lists and dicts of these
""",
            id="what_json_cannot_say",
        ),
    ],
)
def test_refused(text, expected):
    assert errors_of(text) + "\n" == expected


def test_an_extra_is_no_larger_than_that_of_an_event():
    said = errors_of(f"asset: a\nextra:\n  x: {'y' * 70_000}\n").splitlines()
    assert said[0] == "a.yml:3:3: the extra is 70,009 bytes of JSON; expected at most 65,536"

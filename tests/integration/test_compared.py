"""Rows are the same where each is there as often as before, whatever their order and files, and only there."""

from __future__ import annotations

import pytest

from sparkassets.core.partitions import EVERYTHING, NOTHING, UNPARTITIONED, Partitioning
from sparkassets.core.partitions.segments import encode_segment
from sparkassets.spark.row_comparison import find_changed_partitions
from tests.builders import days, partitioned
from tests.integration.queries import queries

pytestmark = pytest.mark.spark

NEVER_THE_SAME = {
    "another value": ("1", "2"),
    "a value and none": ("1", "CAST(NULL AS INT)"),
    "zeros of two signs": ("CAST(0 AS DOUBLE)", "-CAST(0 AS DOUBLE)"),
    "no number and no value": ("double('NaN')", "CAST(NULL AS DOUBLE)"),
    "the last digit of a decimal": ("1.10BD", "1.11BD"),
    "the last digit of a large decimal": (f"{'1' * 30}.0BD", f"{'1' * 30}.1BD"),
    "upper and lower case": ("'a'", "'A'"),
    "case where it does not count": ("'a' COLLATE UTF8_LCASE", "'A' COLLATE UTF8_LCASE"),
    "no text and none": ("''", "CAST(NULL AS STRING)"),
    "a microsecond": ("TIMESTAMP'2025-01-01 00:00:00.000001'", "TIMESTAMP'2025-01-01 00:00:00.000002'"),
    "bytes": ("X'00'", "X'0000'"),
    "the place of a field": (
        "named_struct('a', 1, 'b', CAST(NULL AS INT))",
        "named_struct('a', CAST(NULL AS INT), 'b', 1)",
    ),
    "a struct and none": ("named_struct('a', CAST(NULL AS INT))", "CAST(NULL AS STRUCT<a: INT>)"),
    "where a list ends": ("array(array(1, 2), array(3))", "array(array(1), array(2, 3))"),
    "the order of a list": ("array(1, 2)", "array(2, 1)"),
    "a place in a list": ("array(1, CAST(NULL AS INT))", "array(CAST(NULL AS INT), 1)"),
    "how many are null in a list": ("array(CAST(NULL AS INT))", "CAST(array() AS ARRAY<INT>)"),
    "an empty list and none": ("CAST(array() AS ARRAY<INT>)", "CAST(NULL AS ARRAY<INT>)"),
    "the value of a map": ("map('a', 1, 'b', 2)", "map('a', 2, 'b', 1)"),
    "the lists of a map": ("map('a', array(1, 2))", "map('a', array(2, 1))"),
}
THE_SAME = {
    "the order of a map": ("map('a', 1, 'b', 2)", "map('b', 2, 'a', 1)"),
    "maps in a list": ("array(map('a', 1, 'b', 2))", "array(map('b', 2, 'a', 1))"),
    "no number": ("double('NaN')", "double('NaN')"),
    "no value": ("CAST(NULL AS INT)", "CAST(NULL AS INT)"),
}


def but(columns: str, query: str) -> str:
    """The rows of a query with these columns."""
    words = ("SELECT", columns, "FROM (", query, ")")
    return " ".join(words)


def differ(spark, old: str, new: str, *, parts=EVERYTHING, partitioning: Partitioning = UNPARTITIONED):
    """The partitions in which the rows of two queries differ."""
    frames = [spark.sql(each) for each in (old, new)]
    schema = frames[0].schema.json()
    return find_changed_partitions(*frames, parts, partitioning=partitioning, schema=schema)


COUNTED = {
    "any order": ("(1, 2), (3, 4), (1, 2)", "(3, 4), (1, 2), (1, 2)", True),
    "as often": ("(1, 2), (1, 2), (3, 4)", "(1, 2), (3, 4), (3, 4)", False),
    "twice the same": ("(1, 2), (1, 2)", "(3, 4), (3, 4)", False),
    "another column": ("(1, NULL)", "(NULL, 1)", False),
    "values swapped": ("(1, 2)", "(2, 1)", False),
    "columns apart": ("(1, 4), (2, 3)", "(1, 3), (2, 4)", False),
}


def differing(spark, old: list[str], new: list[str], *, cases) -> list[str]:
    """The cases whose rows differ, each a segment of its own, in one comparison of all."""
    segments = partitioned(None, segments={"case": tuple(sorted(cases))})
    queries = (" UNION ALL ".join(each) for each in (old, new))
    found = differ(spark, *queries, parts=segments.known_partitions, partitioning=segments)
    return sorted(segments.labels(found))


def test_values_that_differ_are_never_the_same_and_others_are(spark):
    cases = {**NEVER_THE_SAME, **THE_SAME}

    def values(side: int) -> list[str]:
        """Of each case a row, with a value in the column of the case alone."""
        return [
            f"SELECT '{case}' AS case, "
            + ", ".join(f"{pair[side] if name == case else 'NULL'} AS `{name}`" for name, pair in cases.items())
            for case in cases
        ]

    assert differing(spark, values(0), values(1), cases=cases) == sorted(map(encode_segment, NEVER_THE_SAME))


def test_rows_count_as_often_as_they_are_there(spark):
    def rows(side: int) -> list[str]:
        casts = "CAST(a AS INT) AS a, CAST(b AS INT) AS b"
        return [but(f"'{case}' AS case, {casts}", f"VALUES {each[side]} AS v(a, b)") for case, each in COUNTED.items()]

    changed = [case for case, (_, _, same) in COUNTED.items() if not same]
    assert differing(spark, rows(0), rows(1), cases=COUNTED) == sorted(map(encode_segment, changed))


def test_of_one_partition_all_or_nothing_differs(spark):
    casts = "CAST(a AS INT) AS a, CAST(b AS INT) AS b"
    old, same, other = (
        but(casts, f"VALUES {each} AS v(a, b)") for each in ("(1, 2), (3, 4)", "(3, 4), (1, 2)", "(1, 2)")
    )
    assert differ(spark, old, same) == NOTHING
    assert differ(spark, old, other) == EVERYTHING


DAYS = partitioned("day")
MONTH = days("2025-01-01..2025-01-31")
ROWS = "SELECT %s AS day, id AS n FROM range(0, 31) WHERE id %% 10 <> %s"
DATE = "date_add(DATE'2025-01-01', CAST(id AS INT))"


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP_NTZ", "TIMESTAMP", "STRING"])
def test_the_partitions_are_told_by_each_type_of_column(spark, kind):
    day = f"CAST({DATE} AS {kind})"
    old, new = ROWS % (day, 11), but("day, if(n IN (3, 30), -n, n) AS n", ROWS % (day, 11))
    assert differ(spark, old, new, parts=MONTH, partitioning=DAYS) == days("2025-01-04", "2025-01-31")
    assert differ(spark, old, old, parts=MONTH, partitioning=DAYS) == NOTHING
    assert differ(spark, old, ROWS % (day, 7), parts=MONTH, partitioning=DAYS) == days(
        "2025-01-08", "2025-01-18", "2025-01-28"
    )


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP", "STRING"])
def test_no_row_is_sorted_to_compare(spark, kind):
    rows, before = ROWS % (f"CAST({DATE} AS {kind})", 11), queries(spark)
    differ(spark, rows, rows, parts=MONTH, partitioning=DAYS)
    (plan,) = (plan for number, plan in queries(spark).items() if number not in before)
    assert "HashAggregate (" in plan
    assert "Sort" not in plan


def test_hours_of_a_zone_with_a_clock_of_its_own(spark):
    hours = partitioned("hour", "Asia/Kathmandu")
    partitions = hours.parse("2025-01-01T00..2025-01-01T23")
    old = "SELECT timestamp_seconds(1735668900 + id * 600) AS hour, id AS n FROM range(0, 144)"
    new = but("hour, if(n IN (5, 6), -n, n) AS n", old)
    found = differ(spark, old, new, parts=partitions, partitioning=hours)
    assert hours.labels(found) == ["2025-01-01T00..2025-01-01T01"]


def test_products(spark):
    stores = partitioned("day", segments={"store": ("a", "b", "c,d")})
    partitions = stores.parse("2025-01-01..2025-01-02")
    old = but(f"{DATE} AS day, store, 1 AS n", "SELECT * FROM range(0, 2), VALUES ('a'), ('b'), ('c,d') AS s(store)")
    new = but("day, store, if(store = 'c,d' AND day = DATE'2025-01-02', 2, 1) AS n", old)
    assert stores.labels(differ(spark, old, new, parts=partitions, partitioning=stores)) == ["2025-01-02,c%2Cd"]


def test_numbers_as_segments(spark):
    kinds = partitioned(None, segments={"kind": ("-1", "2", "3")})
    old = "SELECT CAST(kind AS INT) AS kind, 1 AS n FROM VALUES (-1), (2), (3) AS s(kind)"
    new = but("kind, if(kind < 0, 2, 1) AS n", old)
    assert kinds.labels(differ(spark, old, new, parts=kinds.known_partitions, partitioning=kinds)) == ["-1"]


def test_what_has_no_hash_is_taken_for_another(spark):
    query = "SELECT INTERVAL '1' MONTH AS v"
    assert differ(spark, query, query) == EVERYTHING

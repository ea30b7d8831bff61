"""What of a table's log tells what is remembered, and the statement of a merge; no session is needed for either."""

import pytest
from pyspark.sql.types import IntegerType, MapType, StringType, StructField, StructType

from sparkassets.spark.upserts.key_merge import KeyMerge
from sparkassets.spark.upserts.staged_rows import DELETED, StagedRows
from sparkassets.spark.upserts.upsert_memory import _iterate_valid_commits

NINE = 1_735_722_000_000
"""2025-01-01T09:00Z."""


class Log:
    """Commits by what they say, the oldest first, an hour each from nine on."""

    def __init__(self, *operations):
        self.operations = operations

    def iterate_commits(self):
        for number in range(len(self.operations) - 1, -1, -1):
            parameters = self.operations[number]
            told = {"operation": "RESTORE", "operationParameters": parameters} if parameters else {"operation": "MERGE"}
            yield {**told, "version": number, "timestamp": NINE + number * 3_600_000}


@pytest.mark.parametrize(
    ("operations", "counting"),
    [
        ([None, None, None], [2, 1, 0]),
        ([None, None, None, {"version": 1, "timestamp": None}], [1, 0]),
        ([None, None, {"version": 0, "timestamp": None}, None, {"version": 3, "timestamp": None}, None], [5, 3, 0]),
        ([None, None, None, {"version": None, "timestamp": "2025-01-01 10:30:00"}], [1, 0]),
        ([None, None, {"version": None, "timestamp": "?"}], [1, 0]),
    ],
)
def test_what_a_restore_took_back_does_not_count(operations, counting):
    found = [commit["version"] for commit in _iterate_valid_commits(Log(*operations), len(operations) - 1)]
    assert found == counting


def statement(*, count=2, deletes=True, kind=None, **more):
    fields = [StructField("id", IntegerType()), StructField("name", kind or StringType())]
    staged = StagedRows(
        "f", StructType([*fields, StructField(DELETED, StringType())]), count, ranges={"id": ("1", "9")}
    )
    return KeyMerge(staged, ("id",), ("id", "name"), has_deletes=deletes, **more).statement("t", StructType(fields))


def test_a_merge_searches_what_can_hold_its_keys_and_leaves_what_is_as_it_was():
    late = "NOT coalesce(named_struct('n0', s.sparkassets_1) < named_struct('n0', t.`name`), false)"
    keys = "t.`id` = s.sparkassets_0 AND t.`id` BETWEEN CAST('1' AS int) AND CAST('9' AS int) AND (`day` = 1)"
    changed = "NOT (t.`name` <=> s.sparkassets_1)"
    values = "(`id`, `name`) VALUES (s.sparkassets_0, s.sparkassets_1)"
    assert statement(match_condition="`day` = 1", newest_by=("name",)).split("\n") == [
        f"MERGE INTO t AS t USING sparkassets_upsert AS s ON {keys}",
        f"WHEN MATCHED AND s.sparkassets_2 AND {late} THEN DELETE",
        f"WHEN MATCHED AND NOT s.sparkassets_2 AND {late} AND {changed} THEN UPDATE SET t.`name` = s.sparkassets_1",
        f"WHEN NOT MATCHED AND NOT s.sparkassets_2 THEN INSERT {values}",
    ]


def test_values_that_cannot_be_compared_are_written_in_any_case():
    made = statement(deletes=False, kind=MapType(StringType(), StringType()))
    assert "WHEN MATCHED AND true THEN UPDATE SET t.`name` = s.sparkassets_1" in made
    assert "DELETE" not in made


def test_nothing_is_searched_for_no_rows():
    assert " ON false\n" in statement(count=0)

from __future__ import annotations

import pytest

from sparkassets.delta.file_statistics import select_statistics_columns


def leaf(name):
    return {"name": name, "type": "integer"}


def struct(name, *fields):
    return {"name": name, "type": {"type": "struct", "fields": list(fields)}}


SCHEMA = {
    "fields": [
        leaf("a"),
        struct("S", leaf("x"), struct("y", leaf("z"), leaf("w")), {"name": "l", "type": {"type": "array"}}),
        leaf("day"),
        leaf("odd.na`me"),
        leaf("c"),
    ]
}
EVERY = ["a", "S.x", "S.y.z", "S.y.w", "S.l", "odd.na`me", "c"]


def names(properties, *, schema=SCHEMA):
    return [
        ".".join(column.path) for column in select_statistics_columns(schema, layout=["day"], properties=properties)
    ]


def test_the_first_32_fields_of_all_depths_but_no_partition_column():
    wide = {
        "fields": [leaf("day"), *(leaf(f"c{n}") for n in range(30)), struct("s", *(leaf(f"n{n}") for n in range(5)))]
    }
    assert names({}, schema=wide) == [*(f"c{n}" for n in range(30)), "s.n0", "s.n1"]


@pytest.mark.parametrize(("count", "found"), [("0", []), ("3", EVERY[:3]), ("-1", EVERY), ("99", EVERY)])
def test_as_many_as_the_table_says(count, found):
    assert names({"delta.dataSkippingNumIndexedCols": count}) == found


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ("", []),
        ("A, s.y.W", ["a", "S.y.w"]),
        ("s", ["S.x", "S.y.z", "S.y.w", "S.l"]),
        ("s, s.x", ["S.x"]),
        ("`odd.na``me`,c", ["odd.na`me", "c"]),
        ("s.`y`.z", ["S.y.z"]),
        ("a.b, nowhere, day", []),
    ],
)
def test_those_that_the_table_names(named, found):
    assert names({"delta.dataSkippingStatsColumns": named, "delta.dataSkippingNumIndexedCols": "1"}) == found

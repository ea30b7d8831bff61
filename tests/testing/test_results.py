"""Differences of rows, against counting them."""

import math
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.testing.results import describe_difference

rows = st.lists(st.fixed_dictionaries({"a": st.integers(0, 2), "b": st.none() | st.sampled_from("xy")}), max_size=6)


@given(rows, rows)
def test_rows_differ_where_they_are_counted_otherwise(expected, found):
    def counted(some):
        return Counter(tuple(sorted(row.items())) for row in some)

    told = describe_difference(expected, found)
    assert bool(told) == (counted(expected) != counted(found))
    if told:
        missing, unexpected = counted(expected) - counted(found), counted(found) - counted(expected)
        lines = told.splitlines()[2:]
        assert sum(line.startswith("-") for line in lines) == missing.total()
        assert sum(line.startswith("+") for line in lines) == unexpected.total()


def test_a_difference():
    expected = [{"day": "2025-01-01", "total": 3.0}, {"day": "2025-01-02", "total": None}]
    assert describe_difference(expected, [expected[0], {"day": "2025-01-02", "total": 4.0}]).splitlines() == [
        "1 row missing, 1 unexpected, 1 as expected",
        "   day         total",
        "-  2025-01-02  NULL",
        "+  2025-01-02  4.0",
    ]


def test_numbers_may_be_off_by_the_tolerance_and_nan_is_itself():
    assert describe_difference([{"a": 1.0}, {"a": math.nan}], [{"a": math.nan}, {"a": 1.001}], tolerance=0.01) == ""
    assert describe_difference([{"a": 1.0}], [{"a": 1.1}], tolerance=0.01)
    assert describe_difference([{"a": True}], [{"a": False}], tolerance=2)


def test_of_many_some_are_shown():
    told = describe_difference([], [{"a": number} for number in range(30)]).splitlines()
    assert (len(told), told[-1]) == (23, "+  and 10 more")

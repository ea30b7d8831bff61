"""Segments as values of columns: one text for each value, one value for each text."""

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.partitions import holds_segments, segment_of, segment_value

VALUES = {
    "string": st.text(max_size=8),
    "tinyint": st.integers(-(2**7), 2**7 - 1),
    "short": st.integers(-(2**15), 2**15 - 1),
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "date": st.dates(),
    "boolean": st.booleans(),
    "decimal(9,2)": st.decimals(-9999999, 9999999, places=2),
    "decimal(3, 3)": st.decimals("-0.999", "0.999", places=3),
    "decimal(38,0)": st.integers(1 - 10**38, 10**38 - 1).map(Decimal),
}
"""Of columns that hold segments, by Spark's and by Delta's names of their types."""
kinds_and_values = st.sampled_from([*VALUES]).flatmap(lambda kind: st.tuples(st.just(kind), VALUES[kind]))


@given(kinds_and_values)
def test_the_text_of_a_value_means_that_value(drawn):
    kind, value = drawn
    text = segment_of(value, kind)
    assert text is not None
    found = segment_value(text, kind)
    assert (found, type(found)) == (value, type(value))


@given(st.sampled_from([*VALUES]), st.text("-+.0123456789e_", max_size=6) | st.text(max_size=4))
def test_no_value_has_two_texts(kind, text):
    value = segment_value(text, kind)
    assert value is None or segment_of(value, kind) == text


@given(kinds_and_values)
def test_the_log_may_write_a_value_in_its_own_way(drawn):
    kind, value = drawn
    assert segment_of(str(value).lower() if kind == "boolean" else str(value), kind) == segment_of(value, kind)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("007", "int"),
        ("-0", "bigint"),
        ("+1", "smallint"),
        ("1_000", "int"),
        ("\u0661", "int"),
        ("2147483648", "integer"),
        ("1.50", "decimal(9,2)"),
        ("1.555", "decimal(9,2)"),
        ("-0", "decimal(9,2)"),
        ("NaN", "decimal(9,2)"),
        ("1e3", "decimal(9,2)"),
        ("10", "decimal(3,2)"),
        ("2025-02-30", "date"),
        ("2025-W09-6", "date"),
        ("True", "boolean"),
        ("1", "double"),
    ],
)
def test_other_texts_mean_nothing(text, kind):
    assert segment_value(text, kind) is None


def test_numbers_that_a_float_may_have_changed_are_no_segment():
    assert segment_of(1.5, "decimal(9,2)") == "1.5"
    assert segment_of(1.5, "decimal(20,2)") is None
    assert segment_of(date(2025, 3, 1), "date") == "2025-03-01"
    assert segment_of(None, "string") is None


def test_types_without_one_text_for_each_value_hold_none():
    assert all(map(holds_segments, VALUES))
    assert not any(map(holds_segments, ("double", "timestamp", "binary", "array<int>", "string collate UTF8_LCASE")))

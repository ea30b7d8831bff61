"""Messages about partitions say what was meant, in the words in which it is written."""

import json

import pytest

from sparkassets.core.partitions import Partitioning, SegmentPartition, TimePartition
from sparkassets.core.partitions.grains import PartitionError
from sparkassets.core.redaction import redact
from tests.core.spec.in_memory import errors

DAYS = TimePartition("day", "UTC", column="day")
REGIONS = SegmentPartition("region", ("a,b", "de", "nl"))


@pytest.mark.parametrize(
    ("partitioning", "key", "said", "hint"),
    [
        (
            Partitioning(DAYS),
            "2025-01-01,de",
            "has 2 parts separated by commas; expected day",
            "name one key at a time",
        ),
        (
            Partitioning(None, (REGIONS,)),
            "de,nl",
            "'de,nl' has 2 parts separated by commas; expected region",
            "name one key at a time; a comma within a segment is written %2C",
        ),
        (Partitioning(None, (REGIONS,)), "a%2Cc", "'a%2Cc' is not a segment of region", "did you mean 'a%2Cb'?"),
        (Partitioning(None, (REGIONS,)), "x-y-z", "'x-y-z' is not a segment of region", "known are a%2Cb, de, nl"),
    ],
)
def test_keys(partitioning, key, said, hint):
    with pytest.raises(PartitionError, match=said) as raised:
        partitioning.parse(key)
    assert raised.value.hint == hint


@pytest.mark.parametrize(
    ("partitioning", "expected"),
    [
        (Partitioning(DAYS), "A..B"),
        (Partitioning(None, (REGIONS,)), "KEY"),
        (Partitioning(DAYS, (REGIONS,), 1), "KEY,A..B"),
    ],
)
def test_what_stands_for_a_key(partitioning, expected):
    assert partitioning.placeholder == expected


def test_a_mistyped_key_of_segments_is_told():
    said = errors(
        {"a.yml": "asset: a\npartition: {segment: [de, nl], column: region}\n", "a.sql": "SELECT 'de' AS region"}
    )
    assert "did you mean 'segments'?" in said
    assert "'by'" not in said


def test_a_field_of_the_path_and_a_column_that_differ_by_case_are_refused():
    said = errors(
        {
            "a.yml": "asset: a\nsource: csv\npath: l/{k}.csv\ncolumns: {K: string}\n"
            "partition: {segments: [de, nl], column: k}\n"
        }
    )
    assert "'columns' has 'K', but the partition's column is 'k'; Spark ignores case" in said
    assert "hint: spell both the same way" in said


@pytest.mark.parametrize("value", ['pa"ss"word', "back\\slash\\es", "tüten-suppe", "zwei\nzeilen-lang"])
def test_values_of_variables_are_known_as_json_has_them(value):
    for text in (json.dumps({"x": value}), json.dumps({"x": value}, ensure_ascii=False)):
        assert redact(text, variables={"SECRET": value}) == '{"x": "${SECRET}"}'

"""Slips that people make: each is one problem, and says what was meant."""

import pytest

from sparkassets.core.partitions import PartitionError, Partitioning, SegmentPartition
from sparkassets.core.partitions.segments import WHOLE
from tests.core.spec.in_memory import errors

DAILY = "asset: s\nsource: delta\npath: s\npartition: {by: day, column: day}\n"


def errors_of(text: str) -> str:
    return errors({"a.yml": f"asset: a\n{text}\n", "a.sql": "SELECT * FROM {{ inlets.s }}", "s.yml": DAILY})


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "partition: {by: day, column: day}\ninlets: {s: {partitions: {form: day}}}",
            "a.yml:3:27: 'form' is neither a dimension of 'a' nor the time of 's'",
            "did you mean {from: day}?",
        ),
        (
            "partition: {by: day, column: day, end: 2d}",
            "a.yml:2:40: 'end' is '2d'; expected a date, a time, or a duration after a +",
            "write +2d for a time ahead of now",
        ),
        (
            "partition: {by: day, column: day}\nstrategy: {every_instance: {max: 3}}",
            (
                "a.yml:3:11: 'strategy' is a map; expected full_refresh, every_instance, latest_only, date_range, "
                "segments or {date_range: {…}}"
            ),
            "every_instance has no options: write strategy: every_instance",
        ),
        (
            "partition: {by: day, column: day}\nstrategy: {date_rang: {lookback: 3d}}",
            "a.yml:3:12: unknown key 'date_rang' in 'strategy'",
            "did you mean 'date_range'?",
        ),
        (
            "partition: {by: day, column: day}\nstrategy: incremental",
            (
                "a.yml:3:11: 'strategy' is 'incremental'; "
                "expected full_refresh, every_instance, latest_only, date_range or segments"
            ),
            (
                "leave `strategy` out: a time partition defaults to date_range, which computes missing and stale "
                "partitions; latest_only takes the new rows of an inlet with `read: changes` or `read: {after: …}`"
            ),
        ),
        (
            "partition: {by: day, column: day}\nstrategy: merge",
            (
                "a.yml:3:11: 'strategy' is 'merge'; "
                "expected full_refresh, every_instance, latest_only, date_range or segments"
            ),
            "use `write` to say how rows are written, such as {upsert: {keys: [<column>]}}",
        ),
        ("partition: {bye: day, column: day}", "a.yml:2:13: unknown key 'bye' in 'partition'", "did you mean 'by'?"),
        (
            "partition: {by: day, column: day}\nwrite: overwrite",
            "a.yml:3:8: 'write' is 'overwrite'; expected replace, append, self or a map such as {upsert: {keys: [id]}}",
            "write replace",
        ),
        (
            "partition: {by: day, column: day}\nwrite: {replace: {}}",
            "a.yml:3:9: unknown key 'replace' in 'write'",
            "replace and append have no options: write `write: <name>`",
        ),
        (
            "write: {upsert: {unique_key: id}}",
            "a.yml:2:18: unknown key 'unique_key' in 'upsert'",
            "here it is 'keys'",
        ),
        (
            "write: {upsert: {keys: [id], sequence_by: lsn}}",
            "a.yml:2:30: unknown key 'sequence_by' in 'upsert'",
            "here it is 'newest_by'",
        ),
        (
            "partition: {segments: runtme, column: region}",
            "a.yml:2:23: 'segments' in 'partition' is 'runtme'; expected a list of keys such as [de, nl], or runtime",
            "did you mean 'runtime'?",
        ),
        (
            "source: cvs\npath: landing/{day}.csv",
            "a.yml:2:9: unknown source format 'cvs'; installed: none",
            "did you mean 'csv'?",
        ),
        (
            "partition: {by: day, column: day, exclude: weekends}",
            (
                "a.yml:2:44: unknown calendar 'weekends'; expected a country such as DE, a part of one such as US-NY, "
                "or an exchange such as XNYS"
            ),
            "write weekends as the cron '* * * * SAT,SUN'",
        ),
        (
            'partition: {segments: ["\\0", de], column: region}',
            "a.yml:2:24: this text contains the character U+0000, which paths and SQL do not allow",
            None,
        ),
    ],
)
def test_a_slip_is_one_problem(text, message, hint):
    lines = errors_of(text).splitlines()
    assert lines[0] == message
    assert lines[3:] == ([f"  hint: {hint}"] if hint else [])


SHOPS, REGIONS = SegmentPartition("shop", ("a", "b")), SegmentPartition("region", ("de", "nl=x"))


@pytest.mark.parametrize(
    ("dimensions", "text", "message", "hint"),
    [
        (
            (SHOPS,),
            "shp=a",
            "'shp=a': 'shp' is not a column of segments; expected shop=KEY or KEY",
            "did you mean 'shop'?",
        ),
        (
            (SHOPS,),
            "custmer=a",
            "'custmer=a': 'custmer' is not a column of segments; expected shop=KEY or KEY",
            "known is shop",
        ),
        ((SHOPS,), "shop=c", "'c' is not a segment of shop", "known are a, b"),
        (
            (SHOPS, REGIONS),
            "regoin=de",
            "'regoin=de' does not name its dimension; expected shop=KEY or region=KEY",
            "did you mean 'region'?",
        ),
        (
            (SegmentPartition("shop", (WHOLE,), is_open=True),),
            "a",
            "'a' is not a known segment of shop",
            "none is known yet: until then a run computes all of them, *",
        ),
    ],
)
def test_a_segment_that_is_none(dimensions, text, message, hint):
    with pytest.raises(PartitionError) as raised:
        Partitioning(None, dimensions).parse_segments([text])
    assert (str(raised.value.args[0]), raised.value.hint) == (message, hint)


def test_a_segment_may_hold_what_looks_like_a_column():
    regions = Partitioning(None, (REGIONS,))
    assert regions.labels(regions.parse_segments(["nl=x"])) == ["nl=x"]
    assert regions.labels(regions.parse_segments(["Region=de"])) == ["de"]


def test_keys_that_lack_their_indentation_belong_to_the_empty_key_above():
    said = errors_of("partition:\nby: day\ncolumn: day\nretries: 2\nstrategy:\nlookback: 2d")
    for place in ("a.yml:3:1: unknown key 'by'", "a.yml:4:1: unknown key 'column'"):
        assert f"{place} in asset 'a'" in said
    assert said.count("hint: indent it: it belongs to 'partition'") == 2
    assert "unknown key 'lookback' in asset 'a'" in said
    assert "a.yml:2:11: 'partition' is empty" in said
    assert "did you mean 'columns'" not in said


def test_segments_and_schedules_are_told_so_too():
    assert "indent it: it belongs to 'partition'" in errors_of("partition:\nsegments: [de]\ncolumn: region")
    assert "indent it: it belongs to 'schedule'" in errors_of("schedule:\ncron: 0 6 * * *")
    assert "indent it" not in errors_of("partition: none\nby: day")

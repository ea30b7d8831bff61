"""What may be announced: names, URIs, partitions, extras, ids and times."""

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from sparkassets.core.conditions.parsing import parse_condition
from sparkassets.core.journal.announcements import (
    dataset_uri_of,
    event_partitioning,
    parse_announcement,
    parse_announcement_lines,
)
from sparkassets.core.journal.codec import from_row, to_row
from sparkassets.core.journal.entries import EventEntry, NumberedEntry
from sparkassets.core.journal.history import recorded_event_values
from sparkassets.core.journal.state import EventRef
from sparkassets.core.partitions import UNPARTITIONED, Partitioning, SegmentPartition, TimePartition
from sparkassets.core.spec.model import InletSpec, Schedule
from sparkassets.errors import InputError
from tests.builders import Story, asset, at, clock, days, project, source

SHARED = "s3://lake/orders"


def on(uri, name, **more):
    return replace(source(name, **more), uri=uri)


AWAITED = parse_condition(
    {"any": [{"uri": "some/relative"}, {"all": [{"uri": "//example/dataset"}, {"uri": "X-by:Day"}]}]}, clock
)
PROJECT = project(
    on("s3://lake/flights", "flights"),
    on(SHARED, "orders"),
    on(SHARED, "orders_again"),
    on("s3://lake/mixed", "mixed_days"),
    on("s3://lake/mixed", "mixed_hours", by="hour"),
    on("s3://lake/plain", "plain", by=None),
    asset("waits", by=None, schedule=Schedule(condition=AWAITED)),
    timezone="Europe/Berlin",
)


def error_of(call, *args, **more):
    with pytest.raises(InputError) as caught:
        call(*args, **more)
    return str(caught.value)


def test_by_name_and_by_the_uri_of_one_asset_are_the_same():
    expected = EventEntry("s3://lake/flights", "flights", days("2025-01-01..2025-01-02"))
    assert parse_announcement(PROJECT, "flights", partition="2025-01-01..2025-01-02") == expected
    assert parse_announcement(PROJECT, "S3://lake/flights", partition="2025-01-01..2025-01-02") == expected


def test_a_uri_of_several_assets_alike_may_name_partitions_and_is_of_none_of_them():
    entry = parse_announcement(PROJECT, SHARED, partition="2025-01-01")
    assert entry == EventEntry(SHARED, None, days("2025-01-01"))
    assert event_partitioning(PROJECT, asset=None, uri=SHARED) == PROJECT.assets["orders"].partitioning
    assert parse_announcement(PROJECT, "orders_again", partition="2025-01-01").asset == "orders_again"


@pytest.mark.parametrize("uri", ["some/relative", "//example/dataset", "x-by:Day"])
def test_an_identity_that_a_condition_names_needs_no_slashes(uri):
    assert parse_announcement(PROJECT, uri) == EventEntry(uri)
    assert dataset_uri_of(PROJECT, uri) == uri
    assert parse_announcement(PROJECT, "X-by:Day") == EventEntry("x-by:Day")


def test_names_and_uris_mean_datasets():
    assert dataset_uri_of(PROJECT, "orders_again") == dataset_uri_of(PROJECT, "S3://lake/orders") == SHARED
    assert (
        error_of(dataset_uri_of, PROJECT, "order")
        == "no asset 'order' in project 'test'\n  hint: did you mean 'orders'?"
    )


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"target": None}, '"target" is empty; expected text'),
        ({"target": 5}, '"target" is 5; expected text'),
        ({"target": ["plain"]}, '"target" is a list; expected text'),
        ({"id": 5}, '"id" is 5; expected text'),
        ({"id": "a\ud800"}, "the id 'a\\ud800' is not valid Unicode: it contains half of a surrogate pair"),
        ({"at": 5}, '"at" is 5; expected an ISO instant as text'),
        ({"at": date(2025, 3, 21)}, '"at" is 2025-03-21; expected an ISO instant as text'),
        ({"target": "flights", "partition": 5}, '"partition" is 5; expected text'),
        ({"extra": 5}, "the extra is an int; expected an object of keys and values"),
        (
            {"extra": {"x": "\ud800"}},
            "the extra contains '\\ud800', half of a surrogate pair, which is not valid Unicode",
        ),
    ],
)
def test_what_has_another_type(more, message):
    assert (
        error_of(lambda target="plain", **rest: parse_announcement(PROJECT, target, **rest), **more).split("\n")[0]
        == message
    )


@pytest.mark.parametrize(
    ("lines", "found"), [(5, "5"), (None, "empty"), ('{"asset": "plain"}', '\'{"asset": "plain"}\''), ({}, "a map")]
)
def test_lines_are_a_list(lines, found):
    message = f"lines: expected a list of objects or of their JSON, found {found}"
    assert error_of(parse_announcement_lines, PROJECT, lines, name="lines") == message


def test_what_cannot_be_announced():
    assert error_of(parse_announcement, PROJECT, "flihgts") == (
        "no asset 'flihgts' in project 'test'\n  hint: did you mean 'flights'?"
    )
    assert error_of(parse_announcement, PROJECT, "other/relative") == (
        "no asset 'other/relative' in project 'test'\n  hint: announce a dataset that no asset or schedule names "
        'as {"uri": …} in a file of JSON lines'
    )
    assert (
        error_of(parse_announcement, PROJECT, "//me:hunter2@host/x")
        == "the name of the dataset contains a password; events are clear text"
    )
    assert error_of(parse_announcement, PROJECT, "plain", partition="2025") == (
        "'plain' has no partitions, so an event cannot name '2025'"
    )
    assert error_of(parse_announcement, PROJECT, "s3://other", partition="2025") == (
        "'s3://other' has no partitions, so an event cannot name '2025'"
    )
    assert error_of(parse_announcement, PROJECT, "s3://lake/mixed", partition="2025-01-01") == (
        "the assets of 's3://lake/mixed' ('mixed_days', 'mixed_hours') have different partitions, so an event of "
        "it cannot name '2025-01-01'\n  hint: announce it for one of these assets, by its name"
    )
    assert error_of(parse_announcement, PROJECT, "plain", id="") == "the id has 0 characters; expected 1 to 512"
    assert (
        error_of(parse_announcement, PROJECT, "plain", id="x" * 600) == "the id has 600 characters; expected 1 to 512"
    )


def test_when_it_happened():
    assert parse_announcement(PROJECT, "plain", at="2025-03-21T06:00").at == at("2025-03-21T05:00")
    assert parse_announcement(PROJECT, "plain", at="2025-03-21T06:00Z").at == at("2025-03-21T06:00")
    assert parse_announcement(PROJECT, "plain", at=datetime(2025, 3, 21, 6)).at == at("2025-03-21T05:00")  # noqa: DTZ001
    assert parse_announcement(PROJECT, "plain", at=datetime(2025, 3, 21, 6, tzinfo=UTC)).at == at("2025-03-21T06:00")
    assert parse_announcement(PROJECT, "plain").at is None


def test_a_row_keeps_all_of_it():
    entry = EventEntry("x-a", "a", days("2025-01-01"), {"n": 1}, "id-1", 1_700_000_000, "run-1", (1, 2))
    numbered = NumberedEntry(entry, 5, datetime(2025, 1, 1, tzinfo=UTC), "d")
    assert from_row(to_row(numbered)) == numbered
    assert recorded_event_values(numbered, EventRef.from_entry(numbered), UNPARTITIONED) == {
        "seq": 5,
        "asset": "a",
        "uri": "x-a",
        "partitions": ["2025-01-01T00:00:00Z..2025-01-02T00:00:00Z"],
        "at": "2023-11-14T22:13:20Z",
        "extra": {"n": 1},
        "run": "run-1",
        "id": "id-1",
    }


def test_lines():
    lines = [
        '{"asset": "flights", "partition": "2025-01-01", "extra": {"rows": 5}, "id": "a", "at": "2025-01-02T00:00Z"}',
        "  ",
        {"uri": "x-other://y", "partition": None},
    ]
    assert parse_announcement_lines(PROJECT, lines, name="f") == [
        EventEntry("s3://lake/flights", "flights", days("2025-01-01"), {"rows": 5}, "a", at("2025-01-02")),
        EventEntry("x-other://y"),
    ]


def test_every_bad_line_is_told():
    lines = [
        '{"asset": "flights"}',
        "{asset}",
        '{"asset": "flihgts"}',
        '{"asset": "plain", "uri": "s3://b"}',
        '{"aset": "plain"}',
        "[1]",
        '{"asset": "plain", "at": 5}',
        '{"asset": "plain", "id": 5}',
        '{"asset": "plain", "extra": [1]}',
        '{"asset": "plain", "extra": {"x": NaN}}',
        '{"asset": "plain", "asset": "flights"}',
        '{"uri": "s3://a/*"}',
        '{"asset": "plain", "at": "yesterday"}',
        5,
        b"{}",
        '{"asset": "plain", "extra": {"x": ' + "[" * 5000 + "]" * 5000 + "}}",
    ]
    first, *rest = error_of(parse_announcement_lines, PROJECT, lines, name="new.jsonl").split("\n")
    assert first == "15 of 16 lines are invalid; nothing was recorded"
    assert [line.split(": ")[0] for line in rest] == [f"new.jsonl:{number}" for number in range(2, 17)]
    assert rest[0].startswith("new.jsonl:2: not JSON: Expecting property name")
    assert rest[1] == "new.jsonl:3: no asset 'flihgts' in project 'test'; did you mean 'flights'?"
    assert rest[2] == 'new.jsonl:4: expected one of "asset" and "uri"'
    assert rest[3] == "new.jsonl:5: unknown key 'aset'; did you mean 'asset'?"
    assert rest[4] == "new.jsonl:6: expected a JSON object, found a list"
    assert rest[5] == 'new.jsonl:7: "at" is 5; expected an ISO instant as text'
    assert rest[6] == 'new.jsonl:8: "id" is 5; expected text'
    assert rest[7] == "new.jsonl:9: the extra is a list; expected an object of keys and values"
    assert rest[8] == "new.jsonl:10: not JSON: NaN is not a JSON number"
    assert rest[9] == "new.jsonl:11: not JSON: the key 'asset' is given twice"
    assert "as in a glob" in rest[10]
    assert "yesterday" in rest[11]
    assert rest[12] == "new.jsonl:14: expected a JSON object, found 5"
    assert rest[13] == "new.jsonl:15: expected a JSON object, found b'{}'"
    assert rest[14] == ("new.jsonl:16: the extra nests more than 100 objects and lists")


def test_quiet_is_counted_from_when_an_event_came_not_from_when_it_happened():

    story = Story(project(source("s"), asset("a", InletSpec("s", "", None, settle_seconds=900))))
    story.add(EventEntry("x-s", "s", days("2025-01-01"), at=at("2020-01-01")))
    (ref,) = story.state.dataset("x-s").recent
    assert ref.at == at("2020-01-01")
    assert story.state.dataset("x-s").at == at("2025-01-01")
    assert [stamp for _, stamp in story.state.dataset("x-s").touched.items()] == [at("2025-01-01")]


def test_an_event_has_no_star_in_place_of_time():
    both = Partitioning(TimePartition("day", "UTC"), (SegmentPartition("region", ("de", "nl")),))
    shop = project(replace(source("orders"), partitioning=both))
    with pytest.raises(InputError, match="'\\*,nl' means all of time, but an event of 'orders' must name a time"):
        parse_announcement(shop, "orders", partition="*,nl")
    assert parse_announcement(shop, "orders", partition="2025-01-01").parts == both.parse("2025-01-01,de") | both.parse(
        "2025-01-01,nl"
    )

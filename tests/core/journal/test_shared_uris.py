"""Several assets on one URI: what is announced for it, by whichever name, reaches the consumers of each."""

from dataclasses import replace

import pytest

from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.journal.entries import EventEntry
from sparkassets.core.spec.model import InletSpec
from tests.builders import Story, asset, days, project, source

SHARED = "s3://lake/orders"


def on(name, **more):
    return replace(source(name, **more), uri=SHARED)


PROJECT = project(
    on("orders"),
    on("orders_again"),
    asset("first", "orders"),
    asset("second", "orders_again"),
    asset("both", InletSpec("orders", "", None), InletSpec("orders_again", "", None, on_update="ignore")),
    asset("watcher", by=None, schedule="s3://lake/orders"),
)


@pytest.mark.parametrize("named", [None, "orders", "orders_again"])
def test_an_event_reaches_every_consumer(named):
    story = Story(PROJECT)
    seq = story.add(EventEntry(SHARED, named, days("2025-01-01")))
    assert story.due() == {"first": ["2025-01-01"], "second": ["2025-01-01"], "both": ["2025-01-01"], "watcher": []}
    assert [[ref.seq for ref in run.events] for run in story.plan().runs] == [[seq]] * 4
    story.run_all()
    assert story.due() == {}
    story.add(EventEntry(SHARED, named, days("2025-01-01")))
    assert set(story.due()) == {"first", "second", "both", "watcher"}


def test_every_inlet_with_the_uri_is_a_consumer_of_its_own():
    story = Story(PROJECT)
    pairs = story.state.consumers[SHARED]
    assert ("both", "orders") in pairs
    assert ("both", "orders_again") in pairs
    assert ("watcher", "") in pairs
    restored = decode(encode(story.state), journal_id="journal")
    assert {uri: set(found) for uri, found in restored.consumers.items()} == {
        uri: set(found) for uri, found in story.state.consumers.items()
    }


def test_the_inlet_that_reruns_is_not_hidden_by_the_one_that_ignores():
    story = Story(PROJECT)
    story.observed("orders", "2025-01-01")
    story.run_all()
    story.observed("orders_again", "2025-01-01")
    assert story.due()["both"] == ["2025-01-01"]
    assert set(story.state.assets["both"].stale) == {"orders"}

"""Which event each entry of the journal is, for runs that go on, are stopped, or may still land."""

from datetime import UTC, datetime

import pytest

from sparkassets.core.journal.entries import ClaimEntry, FailureEntry, NumberedEntry, RenewEntry
from sparkassets.core.runs import RunRequest
from sparkassets.features.openlineage.events import run_events
from sparkassets.features.openlineage.facet_builder import FacetBuilder
from sparkassets.runtime.sink_dispatch import SinkDispatcher
from tests.builders import Story, asset, at, days, project, source
from tests.features.openlineage.checking import accepted
from tests.runtime.listeners import Listener, gone

NOW = datetime(2025, 1, 6, tzinfo=UTC)
MADE = project(source("s"), asset("a", "s"))
REQUEST = RunRequest("a", "scheduled", days("2025-01-05"), interval=(at("2025-01-05T00:00Z"), at("2025-01-06T00:00Z")))
CLAIM = ClaimEntry(REQUEST, run="a-1", lease_seconds=600, invocation="i1", host="h")


def numbered(entry, seq):
    return NumberedEntry(entry, seq, NOW, "d")


def events_of(entry, *, before, after):
    found = run_events(
        [numbered(entry, 9)], before=before.assets, after=after.assets, builder=FacetBuilder(MADE, "prod")
    )
    return [accepted(each) for each in found]


def fold_of(*entries):
    """What is known after a claim, and these entries."""
    story = Story(MADE)
    story.add(CLAIM, *entries)
    return story.state


def claimed():
    """What is known after the claim, and its token."""
    state = fold_of()
    return state, state.assets["a"].chain[0].token


def failure(cause, *, fenced=True):
    _, token = claimed()
    return FailureEntry(
        "a", "a-1", token, REQUEST.partitions, cause, "no such day", "i1", fenced=fenced, hint="look there"
    )


@pytest.mark.parametrize(
    ("cause", "kind"),
    [("error", "FAIL"), ("timeout", "FAIL"), ("cancelled", "ABORT"), ("changed", "ABORT"), ("lost", "ABORT")],
)
def test_what_was_not_tried_is_aborted_and_what_was_has_failed(cause, kind):
    before, _ = claimed()
    after = fold_of(failure(cause))
    (event,) = events_of(failure(cause), before=before, after=after)
    assert (event["eventType"], event["run"]["facets"]["errorMessage"]["message"]) == (kind, "no such day\nlook there")
    assert event["run"]["facets"]["nominalTime"]["nominalStartTime"] == "2025-01-05T00:00:00Z"


def test_what_may_still_land_has_no_end_yet():
    before, _ = claimed()
    after = fold_of(failure("error", fenced=False))
    assert [each["eventType"] for each in events_of(failure("error", fenced=False), before=before, after=after)] == [
        "OTHER"
    ]


def test_a_renewal_says_that_its_runs_go_on():
    state, token = claimed()
    (event,) = events_of(RenewEntry([("a", token), ("gone", 77)]), before=state, after=state)
    assert (event["eventType"], event["inputs"], event["outputs"]) == ("RUNNING", [], [])


def test_sinks_are_told_of_the_assets_whose_claims_are_renewed():
    state, token = claimed()
    listener = Listener()
    sinks = SinkDispatcher([listener], project=MADE, note=lambda _: None)
    sinks.dispatch([numbered(RenewEntry([("a", token)]), 9)], state, state)
    sinks.end_invocation()
    assert gone("sink Listener")
    (commit,) = listener.commits
    assert commit.claim(token).run == "a-1"

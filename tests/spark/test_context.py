"""What a run knows of itself; no Spark."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from jinja2 import UndefinedError

from sparkassets.core.events import CONTEXT
from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.sandbox import render
from sparkassets.core.spec.model import Schedule
from sparkassets.errors import RunError
from sparkassets.ports import RunOrder
from sparkassets.spark.author_values import TriggeringEvents
from sparkassets.spark.context import Context, make_context
from tests.builders import asset, project, timed


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def event(seq: int, uri: str, **more: Any) -> dict[str, Any]:
    told = {"seq": seq, "asset": None, "uri": uri, "partitions": [], "at": "2025-03-21T06:00:00Z", "extra": {}}
    return {**told, "run": None, "source_run": None, **more}


FIRST, SECOND = event(3, "x-flights", extra={"rows": 3}), event(5, "x-flights", extra={"rows": 7})
FLIGHTS = {"flights": [FIRST, SECOND], "x-flights": [FIRST, SECOND]}
BOTH = {**FLIGHTS, "inbox": [event(4, "x-drop")]}


def context(*, schedule: Schedule | None = None, **more: Any) -> Context:
    told: dict[str, Any] = {"interval": None, "schedule_date": at("2025-03-21T06:00"), "events": {}, **more}
    report = asset("report", by=None, timezone="Europe/Berlin", schedule=schedule)
    order = RunOrder(
        report, run="report-1", app_id="j/report", token=1, partitions=EVERYTHING, pins={}, inlets={}, **told
    )
    return make_context(order, watermark=None, project=project(report))


def rendered(text: str, events: dict[str, Any]) -> str:
    return render(text, {"triggering_events": TriggeringEvents(events)})


def test_the_interval_of_the_success_before_is_in_the_zone_of_the_asset():
    found = context(previous_interval=(at("2025-03-19T23:00"), at("2025-03-20T23:00")))
    assert found.prev_data_interval_start_success.isoformat() == "2025-03-20T00:00:00+01:00"
    assert found.prev_data_interval_end_success.isoformat() == "2025-03-21T00:00:00+01:00"
    assert context().prev_data_interval_end_success is None


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (None, ("2025-03-19", "2025-03-19T16:00:00+01:00", "2025-03-20T16:00:00+01:00")),
        (timed("@daily", "Asia/Tokyo"), ("2025-03-20", "2025-03-20T00:00:00+09:00", "2025-03-21T00:00:00+09:00")),
    ],
)
def test_times_are_in_the_zone_of_the_timetable_else_of_the_asset(schedule, expected):
    end = at("2025-03-20T15:00")
    found = context(schedule=schedule, interval=(at("2025-03-19T15:00"), end), schedule_date=end)
    assert (found.ds, found.ts, found.schedule_date.isoformat()) == expected


def test_events_are_found_by_each_name_of_their_dataset_and_told_once():
    events = TriggeringEvents(BOTH)
    assert events["flights"] == events["x-flights"] == [FIRST, SECOND]
    assert "x-flights" in events
    assert list(events) == ["flights", "inbox"]
    assert [found[-1]["seq"] for found in events.values()] == [5, 4]
    assert events.get("weather", ()) == ()
    assert repr(events) == f"TriggeringEvents({{'flights': [{FIRST}, {SECOND}], 'inbox': {BOTH['inbox']}}})"
    told = context(events=BOTH)
    with pytest.warns(DeprecationWarning, match="Airflow's name: write context.triggering_events"):
        assert told.triggering_dataset_events is told.triggering_events


def test_the_source_run_has_its_interval_in_the_zone_of_the_asset():
    interval = {"data_interval_start": at("2025-03-19T23:00"), "data_interval_end": at("2025-03-20T23:00")}
    caused = event(3, "x-a", run="a-1", source_run={"run_id": "a-1", **interval})
    (found,) = context(events={"a": [caused]}).triggering_events["a"]
    assert found["source_run"]["run_id"] == "a-1"
    assert found["source_run"]["data_interval_start"].isoformat() == "2025-03-20T00:00:00+01:00"
    whole = event(3, "x-a", run="a-1", source_run={"run_id": "a-1", **dict.fromkeys(interval)})
    assert context(events={"a": [whole]}).triggering_event["source_run"]["data_interval_end"] is None


def test_one_dataset_has_a_simple_form_the_newest_event():
    newest = context(events=FLIGHTS).triggering_event
    assert newest == {**SECOND, "at": at("2025-03-21T06:00"), "dataset": "x-flights"}
    assert newest.at.to_iso8601_string() == "2025-03-21T07:00:00+01:00"
    assert (newest.extra.rows, newest["extra"]["rows"], newest.dataset, newest.source_run) == (7, 7, "x-flights", None)
    assert json.loads(json.dumps({**newest, "at": None}))["extra"] == {"rows": 7}


def test_an_event_has_the_run_that_it_comes_from():
    interval = {"data_interval_start": at("2025-03-19T23:00"), "data_interval_end": at("2025-03-20T23:00")}
    found = event(3, "x-a", asset="a", run="a-1", source_run={"run_id": "a-1", **interval})
    (told,) = context(events={"a": [found]}).triggering_events.a
    source = told.source_run
    assert (told.dataset, source.run_id, source["run_id"]) == ("a", "a-1", "a-1")
    assert source.data_interval.start == source.logical_date == source.data_interval_start == at("2025-03-19T23:00")
    assert source["data_interval"]["end"].subtract(days=1).to_date_string() == "2025-03-20"
    source = (
        "{% set e = triggering_events.a[0] %}{{ e.source_run.data_interval.start.to_date_string() }} {{ e.dataset }}"
    )
    assert render(source, {"triggering_events": context(events={"a": [found]}).triggering_events}) == "2025-03-20 a"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda c: c.execution_date, "the context of a run has no 'execution_date'; here it is 'logical_date'"),
        (
            lambda c: c.triggering_evnt,
            "the context of a run has no 'triggering_evnt'; did you mean 'triggering_event'?",
        ),
        (lambda c: c.triggering_event.source_dag_run, "'source_dag_run' is undefined; here it is 'source_run'"),
        (lambda c: c.triggering_event.extar, "'extar' is undefined; did you mean 'extra'?"),
        (lambda c: c.triggering_event.extra.row, "'row' is undefined; did you mean 'rows'?"),
        (lambda c: c.triggering_events.x, "no event of 'x' triggered this run; events of flights did"),
    ],
)
def test_a_name_that_is_not_there_says_which_is(ask, message):
    with pytest.raises(AttributeError) as error:
        ask(context(events=FLIGHTS))
    assert str(error.value) == message


def test_the_attributes_of_a_context_are_those_that_validation_knows():
    assert {name for name in {*dir(Context), *Context.__dataclass_fields__} if not name.startswith("_")} == CONTEXT


@pytest.mark.parametrize(
    ("events", "message"),
    [
        (
            {},
            (
                "'triggering_event' needs exactly one triggering dataset, but no event did; 'triggering_events' is "
                "empty then"
            ),
        ),
        (
            BOTH,
            (
                "'triggering_event' needs exactly one triggering dataset, but events of flights and inbox did; use "
                "'triggering_events' for one of them"
            ),
        ),
    ],
)
def test_the_simple_form_of_none_or_several_is_an_error(events, message):
    with pytest.raises(RunError) as error:
        _ = context(events=events).triggering_event
    assert str(error.value) == message


def test_a_dataset_that_did_not_trigger_the_run_says_what_did():
    reason = "no event of 'weather' triggered this run; events of flights did"
    with pytest.raises(KeyError, match=reason):
        _ = TriggeringEvents(FLIGHTS)["weather"]
    for text in ("{{ triggering_events.weather[0] }}", "{{ triggering_events['weather'] }}"):
        with pytest.raises(UndefinedError) as error:
            rendered(text, FLIGHTS)
        assert str(error.value) == reason
    with pytest.raises(UndefinedError, match="no event of 'weather' triggered this run; no event did"):
        rendered("{{ triggering_events.weather[0] }}", {})


def test_templates_go_through_the_events():
    text = "{% for name, found in triggering_events.items() %}{{ name }} {{ found | length }};{% endfor %}"
    assert rendered(text, BOTH) == "flights 2;inbox 1;"
    assert rendered("{{ triggering_events.flights[-1].extra.rows }}", FLIGHTS) == "7"
    assert rendered("{{ triggering_events.weather | default([]) | length }}", FLIGHTS) == "0"
    assert rendered("{{ triggering_events.weather is defined }}", FLIGHTS) == "False"

"""Figures and spans of invocations, as a scraper and an exporter see them."""

from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families

from sparkassets.core.spec.asset_services import DeadlineSpec
from sparkassets.core.timetables.parse import parse_timetable
from sparkassets.errors import InputError
from sparkassets.features.telemetry.metrics import MetricsWatcher
from sparkassets.features.telemetry.traces import TraceWatcher
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, project, source
from tests.runtime.fakes import World

EXPECTED = DeadlineSpec(parse_timetable({"at": "0 8 * * *"}, timezone="UTC"), "by 08:00")


def broken(_):
    raise ValueError("no such day at https://u:hunter2@h/x")


@pytest.fixture
def world():
    w = World(project(source("s", deadlines=EXPECTED), asset("a", "s", retries=0), asset("b", "s")), MemoryStore())
    w.tell("s", "2025-01-01..2025-01-02")
    w.engine.hooks["a", "compute"] = broken
    return w


def figures(file):
    """By name and labels but the project's."""
    found = {}
    for family in text_string_to_metric_families(file.read_text()):
        for sample in family.samples:
            assert sample.labels["project"] == "test"
            rest = [value for key, value in sample.labels.items() if key != "project"]
            found[" ".join([sample.name.removeprefix("sparkassets_"), *rest])] = sample.value
    return found


def test_counters_go_on_and_gauges_say_how_it_is(world, tmp_path):
    file = tmp_path / "sparkassets.prom"
    for number in (1, 2):
        driving = world.opened()
        driving.events.watch(MetricsWatcher(world.project, file, now=world.clock.now))
        driving.run(check=False)
        told = figures(file)
        assert (told["runs_total a failed"], told["runs_total b success"]) == (number, 1)
        assert (told["partitions a failed"], told["partitions b failed"], told["partitions b withheld"]) == (2, 0, 0)
        assert (told["late s"], told["ticks_total"], told["waiting b"]) == (1, number, 0)
        assert told["run_seconds_total a failed"] >= 0
        assert told["tick_timestamp_seconds"] == world.clock.now().timestamp()
        assert "last_success_timestamp_seconds a" not in told
        assert told["last_success_timestamp_seconds b"] > 0
    assert [each.name for each in tmp_path.iterdir()] == [file.name]


def test_a_file_that_holds_something_else_is_not_written_over(tmp_path):
    file = tmp_path / "project.yml"
    file.write_text("project: shop\n")
    with pytest.raises(InputError, match=r"project.yml' is not a metrics file and is not overwritten"):
        MetricsWatcher(project(), file, now=None)
    with pytest.raises(InputError, match="'/dev/null' is not a metrics file"):
        MetricsWatcher(project(), Path("/dev/null"), now=None)


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="for metrics does not exist"):
        MetricsWatcher(project(), tmp_path / "no/x.prom", now=None)


def test_a_span_for_the_tick_and_one_for_each_run_without_secrets(world):
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    driving = world.opened()
    driving.events.watch(TraceWatcher(world.project, provider=provider))
    driving.run(check=False)
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert sorted(spans) == ["run a", "run b", "tick"]
    tick, a, b = spans["tick"], spans["run a"], spans["run b"]
    assert {a.parent.span_id, b.parent.span_id} == {tick.context.span_id}
    assert (b.status.status_code.name, a.status.status_code.name, tick.status.status_code.name) == (
        "UNSET",
        "ERROR",
        "ERROR",
    )
    assert a.attributes["sparkassets.asset"] == "a"
    assert b.attributes["sparkassets.partitions"] == ("2025-01-01..2025-01-02",)
    (event,) = a.events
    assert event.attributes["exception.message"] == "no such day at https://u:***@h/x"
    assert a.attributes["error.type"]


def test_a_watcher_that_raises_touches_nothing(world, tmp_path):
    driving = world.opened()
    metrics = MetricsWatcher(world.project, tmp_path / "x.prom", now=broken)
    driving.events.watch(metrics)
    with pytest.warns(RuntimeWarning, match="and is now ignored"):
        summary = driving.run(check=False)
    assert len(summary.runs) == 2

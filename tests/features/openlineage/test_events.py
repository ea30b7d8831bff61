"""What OpenLineage is told of runs: one start and one end each, by whoever records it, as the schemas have it."""

import json
import threading
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from sparkassets.core.spec.code_bodies import SqlBody
from sparkassets.core.spec.model import NOWHERE, ColumnSpec, ReadAfter
from sparkassets.core.strategies import LatestOnly
from sparkassets.core.writes import AppendWrite
from sparkassets.features.openlineage.facet_builder import FacetBuilder
from sparkassets.features.openlineage.names import RunName, run_id
from sparkassets.features.openlineage.openlineage_sink import OpenLineageSink, parent_of
from sparkassets.runtime.progress import RunFailedError
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, multi, project, source
from tests.features.openlineage.checking import accepted
from tests.runtime.fakes import FakeEngine, FakeOutlets, World, raising

NOW = datetime(2025, 1, 6, tzinfo=UTC)


class Transport:
    """A client that keeps what it is given, once everybody has accepted it."""

    def __init__(self):
        self.sent = []
        self.closed = 0

    def emit(self, event):
        self.sent.append(event)

    def close(self, timeout):
        self.closed += 1


class Told(OpenLineageSink):
    """The sink, with the events as plain values."""

    def __init__(self, project, **more):
        self.transport = Transport()
        self.errors = []
        super().__init__(FacetBuilder(project, "prod", **more), now=lambda: NOW, client=lambda: self.transport)

    def committed(self, commit):
        try:
            super().committed(commit)
        except BaseException as error:
            self.errors.append(error)
            raise

    def _send(self, found):
        self.transport.sent += [accepted(each) for each in found]

    def of(self, *kinds):
        return [each for each in self.transport.sent if each["eventType"] in kinds and "." in each["job"]["name"]]


def world(*assets, store=None, **more):
    made = project(*assets)
    sink = Told(made, **more)
    return World(made, store or MemoryStore(), sinks=(sink,)), sink


def drive(w, **more):
    try:
        return w.opened().run(**more)
    finally:
        for sink in w.sinks:
            for error in sink.errors:
                raise error


def test_a_run_is_told_from_start_to_completion_with_what_it_read_and_wrote():
    w, sink = world(source("s"), asset("a", "s", retries=0))
    w.engine.metrics = {"numOutputRows": 5, "numFiles": 2, "numOutputBytes": 700}
    w.tell("s", "2025-01-05", table_id="t", version=7)
    drive(w)
    (start,), (end,) = sink.of("START"), sink.of("COMPLETE")
    assert start["run"]["runId"] == end["run"]["runId"]
    assert start["job"]["name"] == end["job"]["name"] == "test.a"
    (read,), (written,) = end["inputs"], end["outputs"]
    assert (read["namespace"], read["name"], written["name"]) == ("file", "/data/s", "/data/a")
    assert read["facets"]["version"]["datasetVersion"] == "7"
    parts = [{"identifier": "2025-01-05", "dimensions": {"day": "2025-01-05"}}]
    assert read["inputFacets"]["subset"]["inputCondition"] == {"type": "partition", "partitions": parts}
    assert written["outputFacets"]["subset"]["outputCondition"] == {"type": "partition", "partitions": parts}
    statistics = written["outputFacets"]["outputStatistics"]
    assert (statistics["rowCount"], statistics["fileCount"], statistics["size"]) == (5, 2, 700)
    assert written["facets"]["lifecycleStateChange"]["lifecycleStateChange"] == "CREATE"
    assert start["outputs"][0]["outputFacets"] == {}


def test_what_a_query_compares_with_literals_is_told_of_what_it_reads_and_adds():
    sql = (
        "SELECT first_name AS name, last_name, n FROM {{ inlets.s }}"
        " WHERE first_name = 'John' AND last_name = 'Smith' AND n > 1"
    )
    reading = replace(asset("a", "s", by=None), strategy=LatestOnly(), write=AppendWrite(), body=SqlBody(sql, NOWHERE))
    reading = replace(reading, inlets={"s": replace(reading.inlets["s"], read=ReadAfter("n"))}, retries=0)
    w, sink = world(source("s", by=None), reading)
    w.tell("s", table_id="t", version=7)
    drive(w)
    (start,), (end,) = sink.of("START"), sink.of("COMPLETE")
    for event in (start, end):
        told = compared_in(event["inputs"][0]["inputFacets"]["subset"]["inputCondition"])
        assert [each for each in told if "high" not in each] == [
            "first_name EQUAL John",
            "last_name EQUAL Smith",
            "n GREATER_THAN 1",
        ]
    added = end["outputs"][0]["outputFacets"]["subset"]["outputCondition"]
    assert compared_in(added) == ["name EQUAL John", "last_name EQUAL Smith", "n GREATER_THAN 1"]


def compared_in(condition):
    """The comparisons of a condition that joins them by AND."""
    if condition["type"] == "binary":
        assert condition["operator"] == "AND"
        return [*compared_in(condition["left"]), *compared_in(condition["right"])]
    return [f"{condition['left']['field']} {condition['comparison']} {condition['right']['value']}"]


def test_the_invocation_is_the_parent_of_its_runs_and_ends_as_they_did():
    w, sink = world(source("s"), asset("a", "s", retries=0), asset("b", "a", retries=0))
    w.tell("s", "2025-01-05")
    drive(w)
    first, *_, last = sink.transport.sent
    assert [(each["eventType"], each["job"]["name"]) for each in (first, last)] == [
        ("START", "test"),
        ("COMPLETE", "test"),
    ]
    assert first["run"]["runId"] == last["run"]["runId"]
    parents = {each["run"]["facets"]["parent"]["run"]["runId"] for each in sink.of("START", "COMPLETE")}
    assert parents == {first["run"]["runId"]}
    assert sink.transport.closed == 0  # `_send` made no client here


def test_a_failure_is_told_with_its_error_and_fails_the_invocation():
    w, sink = world(source("s"), asset("a", "s", retries=0))
    w.engine.hooks["a", "compute"] = raising(ValueError("no such day"))
    w.tell("s", "2025-01-05")
    with pytest.raises(RunFailedError):
        drive(w)
    (failed,) = sink.of("FAIL")
    assert failed["run"]["facets"]["errorMessage"]["message"] == "no such day"
    assert failed["inputs"][0]["inputFacets"]["subset"]
    assert sink.transport.sent[-1]["eventType"] == "FAIL"
    assert not sink.of("COMPLETE")


@pytest.mark.parametrize("moment", ["compute", "write", "written"])
def test_each_run_that_began_has_one_end_by_whoever_records_it(moment):
    w, sink = world(source("s"), asset("a", "s", retries=0))
    w.tell("s", "2025-01-05")
    reached, dead = threading.Event(), FakeEngine(w.engine.tables)
    dead.hooks["a", moment] = lambda _: (reached.set(), threading.Event().wait())
    first = w.opened(open_engine=lambda _: (dead, FakeOutlets(dead)))
    threading.Thread(target=first.run, daemon=True).start()
    assert reached.wait(10)
    w.sinks = (later := Told(w.project),)
    drive(w)
    (lost,) = sink.of("START")
    (own,) = later.of("START")
    ends = {each["run"]["runId"]: each["eventType"] for each in later.of("COMPLETE", "FAIL", "ABORT")}
    assert len(later.of("COMPLETE", "FAIL", "ABORT")) == len(ends)
    was_in = moment == "written"
    assert ends == {
        lost["run"]["runId"]: "COMPLETE" if was_in else "ABORT",
        own["run"]["runId"]: "ABORT" if was_in else "COMPLETE",
    }


def test_outlets_are_told_each_with_its_own():
    multi_asset = asset("m", "s", by=None, retries=0)
    w, sink = world(source("s", by=None), *multi(multi_asset, "train", "test"))
    w.tell("s")
    drive(w)
    (end,) = sink.of("COMPLETE")
    assert [each["name"] for each in end["outputs"]] == ["/data/train", "/data/test"]


def test_a_parent_from_outside_is_told_and_what_is_none_is_not():
    outer = "01890a5d-ac96-774b-bcce-b302099a8057"
    variables = {"OPENLINEAGE_PARENT_ID": f"airflow/etl.daily/{outer}"}
    w, sink = world(source("s"), asset("a", "s"), parent=parent_of(variables))
    w.tell("s", "2025-01-05")
    drive(w)
    first = sink.transport.sent[0]
    assert first["run"]["facets"]["parent"]["job"] == {"namespace": "airflow", "name": "etl.daily"}
    (start,) = sink.of("START")
    assert start["run"]["facets"]["parent"]["root"]["run"]["runId"] == outer
    assert start["run"]["facets"]["parent"]["job"]["name"] == "test"
    assert parent_of({"OPENLINEAGE_PARENT_ID": "x"}) is None
    assert RunName.parse(f"//{outer}") is None


def test_the_same_run_has_the_same_id_whoever_tells_it_and_others_have_others():
    ids = Counter(run_id(project, run) for project in "ab" for run in ("r1", "r2"))
    assert len(ids) == 4


def test_no_credential_and_no_value_of_the_environment_is_in_an_event():
    told = asset("a", "s", retries=0, description="see https://u:hunter2@h/wiki", owner="data@example.org")
    made = project(source("s"), told)
    made = replace(made, variables={"TOKEN": "s3cr3t-value"})
    sink = Told(made)
    w = World(made, MemoryStore(), sinks=(sink,))
    w.engine.hooks["a", "compute"] = raising(ValueError("refused s3cr3t-value"))
    w.tell("s", "2025-01-05")
    with pytest.raises(RunFailedError):
        drive(w)
    text = json.dumps(sink.transport.sent)
    assert "hunter2" not in text
    assert "s3cr3t-value" not in text
    assert "refused ${TOKEN}" in text


def test_columns_have_their_descriptions_and_personal_data_is_tagged():
    listed = {"Mail": ColumnSpec(description="Where bills go"), "id": ColumnSpec("bigint")}
    described = replace(asset("a", "s", retries=0), listed_columns=listed, private=frozenset({"Mail"}))
    w, sink = world(source("s"), described, schemas=lambda _, __: {"id": "bigint", "mail": "string"})
    w.tell("s", "2025-01-05", table_id="t", version=7)
    drive(w)
    facets = sink.of("COMPLETE")[0]["outputs"][0]["facets"]
    assert facets["schema"]["fields"] == [
        {"name": "id", "type": "bigint"},
        {"name": "mail", "type": "string", "description": "Where bills go"},
    ]
    assert facets["tags"]["tags"] == [{"key": "pii", "value": "true", "source": "sparkassets", "field": "Mail"}]

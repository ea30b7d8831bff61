"""What is shown of a project, exactly: the documents that ``--json`` prints."""

import json
from dataclasses import replace

import pytest

from sparkassets.core.documents.document_values import problems_document
from sparkassets.core.documents.graph import build_graph, graph_document
from sparkassets.core.documents.plan import downstream_document, plan_document
from sparkassets.core.documents.project_status import summarize_status
from sparkassets.core.documents.records import event_document
from sparkassets.core.documents.runs import run_document, summary_document
from sparkassets.core.documents.status import node_document, status_document
from sparkassets.core.journal.history import run_records
from sparkassets.core.partitions import EVERYTHING, Partitioning, SegmentPartition, TimePartition
from sparkassets.core.planner.explain.explanation_nodes import ExplanationNode
from sparkassets.core.planner.explain.status import AssetStatus, asset_status
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.results import RunResult, Summary
from sparkassets.core.runs import RunRequest
from sparkassets.errors import FileLocation, SpecProblem
from tests.builders import Story, asset, at, days, project, source


@pytest.fixture
def story():
    story = Story(
        project(source("flights"), asset("delays", "flights"), asset("report", "delays", by=None)),
        now="2025-01-09T06:00Z",
    )
    story.observed("flights", "2025-01-01..2025-01-03", "2025-01-06", extra={"files": 4})
    return story


def test_a_plan(story):
    document = plan_document(story.plan(), story.project)
    assert document["at"] == "2025-01-09T06:00:00Z"
    assert document["runs"] == [
        {
            "asset": "delays",
            "strategy": "date_range",
            "write": "replace",
            "reason": "4 partitions missing",
            "partitions": {"ranges": ["2025-01-01..2025-01-03", "2025-01-06..2025-01-06"], "count": 4},
            "data_interval": {"start": "2025-01-01T00:00:00Z", "end": "2025-01-07T00:00:00Z"},
            "triggering_events": [
                {
                    "seq": 4,
                    "asset": "flights",
                    "uri": "x-flights",
                    "partitions": ["2025-01-01..2025-01-03", "2025-01-06..2025-01-06"],
                    "at": "2025-01-01T00:00:00Z",
                    "extra": {"files": 4},
                    "run": None,
                }
            ],
        }
    ]
    assert document["waiting"][0] == {
        "asset": "delays",
        "reason": "waits for flights: 0 of 2 partitions, missing 2025-01-04..2025-01-05",
        "until": None,
        "partitions": {"ranges": ["2025-01-04..2025-01-05"], "count": 2},
        "quiet": False,
    }


def test_a_plan_of_an_asset_without_partitions_has_null_there(story):
    story.run("delays")
    (run,) = plan_document(story.plan(), story.project)["runs"]
    assert (run["asset"], run["partitions"], run["strategy"]) == ("report", None, "full_refresh")


def test_until_is_an_instant():
    waiting = Waiting("delays", "not over", at("2025-01-05"), days("2025-01-04"))
    summary = Summary((), (waiting,))
    assert summary_document(summary, project(source("flights"), asset("delays", "flights")))["waiting"] == [
        {
            "asset": "delays",
            "reason": "not over",
            "until": "2025-01-05T00:00:00Z",
            "partitions": {"ranges": ["2025-01-04..2025-01-04"], "count": 1},
            "quiet": False,
        }
    ]


def test_a_summary(story):
    request = RunRequest("delays", "scheduled", days("2025-01-01"), reason="why")
    done = RunResult(request, "r1", "success", 1.23456, rows=9, version=3)
    request = RunRequest("report", "backfill", EVERYTHING, reason="why")
    failed = RunResult(request, "r2", "failed", 2.0, attempts=2, error="boom", details="/x/r2.log")
    summary = Summary((done, failed), (), (("flights", "vanished"),), interrupted=True)
    assert summary_document(summary, story.project) == {
        "runs": [
            {
                "asset": "delays",
                "run": "r1",
                "kind": "scheduled",
                "status": "success",
                "partitions": {"ranges": ["2025-01-01..2025-01-01"], "count": 1},
                "rows": 9,
                "unchanged": 0,
                "withheld": None,
                "validations": [],
                "version": 3,
                "seconds": 1.235,
                "attempts": 1,
                "reason": "why",
                "error": "",
                "hint": "",
                "details": "",
                "adopted": None,
                "skipped": "",
            },
            {
                "asset": "report",
                "run": "r2",
                "kind": "backfill",
                "status": "failed",
                "partitions": None,
                "rows": None,
                "unchanged": 0,
                "withheld": None,
                "validations": [],
                "version": None,
                "seconds": 2.0,
                "attempts": 2,
                "reason": "why",
                "error": "boom",
                "hint": "",
                "details": "/x/r2.log",
                "adopted": None,
                "skipped": "",
            },
        ],
        "waiting": [],
        "notes": [],
        "late": [],
        "faults": [{"asset": "flights", "reason": "vanished"}],
        "interrupted": True,
    }


def test_a_run_of_the_journal(story):
    story.succeed("delays", story.claim(story.plan().runs[0]), version=7, seconds=2.5, extra={"rows": 12})
    (run,) = run_records(story.entries)
    assert run_document(run, story.project) == {
        "run": "delays-5",
        "asset": "delays",
        "kind": "scheduled",
        "status": "success",
        "started": "2025-01-01T00:00:00Z",
        "at": "2025-01-01T00:00:00Z",
        "seconds": 2.5,
        "partitions": {"ranges": ["2025-01-01..2025-01-03", "2025-01-06..2025-01-06"], "count": 4},
        "rows": 12,
        "unchanged": 0,
        "withheld": None,
        "validations": [],
        "version": 7,
        "attempts": 1,
        "reason": run.reason,
        "error": "",
        "hint": "",
        "details": "",
        "adopted": None,
        "skipped": "",
        "data_interval": {"start": "2025-01-01T00:00:00Z", "end": "2025-01-07T00:00:00Z"},
        "events": [4],
    }


def test_a_status(story):
    story.run("delays")
    context = story.context()
    source_status, delays, report = (
        status_document(asset_status(context, item), story.project) for item in story.project.assets.values()
    )
    assert source_status["partitions"]["current"] == 4
    assert delays["partitions"] == {
        "ranges": ["2025-01-01..2025-01-03", "2025-01-06..2025-01-06"],
        "current": 4,
        "kept": 0,
        "stale": 0,
        "missing": 2,
        "requested": 0,
        "failed": 0,
        "withheld": 0,
        "skipped": 0,
    }
    assert (delays["last_run"], delays["last_at"], delays["next_at"]) == ("delays-5", "2025-01-01T00:00:00Z", None)
    assert report["partitions"] is None


def test_an_event_of_one_partition_has_a_range_too():
    event = {"seq": 1, "asset": "a", "uri": "a", "partitions": ["2025-01-01"], "at": "x", "extra": {}, "run": None}
    assert event_document(event, project(source("a"))) == {**event, "partitions": ["2025-01-01..2025-01-01"]}


def test_a_range_of_a_product_is_one_of_time_beside_a_segment():
    both = Partitioning(TimePartition("day", "UTC"), (SegmentPartition("region", ("de", "nl")),))
    event = {"asset": "a", "uri": "x-a", "partitions": ["2025-01-01,nl", "2025-01-02..2025-01-03,de"]}
    spans = ["2025-01-01..2025-01-01,nl", "2025-01-02..2025-01-03,de"]
    assert event_document(event, project(replace(source("a"), partitioning=both)))["partitions"] == spans


def test_an_explanation():
    node = ExplanationNode("a", holds=True, children=(ExplanationNode("b"),))
    assert node_document(node) == {
        "text": "a",
        "holds": True,
        "children": [{"text": "b", "holds": None, "children": []}],
    }


STATUS = AssetStatus("delays", "date_range", "")


@pytest.mark.parametrize(
    ("known", "text", "state"),
    [
        ({}, "never", "never"),
        ({"last_at": 0}, "there", "success"),
        ({"last_at": 0, "last_run": "r1"}, "success", "success"),
        ({"current": 1204, "stale": 1, "missing": 2}, "1,204 current, 1 stale, 2 missing", "missing"),
        ({"current": 1, "stale": 1, "missing": 2, "failed": 1}, "1 current, 1 stale, 2 missing, 1 failed", "failed"),
        ({"current": 2, "kept": 1}, "2 current, 1 kept", "current"),
        ({"current": 2, "requested": 1, "skipped": 1}, "2 current, 1 requested, 1 skipped", "requested"),
        ({"error": "boom"}, "failed", "failed"),
        ({"error": "boom", "current": 1}, "failed, 1 current", "failed"),
        ({"error": "boom", "paused": True}, "paused", "paused"),
        ({"running": "r1", "paused": True, "missing": 1}, "running, 1 missing", "running"),
    ],
)
def test_what_is_said_first_of_an_asset(known, text, state):
    assert summarize_status(replace(STATUS, **known)) == (text, state)


def test_what_becomes_due_after_a_backfill(story):
    after = {"delays": days("2025-01-01..2025-01-02"), "report": None}
    found = downstream_document(after, {"delays": (), "report": ()}, story.project)
    assert [{key: each[key] for key in ("asset", "partitions")} for each in found] == [
        {"asset": "delays", "partitions": {"ranges": ["2025-01-01..2025-01-02"], "count": 2}},
        {"asset": "report", "partitions": None},
    ]
    assert all(each["estimate"]["assumed"] for each in found)


def test_problems():
    found = SpecProblem(FileLocation("a.yml", 3, 7), "unknown key 'shedule'", hint="did you mean 'schedule'?")
    assert problems_document([found]) == [
        {
            "file": "a.yml",
            "line": 3,
            "column": 7,
            "message": "unknown key 'shedule'",
            "hint": "did you mean 'schedule'?",
        }
    ]


def test_every_document_is_made_of_what_json_has(story):
    story.run("delays")
    context = story.context()
    runs = run_records(story.entries)
    documents = [
        plan_document(story.plan(), story.project),
        [run_document(run, story.project) for run in runs],
        [status_document(asset_status(context, item), story.project) for item in story.project.assets.values()],
        graph_document(build_graph(story.project)),
    ]
    assert json.loads(json.dumps(documents, allow_nan=False)) == documents

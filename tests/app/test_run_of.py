"""Jobs that exist already, annotated as runs of assets; they write as they always did, here without Spark."""

import subprocess
import sys
import threading

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from sparkassets import BackfillRequest, InputError, Project, RunError, RunFailedError

HEAD = "project: adopted\nstate: ./state\nwarehouse: ./warehouse\nassets: [assets/]\n"
JOB = """
asset: raw
source: true
path: lake/raw
---
asset: daily
path: lake/daily
write: self
inlets: [raw]
"""


@pytest.fixture
def make_project(tmp_path, monkeypatch):
    """Makes a project of these assets."""
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))

    def make(assets=JOB):
        for name, text in {"project.yml": HEAD, "assets/all.yml": assets}.items():
            (tmp_path / "conf" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "conf" / name).write_text(text, encoding="utf-8")
        return Project.load(tmp_path / "conf")

    return make


def append(project, asset, *values, day="2026-09-01"):
    rows = pa.table({"day": [day] * len(values), "id": list(values)})
    place = project.spec.assets[asset].storage.path
    write_deltalake(place, rows, mode="append", partition_by=["day"])


def events_of(project, asset):
    return [each for each in project.history.events() if each["asset"] == asset]


def test_the_code_of_a_with_is_a_run_and_its_commits_are_one_event(make_project):
    project = make_project()
    append(project, "raw", 1, 2)
    with project.run_of("daily") as run:
        append(project, "daily", 1)
        append(project, "daily", 2)
        run.extra["rows_seen"] = 2
    (event,) = events_of(project, "daily")
    assert (event["extra"], event["run"]) == ({"rows_seen": 2}, run.run_id)
    (recorded,) = project.history.runs(asset="daily")
    assert (recorded.status, recorded.version) == ("success", 1)
    assert project.run().runs == ()
    assert len(events_of(project, "daily")) == 1


def test_what_it_raises_is_recorded_and_raised(make_project):
    project = make_project()
    with pytest.raises(ZeroDivisionError), project.run_of("daily"):
        1 / 0  # noqa: B018  what a job does
    (recorded,) = project.history.runs(asset="daily")
    assert (recorded.status, recorded.error) == ("failed", "ZeroDivisionError: division by zero")
    assert events_of(project, "daily") == []


def test_a_job_that_has_nothing_to_do_is_skipped(make_project):
    project = make_project()
    append(project, "raw", 1)
    with project.run_of("daily") as run:
        run.skip("no file came")
    (recorded,) = project.history.runs(asset="daily")
    assert (recorded.status, recorded.skipped) == ("skipped", "no file came")
    assert events_of(project, "daily") == []
    with project.run_of("daily"):
        append(project, "daily", 1)
    assert [each.status for each in project.history.runs(asset="daily")] == ["skipped", "success"]


def test_one_run_at_a_time(make_project):
    project, other = make_project(), make_project()
    begun, go = threading.Event(), threading.Event()

    def job():
        with project.run_of("daily"):
            append(project, "daily", 1)
            begun.set()
            go.wait(20)

    first = threading.Thread(target=job)
    first.start()
    assert begun.wait(20)
    with pytest.raises(RunError, match=r"no run of daily can start: .*run"), other.run_of("daily"):
        raise AssertionError
    go.set()
    first.join()
    with other.run_of("daily"):
        append(other, "daily", 2)
    assert len(events_of(other, "daily")) == 2


def test_partitions_are_its_partitions(make_project):
    project = make_project(JOB.replace("write: self", "write: self\npartition: {by: day, column: day}"))
    with pytest.raises(InputError, match="has partitions: name them by"), project.run_of("daily"):
        raise AssertionError
    with project.run_of("daily", partition="2026-09-01..2026-09-02") as run:
        assert [partition.key for partition in run.partitions] == ["2026-09-01", "2026-09-02"]
        append(project, "daily", 1)
    with project.run_of("daily", partition="2026-09-03"):
        append(project, "daily", 3, day="2026-09-03")
        append(project, "daily", 4)
    assert [each["partitions"] for each in events_of(project, "daily")] == [
        ["2026-09-01..2026-09-02"],
        ["2026-09-01", "2026-09-03"],
    ]
    assert project.run().runs == ()


def test_a_target_that_cannot_be_read_is_an_event_alone(make_project):
    project = make_project("asset: sent\nuri: snowflake://account/db/t\nwrite: self\n")
    with project.run_of("sent"):
        pass
    (event,) = events_of(project, "sent")
    assert event["uri"] == "snowflake://account/db/t"


def test_a_table_that_is_not_there_fails_the_run(make_project):
    project = make_project()
    with pytest.raises(RunFailedError, match="its code has ended, but did not write a Delta table at"):  # noqa: SIM117
        with project.run_of("daily"):
            pass


def test_what_sparkassets_writes_is_not_attended(make_project):
    project = make_project("asset: a\nsql: SELECT 1 AS one\n")
    with pytest.raises(InputError, match="is computed and written by sparkassets"), project.run_of("a"):
        raise AssertionError


def test_explain_says_what_is_not_promised_and_no_backfill_runs_what_has_no_code(make_project):
    project = make_project()
    found = repr(project.explain("daily"))
    assert "write: self without code here: its own job records each run by `project.run_of`, at least once" in found
    with pytest.raises(InputError, match="has no code in this project: its own job runs it"):
        project.backfills.run(BackfillRequest("daily"))
    with pytest.raises(InputError, match="its own code writes its table"):
        project.backfills.run(BackfillRequest("daily", rebuild=True))


def test_a_branch_reads_what_writes_itself_and_never_runs_it(make_project):
    project = make_project()
    append(project, "raw", 1)
    with project.run_of("daily"):
        append(project, "daily", 1)
    shown = "---\nasset: shown\nsql: SELECT id FROM {{ inlets.daily }}\n"
    changed = make_project(f"{JOB}extra: {{a: 1}}\n{shown}")
    assert [run.asset for run in changed.branches.open("b").plan().runs] == ["shown"]


def test_a_job_that_is_killed_is_settled_by_the_next_and_its_commit_is_told_once(make_project, tmp_path):
    project = make_project()
    append(project, "raw", 1)
    with project.run_of("daily"):
        append(project, "daily", 1)
    code = """
import os, sys
import pyarrow as pa
from deltalake import write_deltalake
from sparkassets import Project

project = Project.load(sys.argv[1])
with project.run_of("daily"):
    rows = pa.table({"day": ["2026-09-01"], "id": [2]})
    write_deltalake(project.spec.assets["daily"].storage.path, rows, mode="append", partition_by=["day"])
    os._exit(9)
"""
    killed = subprocess.run([sys.executable, "-c", code, str(tmp_path / "conf")], check=False, timeout=60)
    assert killed.returncode == 9
    with project.run_of("daily"):
        append(project, "daily", 3)
    assert [each.status for each in project.history.runs(asset="daily")] == ["success", "lost", "success"]
    versions = [each["extra"].get("versions") for each in events_of(project, "daily")]
    assert versions == [None, [1], None]
    assert project.run().runs == ()
    assert len(events_of(project, "daily")) == 3

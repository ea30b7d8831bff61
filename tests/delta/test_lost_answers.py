"""Puts that others come before, that land late or are not answered; drivers in processes of their own on one disk."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field, Schema, write_deltalake
from deltalake.schema import PrimitiveType

from sparkassets.delta import commit as commits
from sparkassets.delta.commit import CommitConflictError, commit
from sparkassets.errors import RunError
from tests.delta.committing import change

WORKER = Path(__file__).with_name("committing.py")
COLUMNS = Schema([Field("n", PrimitiveType("long"))])


@pytest.fixture
def table(tmp_path):
    path = str(tmp_path / "sales")
    DeltaTable.create(path, COLUMNS)
    return path


@pytest.fixture
def puts(monkeypatch):
    """What each put does in place of itself, given what it would have done; after these they are as ever."""
    given, real = [], commits._write_commit
    monkeypatch.setattr(
        commits, "_write_commit", lambda *what: given.pop(0)(lambda: real(*what)) if given else real(*what)
    )
    return given


def commit_texts(path) -> list[str]:
    """What commits say of themselves, oldest first, without the creation."""
    return [each["userMetadata"] for each in reversed(DeltaTable(path).history()) if "userMetadata" in each]


def test_a_fence_meets_a_commit_that_was_quicker_and_lower(table):
    before = DeltaTable(table)
    commit(table, DeltaTable(table), change("app", 7))
    with pytest.raises(
        CommitConflictError, match=r"^sales: another writer committed for the same asset in version 1 during the run"
    ):
        commit(table, before, change("app", 8))
    commit(table, DeltaTable(table), change("app", 8))
    assert commit_texts(table) == ["app-7", "app-8"]


def test_a_lost_answer_is_found_behind_a_commit_of_somebody_elses(table, puts):
    def overtaken(put):
        put()
        write_deltalake(table, pa.table({"n": [1]}), mode="append")
        raise OSError("the connection was reset")

    puts.append(overtaken)
    commit(table, DeltaTable(table), change("app", 7))
    assert commit_texts(table) == ["app-7"]


def test_a_fence_that_comes_between_comparing_and_putting_keeps_the_run_out(table, puts):
    def overtaken(put):
        commit(table, DeltaTable(table), change("app", 8))
        put()

    puts.append(overtaken)
    commit(table, DeltaTable(table), change("app", 7))
    assert commit_texts(table) == ["app-8"]


def test_what_others_commit_in_between_is_committed_upon(table, puts):
    def overtaken(put):
        write_deltalake(table, pa.table({"n": [1]}), mode="append")
        put()

    puts += [overtaken, overtaken]
    commit(table, DeltaTable(table), change("app", 7))
    assert (commit_texts(table), DeltaTable(table).version()) == (["app-7"], 3)


def test_a_put_that_lands_late_keeps_out_the_next_attempts(table, puts):
    late = []

    def on_its_way(put):
        late.append(put)
        raise OSError("timed out")

    puts.append(on_its_way)
    with pytest.raises(RunError, match="timed out"):
        commit(table, DeltaTable(table), change("app", 7))
    waiting = DeltaTable(table)
    late.pop()()
    commit(table, waiting, change("app", 7))
    assert commit_texts(table) == ["app-7"]


def test_drivers_in_processes_of_their_own_on_one_disk_lose_and_double_nothing(table):
    plans = {"a": range(1, 31), "b": range(1, 31), "both": range(1, 31)}
    started = [
        subprocess.Popen([sys.executable, WORKER, table, app, *map(str, plans[app])], stdout=subprocess.PIPE, text=True)
        for app in ("a", "b", "both", "both")
    ]
    for process in started:
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        assert len(out.splitlines()) == 30
    found = commit_texts(table)
    assert len(found) == len(set(found)) == DeltaTable(table).version()
    for app in ("a", "b"):
        assert [each for each in found if each.startswith(f"{app}-")] == [f"{app}-{version}" for version in plans[app]]
    shared = [int(each.removeprefix("both-")) for each in found if each.startswith("both-")]
    assert shared == sorted(set(shared))
    assert shared[-1] == 30

"""What commits say of themselves, with the version that is theirs, whoever else commits meanwhile."""

import json
import threading
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake

from sparkassets.delta.log import DeltaLog
from sparkassets.errors import SourceError
from tests.delta.committing import change, commit


@pytest.fixture
def path(tmp_path):
    """A table of one version, which says so."""
    written = CommitProperties(custom_metadata={"userMetadata": "other-0"})
    write_deltalake(str(tmp_path / "sales"), pa.table({"n": [1]}), commit_properties=written)
    return str(tmp_path / "sales")


def file_of(path: str, version: int) -> Path:
    return Path(path, "_delta_log", f"{version:020d}.json")


def test_they_are_told_from_the_newest_back(path):
    for version in (1, 2, 3):
        commit(path, DeltaTable(path), change("app", version))
    told = [(each["version"], each["userMetadata"]) for each in DeltaLog(path).iterate_commit_info(2)]
    assert told == [(2, "app-2"), (1, "app-1"), (0, "other-0")]


def test_each_has_its_own_version_while_another_writer_commits(path):
    stop = threading.Event()

    def writer():
        version = 0
        while not stop.is_set() and version < 400:
            version += 1
            commit(path, DeltaTable(path), change("other", version))

    thread = threading.Thread(target=writer)
    thread.start()
    try:
        for _ in range(150):
            for each in islice(DeltaLog(path).iterate_commit_info(DeltaTable(path).version()), 3):
                assert each["userMetadata"] == f"other-{each['version']}"
    finally:
        stop.set()
        thread.join()


def test_it_ends_where_the_log_begins(path):
    for version in (1, 2):
        commit(path, DeltaTable(path), change("app", version))
    file_of(path, 0).unlink()
    assert [each["version"] for each in DeltaLog(path).iterate_commit_info(2)] == [2, 1]


def test_one_that_says_nothing_has_its_version_alone(path):
    file = file_of(path, 0)
    lines = [line for line in file.read_text().splitlines() if "commitInfo" not in json.loads(line)]
    file.write_text("\n".join(lines))
    assert list(DeltaLog(path).iterate_commit_info(0)) == [{"version": 0}]


def test_a_damaged_one_is_told(path):
    file_of(path, 0).write_text('{"commitInfo": ')
    with pytest.raises(SourceError, match=r"version 0 of the Delta table at '.*' is damaged"):
        list(DeltaLog(path).iterate_commit_info(0))

"""What a history tells of a table's commits: which changed rows, and whether rows only came."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

import pytest

from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.spark.commit_history import changes_rows, commits_since, only_appends, to_log_commit
from sparkassets.spark.open_tables import CatalogTable


def commit(operation: str, version: int = 1, *, parameters=None, user=None, **metrics: int):
    return {
        "version": version,
        "timestamp": datetime(2025, 1, 1, tzinfo=UTC),
        "operation": operation,
        "operationParameters": parameters or {},
        "operationMetrics": {name: str(value) for name, value in metrics.items()},
        "userMetadata": user,
    }


APPEND, OVERWRITE = {"mode": '"Append"'}, {"mode": '"Overwrite"'}


@pytest.mark.parametrize(
    ("one", "changes", "appends"),
    [
        (commit("WRITE", parameters=APPEND, numFiles=1, numOutputRows=2), True, True),
        (commit("WRITE", parameters={"mode": "Append"}, numFiles=1, numOutputRows=2), True, True),
        (commit("WRITE", parameters=APPEND, numFiles=0, numOutputRows=0), False, True),
        (commit("WRITE", parameters=OVERWRITE, numFiles=1, numRemovedFiles=1, numOutputRows=1), True, False),
        (commit("WRITE", parameters=OVERWRITE, numFiles=0, numRemovedFiles=2, numOutputRows=0), True, False),
        (commit("WRITE", parameters=APPEND), True, True),
        (
            commit("DELETE", numRemovedFiles=0, numAddedFiles=0, numDeletedRows=3, numDeletionVectorsAdded=1),
            True,
            False,
        ),
        (commit("MERGE", numTargetFilesAdded=0, numTargetFilesRemoved=0, numOutputRows=0), False, False),
        (commit("STREAMING UPDATE", parameters={"outputMode": "Append"}, numOutputRows=2), True, True),
        (commit("STREAMING UPDATE", parameters={"outputMode": "Complete"}, numOutputRows=2), True, False),
        (commit("OPTIMIZE", numAddedFiles=1, numRemovedFiles=4), False, False),
        (commit("VACUUM END"), False, False),
        (commit("SET TBLPROPERTIES"), False, False),
        (commit("RESTORE", numRestoredFiles=1), True, False),
        (commit("TRUNCATE"), True, False),
        (commit("something of tomorrow"), True, False),
    ],
)
def test_what_a_commit_did_to_rows(one, changes, appends):
    assert (changes_rows(one), only_appends(one)) == (changes, appends)
    assert bool(to_log_commit(one).files) == changes


class Told:
    """Rows of a session that answers `DESCRIBE HISTORY` of a table with so many commits left."""

    def __init__(self, versions: range) -> None:
        self.versions = versions
        self.asked: list[int] = []

    def sql(self, text: str) -> Told:
        self.asked.append(int(text.rpartition(" ")[2]))
        return self

    def collect(self) -> list[Row]:
        return [Row(commit("WRITE", each)) for each in list(self.versions)[::-1][: self.asked[-1]]]


class Row:
    def __init__(self, told) -> None:
        self.check_availability = told

    def asDict(self):  # noqa: N802  as Spark's rows have it
        return self.check_availability


def table(versions: range) -> tuple[CatalogTable, Told]:
    told, location = Told(versions), StorageLocation.of_table(("s", "a"))
    newest = [commit("WRITE", each) for each in list(versions)[::-1][:16]]
    return CatalogTable(told, location, "id", versions[-1], (), (), {}, (), newest), told  # type: ignore[arg-type]


def test_a_history_is_asked_for_no_more_than_is_needed():
    there, told = table(range(1000))
    assert [each["version"] for each in commits_since(there, 990) or ()] == list(range(991, 1000))
    assert told.asked == []
    assert [each["version"] for each in commits_since(there, 900) or ()] == list(range(901, 1000))
    assert told.asked == [256]


@pytest.mark.parametrize("versions", [range(1000), range(300, 1000), range(995, 1000), range(1)])
def test_commits_are_told_once_and_backwards(versions):
    there, _ = table(versions)
    assert [each["version"] for each in there.iterate_commits()] == list(versions)[::-1]


def test_a_history_that_is_too_short_tells_so():
    there, _ = table(range(500, 1000))
    assert commits_since(there, 498) is None
    assert len(commits_since(there, 499) or ()) == 500
    assert commits_since(there, 999) == []


def test_the_newest_transaction_of_an_asset_is_sought():
    said = '{"app": "j/a", "version": %d, "kind": "%s", "run": "r"}'
    rows = [commit("WRITE", 0, user=said % (4, "fence")), commit("WRITE", 1, user=said % (5, "data"))]
    rows += [commit("CLUSTER BY", 2, user=said % (0, "layout")), commit("WRITE", 3, user="theirs"), commit("WRITE", 4)]
    location = StorageLocation.of_table(("s", "a"))
    there = CatalogTable(Told(range(5)), location, "id", 4, (), (), {}, (), rows[::-1])  # type: ignore[arg-type]
    assert (there.transaction_version("j/a"), there.transaction_version("j/b")) == (5, None)
    assert all(one["version"] > other["version"] for one, other in pairwise(there.iterate_commits()))

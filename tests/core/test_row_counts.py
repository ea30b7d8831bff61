"""The metrics are those that Delta 4.4.0 kept with such commits."""

from __future__ import annotations

import pytest

from sparkassets.core.writes import row_counts


@pytest.mark.parametrize(
    ("operation", "metrics", "counts"),
    [
        # an append, and a table's replacement as a whole
        ("WRITE", {"numFiles": 2, "numOutputRows": 5, "numOutputBytes": 9}, {"rows": 5, "files": 2, "bytes": 9}),
        # replaceWhere, whose partition has files of its own
        (
            "WRITE",
            {"numOutputRows": 3, "numCopiedRows": 0, "numDeletedRows": 10, "numFiles": 2, "numRemovedFiles": 1},
            {"rows": 3, "deleted": 10, "files": 2},
        ),
        # replaceWhere, whose partition shares a file with others; the same with deletion vectors
        (
            "WRITE",
            {"numOutputRows": 33, "numCopiedRows": 30, "numDeletedRows": 10, "numFiles": 3},
            {"rows": 3, "deleted": 10, "copied": 30, "files": 3},
        ),
        # a shared file's partition is emptied
        (
            "WRITE",
            {"numOutputRows": 30, "numCopiedRows": 30, "numDeletedRows": 10, "numFiles": 1},
            {"rows": 0, "deleted": 10, "copied": 30, "files": 1},
        ),
        # a partition's own files are removed: nothing was counted
        ("WRITE", {"numFiles": 0, "numRemovedFiles": 2, "numOutputBytes": 0}, {"rows": 0, "files": 0, "bytes": 0}),
        (
            "MERGE",
            {
                "numTargetRowsInserted": 1,
                "numTargetRowsUpdated": 2,
                "numTargetRowsDeleted": 3,
                "numTargetRowsCopied": 27,
                "numOutputRows": 30,
                "numTargetFilesAdded": 1,
                "numTargetBytesAdded": 877,
            },
            {"rows": 3, "inserted": 1, "updated": 2, "deleted": 3, "copied": 27, "files": 1, "bytes": 877},
        ),
        # deletion vectors copy nothing
        (
            "MERGE",
            {"numTargetRowsInserted": 1, "numTargetRowsUpdated": 0, "numTargetRowsCopied": 0, "numOutputRows": 1},
            {"rows": 1, "inserted": 1, "updated": 0},
        ),
        (
            "DELETE",
            {"numDeletedRows": 1, "numCopiedRows": 29, "numAddedFiles": 1, "numAddedBytes": 881},
            {"rows": 0, "deleted": 1, "copied": 29, "files": 1, "bytes": 881},
        ),
        ("DELETE", {"numDeletedRows": 1, "numCopiedRows": 0}, {"rows": 0, "deleted": 1}),
        ("WRITE", {}, {}),
    ],
)
def test_rows_are_those_that_the_run_wrote(operation, metrics, counts):
    assert row_counts(operation, metrics) == counts

"""Row counts of a commit from Delta's metrics, which count copied rows as output."""

from __future__ import annotations

from collections.abc import Mapping

_SIZES = {"numFiles": "files", "numOutputBytes": "bytes"}
_MERGE = {
    "numTargetRowsInserted": "inserted",
    "numTargetRowsUpdated": "updated",
    "numTargetRowsDeleted": "deleted",
    "numTargetRowsCopied": "copied",
    "numTargetFilesAdded": "files",
    "numTargetBytesAdded": "bytes",
}
_DELETE = {
    "numDeletedRows": "deleted",
    "numCopiedRows": "copied",
    "numAddedFiles": "files",
    "numAddedBytes": "bytes",
}
_SPARED = ("deleted", "copied")
"""Told only where there are any: most runs delete and copy none."""


def row_counts(operation: str, metrics: Mapping[str, int]) -> dict[str, int]:
    """Counts to report for a run: ``rows`` are those that it wrote, never those that Delta copied along.

    The others are ``files`` and ``bytes``; ``inserted`` and ``updated`` of a merge; and ``deleted`` and ``copied``
    where there are any and Delta counted them (it does not count what leaves with a whole file's removal).

    Args:
        operation: ``WRITE``, ``MERGE`` or ``DELETE``, as Delta calls it.
        metrics: Delta's operation metrics.

    >>> row_counts("WRITE", {"numOutputRows": 33, "numCopiedRows": 30, "numDeletedRows": 10, "numFiles": 3})
    {'rows': 3, 'deleted': 10, 'copied': 30, 'files': 3}
    >>> row_counts("MERGE", {"numTargetRowsInserted": 1, "numTargetRowsUpdated": 2, "numOutputRows": 9})
    {'rows': 3, 'inserted': 1, 'updated': 2}
    """
    match operation:
        case "MERGE":
            counts = _pick_metrics(metrics, _MERGE)
            rows = counts.get("inserted", 0) + counts.get("updated", 0)
            return _drop_zero_counts({"rows": rows, **counts})
        case "DELETE":
            return _drop_zero_counts({"rows": 0, **_pick_metrics(metrics, _DELETE)})
        case _:
            return _drop_zero_counts(_write_counts(metrics))


def _write_counts(metrics: Mapping[str, int]) -> dict[str, int]:
    copied, sizes = metrics.get("numCopiedRows", 0), _pick_metrics(metrics, _SIZES)
    counts = {}
    if "numOutputRows" in metrics:
        counts["rows"] = metrics["numOutputRows"] - copied
    elif sizes.get("files") == 0:
        counts["rows"] = 0  # Delta does not count the rows of a replacement by nothing
    return {**counts, "deleted": metrics.get("numDeletedRows", 0), "copied": copied, **sizes}


def _pick_metrics(metrics: Mapping[str, int], names: Mapping[str, str]) -> dict[str, int]:
    return {short: metrics[name] for name, short in names.items() if name in metrics}


def _drop_zero_counts(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count or name not in _SPARED}

"""Writes and reads the marker of a run in a commit's ``userMetadata``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sparkassets.ports import CommitMarker


def format_marker(marker: CommitMarker) -> str:
    """The ``userMetadata`` of a marked commit."""
    told = {
        "app": marker.app_id,
        "version": marker.version,
        "epoch": marker.token,
        "run": marker.run,
        "attempt": marker.attempt,
        "kind": marker.kind,
        "blocks": list(marker.blocks),
        "measures": dict(marker.measures),
    }
    return json.dumps(told, separators=(",", ":"), sort_keys=True)


def read_own_marker(commit: Mapping[str, Any], app_id: str) -> dict[str, Any] | None:
    """The marker of a commit, if it is of this app id."""
    said = read_marker(commit)
    return said if said is not None and said.get("app") == app_id else None


def read_marker(commit: Mapping[str, Any]) -> dict[str, Any] | None:
    """The marker of a commit of any asset's run; None without one."""
    try:
        said = json.loads(commit.get("userMetadata") or "null")
    except ValueError:
        return None
    return said if isinstance(said, dict) and isinstance(said.get("app"), str) else None


def has_no_rows(commit: Mapping[str, Any]) -> bool:
    """Whether a run's commit has no rows, whoever made it: a fence, or a run that published nothing."""
    said = commit.get("userMetadata") or ""
    return '"kind":"fence"' in said or '"published":"nothing"' in said

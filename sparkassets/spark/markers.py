"""What a commit says of itself in its ``userMetadata``, written and read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sparkassets.ports import CommitMarker


def format_marker(marker: CommitMarker) -> str:
    """The ``userMetadata`` of a stamped commit."""
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
    """What the commit says of itself, if it is one of this app id."""
    said = read_marker(commit)
    return said if said is not None and said.get("app") == app_id else None


def read_marker(commit: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the commit says of itself, if it is one of a run's, of whatever asset."""
    try:
        said = json.loads(commit.get("userMetadata") or "null")
    except ValueError:
        return None
    return said if isinstance(said, dict) and isinstance(said.get("app"), str) else None


def has_no_rows(commit: Mapping[str, Any]) -> bool:
    """Whether the commit is of a run and has no rows, whoever made it: a fence, or of a run that published nothing."""
    said = commit.get("userMetadata") or ""
    return '"kind":"fence"' in said or '"published":"nothing"' in said

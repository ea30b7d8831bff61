"""Upgrades format 4, in which partitions had the name of blocks, to format 5."""

from __future__ import annotations

from typing import Any

from sparkassets.core.validations.rules import with_current_names

Body = dict[str, Any]


def upgrade_body(kind: str, body: Body) -> Body:
    """The body of that kind in format 5."""
    if kind != "asset":
        return _upgrade_verdicts(body)
    upgraded: Body = {}
    if "withheld" in body:
        upgraded["withheld"] = [_upgrade_verdicts(_rename_partitions(each)) for each in body["withheld"]]
    if "chain" in body:
        upgraded["chain"] = [_upgrade_link(each) for each in body["chain"]]
    # `LastRun` is stored as a list; its last item, the verdicts, is left out where there are none
    if len(body.get("last") or ()) > _VERDICTS:
        *head, verdicts = body["last"]
        upgraded["last"] = [*head, with_current_names(verdicts)]
    return body | upgraded


_VERDICTS = 8
"""Position of the verdicts in a last run."""


def _upgrade_link(link: Body) -> Body:
    """An unsettled claim with today's name of its partitions."""
    entry = link["entry"]
    return {**link, "entry": {**entry, "request": _rename_partitions(entry["request"])}}


def _rename_partitions(body: Body) -> Body:
    """The body with ``partitions`` in place of ``blocks``."""
    return {"partitions" if name == "blocks" else name: value for name, value in body.items()}


def _upgrade_verdicts(body: Body) -> Body:
    """The body with today's names of rules in its verdicts."""
    return body | ({"verdicts": with_current_names(body["verdicts"])} if "verdicts" in body else {})

"""Upgrades format 3, which had its own forms of specs, claims, marks and findings, to format 4: fields by name."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from sparkassets.core.instants import Duration
from sparkassets.core.journal.rows import JournalRow, SnapshotRow
from sparkassets.core.partitions.json_form import to_plain
from sparkassets.core.validations.rules import with_current_names

Body = dict[str, Any]
Row = JournalRow | SnapshotRow


def upgrade_body(kind: str, body: Body, row: Row) -> Body:
    """The body of that kind in format 4."""
    if isinstance(row, JournalRow):
        _add_parts(kind, body, in_columns=bool(row.starts))
    upgrade = _BY_KIND.get(kind)
    return body if upgrade is None else upgrade(body, row)


def _add_parts(kind: str, body: Body, *, in_columns: bool) -> None:
    """Adds the partitions to the body where columns do not have them.

    In format 3 a flag ``blocks`` was false for everything, and empty columns meant no partitions.
    """
    if not body.pop("blocks", True):
        body["parts"] = None
    elif not in_columns and kind in _KINDS_WITH_PARTITIONS:
        body.setdefault("parts", [])


_KINDS_WITH_PARTITIONS = {"claim", "success", "outlet", "failure", "unfenced", "skipped", "mark", "backfill"}


def _upgrade_spec_entry(body: Body, _: Row) -> Body:
    """Format 3 had the spec's fields in the entry itself."""
    return {"spec": _upgrade_spec(body)}


def _upgrade_spec(body: Body) -> Body:
    """A spec of format 4: ``partition`` became ``partitioning``."""
    inlets = [_upgrade_inlet(each) for each in body["inlets"]]
    others = {name: value for name, value in body.items() if name != "partition"}
    return {**others, "inlets": inlets, "partitioning": _upgrade_partitioning(body["partition"])}


def _upgrade_inlet(body: Body) -> Body:
    """An inlet of format 4, which holds its mapping and partitioning as one dependency, ``needs``."""
    needs = {
        "mapping": _upgrade_mapping(body.pop("mapping")),
        "matches": body.pop("matches", None),
        "inlet": _upgrade_partitioning(body.pop("partition")),
    }
    return {**body, "needs": needs}


def _upgrade_mapping(body: Body | None) -> Body | None:
    """A mapping of format 4: the durations of a window were text."""
    if body is None or body["kind"] != "window":
        return body
    return {**body, "low": to_plain(Duration.parse(body["low"])), "high": to_plain(Duration.parse(body["high"]))}


def _upgrade_partitioning(body: Body | None) -> Body:
    """A partitioning of format 4: the keys of the time dimension stood beside those of segments."""
    if body is None:
        return {}
    others: Body = {name: body.pop(name) for name in ("segments", "time_at") if name in body}
    return {**others, "time": body or None}


def _upgrade_claim(body: Body, _: Row) -> Body:
    """A claim of format 4, which holds its request, and in that the consumption, as objects of their own."""
    entry = {name: body.pop(name) for name in ("invocation", "host", "planned", "processes")}
    entry["lease_seconds"] = body.pop("lease")
    consumption = {name: body.pop(name) for name in ("consumes", "ticks", "skips", "remaining")}
    if promotion := body.pop("promotes", None):
        body["promotes"] = {**promotion, "journal_id": promotion.pop("journal")}
    parts = {"parts": body.pop("parts")} if "parts" in body else {}
    return {**entry, **parts, "request": {**_upgrade_pins(body), "consumption": consumption}}


def _upgrade_pins(body: Body) -> Body:
    """A body with the pins and verdicts of format 4: ``ranges`` of a pin became ``parts``."""
    pins = body.get("pins", {}).items()
    upgraded = {name: {**pin, "parts": pin.pop("ranges")} for name, pin in pins}
    return {**body, **({"pins": upgraded} if upgraded else {}), **_upgrade_verdicts(body)}


def _upgrade_verdicts(body: Body) -> Body:
    """The body's verdicts with today's names of rules; empty where it has none."""
    return {"verdicts": with_current_names(body["verdicts"])} if "verdicts" in body else {}


def _upgrade_success(body: Body, _: Row) -> Body:
    """A success, or an outlet's part of one, of format 4."""
    return _upgrade_pins(body)


def _upgrade_finding(body: Body, _: Row) -> Body:
    """A table finding of format 4, which is an object of its own, ``found``; its ``reached`` became ``watermarks``."""
    found = {name: body.pop(name) for name in ("reason", "lost", "mark", "commits")}
    return {**body, "found": {**found, "kind": body.pop("found"), "watermarks": body.pop("reached")}}


def _upgrade_pause(body: Body, row: Row) -> Body:
    """A pause of format 4: only the kind of the entry said whether the asset stops or goes on."""
    return {**body, "paused": isinstance(row, JournalRow) and row.kind == "pause"}


def _upgrade_unfenced(body: Body, _: Row) -> Body:
    """A failure of format 4: only the kind of the entry said that it was not fenced."""
    return {**body, "fenced": False}


def _upgrade_mark(body: Body, row: Row) -> Body:
    """A mark of format 4: its kind, reason and person were in the column ``extra``."""
    extra = json.loads(row.extra or "{}") if isinstance(row, JournalRow) else {}
    consumption = {name: body.pop(name) for name in ("consumes", "ticks", "skips") if name in body}
    mark = {"kind": extra["mark"], "reason": extra["reason"], "by": extra["by"]}
    return {**body, **mark, "consumption": consumption}


def _upgrade_asset(body: Body, row: Row) -> Body:
    """A snapshot's asset in format 4, with its spec, claims, withheld records and last run."""
    upgraded: Body = {
        "spec": _upgrade_spec(body["spec"]),
        "chain": [_upgrade_link(link, row) for link in body["chain"]],
        "withheld": [_upgrade_pins(each) for each in body.get("withheld", ())],
    }
    if "former" in body:
        partitioning, *rest = body["former"]  # `FormerPartitions` is stored as a list
        upgraded["former"] = [_upgrade_partitioning(partitioning), *rest]
    # `LastRun` is a list too; its last item, the verdicts, is left out where there are none
    if body["last"] and len(body["last"]) > _VERDICTS:
        *head, verdicts = body["last"]
        upgraded["last"] = [*head, with_current_names(verdicts)]
    return {**body, **upgraded}


_VERDICTS = 8
"""Position of the verdicts in a last run."""


def _upgrade_link(stored: Body, row: Row) -> Body:
    """An unsettled claim of a snapshot in format 4; in format 3 its time ranges stood beside it."""
    starts, ends, claim, run = (stored.pop(name) for name in ("starts", "ends", "claim", "run"))
    _add_parts("claim", claim, in_columns=False)
    pairs = [[start, end] for start, end in zip(starts, ends, strict=True)]
    body = _upgrade_claim(claim, row)
    parts = body.pop("parts")
    body["request"] |= {"asset": row.asset, "blocks": parts if parts != [] else pairs}
    return {**stored, "entry": {**body, "run": run}}


_BY_KIND: Mapping[str, Callable[[Body, Row], Body]] = {
    "spec": _upgrade_spec_entry,
    "claim": _upgrade_claim,
    "success": _upgrade_success,
    "outlet": _upgrade_success,
    "unfenced": _upgrade_unfenced,
    "target": _upgrade_finding,
    "pause": _upgrade_pause,
    "resume": _upgrade_pause,
    "mark": _upgrade_mark,
    "asset": _upgrade_asset,
}

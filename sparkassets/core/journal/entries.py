"""The kinds of journal entries, and how each becomes a row and is read back.

An entry says what happened; `sparkassets.core.journal.fold` says what follows from it. The columns that
people query (asset, uri, run, ranges, version, extra) stand in the row itself, the rest in its JSON body.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from sparkassets.core.journal.found import TargetEntry, found_from, found_to
from sparkassets.core.journal.rows import FORMAT, JournalRow
from sparkassets.core.journal.specs import FoldSpec
from sparkassets.core.partitions import RangeSet
from sparkassets.core.runs import Consumption, Pin, Requested, RunRequest
from sparkassets.errors import StateError

FailureCause = Literal["error", "timeout", "cancelled", "lost", "changed"]
"""``changed``: a source was no longer what the run was planned with, and what it is now is recorded."""

NOT_TRIED: frozenset[FailureCause] = frozenset({"cancelled", "changed"})
"""What says nothing about the blocks: these are planned as if the run had never been."""


@dataclass(frozen=True, slots=True)
class SpecEntry:
    """The compiled schedule, partition and mapping of an asset, by which the fold goes from here on."""

    asset: str
    spec: FoldSpec


@dataclass(frozen=True, slots=True)
class EventEntry:
    """An update that someone announced: somebody else, or a run that wrote more than its own asset.

    Attributes:
        asset: Whose dataset it is; None when several assets, or none, have the URI.
        ranges: What was updated; empty for a dataset without partitions.
        id: By which whoever announces it tells it from others of the dataset; one that is known is not recorded again.
        at: When it happened, Unix seconds; None when it was recorded.
        run, interval: The run that announced it, and its data interval.
    """

    uri: str
    asset: str | None = None
    ranges: RangeSet = field(default_factory=RangeSet)
    extra: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None
    at: int | None = None
    run: str | None = None
    interval: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class ObservedEntry:
    """What was found new in a source.

    Attributes:
        changed, removed: Time whose data is new, changed, or gone.
        whole: The source as a whole was updated.
        cursor: Merged by key into the source's cursor; None deletes a key.
    """

    asset: str
    uri: str
    changed: RangeSet = field(default_factory=RangeSet)
    removed: RangeSet = field(default_factory=RangeSet)
    whole: bool = False
    table_id: str | None = None
    version: int | None = None
    cursor: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_event(self) -> bool:
        """Whether anything was updated; a mere move of the position is none."""
        return self.whole or bool(self.changed) or bool(self.removed)


@dataclass(frozen=True, slots=True)
class ClaimEntry(Requested):
    """A driver's right to write an asset, until its lease is over; its own `seq` is the run's fence token.

    Attributes:
        planned: The planner's time, Unix seconds.
        processes: Those that may write, as `sparkassets.processes` has them; the driver first.
    """

    run: str
    lease_seconds: int
    invocation: str
    host: str
    planned: int = 0
    processes: Sequence[tuple[int, float]] = ()


@dataclass(frozen=True, slots=True)
class RenewEntry:
    """The claims that a driver still holds: (asset, fence token)."""

    claims: Sequence[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class SuccessEntry:
    """A run is in its target: its event, its coverage and its watermarks, all in one.

    Attributes:
        run, token: The run that was found in the target, and its claim.
        recorder: Fence token of the claim that recorded it; another one after a recovery.
        blocks: None for an asset without partitions.
        watermarks: Inlet to high value.
        seconds: From claim to record, by the recorder's clock.
    """

    asset: str
    uri: str
    run: str
    token: int
    recorder: int
    blocks: RangeSet | None
    table_id: str | None = None
    version: int | None = None
    interval: tuple[int, int] | None = None
    pins: Mapping[str, Pin] = field(default_factory=dict)
    events: Sequence[int] = ()
    watermarks: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    attempt: int = 1
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class FailureEntry:
    """A run failed.

    Attributes:
        fenced: Whether it is certain that nothing of it can land any more; if not, the chain stays.
        error: First line for people.
        details: Where the whole story is, such as a log file's name.
        hint: What to do about it.
    """

    asset: str
    run: str
    token: int
    blocks: RangeSet | None
    cause: FailureCause
    error: str
    invocation: str
    fenced: bool = True
    attempts: int = 0
    details: str = ""
    hint: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class PauseEntry:
    """An asset stops running (``paused``), or goes on; what comes for it meanwhile is kept."""

    asset: str
    paused: bool


_Others = SpecEntry | EventEntry | ObservedEntry | ClaimEntry | RenewEntry | SuccessEntry | FailureEntry | PauseEntry
Entry = _Others | TargetEntry


@dataclass(frozen=True, slots=True)
class Numbered:
    """An entry at its place in the journal.

    Attributes:
        seq: Ascending by one through the whole journal.
        at: When it was decided, by its driver's clock; for people, never for order. Aware, UTC.
    """

    entry: Entry
    seq: int
    at: datetime
    driver: str


def to_row(entry: Entry, *, seq: int, at: datetime, driver: str) -> JournalRow:
    """The row of an entry."""
    head: dict[str, Any] = {"seq": seq, "at": at, "driver": driver}
    return _target_row(entry, head) if isinstance(entry, TargetEntry) else _row(entry, head)


def _target_row(entry: TargetEntry, head: dict[str, Any]) -> JournalRow:
    found = entry.found
    told = {
        "operations": [commit.operation for commit in found.commits],
        "versions": [commit.version for commit in found.commits],
    }
    return JournalRow(
        **head,
        **_ranges(entry.changed),
        kind="target",
        asset=entry.asset,
        uri=entry.uri,
        table_id=found.table_id,
        version=found.version,
        extra=_json(told),
        body=_body(found_to(entry)),
    )


def _row(entry: _Others, head: dict[str, Any]) -> JournalRow:
    match entry:
        case SpecEntry(asset, spec):
            return JournalRow(**head, kind="spec", asset=asset, uri=spec.uri, body=_body(spec.to_json()))
        case EventEntry():
            columns = _ranges(entry.ranges)
            return JournalRow(
                **head,
                **columns,
                kind="event",
                asset=entry.asset,
                uri=entry.uri,
                run=entry.run,
                id=entry.id,
                extra=_json(entry.extra),
                body=_event_body(entry),
            )
        case ObservedEntry():
            return JournalRow(
                **head,
                **_ranges(entry.changed),
                kind="observed",
                asset=entry.asset,
                uri=entry.uri,
                table_id=entry.table_id,
                version=entry.version,
                extra=_json(entry.extra),
                body=_body({"removed": _pairs(entry.removed), "whole": entry.whole, "cursor": dict(entry.cursor)}),
            )
        case ClaimEntry():
            return JournalRow(
                **head, **_ranges(entry.blocks), kind="claim", asset=entry.asset, run=entry.run, body=_claim_body(entry)
            )
        case RenewEntry(claims):
            return JournalRow(**head, kind="renew", body=_body({"claims": [list(claim) for claim in claims]}))
        case SuccessEntry():
            return JournalRow(
                **head,
                **_ranges(entry.blocks),
                kind="success",
                asset=entry.asset,
                uri=entry.uri,
                run=entry.run,
                table_id=entry.table_id,
                version=entry.version,
                extra=_json(entry.extra),
                body=_success_body(entry),
            )
        case FailureEntry():
            return JournalRow(
                **head,
                **_ranges(entry.blocks),
                kind="failure" if entry.fenced else "unfenced",
                asset=entry.asset,
                run=entry.run,
                body=_failure_body(entry),
            )
        case PauseEntry(asset, paused):
            return JournalRow(**head, kind="pause" if paused else "resume", asset=asset, body=_body({}))


def from_row(row: JournalRow) -> Entry:
    """The entry of a row.

    Raises:
        StateError: The row is damaged, or was written by a newer version.
    """
    try:
        body = json.loads(row.body)
        version = body["v"]
        if version > FORMAT:
            raise StateError(
                f"journal entry {row.seq} has format {version}, this version of sparkassets reads up to {FORMAT}",
                hint="upgrade sparkassets",
            )
        if row.kind == "target":
            return found_from(row.asset or "", row.uri or "", body, table_id=row.table_id, version=row.version)
        return _parse(row, body)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise StateError(
            f"journal entry {row.seq} (kind {row.kind!r}) is damaged: {error}",
            hint="restore the journal's folder from a copy, or go back to an earlier version of the Delta table",
        ) from error


def _parse(row: JournalRow, body: dict[str, Any]) -> Entry:
    ranges = RangeSet(tuple(row.starts), tuple(row.ends))
    extra = json.loads(row.extra) if row.extra else {}
    asset, uri, run = row.asset or "", row.uri or "", row.run or ""
    match row.kind:
        case "spec":
            return SpecEntry(asset, FoldSpec.from_json(body))
        case "event":
            interval = _interval(body.get("interval"))
            return EventEntry(uri, row.asset, ranges, extra, row.id, body.get("at"), row.run, interval)
        case "observed":
            removed = RangeSet.of(body["removed"])
            return ObservedEntry(
                asset, uri, ranges, removed, body["whole"], row.table_id, row.version, body["cursor"], extra
            )
        case "claim":
            return _claim_from(row, body, ranges)
        case "renew":
            return RenewEntry(tuple((name, token) for name, token in body["claims"]))
        case "success":
            return SuccessEntry(
                asset=asset,
                uri=uri,
                run=run,
                token=body["epoch"],
                recorder=body["recorder"],
                blocks=ranges if body["blocks"] else None,
                table_id=row.table_id,
                version=row.version,
                interval=_interval(body["interval"]),
                pins=_pins_from(body["pins"]),
                events=tuple(body["events"]),
                watermarks=body["watermarks"],
                extra=extra,
                attempt=body["attempt"],
                seconds=body["seconds"],
            )
        case "failure" | "unfenced":
            return FailureEntry(
                asset=asset,
                run=run,
                token=body["epoch"],
                blocks=ranges if body["blocks"] else None,
                cause=body["cause"],
                error=body["error"],
                invocation=body["invocation"],
                fenced=row.kind == "failure",
                attempts=body["attempts"],
                details=body["details"],
                hint=body["hint"],
                seconds=body["seconds"],
            )
        case "pause" | "resume":
            return PauseEntry(asset, row.kind == "pause")
        case other:
            raise ValueError(f"unknown kind {other!r}")


def _event_body(entry: EventEntry) -> str:
    told = {"at": entry.at, "interval": entry.interval}
    return _body({key: value for key, value in told.items() if value is not None})


def _claim_body(entry: ClaimEntry) -> str:
    request, consumption = entry.request, entry.request.consumption
    return _body(
        {
            "kind": request.kind,
            "blocks": request.blocks is not None,
            "pins": _pins_to(request.pins),
            "schedule_date": request.schedule_date,
            "lease": entry.lease_seconds,
            "invocation": entry.invocation,
            "host": entry.host,
            "planned": entry.planned,
            "processes": [list(process) for process in entry.processes],
            "interval": request.interval,
            "cursor": request.cursor,
            "events": list(request.events),
            "consumes": dict(consumption.consumes),
            "ticks": dict(consumption.ticks),
            "skips": list(consumption.skips),
            "left": {key: _pairs(ranges) for key, ranges in consumption.remaining.items()},
            "rebuilds": request.rebuilds,
            "owes": _pairs(request.owes),
            "gaps": _pairs(request.gaps),
            "reason": request.reason,
        }
    )


def _claim_from(row: JournalRow, body: Mapping[str, Any], ranges: RangeSet) -> ClaimEntry:
    consumption = Consumption(
        body["consumes"],
        body["ticks"],
        tuple(body["skips"]),
        {key: RangeSet.of(pairs) for key, pairs in body["left"].items()},
    )
    request = RunRequest(
        asset=row.asset or "",
        kind=body["kind"],
        blocks=ranges if body["blocks"] else None,
        schedule_date=body["schedule_date"],
        reason=body["reason"],
        interval=_interval(body["interval"]),
        cursor=_interval(body["cursor"]),
        pins=_pins_from(body["pins"]),
        events=tuple(body["events"]),
        consumption=consumption,
        rebuilds=body["rebuilds"],
        owes=RangeSet.of(body["owes"]),
        gaps=RangeSet.of(body["gaps"]),
    )
    return ClaimEntry(
        request=request,
        run=row.run or "",
        lease_seconds=body["lease"],
        invocation=body["invocation"],
        host=body["host"],
        planned=body["planned"],
        processes=tuple((pid, created) for pid, created in body["processes"]),
    )


def _success_body(entry: SuccessEntry) -> str:
    return _body(
        {
            "epoch": entry.token,
            "recorder": entry.recorder,
            "blocks": entry.blocks is not None,
            "interval": entry.interval,
            "pins": _pins_to(entry.pins),
            "events": list(entry.events),
            "watermarks": dict(entry.watermarks),
            "attempt": entry.attempt,
            "seconds": round(entry.seconds, 3),
        }
    )


def _failure_body(entry: FailureEntry) -> str:
    return _body(
        {
            "epoch": entry.token,
            "blocks": entry.blocks is not None,
            "cause": entry.cause,
            "error": entry.error,
            "invocation": entry.invocation,
            "attempts": entry.attempts,
            "details": entry.details,
            "hint": entry.hint,
            "seconds": round(entry.seconds, 3),
        }
    )


def _ranges(ranges: RangeSet | None) -> dict[str, Any]:
    return {} if ranges is None else {"starts": ranges.starts, "ends": ranges.ends}


def _pairs(ranges: RangeSet | None) -> list[list[int]] | None:
    return None if ranges is None else [[start, end] for start, end in ranges.pairs()]


def _interval(pair: Sequence[int] | None) -> tuple[int, int] | None:
    return None if pair is None else (pair[0], pair[1])


def _pins_to(pins: Mapping[str, Pin]) -> dict[str, Any]:
    return {
        name: {
            "uri": pin.uri,
            "seq": pin.seq,
            "table_id": pin.table_id,
            "version": pin.version,
            "ranges": _pairs(pin.ranges),
            "low": pin.low,
        }
        for name, pin in pins.items()
    }


def _pins_from(body: Mapping[str, Any]) -> dict[str, Pin]:
    return {
        name: Pin(
            pin["uri"],
            pin["seq"],
            pin["table_id"],
            pin["version"],
            None if pin["ranges"] is None else RangeSet.of(pin["ranges"]),
            pin["low"],
        )
        for name, pin in body.items()
    }


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(dict(value), sort_keys=True, ensure_ascii=False, default=str)


def _body(value: Mapping[str, Any]) -> str:
    return _json({"v": FORMAT, **value})

"""Claims and how they ended, as columns and JSON of a row, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparkassets.core.journal.codec.rows import JournalRow
from sparkassets.core.journal.codec.values import (
    columns_from,
    columns_to,
    extra_from,
    extra_to,
    interval_from,
    pins_from,
    pins_to,
    segments_to,
)
from sparkassets.core.journal.entries import ClaimEntry, FailureEntry, OutletEntry, SkippedEntry, SuccessEntry
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.partitions.plain import parts_from, parts_to
from sparkassets.core.runs import Consumption, Promotion, RunRequest
from sparkassets.core.validations import counts_from, counts_to, verdicts_from, verdicts_to


def claim_to(entry: ClaimEntry) -> dict[str, Any]:
    """The columns of a claim, its body as an object."""
    request, consumption = entry.request, entry.request.consumption
    body = {
        "kind": request.kind,
        "blocks": not request.blocks.is_everything,
        "pins": pins_to(request.pins),
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
        "remaining": {key: parts_to(parts) for key, parts in consumption.remaining.items()},
        "rebuilds": request.rebuilds,
        "owes": parts_to(request.owes),
        "gaps": parts_to(request.gaps),
        **_rarely_to(request),
        "reason": request.reason,
        "definition": request.definition,
        **segments_to(request.blocks),
    }
    return {"kind": "claim", "asset": entry.asset, "run": entry.run, **columns_to(entry.blocks), "body": body}


def _rarely_to(request: RunRequest) -> dict[str, Any]:
    """What few requests have; it is not there in the others."""
    found = {
        "slot": request.slot,
        "restores": request.restores,
        "judge": request.judge,
        "accepted": parts_to(request.accepted) if request.accepted else None,
        "apart": request.apart,
        "again": request.again,
        "promotes": _promotion_to(request.promotes) if request.promotes else None,
        "unread_by": list(request.unread_by),
    }
    return {key: value for key, value in found.items() if value}


def claim_from(row: JournalRow, body: Mapping[str, Any]) -> ClaimEntry:
    """The claim of a row."""
    consumption = Consumption(
        body["consumes"],
        body["ticks"],
        tuple(body["skips"]),
        {key: parts_from(parts) for key, parts in body["remaining"].items()},
    )
    request = RunRequest(
        asset=row.asset or "",
        kind=body["kind"],
        blocks=_blocks(row, body),
        schedule_date=body["schedule_date"],
        reason=body["reason"],
        interval=interval_from(body["interval"]),
        cursor=interval_from(body["cursor"]),
        pins=pins_from(body["pins"]),
        events=tuple(body["events"]),
        consumption=consumption,
        rebuilds=body["rebuilds"],
        owes=parts_from(body["owes"]),
        gaps=parts_from(body["gaps"]),
        slot=body.get("slot", 0),
        definition=body.get("definition", ""),
        restores=body.get("restores", ""),
        judge=body.get("judge", ""),
        accepted=parts_from(body["accepted"]) if "accepted" in body else NOTHING,
        apart=body.get("apart", False),
        again=body.get("again", ""),
        promotes=_promotion_from(body["promotes"]) if "promotes" in body else None,
        unread_by=tuple(body.get("unread_by", ())),
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


def _promotion_to(promotion: Promotion) -> dict[str, Any]:
    tables = {name: list(table) for name, table in promotion.tables.items()}
    return {"branch": promotion.branch, "journal": promotion.journal_id, "seq": promotion.seq, "tables": tables}


def _promotion_from(told: Mapping[str, Any]) -> Promotion:
    tables = {name: (table_id, version) for name, (table_id, version) in told["tables"].items()}
    return Promotion(told["branch"], told["journal"], told["seq"], tables)


def success_to(entry: SuccessEntry) -> dict[str, Any]:
    """The columns of a success, its body as an object."""
    return {
        "kind": "success",
        "asset": entry.asset,
        "uri": entry.uri,
        "run": entry.run,
        **columns_to(entry.blocks),
        "table_id": entry.table_id,
        "version": entry.version,
        "extra": extra_to(entry.extra),
        "body": {
            "token": entry.token,
            "recorder": entry.recorder,
            "blocks": not entry.blocks.is_everything,
            "interval": entry.interval,
            "pins": pins_to(entry.pins),
            "events": list(entry.events),
            "watermarks": dict(entry.watermarks),
            "attempt": entry.attempt,
            "definition": entry.definition,
            "seconds": round(entry.seconds, 3),
            **({"unchanged": parts_to(entry.unchanged)} if entry.unchanged else {}),
            **_judged_to(entry),
            **({"keys": {column: list(keys) for column, keys in entry.keys.items()}} if entry.keys else {}),
            **({"outlets": list(entry.outlets)} if entry.outlets else {}),
            **_published_to(entry),
            **_observed_to(entry),
            **segments_to(entry.blocks),
        },
    }


def _observed_to(entry: SuccessEntry | OutletEntry) -> dict[str, Any]:
    told = {"mark": entry.mark, "besides": parts_to(entry.besides)}
    return {key: value for key, value in told.items() if getattr(entry, key)}


def _observed_from(body: Mapping[str, Any]) -> dict[str, Any]:
    besides = parts_from(body["besides"]) if "besides" in body else NOTHING
    return {"mark": body.get("mark", ""), "besides": besides}


def _judged_to(entry: SuccessEntry) -> dict[str, Any]:
    told = {
        "withheld": parts_to(entry.withheld),
        "verdicts": verdicts_to(entry.verdicts),
        "counts": counts_to(entry.counts),
    }
    return {key: value for key, value in told.items() if getattr(entry, key)}


def _published_to(entry: SuccessEntry) -> dict[str, Any]:
    told = {"iteration": entry.iteration, "beside": entry.beside, "restores": entry.restores}
    return {key: value for key, value in told.items() if value}


def success_from(row: JournalRow, body: Mapping[str, Any]) -> SuccessEntry:
    """The success of a row."""
    return SuccessEntry(
        asset=row.asset or "",
        uri=row.uri or "",
        run=row.run or "",
        token=body["token"],
        recorder=body["recorder"],
        blocks=_blocks(row, body),
        table_id=row.table_id,
        version=row.version,
        interval=interval_from(body["interval"]),
        pins=pins_from(body["pins"]),
        events=tuple(body["events"]),
        watermarks=body["watermarks"],
        extra=extra_from(row),
        attempt=body["attempt"],
        seconds=body["seconds"],
        definition=body.get("definition", ""),
        unchanged=parts_from(body["unchanged"]) if "unchanged" in body else NOTHING,
        keys={column: tuple(keys) for column, keys in body.get("keys", {}).items()},
        iteration=body.get("iteration", ""),
        beside=body.get("beside", False),
        restores=body.get("restores", ""),
        outlets=tuple(body.get("outlets", ())),
        withheld=parts_from(body["withheld"]) if "withheld" in body else NOTHING,
        verdicts=verdicts_from(body.get("verdicts", ())),
        counts=counts_from(body.get("counts", {})),
        **_observed_from(body),
    )


def outlet_to(entry: OutletEntry) -> dict[str, Any]:
    """The columns of what a run left in an outlet, its body as an object."""
    return {
        "kind": "outlet",
        "asset": entry.asset,
        "uri": entry.uri,
        "run": entry.run,
        **columns_to(entry.blocks),
        "table_id": entry.table_id,
        "version": entry.version,
        "extra": extra_to(entry.extra),
        "body": {
            "maker": entry.maker,
            "token": entry.token,
            "recorder": entry.recorder,
            "blocks": not entry.blocks.is_everything,
            "interval": entry.interval,
            "pins": pins_to(entry.pins),
            "definition": entry.definition,
            **({"unchanged": parts_to(entry.unchanged)} if entry.unchanged else {}),
            **({"withheld": parts_to(entry.withheld)} if entry.withheld else {}),
            **({"iteration": entry.iteration} if entry.iteration else {}),
            **({"beside": True} if entry.beside else {}),
            **({"restores": entry.restores} if entry.restores else {}),
            **({"epoch": entry.epoch} if entry.epoch else {}),
            **_observed_to(entry),
            **segments_to(entry.blocks),
        },
    }


def outlet_from(row: JournalRow, body: Mapping[str, Any]) -> OutletEntry:
    """What a run left in an outlet, of a row."""
    return OutletEntry(
        asset=row.asset or "",
        uri=row.uri or "",
        maker=body["maker"],
        run=row.run or "",
        token=body["token"],
        recorder=body["recorder"],
        blocks=_blocks(row, body),
        table_id=row.table_id,
        version=row.version,
        interval=interval_from(body["interval"]),
        pins=pins_from(body["pins"]),
        extra=extra_from(row),
        definition=body["definition"],
        unchanged=parts_from(body["unchanged"]) if "unchanged" in body else NOTHING,
        withheld=parts_from(body["withheld"]) if "withheld" in body else NOTHING,
        iteration=body.get("iteration", ""),
        beside=body.get("beside", False),
        restores=body.get("restores", ""),
        epoch=body.get("epoch", 0),
        **_observed_from(body),
    )


def failure_to(entry: FailureEntry) -> dict[str, Any]:
    """The columns of a failure, its body as an object."""
    return {
        "kind": "failure" if entry.fenced else "unfenced",
        "asset": entry.asset,
        "run": entry.run,
        **columns_to(entry.blocks),
        "body": {
            "token": entry.token,
            "blocks": not entry.blocks.is_everything,
            "cause": entry.cause,
            "error": entry.error,
            "invocation": entry.invocation,
            "attempts": entry.attempts,
            "details": entry.details,
            "hint": entry.hint,
            "seconds": round(entry.seconds, 3),
            "divisions": entry.divisions,
            **({"bad": parts_to(entry.bad)} if entry.bad else {}),
            **({"asks": list(entry.asks)} if entry.asks else {}),
            **({"watermarks": dict(entry.watermarks)} if entry.watermarks else {}),
            **segments_to(entry.blocks),
        },
    }


def failure_from(row: JournalRow, body: Mapping[str, Any]) -> FailureEntry:
    """The failure of a row."""
    return FailureEntry(
        asset=row.asset or "",
        run=row.run or "",
        token=body["token"],
        blocks=_blocks(row, body),
        cause=body["cause"],
        error=body["error"],
        invocation=body["invocation"],
        fenced=row.kind == "failure",
        attempts=body["attempts"],
        details=body["details"],
        hint=body["hint"],
        seconds=body["seconds"],
        divisions=body.get("divisions"),
        bad=parts_from(body.get("bad", [])),
        asks=tuple(body.get("asks", ())),
        watermarks=body.get("watermarks", {}),
    )


def skipped_to(entry: SkippedEntry) -> dict[str, Any]:
    """The columns of a skipped run, its body as an object."""
    return {
        "kind": "skipped",
        "asset": entry.asset,
        "run": entry.run,
        **columns_to(entry.blocks),
        "body": {
            "token": entry.token,
            "blocks": not entry.blocks.is_everything,
            "reason": entry.reason,
            "invocation": entry.invocation,
            "attempts": entry.attempts,
            "seconds": round(entry.seconds, 3),
            **segments_to(entry.blocks),
        },
    }


def skipped_from(row: JournalRow, body: Mapping[str, Any]) -> SkippedEntry:
    """The skipped run of a row."""
    return SkippedEntry(
        asset=row.asset or "",
        run=row.run or "",
        token=body["token"],
        blocks=_blocks(row, body),
        reason=body["reason"],
        invocation=body["invocation"],
        attempts=body["attempts"],
        seconds=body["seconds"],
    )


def _blocks(row: JournalRow, body: Mapping[str, Any]) -> PartitionSet:
    return columns_from(row, body) if body["blocks"] else EVERYTHING

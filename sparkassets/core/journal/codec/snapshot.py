"""The folded state as rows of ``<state>/watermarks`` and back; ``decode(encode(state)) == state``.

One row an asset and one a dataset, so that a tick reads the snapshot and the journal's tail, not its history.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from sparkassets.core.definitions import Definition
from sparkassets.core.instants import instant
from sparkassets.core.journal.additions import Additions
from sparkassets.core.journal.codec import iterations, marks, withheld
from sparkassets.core.journal.codec.formats import body_from, body_to
from sparkassets.core.journal.codec.found import commits_from, commits_to
from sparkassets.core.journal.codec.rows import JournalRow, SnapshotRow
from sparkassets.core.journal.codec.runs import claim_from, claim_to
from sparkassets.core.journal.codec.specs import (
    definition_from,
    definition_to,
    partitioning_from,
    partitioning_to,
    spec_from,
    spec_to,
)
from sparkassets.core.journal.codec.values import (
    columns_from,
    columns_to,
    extra_to,
    flat_from,
    flat_to,
    interval_from,
    segments_to,
)
from sparkassets.core.journal.questions import Question
from sparkassets.core.journal.recent import Pack, Recent
from sparkassets.core.journal.requests import RedoRequest
from sparkassets.core.journal.specs import FoldSpec
from sparkassets.core.journal.state import (
    AssetState,
    ClaimState,
    DatasetState,
    EventRef,
    FailedBlocks,
    FormerPartitions,
    Instance,
    LastRun,
    LastSkip,
    LearnedKeys,
    Loss,
    Made,
    State,
)
from sparkassets.core.journal.taken import Taken
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.partitions.plain import Plain, marks_from, marks_to, parts_from, parts_to
from sparkassets.core.runs import Division, RunCost
from sparkassets.core.validations import verdicts_from, verdicts_to
from sparkassets.errors import StateError


def encode(state: State) -> list[SnapshotRow]:
    """The rows of ``state``: assets first, then datasets."""
    return [
        *(_asset_row(asset, state) for asset in state.assets.values()),
        *(_dataset_row(dataset, state) for dataset in state.datasets.values()),
    ]


def decode(rows: Iterable[SnapshotRow], *, journal_id: str) -> State:
    """The state of a snapshot; an empty one without rows.

    Raises:
        StateError: A row is damaged or of a newer format.
    """
    assets: dict[str, AssetState] = {}
    datasets: dict[str, DatasetState] = {}
    seq = commit = 0
    for row in rows:
        seq, commit = row.seq, row.commit
        try:
            body = body_from(row.body, "dataset" if row.asset is None else "asset", what="the snapshot")
            if row.asset is not None:
                assets[row.asset] = _asset(row.asset, row, body)
            else:
                datasets[row.uri or ""] = _dataset(row.uri or "", row, body)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise _damaged(row.asset or row.uri, error) from error
    known = sorted(assets.values(), key=lambda each: each.name)
    return State(journal_id, seq, commit, assets, datasets, _consumers(known), _keepers(known))


def _damaged(name: str | None, error: Exception) -> StateError:
    return StateError(
        f"the snapshot's row of {name!r} is damaged: {error}",
        hint="delete the folder `watermarks` of the state; it is made anew from the journal",
    )


def _consumers(assets: Iterable[AssetState]) -> dict[str, tuple[tuple[str, str], ...]]:
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    for asset in assets:
        for uri in asset.spec.listens:
            own = ((asset.name, inlet) for inlet in sorted(asset.spec.readers(uri)))
            found[uri] = (*found.get(uri, ()), *own)
    return found


def _keepers(assets: Iterable[AssetState]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for asset in assets:
        for uri in (*asset.spec.named, *asset.parted):
            found[uri] = (*found.get(uri, ()), asset.name)
    return found


def _asset_row(asset: AssetState, state: State) -> SnapshotRow:
    stale = [(name, *item) for name, stamped in asset.stale.items() for item in stamped.together().items()]
    columns = list(zip(*stale, strict=True)) or [(), (), (), ()]
    return SnapshotRow(
        asset=asset.name,
        uri=asset.spec.uri,
        seq=state.seq,
        commit=state.commit,
        **columns_to(asset.coverage),
        stale_inlets=tuple(columns[0]),
        stale_starts=tuple(columns[1]),
        stale_ends=tuple(columns[2]),
        stale_seqs=tuple(columns[3]),
        watermarks=extra_to(asset.watermarks),
        cursor=extra_to(asset.position),
        body=body_to(
            {
                "spec": spec_to(asset.spec),
                "made": [_made_to(made, asset) for made in asset.made],
                **_blocks_to(asset),
                **_used_to(asset),
                **_runs_to(asset),
            }
        ),
    )


def _asset(name: str, row: SnapshotRow, body: Mapping[str, Any]) -> AssetState:
    ranges: dict[str, list[tuple[int, int, int]]] = {}
    for inlet, start, end, seq in zip(row.stale_inlets, row.stale_starts, row.stale_ends, row.stale_seqs, strict=True):
        ranges.setdefault(inlet, []).append((start, end, seq))
    stale: dict[str, Plain] = {**ranges, **body.get("stale", {})}
    spec, coverage = spec_from(body["spec"]), columns_from(row, body)
    return AssetState(
        name=name,
        spec=spec,
        coverage=coverage,
        made=tuple(_made_from(made, spec, coverage) for made in body.get("made", ())),
        stale={inlet: marks_from(items) for inlet, items in stale.items()},
        watermarks=json.loads(row.watermarks),
        position=json.loads(row.cursor),
        **_blocks_from(body),
        **_used_from(body),
        **_runs_from(name, body),
    )


def _made_to(made: Made, asset: AssetState) -> list[Any]:
    """What a definition made; that of the spec is told there, and all that is there in one word."""
    told = None if made.definition == asset.spec.definition else definition_to(made.definition)
    whole = bool(made.blocks) and made.blocks == asset.coverage
    return [told, made.since, _ALL if whole else parts_to(made.blocks), made.run, made.at]


def _made_from(told: Sequence[Any], spec: FoldSpec, coverage: PartitionSet) -> Made:
    definition, since, blocks, run, at = told
    known = definition_from(definition) if definition is not None else spec.definition
    return Made(known or Definition(""), since, coverage if blocks == _ALL else parts_from(blocks), run, at)


_ALL = "all"


_SKIP = ("run", "seq", "at", "reason", "invocation")
"""The attributes of `LastSkip`, in order."""


def _blocks_to(asset: AssetState) -> dict[str, Any]:
    """What of its blocks is kept, owed, lost or changed, and how far its table's log is known."""
    return {
        "stale": {inlet: marks_to(stale) for inlet, stale in asset.stale.items() if stale.apart},
        "kept": {inlet: marks_to(kept) for inlet, kept in asset.kept.items()},
        **segments_to(asset.coverage),
        "owed": parts_to(asset.owed),
        "gaps": parts_to(asset.gaps),
        "loss": _loss_to(asset.loss) if asset.loss else None,
        **({"former": _former_to(asset.former)} if asset.former is not None else {}),
        "foreign": commits_to(asset.foreign),
        "withheld": withheld.records_to(asset.withheld),
        **({"skip": [getattr(asset.skip, name) for name in _SKIP]} if asset.skip else {}),
        "table_id": asset.table_id,
        "version": asset.version,
        "seen": asset.seen,
        "mark": asset.mark,
    }


def _blocks_from(body: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kept": {inlet: marks_from(items) for inlet, items in body["kept"].items()},
        "owed": parts_from(body["owed"]),
        "gaps": parts_from(body["gaps"]),
        "loss": _loss_from(body["loss"]) if body["loss"] else None,
        "former": _former_from(body["former"]) if "former" in body else None,
        "foreign": commits_from(body["foreign"]),
        "withheld": withheld.records_from(body.get("withheld", ())),
        "skip": LastSkip(*body["skip"]) if "skip" in body else None,
        **{name: body[name] for name in ("table_id", "version", "seen", "mark")},
    }


def _former_to(former: FormerPartitions) -> list[Any]:
    return [partitioning_to(former.partitioning), parts_to(former.coverage), former.seq]


def _former_from(told: Sequence[Any]) -> FormerPartitions:
    partitioning, coverage, seq = told
    return FormerPartitions(partitioning_from(partitioning), parts_from(coverage), seq)


def _used_to(asset: AssetState) -> dict[str, Any]:
    """What it has used of events and ticks."""
    return {
        "consumed": dict(asset.consumed),
        "partly": {uri: [[seq, parts_to(parts)] for seq, parts in items] for uri, items in asset.partly.items()},
        "parted": dict(asset.parted),
        "cursor": asset.cursor,
        "ticks": dict(asset.ticks),
        "columns": dict(asset.columns),
        **({"instance_marks": marks.instances_to(asset.instance_marks)} if asset.instance_marks else {}),
    }


def _used_from(body: Mapping[str, Any]) -> dict[str, Any]:
    partly = body["partly"].items()
    return {
        "consumed": body["consumed"],
        "partly": {uri: tuple((seq, parts_from(parts)) for seq, parts in items) for uri, items in partly},
        "parted": body["parted"],
        "cursor": interval_from(body["cursor"]),
        "ticks": body["ticks"],
        "columns": body.get("columns", {}),
        "instance_marks": marks.instances_from(body.get("instance_marks", ())),
    }


def _runs_to(asset: AssetState) -> dict[str, Any]:
    """Its runs: those that are not settled, that failed, and the newest."""
    return {
        "done": asset.done,
        "chain": [_link_to(link) for link in asset.chain],
        "failed": [_failed_to(item) for item in asset.failed],
        "last": _last_to(asset.last) if asset.last else None,
        "instances": [_instance_to(each) for each in asset.instances],
        "paused": asset.paused,
        "placed": asset.placed,
        "late": asset.late,
        "redo": [_redo_to(each) for each in asset.redo],
        "costs": [[each.blocks, each.seconds, each.rows] for each in asset.costs],
        "marks": marks.marks_to(asset.marks),
        "taken": _taken_to(asset.taken),
        **_rare_to(asset),
    }


def _instance_to(instance: Instance) -> list[Any]:
    plain = [instance.start, instance.end, instance.seq, instance.table_id, instance.version]
    return [*plain, True] if instance.skipped else plain


def _rare_to(asset: AssetState) -> dict[str, Any]:
    """What few assets have: iterations, segments that are known, and those that runs added."""
    found = {
        "iterations": iterations.iterations_to(asset.iterations) if asset.iterations else None,
        "keys": {name: [each.known, each.removed] for name, each in asset.keys.items()},
        "additions": _additions_to(asset.additions) if asset.additions else None,
    }
    return {key: value for key, value in found.items() if value}


def _runs_from(name: str, body: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "chain": tuple(_link_from(name, link) for link in body["chain"]),
        "failed": tuple(_failed_from(item) for item in body["failed"]),
        "last": _last_from(body["last"]) if body["last"] else None,
        "instances": tuple(Instance(*each) for each in body["instances"]),
        "redo": tuple(_redo_from(each) for each in body.get("redo", ())),
        "costs": tuple(RunCost(*each) for each in body.get("costs", ())),
        **{key: body[key] for key in ("done", "paused", "placed")},
        "late": body.get("late", 0),
        "marks": marks.marks_from(body.get("marks", ())),
        "iterations": iterations.iterations_from(body.get("iterations", ())),
        "taken": _taken_from(body.get("taken", ())),
        "keys": {name: LearnedKeys(*map(tuple, each)) for name, each in body.get("keys", {}).items()},
        "additions": _additions_from(body["additions"]) if "additions" in body else Additions(),
    }


def _additions_to(additions: Additions) -> list[Any]:
    return [parts_to(additions.due), parts_to(additions.further), additions.invocation]


def _additions_from(told: Sequence[Any]) -> Additions:
    due, further, invocation = told
    return Additions(parts_from(due), parts_from(further), invocation)


def _taken_to(taken: Sequence[Taken]) -> list[Any]:
    return [[each.journal_id, each.seq, parts_to(each.blocks)] for each in taken]


def _taken_from(taken: Sequence[Sequence[Any]]) -> tuple[Taken, ...]:
    return tuple(Taken(journal_id, seq, parts_from(blocks)) for journal_id, seq, blocks in taken)


def _redo_to(request: RedoRequest) -> list[Any]:
    asked, left = parts_to(request.asked), parts_to(request.left)
    return [request.seq, request.at, asked, left, request.newest_first, request.limited]


def _redo_from(request: Sequence[Any]) -> RedoRequest:
    seq, at, asked, left, newest_first, limited = request
    return RedoRequest(seq, at, parts_from(asked), parts_from(left), newest_first, limited)


def _dataset_row(dataset: DatasetState, state: State) -> SnapshotRow:
    return SnapshotRow(
        asset=None,
        uri=dataset.uri,
        seq=state.seq,
        commit=state.commit,
        **columns_to(dataset.coverage),
        body=body_to(
            {
                "seq": dataset.seq,
                "at": dataset.at,
                **_recent_to(dataset.recent),
                "touched": marks_to(dataset.touched),
                "gone": parts_to(dataset.gone),
                "confirmed": dataset.confirmed,
                **segments_to(dataset.coverage),
            }
        ),
    )


def _dataset(uri: str, row: SnapshotRow, body: Mapping[str, Any]) -> DatasetState:
    return DatasetState(
        uri,
        columns_from(row, body),
        body["seq"],
        body["at"],
        _recent_from(uri, body),
        marks_from(body["touched"]),
        parts_from(body["gone"]),
        body.get("confirmed", 0),
    )


def _last_to(last: LastRun) -> list[Any]:
    same: list[Any] = [last.unchanged] if last.unchanged or last.verdicts else []
    same += [verdicts_to(last.verdicts)] if last.verdicts else []
    return [last.run, last.seq, last.at, last.rows, last.interval, last.invocation, last.planned, *same]


def _last_from(last: Sequence[Any]) -> LastRun:
    run, seq, at, rows, interval, invocation, planned, *same = last
    unchanged, verdicts = (*same, None, None)[:2]
    told = verdicts_from(verdicts or ())
    head = (run, seq, at, rows, interval_from(interval), invocation, planned)
    return LastRun(*head, tuple(unchanged) if unchanged else None, told)


def _loss_to(loss: Loss) -> list[Any]:
    return [parts_to(loss.blocks), loss.reason, loss.seq, loss.stuck]


def _loss_from(loss: Sequence[Any]) -> Loss:
    blocks, reason, seq, stuck = loss
    return Loss(parts_from(blocks), reason, seq, stuck)


def _link_to(link: ClaimState) -> dict[str, Any]:
    columns = claim_to(link.entry)
    return {
        "token": link.token,
        "run": link.entry.run,
        "at": link.at,
        "driver": link.driver,
        "renewed": link.renewed,
        "status": link.status,
        "starts": columns.get("starts", ()),
        "ends": columns.get("ends", ()),
        "claim": columns["body"],
        **({"asks": _question_to(link.asks)} if link.asks is not None else {}),
        **({"proved": link.proved} if link.proved else {}),
    }


def _link_from(asset: str, link: Mapping[str, Any]) -> ClaimState:
    row = JournalRow(
        seq=link["token"],
        at=instant(link["at"]),
        driver=link["driver"],
        kind="claim",
        asset=asset,
        run=link["run"],
        starts=tuple(link["starts"]),
        ends=tuple(link["ends"]),
    )
    entry = claim_from(row, link["claim"])
    asks = _question_from(link["asks"]) if "asks" in link else None
    return ClaimState(
        link["token"],
        entry,
        link["driver"],
        link["at"],
        link["renewed"],
        status=link["status"],
        asks=asks,
        proved=link.get("proved", 0),
    )


def _question_to(asks: Question) -> list[Any]:
    return [asks.runs, parts_to(asks.blocks), dict(asks.watermarks)]


def _question_from(asks: Sequence[Any]) -> Question:
    runs, blocks, watermarks = asks
    return Question(tuple(runs), parts_from(blocks), watermarks)


def _failed_to(item: FailedBlocks) -> list[Any]:
    told = item.division and [item.division.first, item.division.left, item.division.known]
    return [parts_to(item.blocks), item.token, item.run, item.error, item.invocation, item.planned, item.events, told]


def _failed_from(item: Sequence[Any]) -> FailedBlocks:
    blocks, token, run, error, invocation, planned, events, *told = item
    division = Division(*told[0]) if told and told[0] else None
    return FailedBlocks(parts_from(blocks), token, run, error, invocation, planned, tuple(events), division)


def _recent_to(recent: Recent[EventRef]) -> dict[str, Any]:
    """The newest one by one; those before them in packs, which are written once."""
    packed = [[pack.first, pack.last, pack.count, pack.text(_pack_to)] for pack in recent.packs]
    return {"recent": [_ref_to(ref) for ref in recent.loose], **({"packed": packed} if packed else {})}


def _recent_from(uri: str, body: Mapping[str, Any]) -> Recent[EventRef]:
    read = partial(_pack_from, uri)
    packs = tuple(Pack(*numbers, text=text, read=read) for *numbers, text in body.get("packed", ()))
    return Recent(packs).plus(_ref_from(uri, ref) for ref in body["recent"])


def _pack_to(refs: Sequence[EventRef]) -> str:
    told = json.dumps([_ref_to(ref) for ref in refs], separators=(",", ":"))
    return b64encode(zlib.compress(told.encode(), level=1)).decode()


def _pack_from(uri: str, text: str) -> tuple[EventRef, ...]:
    """The events of `_pack_to`.

    Raises:
        StateError: They are damaged.
    """
    try:
        return tuple(_ref_from(uri, ref) for ref in json.loads(zlib.decompress(b64decode(text))))
    except (ValueError, TypeError, IndexError, zlib.error) as error:
        raise _damaged(uri, error) from error


def _ref_to(ref: EventRef) -> list[Any]:
    return [ref.seq, ref.asset, ref.at, flat_to(ref.parts), dict(ref.extra), ref.run, ref.interval]


def _ref_from(uri: str, ref: Sequence[Any]) -> EventRef:
    seq, asset, at, flat, extra, run, interval = ref
    return EventRef(seq, uri, asset, at, flat_from(flat), extra, run, interval_from(interval))

"""The folded state as rows of ``<state>/watermarks`` and back; ``decode(encode(state)) == state``.

One row an asset and one a dataset, so that a tick reads the snapshot and the journal's tail, not its history.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sparkassets.core.instants import instant, unix
from sparkassets.core.journal.codec import from_row, to_row
from sparkassets.core.journal.codec.values import columns_from, columns_to
from sparkassets.core.journal.entries import ClaimEntry, Numbered
from sparkassets.core.journal.found import commits_from, commits_to
from sparkassets.core.journal.rows import FORMAT, JournalRow, SnapshotRow
from sparkassets.core.journal.specs import FoldSpec
from sparkassets.core.journal.state import (
    AssetState,
    ClaimState,
    DatasetState,
    EventRef,
    FailedBlocks,
    Instance,
    LastRun,
    Loss,
    State,
)
from sparkassets.core.partitions import StampedPartitions, StampedRanges
from sparkassets.core.partitions.plain import parts_from, parts_to
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
            body = json.loads(row.body)
            if body["v"] > FORMAT:
                raise StateError(
                    f"the snapshot has format {body['v']}, this version of sparkassets reads up to {FORMAT}",
                    hint="upgrade sparkassets",
                )
            if row.asset is not None:
                assets[row.asset] = _asset(row.asset, row, body)
            else:
                datasets[row.uri or ""] = _dataset(row.uri or "", row, body)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            name = row.asset or row.uri
            raise StateError(
                f"the snapshot's row of {name!r} is damaged: {error}",
                hint="delete the folder `watermarks` of the state; it is made anew from the journal",
            ) from error
    consumers: dict[str, tuple[tuple[str, str], ...]] = {}
    keepers: dict[str, tuple[str, ...]] = {}
    for asset in sorted(assets.values(), key=lambda each: each.name):
        for uri in asset.spec.listens:
            consumers[uri] = (
                *consumers.get(uri, ()),
                *((asset.name, inlet) for inlet in sorted(asset.spec.readers(uri))),
            )
        for uri in (*asset.spec.named, *asset.parted):
            keepers[uri] = (*keepers.get(uri, ()), asset.name)
    return State(journal_id, seq, commit, assets, datasets, consumers, keepers)


def _asset_row(asset: AssetState, state: State) -> SnapshotRow:
    marks = [(name, start, end, seq) for name, stamped in asset.stale.items() for start, end, seq in _items(stamped)]
    columns = list(zip(*marks, strict=True)) or [(), (), (), ()]
    return SnapshotRow(
        asset=asset.name,
        uri=asset.spec.uri,
        segment=None,
        seq=state.seq,
        commit=state.commit,
        **columns_to(asset.coverage),
        stale_inlets=tuple(columns[0]),
        stale_starts=tuple(columns[1]),
        stale_ends=tuple(columns[2]),
        stale_seqs=tuple(columns[3]),
        watermarks=_json(asset.watermarks),
        cursor=_json(asset.position),
        body=_json(
            {
                "v": FORMAT,
                "spec": asset.spec.to_json(),
                "done": asset.done,
                "consumed": dict(asset.consumed),
                "partly": {
                    uri: [[seq, parts_to(parts)] for seq, parts in items] for uri, items in asset.partly.items()
                },
                "parted": dict(asset.parted),
                "cursor": asset.cursor,
                "ticks": dict(asset.ticks),
                "instances": [
                    [each.start, each.end, each.seq, each.table_id, each.version] for each in asset.instances
                ],
                "table_id": asset.table_id,
                "version": asset.version,
                "seen": asset.seen,
                "mark": asset.mark,
                "loss": _loss_to(asset.loss) if asset.loss else None,
                "foreign": commits_to(asset.foreign),
                "chain": [_chain_to(link) for link in asset.chain],
                "failed": [_failed_to(item) for item in asset.failed],
                "last": _last_to(asset.last) if asset.last else None,
                "paused": asset.paused,
                "placed": asset.placed,
                "kept": {inlet: _items(marks) for inlet, marks in asset.kept.items()},
                "owed": parts_to(asset.owed),
                "gaps": parts_to(asset.gaps),
            }
        ),
    )


def _asset(name: str, row: SnapshotRow, body: Mapping[str, Any]) -> AssetState:
    marks: dict[str, list[tuple[int, int, int]]] = {}
    for inlet, start, end, seq in zip(row.stale_inlets, row.stale_starts, row.stale_ends, row.stale_seqs, strict=True):
        marks.setdefault(inlet, []).append((start, end, seq))
    return AssetState(
        name=name,
        spec=FoldSpec.from_json(body["spec"]),
        coverage=columns_from(row),
        done=body["done"],
        stale={inlet: _stamped(items) for inlet, items in marks.items()},
        consumed=body["consumed"],
        partly={uri: tuple((seq, parts_from(parts)) for seq, parts in items) for uri, items in body["partly"].items()},
        parted=body["parted"],
        cursor=_pair(body["cursor"]),
        ticks=body["ticks"],
        instances=tuple(Instance(*each) for each in body["instances"]),
        watermarks=json.loads(row.watermarks),
        position=json.loads(row.cursor),
        table_id=body["table_id"],
        version=body["version"],
        seen=body["seen"],
        mark=body["mark"],
        loss=_loss_from(body["loss"]) if body["loss"] else None,
        foreign=commits_from(body["foreign"]),
        chain=tuple(_chain_from(name, link) for link in body["chain"]),
        failed=tuple(_failed_from(item) for item in body["failed"]),
        last=_last_from(body["last"]) if body["last"] else None,
        paused=body["paused"],
        placed=body["placed"],
        kept={inlet: _stamped(items) for inlet, items in body["kept"].items()},
        owed=parts_from(body["owed"]),
        gaps=parts_from(body["gaps"]),
    )


def _dataset_row(dataset: DatasetState, state: State) -> SnapshotRow:
    return SnapshotRow(
        asset=None,
        uri=dataset.uri,
        segment=None,
        seq=state.seq,
        commit=state.commit,
        **columns_to(dataset.coverage),
        body=_json(
            {
                "v": FORMAT,
                "seq": dataset.seq,
                "at": dataset.at,
                "recent": [_ref_to(ref) for ref in dataset.recent],
                "touched": _items(dataset.touched),
                "gone": parts_to(dataset.gone),
            }
        ),
    )


def _dataset(uri: str, row: SnapshotRow, body: Mapping[str, Any]) -> DatasetState:
    return DatasetState(
        uri,
        columns_from(row),
        body["seq"],
        body["at"],
        tuple(_ref_from(uri, ref) for ref in body["recent"]),
        _stamped(body["touched"]),
        parts_from(body["gone"]),
    )


def _last_to(last: LastRun) -> list[Any]:
    return [last.run, last.seq, last.at, last.rows, last.interval, last.invocation, last.planned]


def _last_from(last: Sequence[Any]) -> LastRun:
    run, seq, at, rows, interval, invocation, planned = last
    return LastRun(run, seq, at, rows, _pair(interval), invocation, planned)


def _loss_to(loss: Loss) -> list[Any]:
    return [parts_to(loss.blocks), loss.reason, loss.seq, loss.stuck]


def _loss_from(loss: Sequence[Any]) -> Loss:
    blocks, reason, seq, stuck = loss
    return Loss(parts_from(blocks), reason, seq, stuck)


def _pair(pair: Sequence[int] | None) -> tuple[int, int] | None:
    return None if pair is None else (pair[0], pair[1])


def _chain_to(link: ClaimState) -> dict[str, Any]:
    row = to_row(Numbered(link.entry, link.token, instant(link.at), link.driver))
    return {
        "epoch": link.token,
        "run": row.run,
        "at": link.at,
        "driver": link.driver,
        "renewed": link.renewed,
        "status": link.status,
        "starts": row.starts,
        "ends": row.ends,
        "claim": row.body,
    }


def _chain_from(asset: str, link: Mapping[str, Any]) -> ClaimState:
    row = JournalRow(
        seq=link["epoch"],
        at=instant(link["at"]),
        driver=link["driver"],
        kind="claim",
        asset=asset,
        run=link["run"],
        starts=tuple(link["starts"]),
        ends=tuple(link["ends"]),
        body=link["claim"],
    )
    entry = from_row(row).entry
    if not isinstance(entry, ClaimEntry):  # pragma: no cover  the kind is set above
        raise TypeError("not a claim")
    return ClaimState(row.seq, entry, row.driver, unix(row.at), link["renewed"], link["status"])


def _failed_to(item: FailedBlocks) -> list[Any]:
    blocks = parts_to(item.blocks)
    return [blocks, item.token, item.run, item.cause, item.error, item.invocation, item.planned, item.events]


def _failed_from(item: Sequence[Any]) -> FailedBlocks:
    blocks, token, run, cause, error, invocation, planned, events = item
    return FailedBlocks(parts_from(blocks), token, run, cause, error, invocation, planned, tuple(events))


def _ref_to(ref: EventRef) -> list[Any]:
    return [ref.seq, ref.asset, ref.at, parts_to(ref.parts), dict(ref.extra), ref.run, ref.interval]


def _ref_from(uri: str, ref: Sequence[Any]) -> EventRef:
    seq, asset, at, parts, extra, run, interval = ref
    return EventRef(seq, uri, asset, at, parts_from(parts), extra, run, _pair(interval))


def _items(marks: StampedPartitions) -> list[tuple[int, int, int]]:
    if marks.apart:
        raise ValueError("marks of segments have a row for each of them")
    return list(marks.time.items())


def _stamped(items: Sequence[tuple[int, int, int]]) -> StampedPartitions:
    if not items:
        return StampedPartitions()
    starts, ends, stamps = zip(*items, strict=True)
    return StampedPartitions(StampedRanges(tuple(starts), tuple(ends), tuple(stamps)))


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(dict(value), sort_keys=True, ensure_ascii=False)

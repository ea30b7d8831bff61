"""Encodes the state as rows of its table and decodes them; upgrades rows of older formats.

There is one row for each asset and dataset. A driver reads the snapshot and the journal's tail, not its history.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from sparkassets.core.journal.asset_records import DefinitionOutput
from sparkassets.core.journal.codec.entries import from_row, to_row
from sparkassets.core.journal.codec.formats import FORMAT, body_from, body_to
from sparkassets.core.journal.codec.rows import (
    JournalRow,
    SnapshotRow,
    beside_columns,
    bound,
    columns_to,
    extra_to,
    parts_from,
    unbound,
)
from sparkassets.core.journal.recent_events import EventPack, RecentEvents
from sparkassets.core.journal.state import AssetState, DatasetState, EventRef, State
from sparkassets.core.partitions import StampedPartitions
from sparkassets.core.partitions.json_form import flat_from, flat_to, from_plain, to_plain
from sparkassets.errors import StateError
from sparkassets.frozen import replace


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
            body = body_from(row, "dataset" if row.asset is None else "asset", what="the snapshot")
            if row.asset is not None:
                assets[row.asset] = _asset(row.asset, row, body)
            else:
                datasets[row.uri or ""] = _dataset(row.uri or "", row, body)
        except (ValueError, KeyError, TypeError, IndexError, msgspec.MsgspecError) as error:
            raise _damaged_row_error(row.asset or row.uri, error) from error
    known = sorted(assets.values(), key=lambda each: each.name)
    return State(journal_id, seq, commit, assets, datasets, _consumers(known), _keepers(known))


def _damaged_row_error(name: str | None, error: Exception) -> StateError:
    """The error for a snapshot row that cannot be decoded; the journal can rebuild the snapshot."""
    return StateError(
        f"the snapshot's row of {name!r} is damaged: {error}",
        hint="delete the folder `watermarks` of the state; it is made anew from the journal",
    )


def _consumers(assets: Iterable[AssetState]) -> dict[str, tuple[tuple[str, str], ...]]:
    """By dataset, the (asset, inlet) pairs that read it, sorted; `State.consumers` is derived and not stored."""
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    for asset in assets:
        for uri in asset.spec.listens:
            own = ((asset.name, inlet) for inlet in sorted(asset.spec.readers(uri)))
            found[uri] = (*found.get(uri, ()), *own)
    return found


def _keepers(assets: Iterable[AssetState]) -> dict[str, tuple[str, ...]]:
    """By dataset, the assets that its events trigger or triggered; `State.keepers` is derived and not stored."""
    found: dict[str, tuple[str, ...]] = {}
    for asset in assets:
        for uri in (*asset.spec.named, *asset.parted):
            found[uri] = (*found.get(uri, ()), asset.name)
    return found


def _asset_row(asset: AssetState, state: State) -> SnapshotRow:
    """The snapshot's row of an asset.

    Coverage and stale time are columns, so that people can query them; what segments add to that is in the body.
    """
    stale = [(name, *item) for name, stamped in asset.stale.items() for item in stamped.merged_stamps().items()]
    columns = list(zip(*stale, strict=True)) or [(), (), (), ()]
    body = to_plain(replace(asset, spec=unbound(asset.spec), stale=_apart(asset.stale)))
    body = {name: value for name, value in body.items() if name not in _IN_COLUMNS}
    if not asset.additions:
        body.pop("additions", None)
    if asset.made:
        pairs = zip(body["made"], asset.made, strict=True)
        body["made"] = [_shorten_output(plain, output, asset) for plain, output in pairs]
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
        body=body_to(body | (beside_columns(asset.coverage) if asset.coverage else {})),
    )


_IN_COLUMNS = {"name", "coverage", "watermarks", "position"}
"""Attributes of an asset that are columns of its row."""


def _apart(stale: Mapping[str, StampedPartitions]) -> dict[str, StampedPartitions]:
    """The stale partitions of segments; the columns have only their time, for all segments together."""
    return {inlet: stamped for inlet, stamped in stale.items() if stamped.apart}


def _asset(name: str, row: SnapshotRow, body: dict[str, Any]) -> AssetState:
    """The asset of a snapshot's row."""
    stale: dict[str, Any] = {}
    for inlet, *item in zip(row.stale_inlets, row.stale_starts, row.stale_ends, row.stale_seqs, strict=True):
        stale.setdefault(inlet, []).append(item)
    parts = parts_from(row, body, "coverage")
    columns = {"name": name, "watermarks": json.loads(row.watermarks), "position": json.loads(row.cursor), **parts}
    made = [_restore_output(plain, body["spec"], parts.get("coverage", [])) for plain in body.get("made", ())]
    known = from_plain({**body, **columns, "stale": {**stale, **body.get("stale", {})}, "made": made}, AssetState)
    return replace(known, spec=bound(known.spec))


def _shorten_output(plain: list[Any], output: DefinitionOutput, asset: AssetState) -> list[Any]:
    """The JSON of an output, without the spec's own definition and the whole coverage, which the row has already."""
    definition, since, partitions, *rest = plain
    same = output.definition == asset.spec.definition
    whole = bool(output.partitions) and output.partitions == asset.coverage
    return [None if same else definition, since, _ALL if whole else partitions, *rest]


def _restore_output(plain: list[Any], spec: Mapping[str, Any], coverage: object) -> list[Any]:
    """Undoes `_shorten_output`."""
    definition, since, partitions, *rest = plain
    return [definition or spec["definition"], since, coverage if partitions == _ALL else partitions, *rest]


_ALL = "all"
"""Stands for the asset's whole coverage in the stored form of an output, which would repeat it."""


def _dataset_row(dataset: DatasetState, state: State) -> SnapshotRow:
    """The snapshot's row of a dataset."""
    body = {name: getattr(dataset, name) for name in ("seq", "at", "touched", "gone", "confirmed")}
    body = to_plain(body) | _recent_to(dataset.recent)
    if dataset.coverage:
        body |= beside_columns(dataset.coverage)
    return SnapshotRow(
        asset=None,
        uri=dataset.uri,
        seq=state.seq,
        commit=state.commit,
        **columns_to(dataset.coverage),
        body=body_to(body),
    )


def _dataset(uri: str, row: SnapshotRow, body: dict[str, Any]) -> DatasetState:
    """The dataset of a snapshot's row."""
    columns = {"uri": uri, **parts_from(row, body, "coverage")}
    recent = _recent_from(uri, body.pop("recent"), body.pop("packed", ()))
    return replace(from_plain(body | columns, DatasetState), recent=recent)


def _recent_to(recent: RecentEvents[EventRef]) -> dict[str, Any]:
    """Encodes the newest events one by one, and older ones in packs, which are encoded only once."""
    packed = [[pack.first, pack.last, pack.count, pack.encoded_text(_pack_to)] for pack in recent.packs]
    return {"recent": [_ref_to(ref) for ref in recent.loose], **({"packed": packed} if packed else {})}


def _recent_from(uri: str, loose: Iterable[Any], packed: Iterable[Any]) -> RecentEvents[EventRef]:
    """The remembered events of a dataset; packs stay encoded until one of their events is needed."""
    read = partial(_pack_from, uri)
    packs = tuple(EventPack(*numbers, text=text, read=read) for *numbers, text in packed)
    return RecentEvents(packs).with_events(_ref_from(uri, ref) for ref in loose)


def _pack_to(refs: Sequence[EventRef]) -> str:
    """Encodes a pack of events: compressed JSON, as text."""
    text = json.dumps([_ref_to(ref) for ref in refs], separators=(",", ":"))
    return b64encode(zlib.compress(text.encode(), level=1)).decode()


def _pack_from(uri: str, text: str) -> tuple[EventRef, ...]:
    """Decodes the events of `_pack_to`.

    Raises:
        StateError: The text is damaged.
    """
    try:
        return tuple(_ref_from(uri, ref) for ref in json.loads(zlib.decompress(b64decode(text))))
    except (ValueError, TypeError, IndexError, zlib.error) as error:
        raise _damaged_row_error(uri, error) from error


def _ref_to(ref: EventRef) -> list[Any]:
    """Encodes one remembered event as a list without its URI, which the row has."""
    return [ref.seq, ref.asset, ref.at, flat_to(ref.parts), dict(ref.extra), ref.run, ref.interval]


def _ref_from(uri: str, ref: Sequence[Any]) -> EventRef:
    """Decodes an event of `_ref_to`."""
    seq, asset, at, flat, extra, run, interval = ref
    return EventRef(seq, uri, asset, at, flat_from(flat), extra, run, interval and (interval[0], interval[1]))


def upgrade_entry_row(row: JournalRow) -> JournalRow:
    """The row of the same entry in the present format.

    Raises:
        StateError: The row is damaged or newer, or the upgraded row would not decode to the same entry.
    """
    if not _is_older(row.body):
        return row
    upgraded = to_row(from_row(row))
    if from_row(upgraded) != from_row(row):
        raise StateError(f"journal entry {row.seq} would not be the same in format {FORMAT}; nothing was changed")
    return upgraded


def upgrade_snapshot_row(row: SnapshotRow) -> SnapshotRow:
    """The snapshot's row of the same asset or dataset in the present format.

    Raises:
        StateError: The row is damaged or newer, or the upgraded row would not decode to the same state.
    """
    if not _is_older(row.body):
        return row
    state = decode([row], journal_id="")
    upgraded = encode(state)[0]
    if decode([upgraded], journal_id="") != state:
        name = row.asset or row.uri
        raise StateError(f"the snapshot's row of {name!r} would not be the same in format {FORMAT}")
    return replace(upgraded, seq=row.seq, commit=row.commit)


def _is_older(body: str) -> bool:
    """Whether the body was written in an older format."""
    version = json.loads(body)["v"]
    return isinstance(version, int) and version < FORMAT

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
from sparkassets.core.journal.codec.formats import decode_body, encode_body
from sparkassets.core.journal.codec.row_values import (
    bind_spec,
    encode_extra,
    make_partition_body,
    make_partition_columns,
    stored_partitions,
    unbind_spec,
)
from sparkassets.core.journal.digest_marks import DigestMark
from sparkassets.core.journal.recent_events import EventPack, RecentEvents
from sparkassets.core.journal.rows import FORMAT, JournalRow, SnapshotRow
from sparkassets.core.journal.state import AssetState, DatasetState, EventRef, State
from sparkassets.core.partitions import StampedPartitions
from sparkassets.core.partitions.json_form import decode_flat, encode_flat, from_plain, to_plain
from sparkassets.errors import StateError
from sparkassets.frozen import replace


def encode(state: State) -> list[SnapshotRow]:
    """The rows of ``state``: assets first, then datasets, then one of neither for what the project as a whole has."""
    return [
        *(_encode_asset(asset, state) for asset in state.assets.values()),
        *(_encode_dataset(dataset, state) for dataset in state.datasets.values()),
        *([_encode_digests(state)] if state.digests else []),
    ]


def decode(rows: Iterable[SnapshotRow], *, journal_id: str) -> State:
    """The state of a snapshot; an empty one without rows.

    Raises:
        StateError: A row is damaged or of a newer format.
    """
    assets: dict[str, AssetState] = {}
    datasets: dict[str, DatasetState] = {}
    digests: Mapping[str, DigestMark] = {}
    seq = commit = 0
    for row in rows:
        seq, commit = row.seq, row.commit  # the same in all rows: those of the whole snapshot
        try:
            body = decode_body(row, "dataset" if row.asset is None else "asset", what="the snapshot")
            if row.asset is not None:
                assets[row.asset] = _decode_asset(row.asset, row, body)
            elif row.uri is None:  # neither asset nor dataset: the row of the project as a whole
                digests = from_plain(body["digests"], dict[str, DigestMark])
            else:
                datasets[row.uri or ""] = _decode_dataset(row.uri or "", row, body)
        except (ValueError, KeyError, TypeError, IndexError, msgspec.MsgspecError) as error:
            raise _damaged_row_error(row.asset or row.uri, error) from error
    sorted_assets = sorted(assets.values(), key=lambda each: each.name)
    return State(
        journal_id,
        seq,
        commit,
        assets,
        datasets,
        _consumers_by_dataset(sorted_assets),
        _triggered_by_dataset(sorted_assets),
        digests,
    )


def _damaged_row_error(name: str | None, error: Exception) -> StateError:
    """The error for a snapshot row that cannot be decoded; the journal can rebuild the snapshot."""
    return StateError(
        f"the snapshot's row of {name!r} is damaged: {error}",
        hint="delete the state's folder `watermarks`; it is rebuilt from the journal",
    )


def _consumers_by_dataset(assets: Iterable[AssetState]) -> dict[str, tuple[tuple[str, str], ...]]:
    """By dataset, the (asset, inlet) pairs that read it, sorted; `State.consumers` is derived and not stored."""
    consumers: dict[str, tuple[tuple[str, str], ...]] = {}
    for asset in assets:
        for uri in asset.spec.listens:
            pairs = ((asset.name, inlet) for inlet in sorted(asset.spec.readers(uri)))
            consumers[uri] = (*consumers.get(uri, ()), *pairs)
    return consumers


def _triggered_by_dataset(assets: Iterable[AssetState]) -> dict[str, tuple[str, ...]]:
    """By dataset, the assets that its events trigger or triggered; `State.triggered` is derived and not stored."""
    triggered: dict[str, tuple[str, ...]] = {}
    for asset in assets:
        for uri in (*asset.spec.named, *asset.former_triggers):
            triggered[uri] = (*triggered.get(uri, ()), asset.name)
    return triggered


def _encode_asset(asset: AssetState, state: State) -> SnapshotRow:
    """The snapshot's row of an asset.

    Coverage and stale time are columns, so that people can query them; what segments add to that is in the body.
    """
    stale = [(name, *item) for name, stamped in asset.stale.items() for item in stamped.merged_stamps().items()]
    # inlet, start, end and number of the newest cause: each range is one item of four columns of equal length
    columns = list(zip(*stale, strict=True)) or [(), (), (), ()]
    body = to_plain(replace(asset, spec=unbind_spec(asset.spec), stale=_stale_of_segments(asset.stale)))
    body = {name: value for name, value in body.items() if name not in _IN_COLUMNS}
    if not asset.additions:
        body.pop("additions", None)
    if asset.definition_outputs:
        pairs = zip(body["made"], asset.definition_outputs, strict=True)
        body["made"] = [_shorten_output(plain, output, asset) for plain, output in pairs]
    return SnapshotRow(
        asset=asset.name,
        uri=asset.spec.uri,
        seq=state.seq,
        commit=state.commit,
        **make_partition_columns(asset.coverage),
        stale_inlets=tuple(columns[0]),
        stale_starts=tuple(columns[1]),
        stale_ends=tuple(columns[2]),
        stale_seqs=tuple(columns[3]),
        watermarks=encode_extra(asset.watermarks),
        cursor=encode_extra(asset.position),
        body=encode_body(body | (make_partition_body(asset.coverage) if asset.coverage else {})),
    )


_IN_COLUMNS = {"name", "coverage", "watermarks", "position"}
"""Attributes of an asset that are columns of its row."""


def _stale_of_segments(stale: Mapping[str, StampedPartitions]) -> dict[str, StampedPartitions]:
    """The stale partitions of segments; the columns have only their time, for all segments together."""
    return {inlet: stamped for inlet, stamped in stale.items() if stamped.apart}


def _decode_asset(name: str, row: SnapshotRow, body: dict[str, Any]) -> AssetState:
    """The asset of a snapshot's row.

    Its staleness is in columns and in the body: the columns join all segments, so for an inlet with segments only the
    body is exact, and replaces them. The column ``cursor`` has the position of a source (`AssetState.position`).
    """
    # by inlet, lists of start, end and the number of the newest cause: the stored form of `StampedPartitions`
    stale: dict[str, Any] = {}
    for inlet, *item in zip(row.stale_inlets, row.stale_starts, row.stale_ends, row.stale_seqs, strict=True):
        stale.setdefault(inlet, []).append(item)
    parts = stored_partitions(row, body, "coverage")  # empty without coverage
    columns = {"name": name, "watermarks": json.loads(row.watermarks), "position": json.loads(row.cursor), **parts}
    outputs = [_restore_output(plain, body["spec"], parts.get("coverage", [])) for plain in body.get("made", ())]
    asset = from_plain({**body, **columns, "stale": {**stale, **body.get("stale", {})}, "made": outputs}, AssetState)
    # the stored inlets lack the asset's own partitioning, which would repeat in each of them
    return replace(asset, spec=bind_spec(asset.spec))


def _shorten_output(plain: list[Any], output: DefinitionOutput, asset: AssetState) -> list[Any]:
    """The JSON list of an output, shortened by what the row has already.

    None stands for the spec's own definition, `_WHOLE_COVERAGE` for partitions that are the asset's whole coverage.
    """
    definition, since, partitions, *rest = plain
    is_own_definition = output.definition == asset.spec.definition
    is_whole_coverage = bool(output.partitions) and output.partitions == asset.coverage
    return [
        None if is_own_definition else definition,
        since,
        _WHOLE_COVERAGE if is_whole_coverage else partitions,
        *rest,
    ]


def _restore_output(plain: list[Any], spec: Mapping[str, Any], coverage: object) -> list[Any]:
    """Undoes `_shorten_output`."""
    definition, since, partitions, *rest = plain
    return [definition or spec["definition"], since, coverage if partitions == _WHOLE_COVERAGE else partitions, *rest]


_WHOLE_COVERAGE = "all"
"""Stands for the asset's whole coverage in the stored form of an output, which would repeat it."""


def _encode_dataset(dataset: DatasetState, state: State) -> SnapshotRow:
    """The snapshot's row of a dataset."""
    body = {name: getattr(dataset, name) for name in ("seq", "at", "touched", "gone", "confirmed")}
    # the coverage is in columns as far as these can hold it, and events have a shorter form of their own
    body = to_plain(body) | _encode_recent(dataset.recent)
    if dataset.coverage:
        body |= make_partition_body(dataset.coverage)
    return SnapshotRow(
        asset=None,
        uri=dataset.uri,
        seq=state.seq,
        commit=state.commit,
        **make_partition_columns(dataset.coverage),
        body=encode_body(body),
    )


def _encode_digests(state: State) -> SnapshotRow:
    """The snapshot's row of how far digests were sent."""
    body = encode_body({"digests": to_plain(state.digests)})
    return SnapshotRow(None, None, None, state.seq, state.commit, body=body)


def _decode_dataset(uri: str, row: SnapshotRow, body: dict[str, Any]) -> DatasetState:
    """The dataset of a snapshot's row."""
    columns = {"uri": uri, **stored_partitions(row, body, "coverage")}
    recent = _decode_recent(uri, body.pop("recent"), body.pop("packed", ()))
    return replace(from_plain(body | columns, DatasetState), recent=recent)


def _encode_recent(recent: RecentEvents[EventRef]) -> dict[str, Any]:
    """Encodes the newest events one by one, and older ones in packs, which are encoded only once."""
    packed = [[pack.first, pack.last, pack.count, pack.encoded_text(_encode_pack)] for pack in recent.packs]
    return {"recent": [_encode_event(ref) for ref in recent.loose], **({"packed": packed} if packed else {})}


def _decode_recent(uri: str, loose: Iterable[Any], packed: Iterable[Any]) -> RecentEvents[EventRef]:
    """The remembered events of a dataset; packs stay encoded until one of their events is needed."""
    decode = partial(_decode_pack, uri)
    packs = tuple(EventPack(*numbers, text=text, decode=decode) for *numbers, text in packed)
    return RecentEvents(packs).with_events(_decode_event(uri, ref) for ref in loose)


def _encode_pack(refs: Sequence[EventRef]) -> str:
    """Encodes a pack of events: compressed JSON, as text."""
    text = json.dumps([_encode_event(ref) for ref in refs], separators=(",", ":"))
    return b64encode(zlib.compress(text.encode(), level=1)).decode()


def _decode_pack(uri: str, text: str) -> tuple[EventRef, ...]:
    """Decodes the events of `_encode_pack`.

    Raises:
        StateError: The text is damaged.
    """
    try:
        return tuple(_decode_event(uri, ref) for ref in json.loads(zlib.decompress(b64decode(text))))
    except (ValueError, TypeError, IndexError, zlib.error) as error:
        raise _damaged_row_error(uri, error) from error


def _encode_event(ref: EventRef) -> list[Any]:
    """Encodes one remembered event as a list without its URI, which the row has."""
    return [ref.seq, ref.asset, ref.at, encode_flat(ref.parts), dict(ref.extra), ref.run, ref.interval]


def _decode_event(uri: str, ref: Sequence[Any]) -> EventRef:
    """Decodes an event of `_encode_event`."""
    seq, asset, at, flat, extra, run, interval = ref
    return EventRef(seq, uri, asset, at, decode_flat(flat), extra, run, interval and (interval[0], interval[1]))


def upgrade_entry_row(row: JournalRow) -> JournalRow:
    """The row of the same entry in the present format.

    Raises:
        StateError: The row is damaged or newer, or the upgraded row would not decode to the same entry.
    """
    if not _is_older(row.body):
        return row
    # the upgrade is read back and compared before anything is written, as the old row is replaced
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
    state = decode([row], journal_id="")  # a state of this one asset or dataset
    upgraded = encode(state)[0]
    if decode([upgraded], journal_id="") != state:
        name = row.asset or row.uri
        raise StateError(f"the snapshot's row of {name!r} would not be the same in format {FORMAT}")
    return replace(upgraded, seq=row.seq, commit=row.commit)


def _is_older(body: str) -> bool:
    """Whether the body was written in an older format."""
    version = json.loads(body)["v"]
    return isinstance(version, int) and version < FORMAT

"""Inlets by values, ``partitions: {from: column}``: the partitions that a column of the inlet's rows makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final
from urllib.parse import quote

from sparkassets.core.known_columns import KnownColumns
from sparkassets.core.partitions import OverlapMapping, Partitioning, SegmentMatch, SegmentPartition, holds_segments
from sparkassets.core.patterns import PathPattern
from sparkassets.core.phrases import listing
from sparkassets.core.spec.drafts import AssetDraft
from sparkassets.core.spec.partition_mappings import DeclaredMapping
from sparkassets.core.spec.yaml_document import DocumentPlace

_TIMES: Final = frozenset({"date", "timestamp", "timestamp_ntz", "timestamp_ltz", "string"})


def from_column(written: object) -> str | None:
    """The column of ``{from: column}``; None for all else that ``partitions`` may say.

    >>> from_column({"from": "event_day"}), from_column({"from": ["a"]}), from_column("all")
    ('event_day', None, None)
    """
    match written:
        case {"from": str(column), **others} if not others:
            return column
    return None


def compile_view(
    at: DocumentPlace, column: str, down: AssetDraft, up: AssetDraft, *, columns: KnownColumns | None
) -> tuple[Partitioning, DeclaredMapping] | None:
    """The partitions that the column's values form, and how partitions match them; None, with a problem, if impossible.

    The column is that of the consumer's time, or of its only segments. Its other segments match by column where the
    inlet has such segments itself.

    Args:
        at: Where the column stands.
        column: A column of the inlet's rows.
        down: The consumer.
        up: The inlet.
        columns: All columns of the inlet, where they are known.
    """
    own = down.partitioning
    if refused := _explain_view_refusal(down, up):
        at.add_key_problem(refused[0], hint=refused[1])
        return None
    if refused := _refusal_of_files(column, down, up):
        at.add_problem(refused[0], hint=refused[1])
        return None
    if columns is not None and (lacking := columns.refuse(column)):
        at.add_problem(lacking[0], hint=lacking[1])
        return None
    if own.time is None:
        (segments,) = own.segments
        theirs = SegmentPartition(column, segments.keys, segments.is_open)
        return Partitioning(None, (theirs,)), DeclaredMapping(
            OverlapMapping(), (SegmentMatch(segments.column, column),)
        )
    shared = tuple(
        theirs
        for theirs in up.partitioning.segments
        if theirs.column.lower() != column.lower() and any(theirs.same_column(ours) for ours in own.segments)
    )
    return Partitioning(replace(own.time, column=column, start=None, end=None), shared), DeclaredMapping()


def view_identity(asset: str, view: Partitioning) -> str:
    """By which a view of an asset is known.

    >>> from sparkassets.core.partitions import TimePartition
    >>> view_identity("raw", Partitioning(TimePartition("day", "Europe/Berlin", column="event_day")))
    'sparkassets:raw/event_day?by=day&timezone=Europe/Berlin'
    """
    names, grid = "/".join(quote(column, safe="") for column in view.columns), dict[str, str]()
    if view.time is not None:
        grid = {"by": str(view.time.by), "timezone": view.time.timezone}
        grid |= {"offset": str(view.time.offset)} if view.time.offset else {}
        grid |= {"exclude": view.time.exclude} if view.time.exclude else {}
    grid |= {"segments": "runtime"} if view.is_open else {}
    asked = "&".join(f"{key}={quote(value)}" for key, value in grid.items())
    return f"sparkassets:{asset}/{names}{'?' if asked else ''}{asked}"


def _explain_view_refusal(down: AssetDraft, up: AssetDraft) -> tuple[str, str | None] | None:
    """Why an asset's blocks cannot go by values of that inlet, with a hint; None where they can."""
    own = down.partitioning
    if up.is_known_by_events:
        return f"{up.name!r} is known by its events only: it has no rows whose values could be asked", None
    if up.source is not None and up.source.kind == "tables":
        return f"values are asked of one table, and {up.name!r} stands for several", None
    if up.keys.table is not None:
        message = f"values are asked of tables at a path only, and {up.name!r} is in a catalog"
        return message, "partition it by that column, or copy it by an asset with a 'path'"
    if not own.is_partitioned:
        return f"'from' maps partitions, but asset {down.name!r} has none", None
    if own.time is None and len(own.segments) > 1:
        dimensions = listing([each.column for each in own.segments], last="and")
        message = f"asset {down.name!r} has segments by {dimensions}: which of them the column holds is not said"
        return message, "values can be asked for an asset with time, or with one dimension of segments"
    return None


def _refusal_of_files(column: str, down: AssetDraft, up: AssetDraft) -> tuple[str, str | None] | None:
    """Why the values of that column cannot be found in the files of a source, with a hint; None where they can."""
    source = up.source
    if source is None or source.kind == "delta" or up.storage is None:
        return None
    fields = PathPattern.parse(up.storage.path, up.partitioning.segment_columns).fields
    if column.lower() in map(str.lower, fields):
        return f"{column!r} is a field of the path of {up.name!r}, by which that is partitioned", "leave 'from' out"
    if source.kind == "parquet":
        return None
    kind = next((kind for name, kind in up.keys.types.items() if name.lower() == column.lower()), None)
    if kind is None and (source.kind == "json" or _is_headless(source.options)):
        return (
            f"the type of {column!r} is not told by the {source.kind} files of {up.name!r}",
            "declare it in 'columns'",
        )
    if not _tells(kind or "string", down.partitioning):
        expected = "a date, a timestamp or text" if down.partitioning.time is not None else "of a type of segments"
        return (
            f"{column!r} of {up.name!r} is {kind}, which tells no partition of {down.name!r}; expected {expected}",
            None,
        )
    return None


def _is_headless(options: Mapping[str, str]) -> bool:
    return any(key.lower() == "header" and value.lower() != "true" for key, value in options.items())


def _tells(kind: str, own: Partitioning) -> bool:
    if own.time is None:
        return holds_segments(kind.lower())
    return kind.lower() in _TIMES and (kind.lower() != "date" or own.time.has_dates)

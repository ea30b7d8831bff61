"""Compiles ``partitions: {from: column}``: the partitions that the values of an inlet's column form."""

from __future__ import annotations

from dataclasses import replace
from typing import Final
from urllib.parse import quote

from sparkassets.core.partitions import (
    OverlapMapping,
    Partitioning,
    SegmentMatch,
    SegmentPartition,
    holds_segments,
)
from sparkassets.core.patterns import PathPattern
from sparkassets.core.phrases import listing
from sparkassets.core.spec.drafts import AssetDraft
from sparkassets.core.spec.partition_mappings import DeclaredMapping
from sparkassets.core.spec.yaml_document import DocumentPlace
from sparkassets.core.suggestions import KnownColumns

_TIME_TYPES: Final = frozenset({"date", "timestamp", "timestamp_ntz", "timestamp_ltz", "string"})


def from_column(written: object) -> str | None:
    """The column of ``{from: column}``; None for any other value of ``partitions``.

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
    """The partitions that the column's values form, and the mapping to them; None, with a problem, if impossible.

    The column holds the consumer's time or, without time, its only segments. Other segments of the consumer match those
    of the inlet by column.

    Args:
        at: The place of the column.
        column: A column of the inlet's rows.
        down: The consumer.
        up: The inlet.
        columns: All columns of the inlet; None where they are unknown.
    """
    partitioning = down.partitioning
    if refusal := _explain_view_refusal(down, up):
        at.add_key_problem(refusal[0], hint=refusal[1])
        return None
    if refusal := _explain_file_refusal(column, down, up):
        at.add_problem(refusal[0], hint=refusal[1])
        return None
    if columns is not None and (missing := columns.find_problem(column)):
        at.add_problem(missing[0], hint=missing[1])
        return None
    if partitioning.time is None:
        (segments,) = partitioning.segments
        inlet_dimension = SegmentPartition(column, segments.keys, segments.is_open)
        return Partitioning(None, (inlet_dimension,)), DeclaredMapping(
            OverlapMapping(), (SegmentMatch(segments.column, column),)
        )
    shared = tuple(
        inlet_dimension
        for inlet_dimension in up.partitioning.segments
        if inlet_dimension.column.lower() != column.lower()
        and any(inlet_dimension.same_column(own_dimension) for own_dimension in partitioning.segments)
    )
    return Partitioning(replace(partitioning.time, column=column, start=None, end=None), shared), DeclaredMapping()


def view_identity(asset: str, view: Partitioning) -> str:
    """The URI of a view's dataset; it changes with the view's columns, grain, zone and exclusions.

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
    query = "&".join(f"{key}={quote(value)}" for key, value in grid.items())
    return f"sparkassets:{asset}/{names}{'?' if query else ''}{query}"


def _explain_view_refusal(down: AssetDraft, up: AssetDraft) -> tuple[str, str | None] | None:
    """Why the consumer's partitions cannot be mapped by values of that inlet, with a hint; None where they can."""
    partitioning = down.partitioning
    if up.is_known_by_events:
        return f"{up.name!r} is known only by its events, so its values cannot be queried", None
    if up.source is not None and up.source.kind == "tables":
        return f"'from' queries a single table, but {up.name!r} stands for several", None
    if up.keys.table is not None:
        message = f"'from' needs a table at a path, but {up.name!r} is in a catalog"
        return message, "partition it by that column, or copy it into an asset with a 'path'"
    if not partitioning.is_partitioned:
        return f"'from' maps partitions, but asset {down.name!r} has none", None
    if partitioning.time is None and len(partitioning.segments) > 1:
        dimensions = listing([each.column for each in partitioning.segments], last="and")
        message = (
            f"asset {down.name!r} has segments by {dimensions}: 'from' does not say which of them the column contains"
        )
        return message, "'from' works for assets partitioned by time, or by one dimension of segments"
    return None


def _explain_file_refusal(column: str, down: AssetDraft, up: AssetDraft) -> tuple[str, str | None] | None:
    """Why values of that column cannot be looked up in a source's files, with a hint; None where they can."""
    source = up.source
    if source is None or source.kind == "delta" or up.storage is None:
        return None
    fields = PathPattern.parse(up.storage.path, up.partitioning.segment_columns).fields
    if column.lower() in map(str.lower, fields):
        message = f"{column!r} is a field in the path of {up.name!r}, which is already partitioned by it"
        return message, "leave 'from' out"
    file_format = source.files
    if file_format is None or file_format.has_statistics:
        return None
    kind = {name.lower(): kind for name, kind in up.keys.known_types.items()}.get(column.lower())
    if kind is None and not file_format.has_header(source.options):
        message = f"the {source.kind} files of {up.name!r} do not declare the type of {column!r}"
        return message, "declare it in 'columns'"
    if _can_hold_partitions(kind or "string", down.partitioning):
        return None
    expected = "of a type of segments" if down.partitioning.time is None else "a date, a timestamp or text"
    return f"{column!r} of {up.name!r} is {kind}, but partitions of {down.name!r} need {expected}", None


def _can_hold_partitions(kind: str, partitioning: Partitioning) -> bool:
    """Whether values of a type tell the partition of a row; dates do not tell hours."""
    if partitioning.time is None:
        return holds_segments(kind.lower())
    return kind.lower() in _TIME_TYPES and (kind.lower() != "date" or partitioning.time.has_dates)

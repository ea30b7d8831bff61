"""Inlets by values, ``partitions: {from: column}``: the partitions that a column of the inlet's rows makes."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote

from sparkassets.core.columns import KnownColumns
from sparkassets.core.partitions import Match, Overlap, Partitioning, SegmentPartition
from sparkassets.core.phrases import listing
from sparkassets.core.spec.document import At
from sparkassets.core.spec.drafts import AssetDraft
from sparkassets.core.spec.mappings import Said


def from_column(written: object) -> str | None:
    """The column of ``{from: column}``; None for all else that ``partitions`` may say.

    >>> from_column({"from": "event_day"}), from_column({"from": ["a"]}), from_column("all")
    ('event_day', None, None)
    """
    match written:
        case {"from": str(column), **others} if not others:
            return column
    return None


def view_of(
    at: At, column: str, down: AssetDraft, up: AssetDraft, *, columns: KnownColumns | None
) -> tuple[Partitioning, Said] | None:
    """The partitions that the column's values make, and how blocks match them; None, with a problem, where they cannot.

    The column is that of the consumer's time, or of its only segments. Its other segments match by column where the
    inlet has such segments itself.

    Args:
        at: Where the column stands.
        column: Of the inlet's rows.
        down: The consumer.
        up: The inlet.
        columns: That the inlet is known to have.
    """
    own = down.partitioning
    if refused := _refusal(down, up):
        at.key_problem(refused[0], hint=refused[1])
        return None
    if columns is not None and (lacking := columns.refuse(column)):
        at.problem(lacking[0], hint=lacking[1])
        return None
    if own.time is None:
        (segments,) = own.segments
        theirs = SegmentPartition(column, segments.keys)
        return Partitioning(None, (theirs,)), Said(Overlap(), (Match(segments.column, column),))
    shared = tuple(
        theirs
        for theirs in up.partitioning.segments
        if theirs.column.lower() != column.lower()
        and not theirs.is_open
        and any(theirs.same_column(ours) for ours in own.segments)
    )
    return Partitioning(replace(own.time, column=column, start=None, end=None), shared), Said()


def identity(asset: str, view: Partitioning) -> str:
    """By which a view of an asset is known.

    >>> from sparkassets.core.partitions import TimePartition
    >>> identity("raw", Partitioning(TimePartition("day", "Europe/Berlin", column="event_day")))
    'sparkassets:raw/event_day?by=day&timezone=Europe/Berlin'
    """
    names = "/".join(quote(column, safe="") for column in view.columns)
    grid = f"?by={quote(str(view.time.by))}&timezone={quote(view.time.timezone)}" if view.time is not None else ""
    return f"sparkassets:{asset}/{names}{grid}"


def _refusal(down: AssetDraft, up: AssetDraft) -> tuple[str, str | None] | None:
    """Why an asset's blocks cannot go by values of that inlet, with a hint; None where they can."""
    own = down.partitioning
    if up.source is not None and up.source.kind == "events":
        return f"{up.name!r} is known by its events only: it has no rows whose values could be asked", None
    if up.source is not None and up.source.kind != "delta":
        message = f"values are asked of Delta tables only, and the source {up.name!r} is of {up.source.kind} files"
        return message, f"copy {up.name!r} into a table by an asset of its own partitions, and ask that one"
    if up.keys.table is not None:
        message = f"values are asked of tables at a path only, and {up.name!r} is in a catalog"
        return message, "partition it by that column, or copy it by an asset with a 'path'"
    if not own.is_partitioned:
        return f"'from' maps partitions, but asset {down.name!r} has none", None
    if own.time is None and len(own.segments) > 1:
        dimensions = listing([each.column for each in own.segments], last="and")
        message = f"asset {down.name!r} has segments by {dimensions}: which of them the column holds is not said"
        return message, "values can be asked for an asset with time, or with one dimension of segments"
    if own.time is None and own.is_open:
        message = f"the segments of asset {down.name!r} come to be known as it runs: no values can be looked for"
        return message, "list them"
    return None

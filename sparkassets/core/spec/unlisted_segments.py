"""Segments that no inlet lists: only rows of a run make them known, so no query may ask for those of its run.

A join with the known ones would leave out the rows of all others (docs/design/partitions.md#discovered-segments).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from sparkassets.core.partitions import Dependency
from sparkassets.core.phrases import listing
from sparkassets.core.query_outline import NamedMember, QueryOutline
from sparkassets.core.spec.model import InletSpec
from sparkassets.errors import TextFault

if TYPE_CHECKING:
    from sparkassets.core.spec.drafts import AssetDraft, AssetFiles


def find_segments_from_rows(draft: AssetDraft, inlets: Mapping[str, InletSpec], files: AssetFiles) -> tuple[str, ...]:
    """The columns of open dimensions whose segments only the rows of the asset's runs make known.

    Such a dimension is none of any inlet. An asset that reads no rows has none.
    """
    own = draft.partitioning
    reads = any(not each.waits_only and not each.is_foreign_key_only for each in inlets.values())
    if not own.is_open or not reads or not draft.are_reliable("partition", "inlets"):
        return ()
    needs = [
        Dependency(each.mapping, own, each.view or files.drafts[each.name].partitioning, each.matches)
        for each in inlets.values()
    ]
    shared = {ours.column for need in needs for ours, _ in need.shared_segment_dimensions}
    return tuple(each.column for each in own.segments if each.is_open and each.in_rows and each.column not in shared)


def find_unlisted_segments(
    outline: QueryOutline, *, from_rows: Collection[str], dimensions: Collection[str]
) -> list[TextFault]:
    """Where a template names segments that only rows make known; its SQL is not parsed here.

    Args:
        outline: Of the template.
        from_rows: The columns of such segments.
        dimensions: The names of all dimensions of the asset.
    """
    listed = [each for each in dimensions if each not in from_rows]
    faults = [
        each.fault(*refuse_unlisted_segments("partition", each.path[1], listed))
        for each in outline.members
        if each.path[0] == "partition" and each.path[1] in from_rows
    ]
    if outline.partitions is not None and from_rows and not listed:
        whole = NamedMember(("partitions",), *outline.partitions)
        faults.append(whole.fault(*refuse_unlisted_segments("partitions", min(from_rows), listed)))
    return faults


def refuse_unlisted_segments(owner: str, column: str, others: Collection[str]) -> tuple[str, str]:
    """Why no query can ask for segments of its run that only rows make known, and what to write instead.

    Args:
        owner: The name in the template, or the alias, that does not have them.
        column: Of these segments.
        others: The dimensions that it has.
    """
    instead = f"use only {listing(others, last='and')}" if others else "leave it out"
    how = "by its own partition" if others else "such as by partitions: {from: <column>}"
    message = f"{owner!r} has no {column!r}: no inlet lists its segments, so rows of new segments would be lost"
    return message, f"{instead}, and a run keeps all rows; or let an inlet list the segments, {how}"

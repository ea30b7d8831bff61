"""Checks the segment keys of a file: their form, and whether their column's type can hold them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from sparkassets.core.partitions import Dependency, holds_segments, segment_of, segment_value
from sparkassets.core.phrases import listing
from sparkassets.core.spec.drafts import AssetDraft, AssetFiles
from sparkassets.core.spec.model import InletSpec
from sparkassets.core.spec.yaml_document import DocumentPlace

_DECIMAL: Final = re.compile(r"(?:decimal|dec|numeric)(?:\((\d+)(?:,(\d+))?\))?")
_TEXT: Final = re.compile(r"varchar\(\d+\)")


def check_keys(at: DocumentPlace, keys: Sequence[str]) -> None:
    """Refuses an empty list, an empty key, and one that stands there twice.

    Args:
        at: The list.
        keys: As they are written, in order.
    """
    if not keys:
        at.add_problem("the list of segments is empty, so that nothing is wanted", hint="write segments: [<key>, …]")
    first: dict[str, int] = {}
    for index, key in enumerate(keys):
        if not key:
            (at / index).add_problem("the key of a segment cannot be empty")
        elif first.setdefault(key, index) != index:
            (at / index).add_problem(f"the segment {key!r} is listed twice")


def check_types(at: DocumentPlace, keys: Sequence[str], *, column: str, declared: str) -> None:
    """Refuses keys that the column cannot hold, or that it holds as another text.

    Args:
        at: The list.
        keys: As they are written, in order.
        column: That holds them.
        declared: Its type, as Spark SQL names it.
    """
    kind = _kind(declared)
    if not holds_segments(kind):
        message = f"the column {column!r} is declared as {declared!r}, whose values have no text that could be a key"
        at.add_problem(message, hint="segments are strings, whole numbers, decimals, dates or booleans")
        return
    for index, key in enumerate(keys):
        if segment_value(key, kind) is None:
            own = segment_of(key, kind)
            told = f"such a value is told as {own!r}" if own not in (None, key) else None
            message = f"{key!r} is no value of the column {column!r}, which is declared as {declared!r}"
            (at / index).add_problem(message, hint=told)


def _kind(declared: str) -> str:
    """A type's name as Spark and Delta have it.

    >>> _kind("NUMERIC( 9 )"), _kind("dec(9, 2)"), _kind("varchar(3)"), _kind("Int")
    ('decimal(9,0)', 'decimal(9,2)', 'string', 'int')
    """
    plain = "".join(declared.lower().split())
    if found := _DECIMAL.fullmatch(plain):
        return f"decimal({found[1] or 10},{found[2] or 0})"
    return "string" if _TEXT.fullmatch(plain) else plain


def warn_of_left_out(draft: AssetDraft, inlets: Mapping[str, InletSpec], files: AssetFiles) -> None:
    """Warns of a query that silently drops rows of unknown segments, because it joins the segments of the run."""
    own = draft.partitioning
    needs = [
        Dependency(each.mapping, own, each.view or files.drafts[each.name].partitioning, each.matches)
        for each in inlets.values()
    ]
    told = {ours.column for need in needs for ours, _ in need.shared_segment_dimensions}
    untold = [column for column in own.open_columns if column not in told]
    if not untold or not inlets or draft.keys.strategy == "every_instance":
        return
    (draft.at / "partition").add_warning(
        f"no inlet tells the segments by {listing(untold)}, and the query joins {{{{ partitions }}}}: once some are "
        "known, rows of others are left out",
        hint="leave the join out, and new segments become known by their rows; or let an inlet tell them, such as by "
        "partitions: {from: <column>}",
    )

"""How the segments of a consumer's blocks match those of an inlet's partitions: a pair of columns, or a map of keys."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from sparkassets.core.partitions.partitioning import Partitioning
from sparkassets.frozen import frozen

KeyMap = tuple[tuple[str, tuple[str, ...]], ...]
"""The inlet's keys that each of the consumer's keys needs; both ascending."""


@frozen(array_like=True)
class SegmentMatch:
    """A dimension of the consumer and the one of the inlet that it goes by.

    Attributes:
        column: Of the consumer.
        inlet: Of the inlet.
        keys: A key of the consumer that is not there needs nothing. None where each needs the key of its own name.
    """

    column: str
    inlet: str
    keys: KeyMap | None = None


@frozen
class SegmentLink:
    """Where matched dimensions are in the tuples on both sides of a way, and what keys lead to.

    Attributes:
        have, want: Positions in the tuples that are carried, and that they are carried to.
        keys: Each key to those that it leads to; None where each leads to itself.
    """

    have: int
    want: int
    keys: Mapping[str, Sequence[str]] | None = None


def match_by_column(consumer: Partitioning, inlet: Partitioning) -> tuple[SegmentMatch, ...]:
    """The matches of dimensions of the same column, in the order of the inlet; Spark's names know no case."""
    return tuple(
        SegmentMatch(ours.column, theirs.column)
        for theirs in inlet.segments
        for ours in consumer.segments
        if ours.same_column(theirs)
    )


def segment_links(
    matches: Sequence[SegmentMatch], consumer: Partitioning, inlet: Partitioning, *, up: bool
) -> list[SegmentLink]:
    """The way from blocks to what they need (``up``), or back, in the order of what they are carried to."""
    ours, theirs = _positions(consumer), _positions(inlet)
    found = []
    for match in matches:
        down, other = ours[match.column.lower()], theirs[match.inlet.lower()]
        keys = match.keys if up or match.keys is None else invert_keys(match.keys)
        have, want = (down, other) if up else (other, down)
        found.append(SegmentLink(have, want, None if keys is None else dict(keys)))
    return sorted(found, key=lambda link: link.want)


def invert_keys(keys: KeyMap) -> KeyMap:
    """The same the other way round.

    >>> invert_keys((("apac", ("jp",)), ("emea", ("de", "jp"))))
    (('de', ('emea',)), ('jp', ('apac', 'emea')))
    """
    found: defaultdict[str, list[str]] = defaultdict(list)
    for key, others in keys:
        for other in others:
            found[other].append(key)
    return tuple((key, tuple(sorted(found[key]))) for key in sorted(found))


def _positions(partitioning: Partitioning) -> dict[str, int]:
    return {each.column.lower(): i for i, each in enumerate(partitioning.segments)}

"""Compiles the key `partitions` of an inlet: how its partitions map, by name or by a column's values."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from itertools import chain
from typing import Final

from sparkassets.core.partitions import (
    NamedMapping,
    NewestMapping,
    PartitionError,
    Partitioning,
    PartitionMapping,
    PartitionSet,
    SegmentMatch,
    SegmentPartition,
    WholeMapping,
    match_by_column,
)
from sparkassets.core.phrases import listing
from sparkassets.core.spec.yaml_document import DocumentPlace
from sparkassets.core.suggestions import did_you_mean, find_nearest
from sparkassets.frozen import frozen

KeyMap = Mapping[str, list[str]]
"""The inlet's keys that each key needs."""
PartitionsMap = dict[str, str | list[str] | dict[str, list[str] | dict[str, list[str]]]]
"""A map of keys, or of dimensions to the options of each."""
_TIME_MAPPINGS: Final[Mapping[str, PartitionMapping]] = {"all": WholeMapping(), "latest": NewestMapping()}


@frozen
class MappedAsset:
    """One side of a mapping: the consumer or the inlet.

    Attributes:
        name: The asset's name.
        partitioning: Its partitions.
    """

    name: str
    partitioning: Partitioning

    @property
    def segments(self) -> tuple[SegmentPartition, ...]:
        """The asset's dimensions of segments."""
        return self.partitioning.segments

    def dimension(self, column: str) -> SegmentPartition | None:
        """The dimension of segments with that column, ignoring case; None if there is none."""
        return next((each for each in self.segments if each.column.lower() == column.lower()), None)


@frozen
class DeclaredMapping:
    """The mapping as the YAML declares it.

    Attributes:
        time: The mapping of time; None where none is declared.
        matches: The matches of segments; None where none are declared.
    """

    time: PartitionMapping | None = None
    matches: tuple[SegmentMatch, ...] | None = None


def read_mapping(
    at: DocumentPlace, written: str | list[str] | PartitionsMap | None, down: MappedAsset, up: MappedAsset
) -> DeclaredMapping:
    """Reads ``partitions`` of an inlet; mistakes become problems.

    Args:
        at: The place of ``partitions``.
        written: ``all``, ``latest``, a list of partitions, or a map of keys or of dimensions. None and ``aligned``
            declare no mapping.
        down: The consumer.
        up: The inlet.
    """
    match written:
        case "all":
            return DeclaredMapping(WholeMapping(), ())
        case "latest":
            _check_newest(at, up)
            return DeclaredMapping(NewestMapping())
        case list():
            return DeclaredMapping(_read_named_partitions(at, written, up), ())
        case dict():
            return _MappingReader(at, down, up).read_map(written)
    return DeclaredMapping()


def _read_named_partitions(at: DocumentPlace, written: Sequence[str], up: MappedAsset) -> NamedMapping:
    """The inlet partitions that a list names; a key that is none becomes a problem."""
    partitions = []
    for index, key in enumerate(written):
        try:
            partitions.append(up.partitioning.parse(key, learns=True))
        except PartitionError as error:
            (at / index).add_problem(f"of asset {up.name!r}: {error.args[0]}", hint=error.hint)
    return NamedMapping(PartitionSet.union(partitions))


def _check_newest(at: DocumentPlace, up: MappedAsset) -> None:
    """Refuses ``latest`` for an inlet without time, which has no newest partition."""
    if up.partitioning.time is None:
        message = f"'latest' needs time partitions, but asset {up.name!r} is not partitioned by time"
        at.add_problem(message, hint="leave it out: an inlet is always read at its newest version")


class _MappingReader:
    """Reads a map of ``partitions``, key by key.

    Attributes:
        time: The mapping of time; None until the map declares one.
        by_column: Consumer's column to the match with the inlet's dimension of the same column, which holds by default.
        found: Consumer's column to the match that the map declares.
        whole: Columns of the consumer's dimensions that are ``all``: they match nothing, so all of the inlet is read.
    """

    def __init__(self, at: DocumentPlace, down: MappedAsset, up: MappedAsset) -> None:
        self.at = at
        self.down = down
        self.up = up
        self.time: PartitionMapping | None = None
        self.by_column = {match.column: match for match in match_by_column(down.partitioning, up.partitioning)}
        self.found: dict[str, SegmentMatch] = {}
        self.whole: set[str] = set()

    def read_map(self, written: PartitionsMap) -> DeclaredMapping:
        """Reads a map that holds either lists of partition keys only, or one entry for each dimension.

        A map that mixes the two is a problem.
        """
        lists = {key: value for key, value in written.items() if isinstance(value, list)}
        if not written:
            self.at.add_problem("the map of partitions is empty", hint="write {<key>: [<key>, …], …}")
        elif len(lists) == len(written):
            self._read_short_map(lists)
        elif lists:
            key = next(iter(lists))
            self._add_key_problem(
                key,
                f"{key!r} has a list of keys, but other entries name a dimension",
                "write {<column>: {<key>: [<key>, …]}, …}",
            )
        else:
            for column, value in written.items():
                self._read_dimension(column, value)
        return DeclaredMapping(self.time, self._make_matches())

    def _make_matches(self) -> tuple[SegmentMatch, ...] | None:
        """The matches of segments, in the order of the inlet's dimensions; None if nothing was declared of segments.

        Dimensions that the map does not name match by column. Two matches of one inlet dimension are a problem.
        """
        if not self.found and not self.whole:
            return None
        unnamed = [match for match in self.by_column.values() if match.column not in {*self.found, *self.whole}]
        matches_by_inlet: dict[str, SegmentMatch] = {}
        for match in (*self.found.values(), *unnamed):
            if match.inlet.lower() in matches_by_inlet and match.column in self.found:
                first = matches_by_inlet[match.inlet.lower()].column
                self._add_key_problem(
                    match.column, f"{first!r} is already mapped to {match.inlet!r} of {self.up.name!r}"
                )
            matches_by_inlet.setdefault(match.inlet.lower(), match)
        order = [each.column.lower() for each in self.up.segments]
        return tuple(sorted(matches_by_inlet.values(), key=lambda match: order.index(match.inlet.lower())))

    # ------------------------------------------------------------------ the dimensions

    def _read_short_map(self, keys: KeyMap) -> None:
        """Reads a map from segment to segments, without its dimension.

        It is the asset's only dimension of segments, or the only one that does not match by column; else that is a
        problem.
        """
        dimensions = self.down.segments
        if not dimensions:
            message = f"a map of keys needs segments, but asset {self.down.name!r} has none"
            self.at.add_problem(message, hint="time maps by overlap, or by 'window'")
            return
        unmatched = (
            [each for each in dimensions if each.column not in self.by_column] if len(dimensions) > 1 else dimensions
        )
        if len(unmatched) != 1:
            columns = listing([each.column for each in dimensions], last="and")
            message = f"asset {self.down.name!r} has segments by {columns}: say which of them these keys belong to"
            self.at.add_problem(message, hint=f"write {{{dimensions[0].column}: {{<key>: [<key>, …]}}}}")
            return
        self._read_segment_keys(self.at, unmatched[0], self._find_counterpart(self.at, unmatched[0]), keys)

    def _read_dimension(self, column: str, value: object) -> None:
        """Reads what the map says of one column, and stores it; what means nothing there becomes a problem."""
        at, dimension = self.at / column, self.down.dimension(column)
        if dimension is None:
            self._read_time_window(at, column, value)
        elif value == "all":
            self.whole.add(dimension.column)
        elif value == "latest":
            at.add_problem(
                f"'latest' needs time, but {column!r} of asset {self.down.name!r} is a dimension of segments"
            )
        elif isinstance(value, str):
            self._match_column(at, dimension, value)
        elif isinstance(value, dict):
            self._read_segment_map(at, dimension, value)

    def _read_time_window(self, at: DocumentPlace, column: str, value: object) -> None:
        """Reads an entry about time, which can only be ``all`` or ``latest``; overlap is what holds without an entry.

        ``column`` may be the time column of either asset; any other name is a problem, because no segment has it
        either.
        """
        times = [each.partitioning.time for each in (self.down, self.up)]
        names = {time.column.lower() for time in times if time is not None and time.column is not None}
        if column.lower() not in names:
            known = [*(each.column for each in self.down.segments), *sorted(names)]
            message = f"{column!r} is neither a dimension of {self.down.name!r} nor the time of {self.up.name!r}"
            at.add_key_problem(message, hint=self._suggest_meaning(column, value, known))
        elif value not in _TIME_MAPPINGS:
            at.add_problem(
                f"{column!r} is a time dimension; expected 'all' or 'latest'",
                hint="leave it out: time maps by overlap, or by a `window` beside `partitions`",
            )
        else:
            if value == "latest":
                _check_newest(at, self.up)
            self.time = _TIME_MAPPINGS[str(value)]

    def _suggest_meaning(self, column: str, value: object, known: Sequence[str]) -> str | None:
        """A hint for a key that is no dimension: it may be a segment, a misspelt ``from``, or a misspelt dimension."""
        if any(column in each.keys for each in self.down.segments):
            return f"write {{{column}: [{value}]}}"
        meant = "from" if find_nearest(column, [*known, "from"]) == "from" else None
        return f"did you mean {{from: {value}}}?" if meant else did_you_mean(column, known)

    def _match_column(self, at: DocumentPlace, dimension: SegmentPartition, column: str) -> None:
        """Matches a dimension with the inlet's dimension of another column, segment by equal segment."""
        inlet_dimension = self._find_upstream_dimension(at, column)
        if inlet_dimension is not None:
            self.found[dimension.column] = SegmentMatch(dimension.column, inlet_dimension.column)

    def _read_segment_map(self, at: DocumentPlace, dimension: SegmentPartition, value: Mapping[str, object]) -> None:
        """Reads a dimension's map of segments, which may name the inlet's column around it."""
        if value and all(isinstance(each, list) for each in value.values()):
            self._read_segment_keys(at, dimension, self._find_counterpart(at, dimension), value)
            return
        column, keys = next(iter(value.items()), ("", None))
        if len(value) != 1 or not isinstance(keys, dict):
            at.add_problem("expected one map of keys", hint=f"write {{{dimension.column}: {{<key>: [<key>, …], …}}}}")
            return
        self._read_segment_keys(at / column, dimension, self._find_upstream_dimension(at / column, column), keys)

    def _find_upstream_dimension(self, at: DocumentPlace, column: str) -> SegmentPartition | None:
        """The inlet's dimension of segments with that column; None, with a problem, if there is none."""
        dimension, columns = self.up.dimension(column), [each.column for each in self.up.segments]
        if dimension is None:
            listing_text = f"; it has {listing(columns, last='and')}" if columns else ""
            at.add_key_problem(
                f"asset {self.up.name!r} has no segments by {column!r}{listing_text}",
                hint=did_you_mean(column, columns),
            )
        return dimension

    def _find_counterpart(self, at: DocumentPlace, dimension: SegmentPartition) -> SegmentPartition | None:
        """The inlet's dimension that ``dimension`` maps to: that of the same column, else the only unmatched one.

        None, with a problem, where that is not clear.
        """
        same_column = self.up.dimension(dimension.column)
        matched = {match.inlet for match in self.by_column.values()}
        unmatched = [each for each in self.up.segments if each.column not in matched]
        if same_column is not None or len(unmatched) == 1:
            return same_column or unmatched[0]
        if not self.up.segments:
            at.add_problem(f"a map of keys needs segments, but asset {self.up.name!r} has none")
            return None
        columns = listing([each.column for each in self.up.segments], last="and")
        message = f"asset {self.up.name!r} has segments by {columns}: say which of them these keys need"
        column = (unmatched or self.up.segments)[0].column
        at.add_problem(message, hint=f"write {{{dimension.column}: {{{column}: {{<key>: [<key>, …]}}}}}}")
        return None

    # ------------------------------------------------------------------ the keys

    def _read_segment_keys(
        self,
        at: DocumentPlace,
        dimension: SegmentPartition,
        inlet_dimension: SegmentPartition | None,
        written: Mapping[str, object],
    ) -> None:
        """Reads which segments of the inlet each of the consumer's segments requires, and stores the match.

        ``inlet_dimension`` is the inlet's dimension; None where finding it failed, which is a problem already.
        """
        if inlet_dimension is None:
            return
        keys: dict[str, tuple[str, ...]] = {}
        for key, others in written.items():
            if key not in dimension.keys and not dimension.is_open:
                message = f"{key!r} is not a segment of {dimension.column!r} of asset {self.down.name!r}"
                (at / key).add_key_problem(message, hint=did_you_mean(key, dimension.keys))
            if isinstance(others, list):
                keys[key] = self._read_upstream_keys(at / key, inlet_dimension, others)
        self.found[dimension.column] = SegmentMatch(
            dimension.column, inlet_dimension.column, tuple(sorted(keys.items()))
        )
        self._warn_of_unmapped_keys(at, dimension, inlet_dimension, keys)

    def _read_upstream_keys(
        self, at: DocumentPlace, inlet_dimension: SegmentPartition, others: Sequence[str]
    ) -> tuple[str, ...]:
        """The inlet segments that one segment requires, ascending; unknown and repeated ones become problems."""
        for index, other in enumerate(others):
            if other not in inlet_dimension.keys and not inlet_dimension.is_open:
                message = f"{other!r} is not a segment of {inlet_dimension.column!r} of asset {self.up.name!r}"
                (at / index).add_problem(message, hint=did_you_mean(other, inlet_dimension.keys))
            elif other in others[:index]:
                (at / index).add_problem(f"the segment {other!r} is listed twice")
        return tuple(sorted({*others}))

    def _warn_of_unmapped_keys(
        self,
        at: DocumentPlace,
        dimension: SegmentPartition,
        inlet_dimension: SegmentPartition,
        keys: Mapping[str, tuple[str, ...]],
    ) -> None:
        """Warns of segments that the map leaves out on either side: a forgotten one would silently read nothing.

        Open dimensions are exempt, because their segments are only known at run time.
        """
        unmapped = _keys_without(dimension, keys)
        if unmapped:
            keys_text = f"{_keys_text(unmapped)} of {dimension.column!r} {_needs_verb(unmapped)}"
            message = f"{keys_text} nothing of {self.up.name!r}: not in the map"
            at.add_warning(message, hint=f"write `{unmapped[0]}: []` if you mean that")
        unread = _keys_without(inlet_dimension, {*chain.from_iterable(keys.values())})
        if unread:
            keys_text = f"{_keys_text(unread)} of {inlet_dimension.column!r}"
            at.add_warning(f"no partition of {self.down.name!r} needs {keys_text}: not in the map")

    def _add_key_problem(self, key: str, message: str, hint: str | None = None) -> None:
        (self.at / key).add_key_problem(message, hint=hint)


def _keys_without(dimension: SegmentPartition, mapped: Container[str]) -> list[str]:
    return [] if dimension.is_open else [key for key in dimension.keys if key not in mapped]


def _keys_text(keys: Sequence[str]) -> str:
    return listing([repr(key) for key in keys[:3]], last="and") + (f" and {len(keys) - 3:,} more" if keys[3:] else "")


def _needs_verb(keys: Sequence[str]) -> str:
    return "needs" if len(keys) == 1 else "need"

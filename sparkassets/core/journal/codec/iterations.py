"""Iterations in a snapshot and their removal in the journal, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sparkassets.core.journal.codec.rows import JournalRow
from sparkassets.core.journal.codec.values import interval_from
from sparkassets.core.journal.iterations import Iteration, RetiredEntry
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.partitions.plain import parts_from, parts_to


def retired_to(entry: RetiredEntry) -> dict[str, Any]:
    """The columns of a removal, its body as an object."""
    return {"kind": "retired", "asset": entry.asset, "body": {"runs": list(entry.runs)}}


def retired_from(row: JournalRow, body: Mapping[str, Any]) -> RetiredEntry:
    """The removal of a row."""
    return RetiredEntry(row.asset or "", tuple(body["runs"]))


def iterations_to(iterations: Iterable[Iteration]) -> list[Any]:
    """What an asset published, as plain values."""
    return [_iteration_to(each) for each in iterations]


def iterations_from(plain: Iterable[Sequence[Any]]) -> tuple[Iteration, ...]:
    """The iterations of `iterations_to`."""
    return tuple(
        Iteration(run, name, version, seq, at, parts_from(parts), interval_from(interval), tuple(shown), *_hides(more))
        for run, name, version, seq, at, parts, interval, shown, *more in plain
    )


def _iteration_to(each: Iteration) -> list[Any]:
    told = [each.run, each.name, each.version, each.seq, each.at, parts_to(each.blocks), each.interval, each.shown]
    return told if each.hides is None else [*told, parts_to(each.hides)]


def _hides(more: Sequence[Any]) -> list[PartitionSet]:
    """What hides others, where something does."""
    return [parts_from(each) for each in more]

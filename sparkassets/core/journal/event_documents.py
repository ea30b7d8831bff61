"""Dataset events as people and templates see them: one JSON object an event (docs/functions.md#what-a-run-knows)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sparkassets.core.instants import format_instant, from_unix
from sparkassets.core.journal.entries import ClaimEntry, EventEntry, NumberedEntry, SuccessEntry
from sparkassets.core.journal.state import EventRef
from sparkassets.core.partitions import EVERYTHING, Partitioning, PartitionSet
from sparkassets.core.partitions.segments import encode_segment
from sparkassets.core.runs import InletPin

EVENT_KINDS = ("event", "observed", "target", "success", "outlet", "mark")
USING_KINDS = ("claim", "success")
"""The kinds of entries that record which run used an event."""


def event_with_source_run(ref: EventRef, partitioning: Partitioning) -> dict[str, Any]:
    """The JSON object of an unused event, with the data interval of the run that caused it."""
    interval = ref.interval
    source_run = None
    if ref.run is not None:
        source_run = {
            "run_id": ref.run,
            "data_interval_start": from_unix(interval[0]) if interval else None,
            "data_interval_end": from_unix(interval[1]) if interval else None,
        }
    return {**event_values(ref, partitioning), "source_run": source_run}


def event_values(ref: EventRef, partitioning: Partitioning) -> dict[str, Any]:
    """The JSON object of an unused event."""
    return {
        "seq": ref.seq,
        "asset": ref.asset,
        "uri": ref.uri,
        "partitions": partition_labels(ref.parts, partitioning),
        "at": format_instant(from_unix(ref.at)),
        "extra": dict(ref.extra),
        "run": ref.run,
    }


def recorded_event_values(numbered: NumberedEntry, ref: EventRef, partitioning: Partitioning) -> dict[str, Any]:
    """The JSON object of a recorded event, with its announcer's id."""
    return {
        **event_values(ref, partitioning),
        "id": numbered.entry.id if isinstance(numbered.entry, EventEntry) else None,
    }


class EventUsage:
    """Which runs used which events.

    Attributes:
        triggered: Event number to the runs that were claimed because of it, in the order of their claims; without runs
            that only recorded an older run found in the target.
        included_in: Event number to the runs that read it without being claimed for it: for each asset the first
            success that pinned the dataset at the event or later and read some of its partitions.
    """

    def __init__(self, events: Iterable[EventRef], later: Iterable[NumberedEntry]) -> None:
        """Collects from ``later``: all entries of `USING_KINDS` after the first of ``events``, ascending by ``seq``."""
        self.triggered: dict[int, list[str]] = {}
        self.included_in: dict[int, list[str]] = {}
        self._claimed: dict[int, ClaimEntry] = {}
        self._touched: dict[int, PartitionSet] = {}
        self._numbers: dict[str, list[int]] = {}
        self._unread: dict[tuple[str, str], list[int]] = {}
        for ref in events:
            self.triggered[ref.seq], self.included_in[ref.seq] = [], []
            self._touched[ref.seq] = ref.parts
            self._numbers.setdefault(ref.uri, []).append(ref.seq)
        for numbered in later:
            match numbered.entry:
                case ClaimEntry() as claim:
                    self._claimed[numbered.seq] = claim
                    for runs in self._runs_for(claim):
                        runs.append(claim.run)
                case SuccessEntry() as success:
                    if success.recorder != success.token and (recorder := self._claimed.get(success.recorder)):
                        for runs in self._runs_for(recorder):
                            runs.remove(recorder.run)
                    self._record_reads(success)
                case _:
                    continue

    def _runs_for(self, claim: ClaimEntry) -> list[list[str]]:
        """The `triggered` list of each event that a claim names."""
        return [self.triggered[seq] for seq in claim.request.events if seq in self.triggered]

    def _record_reads(self, success: SuccessEntry) -> None:
        pins: dict[str, list[InletPin]] = {}
        for pin in success.pins.values():
            pins.setdefault(pin.uri, []).append(pin)
        for uri, read in pins.items():
            key = (success.asset, uri)
            unread = []
            for seq in self._unread.get(key, self._numbers.get(uri, [])):
                if not any(_has_read(pin, seq, self._touched[seq]) for pin in read):
                    unread.append(seq)
                elif success.run not in self.triggered[seq]:
                    self.included_in[seq].append(success.run)
            self._unread[key] = unread


def _has_read(pin: InletPin, seq: int, touched: PartitionSet) -> bool:
    return pin.seq >= seq and pin.parts.overlaps(touched)


def partition_labels(parts: PartitionSet, partitioning: Partitioning) -> list[str]:
    """``A..B`` of keys, inclusive; instants and segments where the asset's partitioning is unknown or has changed.

    >>> from sparkassets.core.partitions import UNPARTITIONED, RangeSet
    >>> partition_labels(PartitionSet.by_segment({("de",): EVERYTHING.time, ("nl",): RangeSet.span(0, 3600)}),
    ...     UNPARTITIONED)
    ['de', '1970-01-01T00:00:00Z..1970-01-01T01:00:00Z,nl']
    """
    if parts.is_everything or (partitioning.is_partitioned and partitioning.can_list(parts)):
        return partitioning.labels(parts)
    labels = []
    for segment, time in [((), parts.time), *parts.apart]:
        spans = [] if time == EVERYTHING.time else list(time.pairs())
        texts = [f"{format_instant(from_unix(start))}..{format_instant(from_unix(end))}" for start, end in spans]
        labels += [",".join([*filter(None, [text]), *map(encode_segment, segment)]) for text in texts or [""] if time]
    return labels

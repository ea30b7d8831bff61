"""Runs and events of the journal as people see them: each claim with its ending, each event as an object."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Literal

from sparkassets.core.instants import format_instant, format_zoned, from_unix, to_unix
from sparkassets.core.journal.entries import (
    ClaimEntry,
    EventEntry,
    FailureEntry,
    NumberedEntry,
    SkippedEntry,
    SuccessEntry,
)
from sparkassets.core.journal.state import EventRef
from sparkassets.core.partitions import EVERYTHING, Partitioning, PartitionSet
from sparkassets.core.partitions.segments import encode_segment
from sparkassets.core.phrases import few, join_nonempty
from sparkassets.core.runs import InletPin, ReportedRun
from sparkassets.frozen import frozen, replace

RUN_KINDS = ("claim", "success", "failure", "unfenced", "skipped")
"""The kinds of entries that record runs."""

_Ending = SuccessEntry | FailureEntry | SkippedEntry

RunStatus = Literal["running", "success", "failed", "skipped", "withheld", "cancelled", "lost"]


@frozen
class RunRecord(ReportedRun):
    """One run: its request, and how it ended.

    Attributes:
        token: Fence token: its claim's sequence number.
        status: ``withheld`` where validations withheld all of it; ``lost`` when its driver is gone, or another run
            settled it and found none of it in the target.
        started, ended: When it was claimed and recorded, Unix seconds, by its driver's clock; ``ended`` is None for a
            running or lost run.
        seconds: From the start of its work to its record; None for a running or lost run.
    """

    run: str
    token: int
    status: RunStatus
    started: int
    ended: int | None = None
    seconds: float | None = None
    attempts: int | None = None

    def __repr__(self) -> str:
        rows = "" if self.rows is None else f", {self.rows:,} rows"
        started = format_zoned(from_unix(self.started), "UTC", seconds=True)
        error = f": {self.error or self.skipped}" if self.error or self.skipped else ""
        return f"<run {join_nonempty(self.run, few(self.partition_keys))} of {started}: {self.status}{rows}{error}>"


def run_records(entries: Iterable[NumberedEntry], gone_tokens: Collection[int] = ()) -> list[RunRecord]:
    """The runs that were claimed in ``entries``, in the order of their claims.

    Args:
        entries: Ascending by ``seq``, of `RUN_KINDS`; complete from the first of them on.
        gone_tokens: Fence tokens of open claims whose driver is gone.
    """
    claims: list[tuple[ClaimEntry, NumberedEntry]] = []
    endings: dict[int, tuple[_Ending, NumberedEntry]] = {}
    # by the fence token of the recording claim, the older run that it found in the target
    adopted: dict[int, str] = {}
    # runs side by side have a run slot each, other runs have slot 0
    # by (asset, run slot), the newest settled fence token: it settles all earlier claims of the slot
    settled: dict[tuple[str, int], int] = {}
    # the run slot of each claim, by its fence token
    slots: dict[int, int] = {}
    for numbered in entries:
        match numbered.entry:
            case ClaimEntry() as claim:
                claims.append((claim, numbered))
                slots[numbered.seq] = claim.run_slot
            case SuccessEntry() as success:
                endings[success.token] = success, numbered
                settled[success.asset, slots.get(success.recorder, 0)] = success.recorder
                if success.recorder != success.token:  # one success ends both runs: the older one, and its recorder
                    adopted[success.recorder] = success.run
                    endings[success.recorder] = success, numbered
            case FailureEntry() | SkippedEntry() as ended:
                endings[ended.token] = ended, numbered
                if _is_settled(ended):
                    settled[ended.asset, slots.get(ended.token, 0)] = ended.token
    return [
        _build_record(
            claim,
            numbered,
            endings.get(numbered.seq),
            adopted=adopted.get(numbered.seq),
            is_gone=numbered.seq in gone_tokens or numbered.seq <= settled.get((claim.asset, claim.run_slot), 0),
        )
        for claim, numbered in claims
    ]


def _is_settled(ending: FailureEntry | SkippedEntry) -> bool:
    """Whether no commit of the run can succeed any more.

    A failure is settled once it is fenced, or once its run has asked a person about older runs, as it fenced these.
    """
    return isinstance(ending, SkippedEntry) or ending.fenced or bool(ending.asked_runs)


def _build_record(
    claim: ClaimEntry,
    numbered: NumberedEntry,
    ending: tuple[_Ending, NumberedEntry] | None,
    *,
    adopted: str | None,
    is_gone: bool,
) -> RunRecord:
    """The record of one claimed run.

    A run that adopted the commit of an older run computed nothing: its record has no rows, version or duration, which
    are in the older run's record.

    Args:
        claim: The run's claim.
        numbered: The entry of the claim.
        ending: The entry that ended the run; None while there is none.
        adopted: The older run that it recorded instead of computing; None where it computed.
        is_gone: Whether its driver is gone or a later claim settled it, so that it is lost without an ending.
    """
    record = RunRecord(
        claim.request,
        run=claim.run,
        token=numbered.seq,
        status="lost" if is_gone else "running",
        started=to_unix(numbered.at),
        adopted=adopted,
    )
    match ending:
        case None:
            return record
        case (SuccessEntry(), end) if adopted is not None:
            return replace(record, status="success", ended=to_unix(end.at))
        case (SuccessEntry() as success, end):
            rows = success.extra.get("rows")
            return replace(
                record,
                status="withheld" if success.publishes_nothing else "success",
                ended=to_unix(end.at),
                seconds=success.seconds,
                rows=rows if isinstance(rows, int) else None,
                version=success.version,
                attempts=success.attempt,
                unchanged=success.unchanged,
                withheld=success.withheld,
                verdicts=success.verdicts,
            )
        case (SkippedEntry() as skipped, end):
            return replace(
                record,
                status="skipped",
                ended=to_unix(end.at),
                seconds=skipped.seconds,
                attempts=skipped.attempts,
                skipped=skipped.reason,
            )
        case (FailureEntry() as failure, end):
            return replace(
                record,
                status=failure.cause if failure.cause in ("cancelled", "lost") else "failed",
                ended=to_unix(end.at),
                seconds=failure.seconds,
                attempts=failure.attempts,
                error=failure.error,
                hint=failure.hint,
                details=failure.details,
            )


EVENT_KINDS = ("event", "observed", "target", "success", "outlet", "mark")
USING_KINDS = ("claim", "success")
"""The kinds of entries that record which run used an event."""


def event_with_source_run(ref: EventRef, partitioning: Partitioning) -> dict[str, Any]:
    """A remembered event as in `event_values`, with ``source_run``: the run that caused it and its data interval.

    ``source_run`` is None where no run is recorded; the ends of its interval are aware datetimes, not text.
    """
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
    """The JSON object of a remembered event."""
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
    """Which runs used which events, by event number.

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
        # by fence token, the claims; by event number, the updated partitions; by dataset, the event numbers;
        # by (asset, dataset), the event numbers that no success of the asset has read yet
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
                    for runs in self._runs_triggered_by(claim):
                        runs.append(claim.run)
                case SuccessEntry() as success:
                    # a run that recorded an older run's commit computed nothing, so the events did not trigger it
                    if success.recorder != success.token and (recorder := self._claimed.get(success.recorder)):
                        for runs in self._runs_triggered_by(recorder):
                            runs.remove(recorder.run)
                    self._record_reads(success)
                case _:
                    continue

    def _runs_triggered_by(self, claim: ClaimEntry) -> list[list[str]]:
        """The `triggered` list of each event that a claim names."""
        return [self.triggered[seq] for seq in claim.request.events if seq in self.triggered]

    def _record_reads(self, success: SuccessEntry) -> None:
        """Adds the run to ``included_in`` of the events that it is the first of its asset to have read.

        A run has read an event if a pin is at least as new and overlaps the updated partitions. A run that the event
        triggered is not added, as `triggered` lists it.
        """
        pins: dict[str, list[InletPin]] = {}
        for pin in success.pins.values():
            pins.setdefault(pin.uri, []).append(pin)
        for uri, uri_pins in pins.items():
            key = (success.asset, uri)
            unread = []
            for seq in self._unread.get(key, self._numbers.get(uri, [])):
                if not any(pin.seq >= seq and pin.parts.overlaps(self._touched[seq]) for pin in uri_pins):
                    unread.append(seq)
                elif success.run not in self.triggered[seq]:
                    self.included_in[seq].append(success.run)
            self._unread[key] = unread


def partition_labels(parts: PartitionSet, partitioning: Partitioning) -> list[str]:
    """The partitions as keys ``A..B``, inclusive.

    Where the asset's partitioning is unknown or has changed, instants and segments stand for the keys.

    >>> from sparkassets.core.partitions import UNPARTITIONED, RangeSet
    >>> partition_labels(PartitionSet.by_segment({("de",): EVERYTHING.time, ("nl",): RangeSet.span(0, 3600)}),
    ...     UNPARTITIONED)
    ['de', '1970-01-01T00:00:00Z..1970-01-01T01:00:00Z,nl']
    """
    if parts.is_everything or (partitioning.is_partitioned and partitioning.can_list(parts)):
        return partitioning.labels(parts)
    labels = []
    for segment, time in [((), parts.time), *parts.apart]:  # () stands for all other segments
        spans = [] if time == EVERYTHING.time else list(time.pairs())
        texts = [f"{format_instant(from_unix(start))}..{format_instant(from_unix(end))}" for start, end in spans]
        labels += [",".join([*filter(None, [text]), *map(encode_segment, segment)]) for text in texts or [""] if time]
    return labels

"""`fold`, and the handler of each kind of entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sparkassets.core.iterations import RetiredEntry
from sparkassets.core.journal.digest_marks import DigestEntry
from sparkassets.core.journal.entries import (
    BackfillEntry,
    ClaimEntry,
    Entry,
    EventEntry,
    FailureEntry,
    NumberedEntry,
    ObservedEntry,
    OutletEntry,
    PauseEntry,
    RenewEntry,
    SegmentEntry,
    SkippedEntry,
    SpecEntry,
    SuccessEntry,
    TickPassedEntry,
)
from sparkassets.core.journal.fold import (
    cause_consumption,
    datasets,
    iterations,
    marks,
    notified,
    outlets,
    runs,
    segments,
    specs,
)
from sparkassets.core.journal.fold.workspace import FoldWorkspace
from sparkassets.core.journal.marks import MarkEntry
from sparkassets.core.journal.notified import LateEntry, PersonWaitEntry, SilenceEntry
from sparkassets.core.journal.state import State
from sparkassets.core.journal.table_findings import TargetEntry


def fold(state: State, entries: Iterable[NumberedEntry], *, commit: int) -> State:
    """The state after ``entries``, ascending by ``seq``; ``commit`` is the journal's commit that holds the last one."""
    work, seq = FoldWorkspace(state), state.seq
    for numbered in entries:
        seq = numbered.seq
        _HANDLERS[type(numbered.entry)](work, numbered.entry, numbered)
    return work.result(seq, commit)


_HANDLERS: Mapping[type[Entry], Callable[[FoldWorkspace, Any, NumberedEntry], None]] = {
    SpecEntry: specs.fold_spec_change,
    EventEntry: datasets.fold_event,
    ObservedEntry: datasets.fold_observation,
    TargetEntry: datasets.fold_table_finding,
    ClaimEntry: runs.fold_claim,
    RenewEntry: runs.fold_renewal,
    SuccessEntry: runs.fold_success,
    OutletEntry: outlets.fold_outlet,
    FailureEntry: runs.fold_failure,
    SkippedEntry: marks.fold_skip,
    PauseEntry: runs.fold_pause,
    MarkEntry: marks.fold_mark,
    SegmentEntry: segments.fold_segments,
    BackfillEntry: cause_consumption.fold_backfill_request,
    RetiredEntry: iterations.fold_retirement,
    LateEntry: notified.fold_lateness,
    PersonWaitEntry: notified.fold_person_wait,
    SilenceEntry: notified.fold_silence,
    DigestEntry: notified.fold_digest,
    TickPassedEntry: runs.fold_passed_tick,
}

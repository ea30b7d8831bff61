"""Each kind of entry, and the function that says what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sparkassets.core.journal.entries import (
    ClaimEntry,
    Entry,
    EventEntry,
    FailureEntry,
    LateEntry,
    Numbered,
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
from sparkassets.core.journal.fold import datasets, iterations, keys, marks, outlets, requests, runs, skips, specs
from sparkassets.core.journal.fold.workspace import Workspace
from sparkassets.core.journal.found import TargetEntry
from sparkassets.core.journal.iterations import RetiredEntry
from sparkassets.core.journal.marks import MarkEntry
from sparkassets.core.journal.requests import BackfillEntry
from sparkassets.core.journal.state import State


def fold(state: State, entries: Iterable[Numbered], *, commit: int) -> State:
    """The state after ``entries`` (ascending by ``seq``), as of journal commit ``commit``."""
    work, seq = Workspace(state), state.seq
    for numbered in entries:
        seq = numbered.seq
        _FOLDED[type(numbered.entry)](work, numbered.entry, numbered)
    return work.result(seq, commit)


_FOLDED: Mapping[type[Entry], Callable[[Workspace, Any, Numbered], None]] = {
    SpecEntry: specs.changed,
    EventEntry: datasets.announced,
    ObservedEntry: datasets.observed,
    TargetEntry: datasets.looked_at,
    ClaimEntry: runs.claimed,
    RenewEntry: runs.renewed,
    SuccessEntry: runs.succeeded,
    OutletEntry: outlets.written,
    FailureEntry: runs.failed,
    SkippedEntry: skips.skipped,
    PauseEntry: runs.paused,
    MarkEntry: marks.marked,
    SegmentEntry: keys.told,
    BackfillEntry: requests.asked,
    RetiredEntry: iterations.retired,
    LateEntry: runs.late,
    TickPassedEntry: runs.tick_passed,
}

"""Runs as people see them: each claim in the journal with its ending (docs/design/journal.md#entries)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import field, replace
from typing import Literal

from sparkassets.core.instants import format_zoned, from_unix, to_unix
from sparkassets.core.journal.entries import ClaimEntry, FailureEntry, NumberedEntry, SkippedEntry, SuccessEntry
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.phrases import few, join_nonempty
from sparkassets.core.runs import RequestedRun
from sparkassets.core.validations import RuleVerdict
from sparkassets.frozen import frozen

RUN_KINDS = ("claim", "success", "failure", "unfenced", "skipped")
"""The kinds of entries that record runs."""

_Ending = SuccessEntry | FailureEntry | SkippedEntry

RunStatus = Literal["running", "success", "failed", "skipped", "withheld", "cancelled", "lost"]


@frozen
class RunRecord(RequestedRun):
    """One run: its request, and how it ended.

    Attributes:
        token: Fence token: its claim's sequence number.
        status: ``withheld`` where validations withheld all of it; ``lost`` when its driver is gone, or another run
            settled it and none of it was in the target.
        started, ended: When it was claimed and recorded, Unix seconds, by its driver's clock; ``ended`` is None for a
            running or lost run.
        unchanged: Partitions of the run whose rows stayed the same, which was no event for consumers.
        withheld: Partitions of the run that are not published because validations failed.
        verdicts: Results of its validations.
        adopted: The older run that it found in the target and recorded instead of computing.
        skipped: The reason that its code gave for writing nothing; empty where it was not skipped.
        partition_keys: Keys ``A..B`` of its partitions, where a `Project` returned it.
    """

    run: str
    token: int
    status: RunStatus
    started: int
    ended: int | None = None
    seconds: float | None = None
    rows: int | None = None
    version: int | None = None
    attempts: int | None = None
    error: str = ""
    hint: str = ""
    details: str = ""
    adopted: str | None = None
    skipped: str = ""
    unchanged: PartitionSet = NOTHING
    withheld: PartitionSet = NOTHING
    verdicts: tuple[RuleVerdict, ...] = ()
    partition_keys: tuple[str, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        rows = "" if self.rows is None else f", {self.rows:,} rows"
        started = format_zoned(from_unix(self.started), "UTC", seconds=True)
        error = f": {self.error or self.skipped}" if self.error or self.skipped else ""
        return f"<run {join_nonempty(self.run, few(self.partition_keys))} of {started}: {self.status}{rows}{error}>"


def run_records(entries: Iterable[NumberedEntry], gone: Collection[int] = ()) -> list[RunRecord]:
    """The runs that were claimed in ``entries``, in the order of their claims.

    Args:
        entries: Ascending by ``seq``, of `RUN_KINDS`; complete from the first of them on.
        gone: Fence tokens of open claims whose driver is gone.
    """
    claims: list[tuple[ClaimEntry, NumberedEntry]] = []
    endings: dict[int, tuple[_Ending, NumberedEntry]] = {}
    adopted: dict[int, str] = {}
    settled: dict[tuple[str, int], int] = {}
    slots: dict[int, int] = {}
    for numbered in entries:
        match numbered.entry:
            case ClaimEntry() as claim:
                claims.append((claim, numbered))
                slots[numbered.seq] = claim.slot
            case SuccessEntry() as success:
                endings[success.token] = success, numbered
                settled[success.asset, slots.get(success.recorder, 0)] = success.recorder
                if success.recorder != success.token:
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
            gone=numbered.seq in gone or numbered.seq <= settled.get((claim.asset, claim.slot), 0),
        )
        for claim, numbered in claims
    ]


def _is_settled(ended: FailureEntry | SkippedEntry) -> bool:
    """Whether none of the run's commits can land any more."""
    return isinstance(ended, SkippedEntry) or ended.fenced or bool(ended.asks)


def _build_record(
    claim: ClaimEntry,
    numbered: NumberedEntry,
    ending: tuple[_Ending, NumberedEntry] | None,
    *,
    adopted: str | None,
    gone: bool,
) -> RunRecord:
    record = RunRecord(
        claim.request,
        run=claim.run,
        token=numbered.seq,
        status="lost" if gone else "running",
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

"""The outcomes of a run: committed, failed, skipped, or superseded by a newer claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace

from sparkassets.core.journal.entries import FailureCause
from sparkassets.core.journal.recovery_questions import (
    RecoveryQuestion,
    completion_hint,
    partitions_in_question,
    question_hint,
)
from sparkassets.core.journal.state import ClaimState
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.phrases import listing
from sparkassets.core.runs import allowed_division_runs
from sparkassets.errors import RunError, SparkAssetsError, describe_error
from sparkassets.frozen import frozen
from sparkassets.ports import (
    DataCommit,
    HistoryGoneError,
    RunOrder,
    Target,
)


@frozen
class CommittedRun:
    """The run is committed in all of its outlets; possibly an older run of the chain that was found there.

    Attributes:
        commits: Of that run, one in each outlet, in the order of the outlets.
        keys: Column to the segments that came out, of those that nobody knew when it was claimed.
    """

    commits: tuple[DataCommit, ...]
    attempts: int
    keys: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def first_commit(self) -> DataCommit:
        """The commit in the first outlet, whose measures describe the whole run."""
        return self.commits[0]


@frozen
class FailedRun:
    """The run failed; ``fenced`` if no commit of it can land any more.

    Attributes:
        divisions, bad_partitions, asked_runs, watermarks: As in `FailureEntry`.
    """

    cause: FailureCause
    error: BaseException
    fenced: bool
    attempts: int
    divisions: int | None = None
    bad_partitions: PartitionSet = NOTHING
    asked_runs: tuple[str, ...] = ()
    watermarks: Mapping[str, str] = field(default_factory=dict)


@frozen
class SupersededRun:
    """Another driver claimed the asset: nothing is written and nothing recorded."""


@frozen
class SkippedRun:
    """The run's code had nothing to do: nothing was written, and no late commit of it can land."""

    reason: str
    attempts: int


Outcome = CommittedRun | FailedRun | SkippedRun | SupersededRun


def division_budget(order: RunOrder, error: BaseException) -> int | None:
    """How many runs may divide a failed run to find its bad partitions; None if the failure was not caused by data."""
    if order.rebuilds or order.partitions.is_everything:
        return None
    if not (issubclass(type(error), RunError) and isinstance(error, RunError) and error.is_data_error):
        return None
    return allowed_division_runs(order.asset.partitioning.count(order.partitions), retries=order.asset.retries)


def read_discovered_segments(
    done: CommittedRun, order: RunOrder, targets: Sequence[Target]
) -> Mapping[str, Sequence[str]]:
    """Dimension column to the segments unknown at the claim that are in any outlet, sorted.

    Raises:
        RunError: An outlet cannot be read.
    """
    keys_by_column: dict[str, set[str]] = {}
    order = order if order.discovers_segments else order.restrict_to(order.discovered_partitions)
    for target, outlet_order, commit in zip(targets, order.table_orders, done.commits, strict=True):
        for column, keys in target.read_segments(outlet_order, commit).items():
            keys_by_column.setdefault(column, set()).update(keys)
    return {column: sorted(keys) for column, keys in keys_by_column.items()}


def with_unchanged(done: CommittedRun, order: RunOrder, targets: Sequence[Target]) -> CommittedRun:
    """The run with the partitions whose rows did not change; if comparing fails, every partition counts as changed."""
    with suppress(Exception):
        outlets = zip(targets, order.table_orders, done.commits, strict=True)
        return replace(
            done,
            commits=tuple(target.detect_unchanged(outlet_order, commit) for target, outlet_order, commit in outlets),
        )
    return done


def ask_person(order: RunOrder, older: Sequence[ClaimState], error: HistoryGoneError) -> FailedRun:
    """The failure of a run whose target has no history to search for older runs: it asks a person about them.

    All older runs are fenced by then, so none can land after the person has looked. If the table was restored to a
    version before a run's commit, the question is about that run alone.
    """
    # claims with a question only asked before: their own runs have computed nothing
    open_runs = tuple(link.entry.run for link in older if link.question is None)
    runs = (error.restored_commit.run,) if error.restored_commit is not None else open_runs
    watermarks = error.restored_commit.measures.get("watermarks", {}) if error.restored_commit is not None else {}
    error.hint = question_hint(order.asset.name, order.asset.partitioning, recovery_question(order, older, runs))
    return FailedRun("error", error, fenced=False, attempts=0, asked_runs=runs, watermarks=watermarks)


def ask_to_complete(
    failed: FailedRun, order: RunOrder, older: Sequence[ClaimState], run: str, commits: Sequence[DataCommit | None]
) -> FailedRun:
    """Turns the failure into a question to a person: ``run`` is in some outlets, and the others cannot be completed.

    ``commits`` holds the commit of ``run`` in each outlet, None where it is missing.
    """
    asset = order.asset
    committed_names = [
        outlet_order.asset.name for outlet_order, commit in zip(order.table_orders, commits, strict=True) if commit
    ]
    situation = (
        f"{asset.name}: {run} committed only to {listing(committed_names, last='and')}; the rest is written "
        "from the same inputs"
    )
    question = recovery_question(order, older, (run,))
    only_adds = asset.write is not None and asset.write.only_adds
    hint = completion_hint(asset.name, asset.partitioning, question, appends=only_adds)
    error = RunError(f"{situation}: {_describe_cause(failed.error)}", hint=hint)
    error.__cause__ = failed.error
    commit = next(each for each in commits if each is not None)
    return replace(failed, error=error, asked_runs=(run,), watermarks=commit.measures.get("watermarks", {}))


def _describe_cause(error: BaseException) -> str:
    """The error's text; starts with its class unless it is an error of this package."""
    kind = type(error)
    return describe_error(error).removeprefix(f"{kind.__name__}: " if issubclass(kind, SparkAssetsError) else "")


def recovery_question(order: RunOrder, older: Sequence[ClaimState], runs: tuple[str, ...]) -> RecoveryQuestion:
    """The question to a person: are the rows of these unfinished runs in the table?"""
    claimed = PartitionSet.union(link.entry.partitions for link in older if link.question is None)
    return RecoveryQuestion(runs, partitions_in_question(order.asset.partitioning, claimed))

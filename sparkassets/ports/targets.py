"""What computes rows, and the tables that they are written to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

from sparkassets.core.journal.state import AssetState
from sparkassets.core.run_costs import InletVolume
from sparkassets.core.runs import ChangeAvailability, InletPin, TablePosition
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.validations import RunJudgement
from sparkassets.ports.runs import CommitStamp, DataCommit, RunOrder
from sparkassets.processes import Process


class RunComputation(Protocol):
    """The result of one attempt, not yet written, for each table that the run writes.

    Opaque to the runtime except for its measures.
    """

    @property
    def measures(self) -> Mapping[str, Any]:
        """Facts of the run to record, each key only where set.

        ``watermarks``: inlet to its highest value, as text. ``extra``: facts that the function recorded.
        ``outlets``: outlet to the facts recorded of it. ``events``: the events that it announced, as
        `sparkassets.core.journal.announcements.encode_announcement` writes them. ``keys``: column to added segments.
        """

    def release(self) -> None:
        """Releases what was held to write it; nothing more is written of it."""


class Engine(Protocol):
    """Computes rows: Spark, as the runtime sees it. Every method may be called from several threads."""

    def start(self) -> None:
        """Starts or finds the session; raises `SparkUnavailableError` with one clear line."""

    def processes(self) -> Sequence[Process]:
        """Other processes in which it may commit to a table."""

    def compute(self, order: RunOrder, *, attempt: int) -> RunComputation:
        """Reads the pinned inlets and runs the asset's SQL or function; writes to no target."""

    def cancel(self, run: str) -> None:
        """Interrupts the work of one run, computing and writing alike; returns at once."""

    def close(self) -> None:
        """Stops the session if this engine created it."""


class Target(Protocol):
    """One outlet of an asset's runs, with the commits of the asset's application id in it.

    Whoever commits, and wherever the table is, every target follows the rule of
    docs/design/run-protocol.md#chains-and-tokens: each transaction version is committed at most once, and none
    below the newest. Every method may be called from several threads.
    """

    def transaction_version(self) -> int | None:
        """The newest committed version; None without a table or any commit of the asset."""

    def find_commits(self, runs: Sequence[str], *, above: int = 0) -> Sequence[DataCommit]:
        """The data commits of these runs, oldest first; none has a transaction version below ``above``.

        Raises:
            HistoryGoneError: The history is too short, or the table was restored: ask a person.
        """

    def fence(self, computation: RunComputation | None, *, stamp: CommitStamp) -> None:
        """Commits no rows, stamped; creates a missing table with the computation's schema.

        Raises:
            FenceConflictError: Another writer committed under the same application id meanwhile: look again.
            TargetMissingError: There is no table, and no computation to take its schema from.
        """

    def prepare(self, computation: RunComputation, *, stamp: CommitStamp) -> RunJudgement | None:
        """Computes, checks and judges what `write` will commit, as far as possible; publishes nothing yet.

        Called before the first commit of a run with rules, or with several tables: what fails here
        fails before any commit is in. If the stamp has a judgement, nothing is judged again. Returns the
        judgement of the asset's rules; None without any.

        Raises:
            RunError: As `write` does.
        """

    def write(self, computation: RunComputation, *, stamp: CommitStamp) -> None:
        """Makes exactly one stamped commit of this outlet's rows; its return proves nothing: look.

        Partitions that the stamp withholds are neither written nor removed. If these are all of the
        run's, it commits without rows.
        """

    def read_segments(self, order: RunOrder, committed: DataCommit) -> Mapping[str, Sequence[str]]:
        """The segments of each open dimension, by column, in the rows that the run left in its partitions.

        Raises:
            RunError: They cannot be read.
        """

    def detect_unchanged(self, order: RunOrder, found: DataCommit) -> DataCommit:
        """Adds to ``found``, a commit of the order's run, which partitions came out unchanged, if that is asked for.

        The answer is the same for every caller at any time, as long as the table keeps what the commit replaced.
        """

    def remove_staged(self, runs: Sequence[str], *, upto: int, keep: DataCommit | None) -> None:
        """Removes uncommitted files of these runs' attempts, except those of the commit ``keep``.

        Only of claims with fence tokens up to ``upto``, none of which can commit any more: a newer fence or the run
        itself was seen in the table. A newer claim may be about to complete one of the runs.
        """

    def remove_iterations(self, *, keep: Collection[str], unsettled: Collection[int], tokens: range) -> None:
        """Removes the folders of iterations whose names are not among ``keep``.

        Only those of claims with these ``tokens``. Claims that no record ends yet (``unsettled``) may still be writing,
        so theirs stay. What cannot be removed now is removed with the next ones.
        """


class VolumeEstimator(Protocol):
    """Estimates how much data a run reads from an inlet, by the log of its table or the list of its files."""

    def estimate_volume(self, asset: AssetSpec, pin: InletPin, known: AssetState) -> InletVolume:
        """The data files that a run with that pin reads of ``asset``, whose state is ``known``; never raises."""


class ChangeFeeds(Protocol):
    """Says whether changes of an inlet's table can be read, by its log."""

    def check_availability(self, asset: AssetSpec, position: TablePosition, version: int) -> ChangeAvailability:
        """For the changes after a position, up to and including a version; never raises."""


Enlist = Callable[[], None]
"""Has the journal record that the engine's processes may commit for a run, and returns when it does.

Raises:
    RunError: The run's claim was taken over; nothing may be committed for it.
"""


class TargetFactory(Protocol):
    """Opens the targets of assets."""

    def open_target(self, asset: AssetSpec, *, app_id: str, enlist: Enlist) -> Target:
        """The target of the asset's runs; for an outlet, of its multi-asset's runs.

        Args:
            asset: The asset.
            app_id: The application id of their transactions.
            enlist: Called before a process other than this one may commit.
        """

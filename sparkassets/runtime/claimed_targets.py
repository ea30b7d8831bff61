"""The targets of one claim: fences against older writes, and the look for the commits of its runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from sparkassets.core.validations import RunJudgement
from sparkassets.ports import (
    CommitKind,
    CommitStamp,
    DataCommit,
    FenceConflictError,
    RunComputation,
    RunOrder,
    Target,
    TargetMissingError,
)


class SupersededError(Exception):
    """A newer claim of the chain has taken over."""


def make_stamp(
    order: RunOrder,
    version: int,
    kind: CommitKind,
    *,
    token: int,
    computation: RunComputation | None = None,
    attempt: int = 0,
) -> CommitStamp:
    """The stamp of one commit; ``token`` is that of the claim under which it is written, not of the order."""
    return CommitStamp(
        app_id=order.app_id,
        version=version,
        token=token,
        run=order.run,
        attempt=attempt,
        kind=kind,
        partitions=tuple(order.asset.partitioning.labels(order.partitions)),
        measures=dict(computation.measures) if computation is not None else {},
    )


class ClaimedTargets:
    """Every target that the run of a claim writes, in the order of ``order.table_orders``.

    Args:
        first_token: Fence token of the oldest claim of the chain: commits below it are recorded already.
        check_superseded: Raises `SupersededError` once a newer claim is known.
        compute_columns: Makes a computation of which only the columns are used.

    Attributes:
        commits: For each target the commit that the last look found; None where there is none.
        computation: A missing table is created with its columns; None until it is known.
    """

    def __init__(
        self,
        targets: Sequence[Target],
        order: RunOrder,
        *,
        first_token: int,
        check_superseded: Callable[[], None],
        compute_columns: Callable[[], RunComputation],
    ) -> None:
        self.targets = tuple(targets)
        self.commits: tuple[DataCommit | None, ...] = (None,) * len(self.targets)
        self.computation: RunComputation | None = None
        self._order = order
        self._first_token = first_token
        self._check_superseded = check_superseded
        self._compute_columns = compute_columns

    @property
    def first_commit(self) -> DataCommit | None:
        """The first of the commits that the last look found."""
        return next((commit for commit in self.commits if commit is not None), None)

    @property
    def judgement(self) -> RunJudgement | None:
        """The judgement of the run's rows that a commit carries already."""
        return None if self.first_commit is None else self.first_commit.judgement

    @property
    def missing(self) -> list[Target]:
        """The targets in which the last look found no commit."""
        return [target for target, commit in zip(self.targets, self.commits, strict=True) if commit is None]

    def fence(self, version: int) -> None:
        """Keeps every lower transaction version out of every target.

        Raises:
            SupersededError: A newer claim has fenced this one.
        """
        stamp = make_stamp(self._order, version, "fence", token=self._order.token)
        for target in self.targets:
            is_fenced = False
            while not is_fenced:
                self._check_superseded()
                is_fenced = self._fence_once(target, stamp)

    def _fence_once(self, target: Target, stamp: CommitStamp) -> bool:
        """Whether the target is seen to be fenced; if not, look again.

        The answer of `Target.fence` proves nothing; only the version seen in the target does. A fence of older claims,
        at 2·token, comes before any commit of this claim, so a greater version is a newer claim's. A fence of this
        run, at 2·token + 1, holds whoever made the greater version.
        """
        newest = target.transaction_version()
        if newest is not None and newest >= stamp.version:
            if newest > stamp.version == 2 * self._order.token:
                raise SupersededError
            return True
        try:
            target.fence(self.computation, stamp=stamp)
        except TargetMissingError:
            self.computation = self._compute_columns()
        except FenceConflictError:
            pass
        return False

    def is_fenced_by_newer(self) -> bool:
        """Whether a newer claim has fenced every target."""
        return min(target.transaction_version() or 0 for target in self.targets) > 2 * self._order.token + 1

    def find_commits(self, runs: Sequence[str]) -> tuple[DataCommit, ...] | None:
        """Looks in every target for the commit of one of these runs; None unless each target has one.

        ``commits`` keeps what was found. At most one of the runs can be in a target.

        Raises:
            HistoryGoneError: A target's history cannot say.
        """
        histories = [target.find_commits(runs, above=2 * self._first_token) for target in self.targets]
        self.commits = tuple(commits[-1] if commits else None for commits in histories)
        present = tuple(commit for commit in self.commits if commit is not None)
        return present if len(present) == len(self.targets) else None

    def remove_staged(self, runs: Sequence[str]) -> None:
        """Removes the files that these runs staged and did not commit; files that cannot be removed do no harm."""
        for target, commit in zip(self.targets, self.commits, strict=True):
            with suppress(Exception):
                target.remove_staged(runs, upto=self._order.token, keep=commit)

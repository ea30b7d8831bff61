"""How long entries are kept, and which may go: from the oldest on, up to what still runs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import takewhile

from sparkassets.core.journal.entries import NumberedEntry
from sparkassets.core.journal.state import State
from sparkassets.frozen import frozen

SLACK = 16
"""By which part of its time an entry may be kept longer, so that letting go costs little."""


@frozen
class RetentionPolicy:
    """How long entries are kept.

    Attributes:
        seconds: At least.
    """

    seconds: int

    def cutoff(self, now: datetime) -> datetime:
        """Entries from then on are kept."""
        return now - timedelta(seconds=self.seconds)

    def is_due(self, oldest: datetime, now: datetime) -> bool:
        """Whether an entry is so old that it is worth while to let go of it.

        >>> from datetime import UTC
        >>> first, keeps = datetime(2025, 1, 1, tzinfo=UTC), RetentionPolicy(16 * 86_400)
        >>> keeps.is_due(first, first + timedelta(days=17)), keeps.is_due(first, first + timedelta(days=18))
        (False, True)
        """
        return oldest < self.cutoff(now) - timedelta(seconds=self.seconds) / SLACK


def last_expendable_seq(state: State) -> int:
    """The number up to which entries may go: not the newest, and none since the claim of a run that is not settled."""
    claims = (link.token for asset in state.assets.values() for link in asset.chain)
    return min([state.seq, *claims]) - 1


def find_outdated(entries: Sequence[NumberedEntry], before: datetime) -> list[NumberedEntry]:
    """The first of these entries that are older; one by a clock that runs ahead keeps those after it."""
    return list(takewhile(lambda each: each.at < before, entries))

"""Finds the entries that may be removed, as they are past their time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import takewhile

from sparkassets.core.journal.entries import NumberedEntry
from sparkassets.core.journal.state import State
from sparkassets.frozen import frozen

SLACK = 16
"""An entry may be kept longer by this fraction of the retention, so that entries expire in few, large steps."""


@frozen
class RetentionPolicy:
    """How long entries are kept.

    Attributes:
        seconds: The least time for which an entry is kept.
    """

    seconds: int

    def cutoff(self, now: datetime) -> datetime:
        """The instant from which on entries are kept."""
        return now - timedelta(seconds=self.seconds)

    def is_due(self, oldest: datetime, now: datetime) -> bool:
        """Whether the oldest entry is old enough for an expiry to pay off.

        >>> from datetime import UTC
        >>> first, keeps = datetime(2025, 1, 1, tzinfo=UTC), RetentionPolicy(16 * 86_400)
        >>> keeps.is_due(first, first + timedelta(days=17)), keeps.is_due(first, first + timedelta(days=18))
        (False, True)
        """
        return oldest < self.cutoff(now) - timedelta(seconds=self.seconds) / SLACK


def last_expendable_seq(state: State) -> int:
    """The sequence number up to which entries may expire: before the newest entry and every unsettled claim."""
    claims = (claim.token for asset in state.assets.values() for claim in asset.chain)
    return min([state.seq, *claims]) - 1


def find_outdated(entries: Sequence[NumberedEntry], before: datetime) -> list[NumberedEntry]:
    """The leading entries that are older than ``before``.

    Entries expire in order, so one whose driver's clock was fast keeps all entries after it.
    """
    return list(takewhile(lambda each: each.at < before, entries))

"""Renews the leases of a driver's own claims, and stops runs whose claim another driver took over."""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.core.journal.entries import Entry, RenewEntry
from sparkassets.core.journal.state import State
from sparkassets.errors import StateError
from sparkassets.runtime.invocation import Invocation


class LeaseRenewal:
    """Renews all claims of one driver in one commit, after a third of the shortest lease."""

    def __init__(self, invocation: Invocation) -> None:
        self._project = invocation.project
        self._ledger = invocation.ledger
        self._active = invocation.active
        self._clock = invocation.clock
        self._renewed_at = 0.0

    def record_renewal(self) -> None:
        """Counts all leases as renewed now: there are no claims older than that."""
        self._renewed_at = self._clock.monotonic()

    def renew_when_due(self) -> None:
        """Renews the leases if it is time, and stops every run whose claim is no longer the newest.

        Raises:
            StateError: The journal could not be written for two thirds of a lease.
        """
        leases = [self._project.assets[active.run.asset].lease_seconds for active in self._active.by_token.values()]
        elapsed = self._clock.monotonic() - self._renewed_at
        if not leases or elapsed < min(leases) / 3:
            return
        claims = [(active.run.asset, token) for token, active in self._active.by_token.items()]

        def decide(state: State) -> Sequence[Entry]:
            newest = tuple(claim for claim in claims if _is_newest(state, claim))
            return [RenewEntry(newest)] if newest else []

        try:
            self._ledger.refresh()
            self._ledger.commit(decide)
        except StateError:
            if elapsed < min(leases) * 2 / 3:
                return  # there is time to try again
            raise
        self.record_renewal()
        for claim in claims:
            if not _is_newest(self._ledger.state, claim):
                self._active.by_token[claim[1]].execution.supersede()


def _is_newest(state: State, claim: tuple[str, int]) -> bool:
    """Whether the claim, an asset and a fence token, is open and the newest of its slot."""
    asset, token = claim
    return state.assets[asset].is_newest(token)

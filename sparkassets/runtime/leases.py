"""Decides whether the driver of a claim is gone: by its process, or by its lease.

The rules are in docs/design/run-protocol.md#leases.

On this host the operating system says whether the process lives. A process may outlive its drivers, as a notebook or
a job server does, so each process also keeps a list of its drivers that are at work.

Nothing here compares the clocks of two drivers. A lease is over when *this* driver has seen the same renewal for longer
than the lease, on its own monotonic clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from sparkassets.core.journal.state import ClaimState, State, StateSearch
from sparkassets.frozen import frozen
from sparkassets.ports import Clock
from sparkassets.processes import Process

Alive = Callable[[Sequence[Process]], bool]
"""Whether any of these processes of this host runs."""


@frozen
class ClaimSighting:
    """When this driver last saw a claim renewed.

    Attributes:
        renewed: Number of the newest renewal that was seen.
        since: When that was first seen, by this driver's monotonic clock.
        was_renewed: Whether it was renewed while this driver looked: then its driver lives.
    """

    renewed: int
    since: float
    was_renewed: bool = False


class ActiveInvocations:
    """Invocation ids of the drivers at work in this process; safe for threads."""

    def __init__(self) -> None:
        self._invocations: set[str] = set()

    def __contains__(self, invocation: str) -> bool:
        return invocation in self._invocations

    @contextmanager
    def register(self, invocation: str) -> Iterator[None]:
        """Lists the invocation as at work while the block lasts."""
        self._invocations.add(invocation)
        try:
            yield
        finally:
            self._invocations.discard(invocation)


class LeaseMonitor:
    """What this driver has seen of other drivers' claims.

    Attributes:
        host: Identity of this host, as claims name it; empty where it cannot be known: then leases alone decide.
        process: This process, as claims name it.
        invocations: The drivers of this process.
    """

    def __init__(
        self, *, host: str, process: Process, alive: Alive, clock: Clock, invocations: ActiveInvocations | None = None
    ) -> None:
        self.host = host
        self.process = process
        self.invocations = ActiveInvocations() if invocations is None else invocations
        self._alive = alive
        self._clock = clock
        self._sightings: dict[int, ClaimSighting] = {}
        self._claimed = StateSearch(lambda asset: bool(asset.chain))

    def expired_claims(self, state: State, *, mine: frozenset[int]) -> frozenset[int]:
        """Fence tokens of open claims whose driver is gone; ``mine`` are this driver's own."""
        return frozenset(claim.token for claim in self._foreign_claims(state, mine) if self._is_expired(claim))

    def seconds_until_expiry(self, state: State, *, mine: frozenset[int]) -> float | None:
        """Seconds until the lease of a claim from another host may expire; None if no claim is in doubt.

        A claim that was renewed while this driver looked is not in doubt: its driver lives.
        """
        waits = [
            claim.entry.lease_seconds - (self._clock.monotonic() - sighting.since)
            for claim in self._foreign_claims(state, mine)
            if (sighting := self._sightings.get(claim.token)) is not None and not sighting.was_renewed
        ]
        return max(0.0, min(waits)) if waits else None

    def _is_expired(self, claim: ClaimState) -> bool:
        """Whether the claim's driver is gone; the first sight of a renewal only starts the measurement."""
        if self.host and claim.entry.host == self.host:
            if self.process in claim.entry.processes[:1]:
                return claim.entry.invocation not in self.invocations
            # a JVM that was enlisted must be gone too: on a local disk Spark's commits are safe within one JVM only
            return not self._alive(claim.entry.processes)
        now = self._clock.monotonic()
        sighting = self._sightings.get(claim.token)
        if sighting is None or sighting.renewed != claim.renewed_seq:
            self._sightings[claim.token] = ClaimSighting(claim.renewed_seq, now, was_renewed=sighting is not None)
            return False
        return now - sighting.since > claim.entry.lease_seconds

    def _foreign_claims(self, state: State, mine: frozenset[int]) -> Iterator[ClaimState]:
        """The open claims of other drivers."""
        for asset in self._claimed.find(state):
            for chain in asset.chains.values():
                if chain[-1].status == "open" and chain[-1].token not in mine:
                    yield chain[-1]

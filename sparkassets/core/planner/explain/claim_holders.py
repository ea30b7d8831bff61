"""Which drivers hold an asset's runs, and how long since each of them last proved to be alive."""

from __future__ import annotations

from collections.abc import Iterator

from sparkassets.core.journal.state import AssetState
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.frozen import frozen


@frozen
class ClaimHolder:
    """A driver with an unsettled claim.

    Attributes:
        since: When it claimed the run, Unix seconds, by its own clock.
        silent_seconds: Seconds since it claimed the run or renewed its lease, never negative. It compares two hosts'
            clocks, so it is for people only; takeovers use one clock alone.
        lease_seconds: How long others wait for it, unless they see that its process is gone.
        gone: Whether its process on this host is gone, so that the next run settles the claim.
    """

    run: str
    driver: str
    since: int
    silent_seconds: int
    lease_seconds: int
    gone: bool


def find_claim_holders(context: PlanningContext, asset: AssetState) -> Iterator[ClaimHolder]:
    """Yields the holder of the newest claim of each chain, if it is open."""
    for chain in asset.chains.values():
        link = chain[-1]
        if link.status == "open":
            silent = max(0, context.clock - max(link.proved, link.at))
            gone = link.token in context.gone_claims
            yield ClaimHolder(link.entry.run, link.driver, link.at, silent, link.entry.lease_seconds, gone)

"""Which drivers hold an asset's runs, and how long since each of them last proved to be alive."""

from __future__ import annotations

from collections.abc import Iterator

from sparkassets.core.journal.state import AssetState
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.frozen import frozen


@frozen
class ClaimHolder:
    """A driver with a claim that is not settled.

    Attributes:
        since: When it claimed the run, Unix seconds, by its own clock.
        silent_seconds: Since it claimed the run or renewed that, by its clock and by this one: where the two differ, so
            does this. Never negative. What takes a claim from its driver goes by one clock alone.
        lease_seconds: For so long others wait for it, unless they see that its process is gone.
        gone: Whether its process on this host is gone, so that the next run settles what it left.
    """

    run: str
    driver: str
    since: int
    silent_seconds: int
    lease_seconds: int
    gone: bool


def find_claim_holders(context: PlanningContext, asset: AssetState) -> Iterator[ClaimHolder]:
    """Of each chain of claims the newest, if it is open."""
    for chain in asset.chains.values():
        link = chain[-1]
        if link.status == "open":
            silent = max(0, context.clock - max(link.proved, link.at))
            gone = link.token in context.gone_claims
            yield ClaimHolder(link.entry.run, link.driver, link.at, silent, link.entry.lease_seconds, gone)

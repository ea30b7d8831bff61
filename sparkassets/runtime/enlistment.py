"""Enlists the engine's processes in a claim, so that Spark may commit for its run.

Where the driver cannot commit by itself, Spark does, in a JVM that may outlive the driver. The claim then names that
process, and other drivers wait for it to end. Two JVMs never commit to one table at once.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from sparkassets.core.journal.entries import Entry, RenewEntry
from sparkassets.core.journal.state import State
from sparkassets.core.spec.storage_overlaps import find_table_sharers
from sparkassets.errors import RunError
from sparkassets.runtime.active_runs import POLL_SECONDS
from sparkassets.runtime.invocation import Invocation


class ProcessEnlistment:
    """Asks the journal, for runs in their own threads, whether the engine's processes may commit."""

    def __init__(self, invocation: Invocation) -> None:
        self._project = invocation.project
        self._ledger = invocation.ledger
        self._leases = invocation.leases
        self._active = invocation.active
        self._engine = invocation.engine
        self._closed = threading.Event()

    def close(self) -> None:
        """Refuses every request from now on: the driver's thread answers none any more."""
        self._closed.set()

    def enlist(self, asset: str, token: int) -> None:
        """Waits for the driver's thread to name the engine's processes in the claim; for a run's thread.

        Raises:
            RunError: They may not commit for this claim.
        """
        answer: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._active.mailbox.put(partial(self._answer_request, asset, token, answer))
        while True:
            with suppress(queue.Empty):
                refusal = answer.get(timeout=POLL_SECONDS)
                break
            if self._closed.is_set():
                refusal = "its driver has ended"
                break
        if refusal:
            raise RunError(f"{asset}: its run may not commit: {refusal}")

    def _answer_request(self, asset: str, token: int, answer: queue.SimpleQueue[str | None]) -> None:
        """Answers on the driver's thread; an error there answers too, or the run's thread would wait for ever."""
        refusal: str | None = "the journal cannot be written"
        try:
            refusal = self._record_processes(asset, token)
        finally:
            answer.put(refusal)

    def _record_processes(self, asset: str, token: int) -> str | None:
        """Records the engine's processes in the claim; returns why they may not commit, None if they may."""
        engine, _ = self._engine.start()
        processes = engine.processes()
        rivals: list[str] = []

        def decide(state: State) -> Sequence[Entry]:
            rivals[:] = self._rival_runs(state, asset, token)
            if rivals or not state.assets[asset].is_newest(token):
                return []
            claim = state.assets[asset].claim_entry(token)
            recorded = claim.processes if claim is not None else ()
            new = tuple(process for process in processes if process not in recorded)
            return [RenewEntry(((asset, token),), new)] if new else []

        self._ledger.commit(decide)
        if rivals:
            return f"the Spark session of another driver is committing to the table, for {rivals[0]}"
        return None if self._ledger.state.assets[asset].is_newest(token) else "its claim has expired"

    def _rival_runs(self, state: State, asset: str, token: int) -> list[str]:
        """Live runs for which the Spark of another driver may commit to the asset's table.

        They are runs of the asset's other slots, and of other assets that append to the table. On a store without
        put-if-absent, two Sparks that commit at once lose rows.
        """
        own_tokens = self._active.tokens
        ignored = {token, *self._leases.expired_claims(state, mine=own_tokens), *own_tokens}
        sharers = (state.assets[name] for name in find_table_sharers(self._project, asset) if name in state.assets)
        newest = (chain[-1] for sharer in sharers for chain in sharer.chains.values())
        others = (claim for claim in newest if claim.status == "open" and claim.token not in ignored)
        # the first process of a claim is its driver's; any other is an enlisted JVM
        return [claim.entry.run for claim in others if len(claim.entry.processes) > 1]

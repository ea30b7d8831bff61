"""Iterations at run time: what a record says of one, and the removal of those that nobody can read any more.

The journal says first which may go, against a state in which no claim reads them; only then are folders removed, in a
thread of their own. So a driver that dies in between leaves folders that nobody knows, which the next removal takes.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sparkassets.core.journal.entries import Entry, SuccessEntry
from sparkassets.core.journal.retiring import retire
from sparkassets.core.journal.state import State
from sparkassets.core.planner.publications import find, is_beside, told
from sparkassets.core.runs import RunRequest, iteration_name
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.writes import Publish
from sparkassets.ports import Committed
from sparkassets.runtime.execution import Execution
from sparkassets.runtime.ledger import Ledger

WAIT_SECONDS = 30.0
"""How long a driver that ends waits for removals; what is left then goes with the next ones."""


def of_order(asset: AssetSpec, state: State, request: RunRequest) -> Mapping[str, Any]:
    """What an order says of the iteration that it makes, or makes the newest again."""
    known = state.assets[asset.name]
    restored = find(known, request.restores) if request.restores else None
    name = restored.name if restored is not None else request.restores  # which is nowhere, so that the run fails
    return {"restores": name, "beside": is_beside(asset, known, request)}


def with_iteration(
    entry: SuccessEntry, asset: AssetSpec, state: State, request: RunRequest, committed: Committed
) -> SuccessEntry:
    """The record of a run with the iteration that is in its target, where the asset publishes any."""
    if not isinstance(asset.write, Publish) or not entry.published:
        return entry
    known, run = state.assets[asset.name], request.restores or entry.run
    found = find(known, run) if request.restores else None
    name = found.name if found is not None else iteration_name(committed.run, committed.token, committed.attempt)
    files = committed.measures.get("writes") == "files"
    more = told(asset, name, run=run, blocks=entry.published, files=files)
    if request.restores:
        return replace(entry, restores=run, extra={**entry.extra, **more, "rollback": True})
    return replace(entry, iteration=name, beside=is_beside(asset, known, request), extra={**entry.extra, **more})


class Removals:
    """Removes iterations after newer ones are recorded; used by the thread that owns the journal."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []

    def after(self, ledger: Ledger, asset: AssetSpec, execution: Execution) -> None:
        """Records which iterations of the asset may go now, and begins to remove them and what attempts left behind."""
        if not isinstance(asset.write, Publish):
            return
        keep = asset.write.keep

        def decide(state: State) -> Sequence[Entry]:
            entry = retire(state, asset.name, keep=keep)
            return [] if entry is None else [entry]

        ledger.commit(decide)
        known = ledger.state.assets[asset.name]
        names = {each.name for each in known.iterations}
        unsettled = {link.token for link in known.chain}
        job = threading.Thread(
            target=execution.remove_iterations,
            kwargs={"keep": names, "unsettled": unsettled, "tokens": range(known.placed, known.done + 1)},
            name=f"{asset.name}-iterations",
            daemon=True,
        )
        self._threads.append(job)
        job.start()

    def finish(self) -> None:
        """Waits for what was begun."""
        for job in self._threads:
            job.join(WAIT_SECONDS)
        self._threads.clear()

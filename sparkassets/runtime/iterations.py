"""Iterations at run time: the fields that a record has of one, and the removal of iterations that nobody reads.

First the journal records which iterations may go, decided on a state in which no claim reads them. Only then a thread
removes their folders. A driver that dies in between leaves unrecorded folders behind, which the next removal takes.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from sparkassets.core.iterations import iteration_name
from sparkassets.core.journal.entries import Entry, OutletEntry, PublishedEntry, SuccessEntry
from sparkassets.core.journal.state import AssetState, State
from sparkassets.core.planner.batch.iterations import (
    find_iteration,
    iteration_event_extra,
    keeps_newest_iteration,
    retire_iterations,
)
from sparkassets.core.runs import RunRequest
from sparkassets.core.spec.model import AssetSpec
from sparkassets.ports import DataCommit, Target
from sparkassets.runtime.execution import RunExecution
from sparkassets.runtime.ledger import JournalLedger

WAIT_SECONDS = 30.0
"""How long a driver that ends waits for removals; the next ones take what is left."""


def iteration_order_fields(asset: AssetSpec, state: State, request: RunRequest) -> Mapping[str, Any]:
    """Order fields: the iteration that a rollback restores, and whether the newest one stays beside the new.

    If the iteration to restore is gone, its run name stands for it. No folder has that name, so the run fails.
    """
    asset_state = state.assets[asset.name]
    restored = find_iteration(asset_state, request.restores) if request.restores else None
    name = restored.name if restored is not None else request.restores  # no folder has that name: the run fails
    return {"restores": name, "keeps_newest_iteration": keeps_newest_iteration(asset, asset_state, request)}


def with_iteration(
    entry: SuccessEntry, asset: AssetSpec, state: State, request: RunRequest, committed: DataCommit
) -> SuccessEntry:
    """The success entry with the iteration that the commit made or restored; unchanged if the asset publishes none."""
    if not asset.publishes or not entry.published_partitions:
        return entry
    if asset.outlets:  # its outlets' entries name the iterations
        extra = {**entry.extra, "rollback": True} if request.restores else entry.extra
        return replace(entry, restores=request.restores, extra=extra)
    return replace(entry, **_iteration_fields(entry, asset, state, request, committed))


def outlet_with_iteration(
    entry: OutletEntry, asset: AssetSpec, state: State, request: RunRequest, committed: DataCommit
) -> OutletEntry:
    """As `with_iteration`, for one outlet: each outlet has the iteration of its own commit."""
    if not asset.publishes or not entry.published_partitions:
        return entry
    return replace(entry, **_iteration_fields(entry, asset, state, request, committed))


def _iteration_fields(
    entry: PublishedEntry, asset: AssetSpec, state: State, request: RunRequest, committed: DataCommit
) -> dict[str, Any]:
    """Fields of the entry about the iteration: its name and whether it is hidden; for a rollback, the restored run."""
    asset_state, run = state.assets[asset.name], request.restores or entry.run
    restored = find_iteration(asset_state, run) if request.restores else None
    name = restored.name if restored is not None else _committed_name(committed)
    event_extra = iteration_event_extra(
        asset, name, run=run, partitions=entry.published_partitions, files=_is_written_as_files(committed)
    )
    if request.restores:
        return {"restores": run, "extra": {**entry.extra, **event_extra, "rollback": True}}
    return {
        "iteration": name,
        "is_hidden_iteration": keeps_newest_iteration(asset, asset_state, request),
        "extra": {**entry.extra, **event_extra},
    }


def _committed_name(committed: DataCommit) -> str:
    return iteration_name(committed.run, committed.token, committed.attempt)


def _is_written_as_files(committed: DataCommit) -> bool:
    return committed.measures.get("writes") == "files"


def _retained_iterations(asset: AssetState) -> tuple[Collection[str], range]:
    """Names of the iterations to keep, and the range of run tokens whose other folders may be removed."""
    return {each.name for each in asset.iterations}, range(asset.placed_since, asset.newest_token + 1)


def _remove_iterations(
    targets: Sequence[Target], retained: Sequence[tuple[Collection[str], range]], unsettled: Collection[int]
) -> None:
    """Removes iterations that nobody reads any more, where the storage lets it.

    Args:
        targets: The tables of the asset.
        retained: For each of them (names of the iterations to keep, fence tokens whose other folders may go).
        unsettled: Fence tokens of claims without a record: their runs may still be writing.
    """
    for target, (names, tokens) in zip(targets, retained, strict=True):
        with suppress(Exception):
            target.remove_iterations(keep=names, unsettled=unsettled, tokens=tokens)


class IterationRemovals:
    """Removes iterations after newer ones are recorded; used by the thread that owns the journal."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []

    def start_removal(self, ledger: JournalLedger, asset: AssetSpec, execution: RunExecution) -> None:
        """Records which iterations expire; starts a thread that removes them and the folders of failed attempts."""
        if not asset.publishes:
            return
        keep = asset.kept_iterations

        def decide(state: State) -> Sequence[Entry]:
            entries = (retire_iterations(state, name, keep=keep) for name in asset.written_assets)
            return [entry for entry in entries if entry is not None]

        ledger.commit(decide)
        states = ledger.state.assets
        unsettled = {link.token for link in states[asset.name].chain}
        retained = [_retained_iterations(states[name]) for name in asset.written_assets]
        thread = threading.Thread(
            target=_remove_iterations,
            args=(execution.targets, retained, unsettled),
            name=f"{asset.name}-iterations",
            daemon=True,
        )
        self._threads.append(thread)
        thread.start()

    def finish(self) -> None:
        """Waits for the removal threads, each up to ``WAIT_SECONDS``."""
        for thread in self._threads:
            thread.join(WAIT_SECONDS)
        self._threads.clear()

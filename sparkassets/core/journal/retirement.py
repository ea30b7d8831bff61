"""Finds the iterations of an asset that may be removed: no present or future claim reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sparkassets.core.journal.iterations import PublishedIteration, RetiredEntry, find_superseded, visible_iterations
from sparkassets.core.journal.state import AssetState, State
from sparkassets.core.runs import InletPin, TablePosition


def retire_iterations(state: State, asset: str, *, keep: int) -> RetiredEntry | None:
    """The entry that retires the asset's superseded iterations; None where all stay.

    Iterations that a claim pins stay, because a driver that takes the claim over reads them again. A later claim reads
    only iterations that are visible by then.
    """
    known = state.assets[asset]
    runs = find_superseded(known.iterations, keep=keep, pinned={each.run for each in _pinned_iterations(state, known)})
    return RetiredEntry(asset, runs) if runs else None


def _pinned_iterations(state: State, known: AssetState) -> Iterator[PublishedIteration]:
    """Yields the iterations that unsettled claims read, and those that the asset's own claims roll back to."""
    maker = state.assets.get(known.spec.maker, known)
    restoring = {link.entry.request.restores for link in maker.chain}
    yield from (each for each in known.iterations if each.run in restoring)
    for reader in state.assets.values():
        for link in reader.chain:
            if (pin := link.entry.request.pins.get(known.name)) is not None:
                yield from _iterations_read(known.iterations, pin)


def _iterations_read(iterations: Sequence[PublishedIteration], pin: InletPin) -> Sequence[PublishedIteration]:
    """The iterations that a run with that pin reads: the named one, those visible at its version, or its changes.

    Changes since a version are found by comparing all iterations shown since with those that they replaced.
    """
    since = TablePosition.parse(pin.low) if pin.low is not None else None
    if since is not None and pin.version is not None:
        versions = range(since.version + 1, pin.version + 1)
        shown_since = [each for each in iterations if _became_visible(each, versions)]
        return [*shown_since, *visible_iterations(iterations, since.version)]
    if pin.iteration:
        return [each for each in iterations if each.name == pin.iteration]
    return visible_iterations(iterations, pin.version) if pin.version is not None else ()


def _became_visible(iteration: PublishedIteration, versions: range) -> bool:
    """Whether one of these versions made it visible to readers."""
    return any(version in versions for version in iteration.shown)

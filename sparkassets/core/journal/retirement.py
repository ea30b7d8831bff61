"""Which iterations of an asset may be removed at a moment of the journal: no claim reads them, nor ever will."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sparkassets.core.journal.iterations import PublishedIteration, RetiredEntry, find_superseded, visible_iterations
from sparkassets.core.journal.state import AssetState, State
from sparkassets.core.runs import InletPin, TablePosition


def retire_iterations(state: State, asset: str, *, keep: int) -> RetiredEntry | None:
    """What becomes of the asset's older iterations now; None where all stay.

    What a claim pins stays: whoever takes it over reads it again. A claim that comes later reads what is seen by then.
    """
    known = state.assets[asset]
    runs = find_superseded(known.iterations, keep=keep, pinned={each.run for each in _pinned_iterations(state, known)})
    return RetiredEntry(asset, runs) if runs else None


def _pinned_iterations(state: State, known: AssetState) -> Iterator[PublishedIteration]:
    """What unsettled claims read of the asset, and what its own make the newest again."""
    maker = state.assets.get(known.spec.maker, known)
    restoring = {link.entry.request.restores for link in maker.chain}
    yield from (each for each in known.iterations if each.run in restoring)
    for reader in state.assets.values():
        for link in reader.chain:
            if (pin := link.entry.request.pins.get(known.name)) is not None:
                yield from _iterations_read(known.iterations, pin)


def _iterations_read(iterations: Sequence[PublishedIteration], pin: InletPin) -> Sequence[PublishedIteration]:
    """What a run with that pin reads: the iteration that it names, what its version of the table shows, or its changes.

    What came since a version is told by all that was shown since, and by what each took the place of.
    """
    since = TablePosition.parse(pin.low) if pin.low is not None else None
    if since is not None and pin.version is not None:
        versions = range(since.version + 1, pin.version + 1)
        came = [each for each in iterations if _became_visible(each, versions)]
        return [*came, *visible_iterations(iterations, since.version)]
    if pin.iteration:
        return [each for each in iterations if each.name == pin.iteration]
    return visible_iterations(iterations, pin.version) if pin.version is not None else ()


def _became_visible(iteration: PublishedIteration, versions: range) -> bool:
    """Whether one of these versions made it what readers see."""
    return any(version in versions for version in iteration.shown)

"""Finds what may be removed: entries past their time, and iterations that no present or future claim reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import takewhile

from sparkassets.core.journal.entries import NumberedEntry
from sparkassets.core.journal.iterations import PublishedIteration, RetiredEntry, find_superseded, visible_iterations
from sparkassets.core.journal.state import AssetState, State
from sparkassets.core.runs import InletPin, TablePosition
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


def retire_iterations(state: State, asset: str, *, keep: int) -> RetiredEntry | None:
    """The entry that retires the asset's superseded iterations; None where all stay.

    Iterations that a claim pins stay, because a driver that takes the claim over reads them again. A later claim reads
    only iterations that are visible by then.
    """
    asset_state = state.assets[asset]
    runs = find_superseded(
        asset_state.iterations, keep=keep, pinned={each.run for each in _pinned_iterations(state, asset_state)}
    )
    return RetiredEntry(asset, runs) if runs else None


def _pinned_iterations(state: State, asset_state: AssetState) -> Iterator[PublishedIteration]:
    """Yields the iterations that unsettled claims read, and those that the asset's own claims roll back to."""
    maker = state.assets.get(asset_state.spec.maker, asset_state)
    restoring = {claim.entry.request.restores for claim in maker.chain}
    yield from (each for each in asset_state.iterations if each.run in restoring)
    for reader in state.assets.values():
        for claim in reader.chain:
            if (pin := claim.entry.request.pins.get(asset_state.name)) is not None:
                yield from _iterations_read(asset_state.iterations, pin)


def _iterations_read(iterations: Sequence[PublishedIteration], pin: InletPin) -> Sequence[PublishedIteration]:
    """The iterations that a run with that pin reads: the named one, those visible at its version, or its changes.

    Changes since a version are found by comparing all iterations shown since with those that they replaced.
    """
    low_position = TablePosition.parse(pin.low) if pin.low is not None else None
    if low_position is not None and pin.version is not None:
        versions = range(low_position.version + 1, pin.version + 1)
        shown_since = [each for each in iterations if _became_visible(each, versions)]
        return [*shown_since, *visible_iterations(iterations, low_position.version)]
    if pin.iteration:
        return [each for each in iterations if each.name == pin.iteration]
    return visible_iterations(iterations, pin.version) if pin.version is not None else ()


def _became_visible(iteration: PublishedIteration, versions: range) -> bool:
    """Whether one of these table versions made the iteration visible to readers."""
    return any(version in versions for version in iteration.shown)

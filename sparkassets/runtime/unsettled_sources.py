"""Counts the runs that failed because a source changed while they read it, and gives up on restless sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from sparkassets.core.journal.state import State
from sparkassets.core.runs import InletPin
from sparkassets.errors import SourceChangedError
from sparkassets.runtime.outcomes import FailedRun, Outcome

MAX_CHANGES = 3
"""Runs of one asset that may fail in one invocation because a source changed; after that it is not looked at."""


class UnsettledSources:
    """Counts runs that failed because a source changed between plan and read; one object for each invocation."""

    def __init__(self) -> None:
        self._failed: Counter[tuple[str, str]] = Counter()

    def count_change(self, asset: str, outcome: Outcome) -> bool:
        """Counts a failed run of the asset if a changed source caused the failure; returns whether one did."""
        source = _changed_source(outcome)
        if source is not None:
            self._failed[asset, source] += 1
        return source is not None

    def abandoned_sources(self) -> Mapping[str, str]:
        """Sources that this invocation stops looking at, with a sentence that says why and what to do.

        Otherwise each look would record another change, and the runs that failed because of the last one would be
        planned again for ever.
        """
        reason = f"it changed {MAX_CHANGES} times while it was read; 'settle' skips files that are still being written"
        return {source: reason for (_, source), times in self._failed.items() if times >= MAX_CHANGES}

    def is_change_recorded(self, outcome: Outcome, pins: Mapping[str, InletPin], state: State) -> bool:
        """Whether the source change that failed the run is recorded by now, so that a new plan differs.

        False for an abandoned source: it still changes, and a run planned with the recorded version would fail again.
        """
        source = _changed_source(outcome)
        pin = pins.get(source) if source is not None else None
        return pin is not None and source not in self.abandoned_sources() and state.dataset(pin.uri).seq > pin.seq


def _changed_source(outcome: Outcome) -> str | None:
    """The source whose change made the run fail; None for any other outcome."""
    if isinstance(outcome, FailedRun) and issubclass(type(outcome.error), SourceChangedError):
        return getattr(outcome.error, "source", None)
    return None

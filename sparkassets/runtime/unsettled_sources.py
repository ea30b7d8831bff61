"""Sources that change while they are read: each such run is planned anew, but not for ever."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from sparkassets.core.journal.state import State
from sparkassets.core.runs import InletPin
from sparkassets.errors import SourceChangedError
from sparkassets.runtime.execution import FailedRun, Outcome

MAX_CHANGES = 3
"""Runs of one asset that may fail in one invocation because a source changed; after that it is not looked at."""


class UnsettledSources:
    """Counts, for one invocation, the runs that failed because a source was no longer what they were planned with."""

    def __init__(self) -> None:
        self._failed: Counter[tuple[str, str]] = Counter()

    def count_change(self, asset: str, outcome: Outcome) -> bool:
        """Counts the outcome of one of the asset's runs; returns whether it failed of that."""
        source = _changed_source(outcome)
        if source is not None:
            self._failed[asset, source] += 1
        return source is not None

    def abandoned_sources(self) -> Mapping[str, str]:
        """The sources that this invocation looks at no more, with what to do.

        A look would find a new cause for the runs that failed, and they would be planned again.
        """
        said = f"it changed {MAX_CHANGES} times while it was read; 'settle' leaves alone what is still being written"
        return {source: said for (_, source), times in self._failed.items() if times >= MAX_CHANGES}

    def is_change_recorded(self, outcome: Outcome, pins: Mapping[str, InletPin], state: State) -> bool:
        """Whether a run failed of a change that is recorded by now, so that a new plan is another one.

        It is not where the source still changes (``settle``): with what is recorded the run would fail again.
        """
        source = _changed_source(outcome)
        pin = pins.get(source) if source is not None else None
        return pin is not None and source not in self.abandoned_sources() and state.dataset(pin.uri).seq > pin.seq


def _changed_source(outcome: Outcome) -> str | None:
    """The source that a run failed of because it had changed."""
    if isinstance(outcome, FailedRun) and issubclass(type(outcome.error), SourceChangedError):
        return getattr(outcome.error, "source", None)
    return None

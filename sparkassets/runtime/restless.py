"""Sources that change while they are read: each such run is planned anew, but not for ever."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sparkassets.errors import SourceChangedError
from sparkassets.runtime.execution import Failed, Outcome

TIMES = 3
"""Runs of one invocation that may fail because a source changed; after that it is not looked at any more."""


@dataclass(slots=True)
class Restless:
    """Counts, for one invocation, the runs that failed because a source was no longer what they were planned with."""

    _failed: Counter[str] = field(default_factory=Counter)

    def note(self, outcomes: Iterable[Outcome]) -> None:
        """Counts those of ``outcomes`` that failed of it."""
        errors = (outcome.error for outcome in outcomes if isinstance(outcome, Failed))
        self._failed.update(error.source for error in errors if isinstance(error, SourceChangedError))

    def left(self) -> Mapping[str, str]:
        """The sources that this invocation looks at no more, with what to do.

        A look would find a new cause for the runs that failed, and they would be planned again.
        """
        said = f"it changed {TIMES} times while it was read; 'settle' leaves alone what is still being written"
        return {source: said for source, times in self._failed.items() if times >= TIMES}

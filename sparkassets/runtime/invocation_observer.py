"""Looks at sources and tables for one invocation: at its beginning, once nothing is due, and when a source changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from sparkassets.core.journal.entries import Entry
from sparkassets.core.journal.state import State
from sparkassets.core.spec.model import AssetSpec
from sparkassets.ports import SourceObserver, TargetObserver
from sparkassets.runtime.invocation import Invocation
from sparkassets.runtime.observation import (
    ObservationReport,
    assets_with_losses,
    look_at_targets,
    observe_sources,
)
from sparkassets.runtime.unsettled_sources import UnsettledSources


class InvocationObserver:
    """Records what changed in sources and tables, and holds what the last look found wrong.

    Args:
        find_observer: Returns what looks at an asset's source; None for an asset without one.

    Attributes:
        unsettled: The sources that changed while runs read them.
        faults: Asset to what prevents a look at it, one line.
        notes: Asset to what people should know of its source, one line.
    """

    def __init__(
        self,
        invocation: Invocation,
        *,
        find_observer: Callable[[AssetSpec], SourceObserver | None],
        targets: TargetObserver,
    ) -> None:
        self.unsettled = UnsettledSources()
        self.faults: Mapping[str, str] = {}
        self.notes: Mapping[str, str] = {}
        self._project = invocation.project
        self._ledger = invocation.ledger
        self._leases = invocation.leases
        self._active = invocation.active
        self._engine = invocation.engine
        self._clock = invocation.clock
        self._find_observer = find_observer
        self._targets = targets
        self._assets_with_losses: set[str] = set()

    def observe(self, select: Collection[str] | None) -> None:
        """Looks at all sources and at the tables of ``select``, and records what changed; None selects all assets.

        The engine starts first if some source can be looked at by Spark alone.

        Raises:
            StateError: A table holds a run that the journal knows nothing of.
        """

        def decide(state: State) -> Sequence[Entry]:
            sources = self._observe_sources(state)
            if sources.session_needed and not self._engine.is_started:
                self._engine.start()  # then the observers use its session
                sources = self._observe_sources(state)
            tables = look_at_targets(
                self._project,
                state,
                self._targets,
                gone_claims=self._leases.expired_claims(state, mine=self._active.tokens),
                knows_run=self._ledger.knows_run,
                select=select,
                lost_before=self._assets_with_losses,
            )
            self.faults, self.notes = sources.faults | tables.faults, sources.notes
            return [*sources.entries, *tables.entries]

        self._ledger.refresh()
        self._assets_with_losses |= assets_with_losses(self._ledger.commit(decide))

    def _observe_sources(self, state: State) -> ObservationReport:
        """Looks at all sources but those that kept changing while runs read them."""
        return observe_sources(
            self._project,
            state,
            self._find_observer,
            now=self._clock.now(),
            abandoned=self.unsettled.abandoned_sources(),
        )

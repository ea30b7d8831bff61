"""A project with its state: what every use case begins with."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING

from sparkassets.app.adapters import Adapters
from sparkassets.app.selection import Selection, selected
from sparkassets.core.instants import parse_instant, zoned
from sparkassets.core.journal.retention import Retention
from sparkassets.core.journal.state import AssetState, State
from sparkassets.core.spec.model import AssetSpec, ProjectSpec
from sparkassets.errors import InputError
from sparkassets.runtime.ledger import Ledger
from sparkassets.runtime.sinks import Sinks

if TYPE_CHECKING:
    from sparkassets.core.runs import ChangesTold, Pin, Position, Volume
    from sparkassets.ports import Feeds, Volumes


class Opened:
    """A project, and what reaches its state.

    Attributes:
        spec: The project as its files say it.
    """

    def __init__(self, spec: ProjectSpec, adapters: Adapters) -> None:
        self.spec = spec
        self._adapters = adapters
        self._volumes: Volumes | None = None
        self._feeds: Feeds | None = None
        self._sinks = Sinks(adapters.sinks, project=spec, note=_warn)

    def asset(self, name: str) -> AssetSpec:
        """The asset of that name.

        Raises:
            InputError: There is none; with did-you-mean.
        """
        asset = self.spec.assets.get(name)
        if asset is None:
            raise self.spec.no_asset(name)
        return asset

    def runnable(self, name: str, verb: str) -> AssetSpec:
        """The asset of that name, which has runs of its own; ``verb`` is what is to be done to it.

        Raises:
            InputError: There is none, or it is an outlet.
        """
        asset = self.asset(name)
        if asset.maker:
            message = f"{name!r} is an outlet: the runs of {asset.maker!r} write it, with all that they write"
            raise InputError(message, hint=f"`sparkassets {verb} {asset.maker}`")
        return asset

    @property
    def named(self) -> ProjectSpec:
        """The project whose assets can be named."""
        return self.spec

    def selected(self, select: Selection) -> Collection[str] | None:
        """The assets that may run; for an outlet the asset whose runs write it, too. None means all.

        Raises:
            InputError: A name is not in the project, or no asset fits a pattern.
        """
        if select is None:
            return None
        names = selected(self.spec, [select] if isinstance(select, str) else select)
        makers = (self.asset(name).maker for name in names)
        return tuple(dict.fromkeys([*names, *filter(None, makers)]))

    def moment(self, at: datetime | str | None = None) -> datetime:
        """The instant that ``at`` means, by default now; aware, UTC."""
        return self._fixed(at) or self._adapters.clock.now()

    def forgotten(self) -> str:
        """A sentence on what the journal does not tell any more, by its retention; empty where it tells all."""
        store = self._adapters.store
        if not store.exists() or store.begins() == 1:
            return ""
        from sparkassets.runtime.ledger import oldest_kept

        oldest = oldest_kept(store)
        when = zoned(oldest[1], self.spec.timezone, seconds=True) if oldest is not None else "now"
        return f"what was before {when} is not kept (`retention` of the state)"

    def _fixed(self, at: datetime | str | None) -> datetime | None:
        return parse_instant(at, zone=self.spec.timezone) if isinstance(at, str) else at

    def _state(self, what: str) -> State:
        """What the journal says; nothing where there is none yet."""
        return self._ledger(what).open() if self._adapters.store.exists() else State()

    def _known(self, what: str) -> ProjectSpec:
        """The project with the segments that the journal knows, where they come to be known as it runs."""
        if not any(asset.partitioning.is_open for asset in self.spec.assets.values()):
            return self.spec
        return self._with_state(what)[0]

    def _with_state(self, what: str) -> tuple[ProjectSpec, State]:
        """The project with the segments that the journal knows, and what the journal says."""
        from sparkassets.core.journal.learned import knowing

        state = self._state(what)
        return knowing(self.spec, state), state

    def _weigh(self, asset: AssetSpec, pin: Pin, known: AssetState) -> Volume:
        """How much a run with that pin reads of an asset."""
        if self._volumes is None:
            self._volumes = self._adapters.volumes()
        return self._volumes.volume(asset, pin, known)

    def _told_changes(self, asset: AssetSpec, position: Position, version: int) -> ChangesTold:
        """Whether what changed in an asset's table is told."""
        if self._feeds is None:
            self._feeds = self._adapters.feeds()
        return self._feeds.told(asset, position, version)

    @contextmanager
    def _opened(self, what: str) -> Iterator[Ledger]:
        """A ledger to write to, made where there is none yet; left in order, and with the sinks told."""
        self._adapters.store.create(project=self.spec.name)
        ledger = self._ledger(what)
        ledger.open()
        with self._telling():
            yield ledger
            ledger.tidy()

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """An invocation that commits: at its end the sinks are waited for, for a while."""
        try:
            yield
        finally:
            self._sinks.end()

    def _ledger(self, what: str) -> Ledger:
        """The journal, not yet read; ``what`` is done to it, for its readers."""
        driver = f"{self._adapters.process()} {what}"
        store, clock = self._adapters.store, self._adapters.clock
        kept = Retention(self.spec.retention) if self.spec.retention is not None else None
        return Ledger(
            store,
            project=self.spec.name,
            driver=driver,
            clock=clock,
            tell=self._sinks.tell,
            retention=kept,
            variables=self.spec.variables,
        )


def _warn(text: str) -> None:
    with suppress(Warning):  # where warnings are errors
        warnings.warn(text, RuntimeWarning, stacklevel=2)

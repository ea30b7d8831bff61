"""Stopping assets from running, and letting them run again."""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.app.opened import Opened
from sparkassets.core.journal.entries import Entry, PauseEntry
from sparkassets.core.journal.state import State
from sparkassets.errors import InputError
from sparkassets.runtime.news import changed_specs


class Pausing(Opened):
    """What people can do to the assets of a project."""

    def pause(self, *assets: str) -> list[str]:
        """Stops these assets from running until they are resumed; what comes for them meanwhile is kept.

        A run that is in progress ends as it would have. Returns those that ran before.

        Raises:
            InputError: One is not in the project, or is a source.
        """
        return self._set_paused(assets, paused=True)

    def resume(self, *assets: str) -> list[str]:
        """Lets these assets run again, with all that came meanwhile; returns those that were paused.

        Raises:
            InputError: One is not in the project, is a source, or is paused by its own YAML.
        """
        for name in assets:
            spec = self.runnable(name, "resume")
            if spec.paused:
                raise InputError(
                    f"asset {name!r} is paused by `paused: true` in {spec.location.file}, which `resume` cannot change",
                    hint="take that line out",
                )
        return self._set_paused(assets, paused=False)

    def _set_paused(self, assets: Sequence[str], *, paused: bool) -> list[str]:
        for name in assets:
            verb = "pause" if paused else "resume"
            if self.runnable(name, verb).source is not None:
                raise InputError(f"asset {name!r} is a source: others write it, so there is nothing to {verb}")

        def decide(state: State) -> Sequence[Entry]:
            specs = changed_specs(self.spec, state)
            known = ((name, state.assets.get(name)) for name in dict.fromkeys(assets))
            return [
                *specs,
                *(PauseEntry(name, paused) for name, asset in known if (asset is not None and asset.paused) != paused),
            ]

        with self._opened("pause" if paused else "resume") as ledger:
            recorded = ledger.commit(decide)
        return [each.entry.asset for each in recorded if isinstance(each.entry, PauseEntry)]

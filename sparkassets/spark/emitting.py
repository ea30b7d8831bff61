"""Events that a function announces for what it wrote besides its own asset; recorded with the run's success."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sparkassets.core.journal.announce import announced, told_of
from sparkassets.core.journal.specs import fold_spec
from sparkassets.core.spec.model import AssetSpec, ProjectSpec
from sparkassets.errors import InputError, RunError


@dataclass(frozen=True)
class Outbox:
    """The events of one attempt of a run, held back until the run is recorded.

    Attributes:
        events: As the run's commit carries them.
    """

    project: ProjectSpec
    asset: AssetSpec
    events: list[dict[str, Any]] = field(default_factory=list)

    def add(self, target: str, partition: str | None, extra: Mapping[str, Any] | None) -> None:
        """Keeps the event that ``target`` was updated.

        Raises:
            RunError: It is wrong, or the run's own asset listens to it, and would run again and again.
        """
        name = self.asset.name
        try:
            entry = announced(self.project, target, partition=partition, extra=extra)
        except InputError as error:
            raise RunError(f"{name}: context.emit({target!r}): {error.args[0]}", hint=error.hint) from error
        if entry.uri in fold_spec(self.asset, self.project).listens:
            raise RunError(f"{name}: context.emit({target!r}): {name} listens to it, so it would run again and again")
        self.events.append(told_of(entry))

"""What a function tells besides its rows, recorded with the run's success: events of others, and segments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sparkassets.core.journal.announcements import encode_announcement, parse_announcement
from sparkassets.core.journal.fold_specs import build_fold_spec
from sparkassets.core.journal.known_segments import parse_added_segment
from sparkassets.core.spec.model import AssetSpec, ProjectSpec
from sparkassets.errors import InputError, RunError


@dataclass(frozen=True)
class RunOutbox:
    """What one attempt of a run tells, held back until the run is recorded.

    Attributes:
        events: As the run's commit carries them.
        keys: Column to the segments that it added.
    """

    project: ProjectSpec
    asset: AssetSpec
    events: list[dict[str, Any]] = field(default_factory=list)
    keys: dict[str, list[str]] = field(default_factory=dict)

    def add(self, target: str, partition: str | None, extra: Mapping[str, Any] | None) -> None:
        """Keeps the event that ``target`` was updated.

        Raises:
            RunError: It is wrong, or the run's own asset listens to it, and would run again and again.
        """
        name = self.asset.name
        try:
            entry = parse_announcement(self.project, target, partition=partition, extra=extra)
        except InputError as error:
            raise RunError(f"{name}: context.emit({target!r}): {error.args[0]}", hint=error.hint) from error
        if entry.uri in build_fold_spec(self.asset, self.project).listens:
            raise RunError(f"{name}: context.emit({target!r}): {name} listens to it, so it would run again and again")
        self.events.append(encode_announcement(entry))

    def add_partition(self, key: object, column: str | None) -> None:
        """Keeps the segment, which there is from the run's success on.

        Raises:
            RunError: The asset has no such dimension of ``segments: runtime``, or it is no segment.
        """
        try:
            found, text = parse_added_segment(self.asset, key, column)
        except InputError as error:
            raise RunError(f"{self.asset.name}: context.add_partition: {error.args[0]}", hint=error.hint) from error
        kept = self.keys.setdefault(found, [])
        if text not in kept:
            kept.append(text)

"""Events and segments that a function announces, recorded with the run's success."""

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
    """Announcements of one attempt, held back until the run is recorded.

    Attributes:
        events: The events, as the run's commit stores them.
        keys: The added segments, by column.
    """

    project: ProjectSpec
    asset: AssetSpec
    events: list[dict[str, Any]] = field(default_factory=list)
    keys: dict[str, list[str]] = field(default_factory=dict)

    def add(self, target: str, partition: str | None, extra: Mapping[str, Any] | None) -> None:
        """Announces that ``target`` was updated.

        Raises:
            RunError: It is invalid, or the run's own asset listens to it and would run again and again.
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
        """Announces a segment, which exists from the run's success on.

        Raises:
            RunError: The asset has no such dimension with ``segments: runtime``, or the key is no segment.
        """
        try:
            found, text = parse_added_segment(self.asset, key, column)
        except InputError as error:
            raise RunError(f"{self.asset.name}: context.add_partition: {error.args[0]}", hint=error.hint) from error
        kept = self.keys.setdefault(found, [])
        if text not in kept:
            kept.append(text)

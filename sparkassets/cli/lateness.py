"""Late assets, for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sparkassets.core.planner.explain.lateness import describe_lateness

if TYPE_CHECKING:
    from sparkassets.cli.terminal import Terminal
    from sparkassets.core.planner.plan import AssetLateness
    from sparkassets.core.spec.model import ProjectSpec


def print_late(late: Sequence[AssetLateness], project: ProjectSpec, terminal: Terminal) -> None:
    """Writes a line for each asset that is late."""
    for each in late:
        terminal.print(f"{terminal.paint(each.asset, 'yellow')}: {describe_lateness(each, project.assets[each.asset])}")

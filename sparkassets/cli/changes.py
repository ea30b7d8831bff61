"""Changes of code in the terminal: the differences, the assets affected and the cost of recomputing."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sparkassets.cli.tables import LEAST, wrap
from sparkassets.cli.terminal import Terminal, strip_controls
from sparkassets.core.planner.explain.code_changes import describe_code_change, describe_recompute_cost

if TYPE_CHECKING:
    from sparkassets.core.planner.plan import CodeChange
    from sparkassets.core.spec.model import ProjectSpec

_STYLES = {"-": "red", "+": "green"}


def print_changes(changes: Sequence[CodeChange], project: ProjectSpec, terminal: Terminal) -> None:
    """Writes the changes, each with its lines."""
    if not changes:
        return
    terminal.print("", "code changed:")
    room = max((terminal.width or sys.maxsize) - 2, LEAST)
    for change in changes:
        first, *rest = wrap(
            f"{change.asset}: {describe_code_change(change)}; {describe_recompute_cost(change, project)}", room
        )
        terminal.print(f"  {terminal.paint(change.asset, 'yellow')}{first.removeprefix(change.asset)}")
        terminal.print(*(f"  {line}" for line in rest))
        for line in change.difference:
            terminal.print(f"    {terminal.paint(strip_controls(line), _STYLES.get(line[:1], 'dim'))}")

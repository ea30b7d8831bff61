"""The output of `pause` and `resume`."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence

from sparkassets.cli.json_output import print_json
from sparkassets.cli.terminal import Terminal


def report_changes(assets: Sequence[str], changed: Collection[str], *, done: str, already: str, as_json: bool) -> None:
    """Reports for each asset whether anything changed; in JSON ``{done: [ASSET, …], "unchanged": [ASSET, …]}``."""
    named = list(dict.fromkeys(assets))
    if as_json:
        same = [name for name in named if name not in changed]
        print_json({done: [name for name in named if name in changed], "unchanged": same})
        return
    terminal = Terminal.from_stream(sys.stdout)
    terminal.print(*(f"{name}  {done if name in changed else already}" for name in named))

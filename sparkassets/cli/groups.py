"""Groups of commands, such as ``sparkassets state``, whose help shows the whole first sentence of each command."""

from __future__ import annotations

from typing import Final

import click

_WHOLE: Final = 1000
"""Characters that no first sentence has."""


class WrappedGroup(click.Group):
    """A group whose help wraps the summaries of its commands, which click's own truncates."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, self.commands[name].get_short_help_str(_WHOLE)) for name in self.list_commands(ctx)]
            )

"""Completion in a shell: its script, what answers it, and names of assets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

PROGRAM = "sparkassets"
VARIABLE = "_SPARKASSETS_COMPLETE"
"""Of the environment; a shell sets it when it asks."""
SHELLS = ("bash", "zsh", "fish")


def script(shell: str) -> str:
    """What the shell has to read for the program's completion."""
    from click.shell_completion import ShellComplete, get_completion_class

    from sparkassets.cli.app import cli

    kind = get_completion_class(shell)
    if kind is None:
        raise ValueError(f"click completes nothing in {shell!r}")
    # the method of the base class: that of bash asks the bash of this machine for its version first
    return ShellComplete.source(kind(cli, {}, PROGRAM, VARIABLE))


def answer(program: click.Command, instruction: str) -> int:
    """Prints what completes the words that the shell has put into the environment; the exit code."""
    from click.shell_completion import shell_complete

    return shell_complete(program, {}, PROGRAM, VARIABLE, instruction)


class AssetNameParam(click.ParamType):  # type: ignore[type-arg]  # that of older clicks takes no argument
    """The name of an asset; what is wrong with it is told when it is looked up."""

    name = "asset"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The assets of the project whose names begin so."""
        from click.shell_completion import CompletionItem

        del param
        return [CompletionItem(name) for name in _assets(ctx) if name.startswith(incomplete)]


class SelectionParam(AssetNameParam):
    """``--select``: names with commas between, a ``+`` before or after each."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The last of the names, completed."""
        from click.shell_completion import CompletionItem

        head, comma, last = incomplete.rpartition(",")
        plus = "+" if last.startswith("+") else ""
        found = super().shell_complete(ctx, param, last.removeprefix("+"))
        return [CompletionItem(f"{head}{comma}{plus}{item.value}") for item in found]


def _assets(ctx: click.Context) -> Iterator[str]:
    """The names of a project that is valid; none of one that is not, as nothing may be printed here."""
    from sparkassets.cli.options import open_project, usual_folder

    try:
        project = open_project(Path(ctx.params.get("folder") or usual_folder()))
    except Exception:  # noqa: BLE001  whoever types is told when the command runs
        return
    yield from project.spec.assets

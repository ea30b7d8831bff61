"""Completion in a shell: its script, and what answers it."""

from __future__ import annotations

import click

PROGRAM = "sparkassets"
VARIABLE = "_SPARKASSETS_COMPLETE"
"""Of the environment; a shell sets it when it asks."""
SHELLS = ("bash", "zsh", "fish")


def script(shell: str, program: click.Command) -> str:
    """What the shell has to read for the program's completion."""
    from click.shell_completion import ShellComplete, get_completion_class

    kind = get_completion_class(shell)
    if kind is None:
        raise ValueError(f"click completes nothing in {shell!r}")
    # the method of the base class: that of bash asks the bash of this machine for its version first
    return ShellComplete.source(kind(program, {}, PROGRAM, VARIABLE))


def answer(program: click.Command, instruction: str) -> int:
    """Prints what completes the words that the shell has put into the environment; the exit code."""
    from click.shell_completion import shell_complete

    return shell_complete(program, {}, PROGRAM, VARIABLE, instruction)

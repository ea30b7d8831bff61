"""``sparkassets completion``."""

from __future__ import annotations

import sys

import click

from sparkassets.cli.app import SHELLS, script


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print a script that completes commands, options and asset names in SHELL.

    bash: put  eval "$(sparkassets completion bash)"  into ~/.bashrc.
    zsh: the same with zsh into ~/.zshrc.
    fish: sparkassets completion fish > ~/.config/fish/completions/sparkassets.fish
    """
    sys.stdout.write(script(shell, context.find_root().command))

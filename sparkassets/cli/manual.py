"""Prints docs/cli.md, the help of every command: ``python -m sparkassets.cli.manual``."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from sparkassets.cli.app import COMMANDS, cli

_WIDTH = 100
_HEAD = """\
# The command line

Generated from what `sparkassets COMMAND --help` prints. Options come after the command.
"""


def manual() -> str:
    """The help of every command as Markdown, in the order of a project's life."""
    settings = {**cli.context_settings, "max_content_width": _WIDTH, "terminal_width": _WIDTH}
    root = click.Context(cli, info_name="sparkassets", **settings)
    parts = [_HEAD, _help("sparkassets", cli, root)]
    for verb in COMMANDS:
        command = cli.get_command(root, verb)
        if command is not None:
            parts += _pages(command, root, verb)
    return "\n".join(parts)


def _pages(command: click.Command, above: click.Context, name: str) -> Iterator[str]:
    """The help of a command and, for a group, of the commands in it."""
    context = click.Context(command, info_name=name, parent=above)
    yield _help(context.command_path, command, context)
    for inner in command.list_commands(context) if isinstance(command, click.Group) else ():
        subcommand = command.get_command(context, inner) if isinstance(command, click.Group) else None
        if subcommand is not None:
            yield from _pages(subcommand, context, inner)


def _help(title: str, command: click.Command, context: click.Context) -> str:
    lines = [line.rstrip() for line in command.get_help(context).splitlines()]
    return "\n".join([f"## {title}", "", "```text", *lines, "```", ""])


if __name__ == "__main__":
    sys.stdout.write(manual())

"""Every command that the pages name is there, with the options that they give it."""

import re

import click
import pytest

from sparkassets.cli.app import COMMANDS, cli
from tests.documents import ROOT, page

PAGES = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))]
NAMED = re.compile(r"sparkassets ((?:[a-z]+ )?[a-z]+)\b([^`\n#|]*)")


def command_of(words):
    """The command that the words begin with; None where they are no command."""
    context = click.Context(cli)
    first, *rest = words.split()
    if first not in COMMANDS:
        return None
    found = cli.get_command(context, first)
    inner = found.get_command(context, rest[0]) if rest and isinstance(found, click.Group) else None
    return inner or found


def commands(name):
    """The commands that a page names in code, with what follows them."""
    code = re.findall(
        r"`(sparkassets [^`]+)`|^(?:\$ | +)(?:- )?(?:run: )?(sparkassets .*)$", page(name), flags=re.MULTILINE
    )
    return [found for texts in code for text in texts if text for found in NAMED.findall(text)]


@pytest.mark.parametrize("name", PAGES)
def test_commands_and_options_are_there(name):
    for words, rest in commands(name):
        command = command_of(words)
        assert command is not None, words
        known = {option for parameter in command.params for option in parameter.opts}
        assert set(re.findall(r"--[a-z-]+", rest)) <= known | {"--help"}, f"{words}{rest}"


def test_some_are_named():
    assert sum(len(commands(name)) for name in PAGES) > 40

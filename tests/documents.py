"""The pages of docs/ and the README as tests read them: blocks of code, and commands with what they print."""

import contextlib
import io
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from sparkassets.cli import main

ROOT = Path(__file__).parents[1]
RECIPES = sorted(
    f"docs/cookbook/{path.name}" for path in (ROOT / "docs/cookbook").glob("*.md") if path.stem != "README"
)
TUTORIALS = ["docs/tutorial.md", "docs/segments.md", *RECIPES]
"""Pages that make a project and run it, command by command."""
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_NAMED = re.compile(r"(?:#|--) (\S+\.(?:yml|sql|py))\n")


@dataclass(frozen=True)
class Block:
    """A piece of code.

    Attributes:
        path: The file that its first line names in a comment; None where it names none.
    """

    language: str
    text: str
    path: str | None


def page(name):
    """The text of a page, by its path from the root."""
    return (ROOT / name).read_text(encoding="utf-8")


def code_blocks(name, *languages):
    """The blocks of a page in these languages (default: all), in order."""
    found = [Block(language, text, _path(text)) for language, text in _BLOCK.findall(page(name))]
    return [block for block in found if not languages or block.language in languages]


def tutorial_blocks(name):
    """The blocks of a tutorial; those of a recipe begin with the project file that all recipes share."""
    shared = code_blocks("docs/cookbook/README.md") if name in RECIPES else []
    return [*shared, *code_blocks(name)]


def _path(text):
    named = _NAMED.match(text)
    return named[1] if named else None


def steps(block):
    """The commands of a ``console`` block, each with what the page says it prints."""
    found = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append([line[2:], ""])
        elif line.startswith("> "):
            found[-1][0] += "\n" + line[2:]
        else:
            found[-1][1] += line + "\n"
    return [(command, printed) for command, printed in found]


def printed(command):
    """What a command prints on stdout and stderr: one of sparkassets in this process, any other in a shell."""
    if command.startswith("sparkassets "):
        kept = io.BytesIO()
        with io.TextIOWrapper(kept, encoding="utf-8", write_through=True) as both:
            with contextlib.redirect_stdout(both), contextlib.redirect_stderr(both):
                main(shlex.split(command)[1:])
            return kept.getvalue().decode()
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout + done.stderr


def write_block(block):
    """Writes a block to the file that it names, below the current folder."""
    path = Path(block.path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text, encoding="utf-8")


def agrees(told, found):
    """Whether a text is what a page tells: ``…`` is any part of a line, alone any text; blanks are any blanks."""
    if told.strip() == "…":
        return True
    lines = [" ".join(line.split()) for line in found.strip("\n").splitlines()]
    told_lines = [" ".join(line.split()) for line in told.strip("\n").splitlines()]
    patterns = [re.escape(line).replace("…", ".*") for line in told_lines]
    return len(lines) == len(patterns) and all(map(re.fullmatch, patterns, lines))

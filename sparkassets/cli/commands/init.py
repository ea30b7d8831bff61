"""``sparkassets init``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import click

from sparkassets.cli.options import USUAL_FOLDERS, json_option
from sparkassets.cli.output import Terminal, print_json
from sparkassets.errors import InputError

SCAFFOLD = Path(__file__).parents[1] / "scaffold"
RENAMED = {"gitignore": ".gitignore"}
"""File in the scaffold to its name in the project: under its real name it would take effect in this package."""
UNREADABLE = ("{", "}", "**", "%")
"""Texts with a meaning in paths of sources and Delta tables: a field, any folders, an escape."""


@click.command("init")
@click.argument("name", metavar="[DIR]", required=False)
@click.option("--project", "option", metavar="DIR", help="Same as DIR.")
@json_option
def command(name: str | None, option: str | None, as_json: bool) -> None:
    """Create a small project that runs in DIR (default: conf).

    It holds two days of orders as CSV files, their daily revenue, and a report. If any of its files exists already,
    nothing is written.
    """
    folder = _named_folder(name, option)
    _refuse_unreadable(folder)
    files = {file: folder / _target(file) for file in sorted(SCAFFOLD.rglob("*")) if file.is_file()}
    try:
        _refuse_existing(folder, files.values())
        _write(files)
    except OSError as error:
        raise InputError(f"cannot write into {str(folder)!r}: {error.strerror}", topic="output-not-writable") from error
    if as_json:
        print_json({"project": str(folder), "files": [str(target) for target in files.values()]})
        return
    option = "" if folder in USUAL_FOLDERS else f" --project {_quote_folder(folder)}"
    lines = [f"wrote {target}" for target in files.values()]
    lines += ["", "next:", *(f"  sparkassets {verb}{option}" for verb in ("plan", "run", "status"))]
    Terminal.from_stream(sys.stdout).print(*lines)


def _named_folder(name: str | None, option: str | None) -> Path:
    """The folder to write to, from the argument or the option; the usual one without either.

    Raises:
        InputError: Both are given, or the name is empty.
    """
    if name is not None and option is not None:
        raise InputError("the folder is given twice", hint="write DIR or --project DIR")
    folder = next((each for each in (name, option) if each is not None), str(USUAL_FOLDERS[0]))
    if not folder:
        raise InputError("the name of the folder is empty", hint="for the current folder use: sparkassets init .")
    return Path(folder)


def _refuse_unreadable(folder: Path) -> None:
    """Raises `InputError` for a path with characters that have a meaning in paths of tables."""
    text = str(folder.absolute())
    mark = next((each for each in UNREADABLE if each in text), None)
    if mark is not None:
        raise InputError(f"{text!r} cannot contain a project: {mark!r} is special in the paths of tables")
    if not text.isprintable():
        raise InputError(f"{text!r} cannot contain a project: its name has unprintable characters")


def _refuse_existing(folder: Path, targets: Iterable[Path]) -> None:
    """Raises `InputError` if one of the files exists already."""
    existing = next((str(target) for target in targets if target.exists()), None)
    if existing is not None:
        free = _quote_folder(folder.with_name((folder.name or "shop") + "2"))
        hint = f"name another folder: sparkassets init {free}"
        raise InputError(f"{existing!r} already exists; nothing was written", hint=hint)


def _write(files: Mapping[Path, Path]) -> None:
    """Copies each file to its place; removes the copies again if one cannot be written."""
    written: list[Path] = []
    try:
        for file, target in files.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            written.append(target)  # before it is written: a half written file is removed, too
            target.write_bytes(file.read_bytes())
    except OSError:
        for target in written:
            with suppress(OSError):
                target.unlink(missing_ok=True)
        raise


def _quote_folder(folder: Path) -> str:
    """A folder as one types it in a shell: in quotes where it needs them, and never like an option."""
    text = str(folder)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def _target(file: Path) -> Path:
    inside = file.relative_to(SCAFFOLD)
    return inside.with_name(RENAMED.get(inside.name, inside.name))

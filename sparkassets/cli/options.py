"""Options that several commands take, and the project they name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from sparkassets.wiring import Project

F = TypeVar("F", bound=Callable[..., Any])
"""A function that is on its way to become a command."""

project_option: Callable[[F], F] = click.option(
    "--project",
    "folder",
    default="conf",
    show_default=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="The folder that holds project.yml.",
)
json_option: Callable[[F], F] = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document on stdout and nothing else there."
)
at_option: Callable[[F], F] = click.option(
    "--at", metavar="TIME", help="Decide as if it were this time (ISO; without an offset in the project's zone)."
)
select_option: Callable[[F], F] = click.option(
    "--select",
    multiple=True,
    metavar="ASSET,…",
    help="Only these assets; NAME+ is it and all that reads it, +NAME it and all that it reads. Repeatable.",
)


def last_option(default: int) -> Callable[[F], F]:
    """``--last N``."""
    return click.option(
        "--last",
        type=click.IntRange(min=1),
        default=default,
        show_default=True,
        metavar="N",
        help="Only the newest N.",
    )


def open_project(folder: Path) -> Project:
    """The checked project of that folder.

    Raises:
        SpecError: Something is wrong with its files.
    """
    from sparkassets.wiring import Project

    return Project.load(folder)

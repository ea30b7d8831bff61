"""Locations of a branch's state and warehouse, by its name."""

from __future__ import annotations

import re
from typing import Final

from sparkassets.core.spec.model import AssetSpec, ProjectSpec, StorageLocation
from sparkassets.errors import InputError

BRANCHES: Final = "branches"
WAREHOUSES: Final = "_branches"
_NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LONGEST: Final = 60


def check_branch_name(name: str) -> str:
    """Returns the name if a branch may have it.

    Raises:
        InputError: The name is too long or has characters that are not allowed.

    >>> check_branch_name("new-delays")
    'new-delays'
    """
    if len(name) > _LONGEST or not _NAME.fullmatch(name):
        message = f"a branch cannot be named {name!r}"
        raise InputError(message, hint=f"lower-case letters, digits and single '-' between them, at most {_LONGEST}")
    return name


def branch_state_location(project: ProjectSpec, branch: str) -> str:
    """The location of a branch's journal.

    Raises:
        InputError: The project's own state is a branch's, or a Spark session keeps it.
    """
    if project.state_by_spark:
        raise InputError(f"the state {project.state} is kept by a Spark session, and has no branches")
    state = project.state.rstrip("/")
    if state.split("/")[-2:-1] == [BRANCHES]:
        raise InputError(f"the state {state} is a branch's, which has no branches", hint="branch off the base")
    return f"{state}/{BRANCHES}/{branch}"


def branch_warehouse(project: ProjectSpec, branch: str) -> str:
    """The folder of all tables of a branch."""
    return f"{project.warehouse.rstrip('/')}/{WAREHOUSES}/{branch}"


def branch_storage(project: ProjectSpec, branch: str, asset: AssetSpec) -> StorageLocation | None:
    """The location of an asset's table in a branch; None for an asset without data."""
    if asset.storage is None:
        return None
    path = f"{branch_warehouse(project, branch)}/{asset.name}"
    return StorageLocation(path, f"{WAREHOUSES}/{branch}/{asset.name}")

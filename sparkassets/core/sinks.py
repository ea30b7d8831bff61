"""Sinks that packages register, as a project names them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sparkassets.core.entry_points import EntryPointRegistry
from sparkassets.frozen import frozen

REGISTRY: Final = EntryPointRegistry(
    "sink",
    "sparkassets.sinks",
    "sink",
    built_in={
        "openlineage": "it is set up as its own client is, by a variable such as OPENLINEAGE_URL",
        "notifications": "write `notify` for it",
    },
)
"""The sinks that packages register."""
RESERVED: Final = frozenset({"sink"})


@frozen
class SinkSpec:
    """A sink of a project; what the package makes of it implements `sparkassets.Sink`.

    Attributes:
        parameters: As JSON.
    """

    name: str
    parameters: Mapping[str, object]

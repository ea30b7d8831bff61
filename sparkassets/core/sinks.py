"""Sinks that packages register, as a project names them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sparkassets.core.entry_points import EntryPointRegistry, RegisteredError
from sparkassets.core.phrases import kind_of
from sparkassets.frozen import frozen

REGISTRY: Final = EntryPointRegistry(
    "sink",
    "sparkassets.sinks",
    "sink",
    built_in={
        "openlineage": "configure it like its own client, by a variable such as OPENLINEAGE_URL",
        "notifications": "use `notify` instead",
    },
)
"""The sinks that packages register."""
RESERVED: Final = frozenset({"sink"})


def refuse_wrong_type(name: str, made: object) -> None:
    """Refuses what is no sink, or a class whose objects are none.

    Raises:
        RegisteredError: It lacks a method.
    """
    for method in ("committed", "ended"):
        if not callable(getattr(made, method, None)):
            what = f"the class {made.__name__}" if isinstance(made, type) else kind_of(made)
            raise RegisteredError(f"sink '{name}' has no method '{method}'; it is {what}")


@frozen
class SinkSpec:
    """A sink of a project; what the package makes of it implements `sparkassets.Sink`.

    Attributes:
        parameters: As JSON.
    """

    name: str
    parameters: Mapping[str, object]

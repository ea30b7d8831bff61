"""The formats of what is stored: the number that is written now, and the way from each older one up to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from sparkassets.errors import StateError

FORMAT = 3
"""Version of the state's format; a state with a higher one is refused."""


def _from_1(kind: str, body: dict[str, Any]) -> dict[str, Any]:
    from sparkassets.core.journal.codec.from_1 import upgraded  # where there is something of that age

    return upgraded(kind, body)


def _from_2(_: str, body: dict[str, Any]) -> dict[str, Any]:
    return body  # it had no segments; time alone is told as it was


_UPGRADES: Mapping[int, Callable[[str, dict[str, Any]], dict[str, Any]]] = {1: _from_1, 2: _from_2}
"""From a format to the next: the body of that kind, as the next one has it."""


def body_to(value: Mapping[str, Any]) -> str:
    """A JSON object with the format's number."""
    return json.dumps({"v": FORMAT, **value}, sort_keys=True, ensure_ascii=False)


def body_from(text: str, kind: str, *, what: str) -> dict[str, Any]:
    """The JSON object of `body_to`, whatever format it was written in.

    Args:
        text: JSON.
        kind: Of the journal's entry; ``asset`` or ``dataset`` in a snapshot.
        what: Has the format, for the message.

    Raises:
        StateError: The format is newer than this code.
    """
    body: dict[str, Any] = json.loads(text)
    version = body.pop("v")
    if version > FORMAT:
        raise StateError(
            f"{what} has format {version}, this version of sparkassets reads up to {FORMAT}", hint="upgrade sparkassets"
        )
    for number in range(version, FORMAT):
        body = _UPGRADES[number](kind, body)
    return body

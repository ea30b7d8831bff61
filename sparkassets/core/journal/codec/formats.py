"""The number of the stored format, and the upgrade from each older format to the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from sparkassets.core.journal.codec.rows import JournalRow, SnapshotRow
from sparkassets.errors import StateError

FORMAT = 4
"""Version of the state's format; a state with a higher one is refused."""

Row = JournalRow | SnapshotRow
Body = dict[str, Any]


def _from_1(kind: str, body: Body, _: Row) -> Body:
    from sparkassets.core.journal.codec.from_1 import upgrade_body  # few states are that old

    return upgrade_body(kind, body)


def _from_2(_kind: str, body: Body, _: Row) -> Body:
    return body  # format 3 added segments; partitions by time alone kept their form


def _from_3(kind: str, body: Body, row: Row) -> Body:
    from sparkassets.core.journal.codec.from_3 import upgrade_body  # few states are that old

    return upgrade_body(kind, body, row)


_UPGRADES: Mapping[int, Callable[[str, Body, Row], Body]] = {1: _from_1, 2: _from_2, 3: _from_3}
"""By format, the upgrade of a body of some kind to the next format."""


def body_to(value: Mapping[str, Any]) -> str:
    """Encodes a JSON object with the format's number."""
    return msgspec.json.encode({"v": FORMAT, **value}, order="sorted").decode()


def body_from(row: Row, kind: str, *, what: str) -> Body:
    """Decodes the JSON object of `body_to`, upgraded from whatever format it was written in.

    Args:
        row: The row with the body.
        kind: The kind of the journal's entry; ``asset`` or ``dataset`` in a snapshot.
        what: Names the row in the message.

    Raises:
        StateError: The format is newer than this code.
    """
    body: Body = msgspec.json.decode(row.body)
    version = body.pop("v")
    if version > FORMAT:
        raise StateError(
            f"{what} has format {version}, this version of sparkassets reads up to {FORMAT}", hint="upgrade sparkassets"
        )
    for number in range(version, FORMAT):
        body = _UPGRADES[number](kind, body, row)
    return body

"""What the grammar of DESIGN section 4 has and this version does not: refused by name, and not in the JSON Schema.

A path is written with dots; ``*`` stands for any asset's name. Whoever builds one of these deletes its line.
"""

from __future__ import annotations

from typing import Final

KEYS: Final[frozenset[str]] = frozenset()


def refused_key(path: str) -> str | None:
    """The message for a key that exists in the grammar only.

    >>> refused_key("asset") is None
    True
    """
    if path not in KEYS:
        return None
    parent, _, key = path.rpartition(".")
    owners = {"": "", "inlets.*": " of an inlet", "outlets.*": " of an outlet"}
    owner = owners.get(parent, f" of {parent!r}")
    return f"the key {key!r}{owner} is not supported yet"

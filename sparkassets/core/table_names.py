"""Names of tables in catalogs, as SQL writes them: ``catalog.schema.name``, ``schema.name`` or ``name``."""

from __future__ import annotations

import re
from typing import Final

from sparkassets.errors import InputError

_PART: Final = re.compile(r"`((?:[^`]|``)+)`|([^\s`./\\{}()\[\]*?,;:'\"]+)")
_MOST: Final = 3
_PLAIN: Final = r"[A-Za-z_][A-Za-z0-9_]*"


def parse_table(text: str) -> tuple[str, ...]:
    """The parts of a name, without their backquotes.

    >>> parse_table("main.raw.events"), parse_table("`my-cat`.raw.`a``b.c`")
    (('main', 'raw', 'events'), ('my-cat', 'raw', 'a`b.c'))

    Raises:
        InputError: It is none.
    """
    parts: list[str] = []
    position = 0
    while (found := _PART.match(text, position)) is not None:
        parts.append(found[2] or found[1].replace("``", "`"))
        position = found.end()
        if position == len(text):
            return _checked(tuple(parts), text)
        if text[position] != ".":
            break
        position += 1
    hint = "a folder is given by 'path'" if "/" in text else "what is no plain word in it stands in backquotes"
    raise InputError(f"{text!r} is no name of a table; expected catalog.schema.name, schema.name or name", hint=hint)


def _checked(parts: tuple[str, ...], text: str) -> tuple[str, ...]:
    if any("/" in part for part in parts):
        raise InputError(f"{text!r} names a folder, not a table in a catalog", hint="a folder is given by 'path'")
    if len(parts) > _MOST:
        raise InputError(
            f"{text!r} has {len(parts)} parts; expected catalog.schema.name, schema.name or name",
            hint="a dot within a part stands in backquotes",
        )
    return parts


def written(parts: tuple[str, ...]) -> str:
    """The name in one way of writing, with backquotes only where it needs them.

    >>> written(("main", "raw", "a.b"))
    'main.raw.`a.b`'
    """
    return ".".join(part if re.fullmatch(_PLAIN, part) else quoted((part,)) for part in parts)


def quoted(parts: tuple[str, ...]) -> str:
    """The name as SQL takes it, whatever is in it.

    >>> quoted(("main", "a`b"))
    '`main`.`a``b`'
    """
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)

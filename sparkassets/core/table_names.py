"""Names of tables in catalogs, as SQL writes them: ``catalog.schema.name``, ``schema.name`` or ``name``.

With fields, as in ``lake.raw_{region}``, a name stands for all tables that fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from sparkassets.errors import InputError

_PART: Final = r"`((?:[^`]|``)+)`|((?:[^\s`./\\{}()\[\]*?,;:'\"]|\{[^{}`]*\})+)"
_FIELD: Final = r"(\{[^{}]*\})"
_MOST: Final = 3
_PLAIN: Final = r"[A-Za-z_][A-Za-z0-9_]*"


def parse_table_name(text: str) -> tuple[str, ...]:
    """The parts of a name, without their backquotes.

    >>> parse_table_name("main.raw.events"), parse_table_name("`my-cat`.raw.`a``b.c`")
    (('main', 'raw', 'events'), ('my-cat', 'raw', 'a`b.c'))

    Raises:
        InputError: It is none, or has fields.
    """
    if has_fields(text):
        raise InputError(
            f"{text!r} names several tables; expected one",
            hint="only a Delta source may have fields in its name; put a part with braces in backquotes",
        )
    return _parts(text)


def has_fields(text: str) -> bool:
    """Whether it stands for several tables.

    >>> has_fields("lake.raw_{region}"), has_fields("lake.`raw_{region}`")
    (True, False)
    """
    return "{" in re.sub(r"`[^`]*`", "", text)


def parse_tables(text: str) -> tuple[str, ...]:
    """The parts of a name with fields; all but these in lower case, as catalogs keep names.

    >>> parse_tables("main.Raw.Orders_{region}")
    ('main', 'raw', 'orders_{region}')

    Raises:
        InputError: It is none, or something else than the schema and the table varies.
    """
    if "`" in text:
        raise InputError(f"{text!r} has both fields and backquotes; write names with fields without backquotes")
    parts = tuple("".join(_lower_literals(part)) for part in _parts(text))
    if len(parts) == _MOST and "{" in parts[0]:
        raise InputError(f"the catalog of {text!r} has a field; expected fields in the schema or the name of the table")
    return parts


def _lower_literals(part: str) -> Iterator[str]:
    """The pieces of a part of a name, fields as they are."""
    yield from (piece if piece.startswith("{") else piece.lower() for piece in re.split(_FIELD, part))


def _parts(text: str) -> tuple[str, ...]:
    """The parts of a name, without their backquotes.

    Raises:
        InputError: It is none.
    """
    parts: list[str] = []
    position, pattern = 0, re.compile(_PART)
    while (found := pattern.match(text, position)) is not None:
        parts.append(found[2] or found[1].replace("``", "`"))
        position = found.end()
        if position == len(text):
            return _check_parts(tuple(parts), text)
        if text[position] != ".":
            break
        position += 1
    hint = "use 'path' for a folder" if "/" in text else "put parts that are not plain words in backquotes"
    raise InputError(f"{text!r} is not a table name; expected catalog.schema.name, schema.name or name", hint=hint)


def _check_parts(parts: tuple[str, ...], text: str) -> tuple[str, ...]:
    """The parts, if they can name a table.

    Raises:
        InputError: They are a folder's, or too many.
    """
    if any("/" in part for part in parts):
        raise InputError(f"{text!r} names a folder, not a table in a catalog", hint="use 'path' for a folder")
    if len(parts) > _MOST:
        raise InputError(
            f"{text!r} has {len(parts)} parts; expected catalog.schema.name, schema.name or name",
            hint="put a part that contains a dot in backquotes",
        )
    return parts


def format_table_name(parts: tuple[str, ...]) -> str:
    """The name in one way of writing, with backquotes only where it needs them.

    >>> format_table_name(("main", "raw", "a.b"))
    'main.raw.`a.b`'
    """
    return ".".join(part if re.fullmatch(_PLAIN, part) else quote_table_name((part,)) for part in parts)


def quote_table_name(parts: tuple[str, ...]) -> str:
    """The name as SQL takes it, whatever is in it.

    >>> quote_table_name(("main", "a`b"))
    '`main`.`a``b`'
    """
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)

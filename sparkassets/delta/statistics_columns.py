"""Which columns of a Delta table have statistics: the first 32, or those that its properties name.

The rules are those of ``getIndexedColumns`` in Delta's ``StatisticsCollection``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from sparkassets.frozen import frozen

_COUNT, _DEFAULT_COUNT = "delta.dataSkippingNumIndexedCols", 32
_NAMED = "delta.dataSkippingStatsColumns"
_PREFIX, _DEFAULT_PREFIX = "delta.dataSkippingStringPrefixLength", 32
_PART = re.compile(r"`((?:[^`]|``)*)`|([^`.,\s]+)|(,)")

_Path = tuple[str, ...]


@frozen
class IndexedColumn:
    """A column without fields of its own.

    Attributes:
        path: The names that lead to it, from the outermost.
        type: As the log has it, such as ``decimal(9,2)``; ``array``, ``map``; ``collated`` for text in another order.
    """

    path: _Path
    type: str


def select_statistics_columns(
    schema: Mapping[str, Any], *, layout: Sequence[str], properties: Mapping[str, str]
) -> tuple[IndexedColumn, ...]:
    """Those that have statistics, in the table's order.

    Args:
        schema: The table's, as its log has it in JSON.
        layout: The partition columns, which have none.
        properties: The table's.

    >>> fields = [{"name": "a", "type": "long"}, {"name": "day", "type": "date"}, {"name": "b", "type": "string"}]
    >>> [column.path for column in select_statistics_columns({"fields": fields}, layout=["day"], properties={})]
    [('a',), ('b',)]
    """
    columns = _columns([field for field in schema["fields"] if field["name"] not in layout])
    if (named := properties.get(_NAMED)) is not None:
        wanted = _paths(named)
        return tuple(column for column in columns if _is_named(column.path, wanted))
    count = int(properties.get(_COUNT, _DEFAULT_COUNT))
    return tuple(columns if count < 0 else islice(columns, count))


def prefix_length(properties: Mapping[str, str]) -> int:
    """How many characters of a text its statistics keep."""
    return int(properties.get(_PREFIX, _DEFAULT_PREFIX))


def _columns(fields: Sequence[Mapping[str, Any]], above: _Path = ()) -> Iterator[IndexedColumn]:
    for field in fields:
        path, type_ = (*above, field["name"]), field["type"]
        if isinstance(type_, str):
            collated = field["name"] in field.get("metadata", {}).get("__COLLATIONS", {})
            yield IndexedColumn(path, "collated" if collated else type_)
        elif type_["type"] == "struct":
            yield from _columns(type_["fields"], path)
        else:
            yield IndexedColumn(path, type_["type"])


def _paths(named: str) -> frozenset[_Path]:
    """The columns of a list such as ``a, s.`b.c```, in lower case as Delta compares them."""
    paths: list[list[str]] = [[]]
    for quoted, plain, comma in _PART.findall(named):
        if comma:
            paths.append([])
        else:
            paths[-1].append((quoted.replace("``", "`") or plain).lower())
    return frozenset(tuple(path) for path in paths)


def _is_named(path: _Path, wanted: frozenset[_Path]) -> bool:
    """Whether it is in the list, or what it is a field of; where both of these are, only what is named in it counts."""
    path = tuple(name.lower() for name in path)
    for depth in range(1, len(path) + 1):
        wanted = frozenset(each for each in wanted if each[:depth] == path[:depth])
        deeper = frozenset(each for each in wanted if len(each) > depth)
        if wanted and not deeper:
            return True
        wanted = deeper
    return False

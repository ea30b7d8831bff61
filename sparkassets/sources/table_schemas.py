"""Columns of a table by its newest metadata, and the types that Delta gives them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.log import DeltaLog
from sparkassets.delta.tables import load_table
from sparkassets.errors import SourceError

_NAMES: Final = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
"""Spark's names of types that the log calls otherwise."""
MOST_READ_BACK: Final = 100
"""The most commits read for one answer: a checkpoint comes before, or the answer is None."""


class TableSchemas:
    """Reads the columns of tables; for one thread."""

    def __init__(self) -> None:
        self._columns_by_path: dict[str, tuple[int, dict[str, str]]] = {}

    def read_columns(self, path: str, version: int) -> Mapping[str, str] | None:
        """The columns of the table in a folder at a version, in order, with Spark's names of their types.

        None where the log lacks them, or cannot be read.
        """
        cached = self._columns_by_path.get(path)
        if cached is not None and cached[0] == version:
            return cached[1]
        after = cached[0] if cached is not None and cached[0] < version <= cached[0] + MOST_READ_BACK else -1
        try:
            columns = _schema_between(DeltaLog(path), version, after)
        except (SourceError, OSError, ValueError, LookupError, TypeError):
            return None
        if columns is None:
            if after < 0 or cached is None:
                return None
            columns = cached[1]
        self._columns_by_path[path] = version, columns
        return columns


def newest_columns(path: str) -> dict[str, str] | None:
    """The columns of a table as it is now, in order, with Spark's names of their types; None where none can be read."""
    from deltalake.exceptions import DeltaError

    try:
        return parse_columns(load_table(path).schema().to_json())
    except (DeltaError, OSError, ValueError):
        return None


def _schema_between(log: DeltaLog, version: int, after: int) -> dict[str, str] | None:
    """Columns set by the latest metadata action in (after, version], or None; all where ``after`` is -1."""
    if after < 0:
        metadata = log.read_metadata(version)
        return parse_columns(metadata["schemaString"]) if metadata is not None else None
    for number in range(version, after, -1):
        content = log.read_content(number)
        if content is None:
            raise SourceError(f"version {number} of the Delta table at '{log.path}' is no longer in its log")
        if b'"metaData"' in content and (metadata := log.parse_commit(number, content).metadata) is not None:
            return parse_columns(metadata["schemaString"])
    return None


def parse_columns(schema: str) -> dict[str, str]:
    """The columns of a schema in the log's JSON.

    >>> parse_columns('{"fields": [{"name": "a", "type": {"type": "array", "elementType": "long"}}]}')
    {'a': 'array<bigint>'}
    """
    return {str(each["name"]): _type_name(each["type"]) for each in json.loads(schema)["fields"]}


def _type_name(kind: Any) -> str:  # noqa: ANN401  as JSON has it
    """Spark's name of a type in Delta's JSON, such as ``array<bigint>`` for an array of ``long``."""
    if not isinstance(kind, Mapping):
        return _NAMES.get(kind, str(kind))
    match kind["type"]:
        case "struct":
            inner = ",".join(f"{each['name']}:{_type_name(each['type'])}" for each in kind["fields"])
            return f"struct<{inner}>"
        case "array":
            return f"array<{_type_name(kind['elementType'])}>"
        case "map":
            return f"map<{_type_name(kind['keyType'])},{_type_name(kind['valueType'])}>"
    return str(kind["type"])


def has_local_columns(asset: AssetSpec) -> bool:
    """Whether the columns are only known from a table on a local disk, where reading them is cheap."""
    if asset.source is None or asset.source.kind != "delta" or asset.columns or asset.storage is None:
        return False
    return "://" not in asset.storage.path


def read_table_columns(path: str) -> list[str] | None:
    """The columns of the table in a local folder, in order; None where none can be read."""
    columns = None if "://" in path else newest_columns(path)
    return None if columns is None else [*columns]


def read_stored_columns(asset: AssetSpec) -> list[str] | None:
    """The columns of a source's Delta table in a local folder; None where they cannot be read."""
    return read_table_columns(asset.storage.path) if has_local_columns(asset) and asset.storage is not None else None

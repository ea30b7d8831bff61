"""Whether a driver may commit to a Delta table itself, or what about the table asks for Spark's own writer.

A commit through deltalake keeps to the protocol's oldest part: files with statistics come and go. Whatever else a
table may ask of its writers, in its protocol, its properties or the metadata of its columns, is Spark's; also what is
not known here. (https://github.com/delta-io/delta/blob/master/PROTOCOL.md, "Table Features".)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from deltalake import DeltaTable

_READER, _WRITER = 1, 2
"""The newest versions of the protocol before it lists features by name, at which nothing is asked of a writer."""
_BY_NAME = (3, 7)
_HARMLESS: Final = frozenset(
    {"appendOnly", "invariants", "timestampNtz", "checkConstraints", "generatedColumns", "changeDataFeed"}
)
"""Features whose use shows in a property or in a column's metadata, where it is looked for; and one that is a type."""
_PROPERTIES: Final[Mapping[str, str]] = {
    "delta.appendOnly": "it is append-only",
    "delta.enableChangeDataFeed": "it keeps a change feed",
    "delta.enableDeletionVectors": "it has deletion vectors",
    "delta.autoOptimize.autoCompact": "Spark compacts it after each write",
    "delta.autoOptimize.optimizeWrite": "Spark optimises each write to it",
    "delta.compatibility.symlinkFormatManifest.enabled": "Spark writes its manifests",
}
"""What a property asks of a writer where it is true."""
_COLUMNS: Final[Mapping[str, str]] = {
    "delta.generationExpression": "generated",
    "delta.identity.start": "an identity column",
    "delta.invariants": "bound by a condition",
    "delta.columnMapping.physicalName": "stored under another name",
    "CURRENT_DEFAULT": "filled by a default",
    "__CHAR_VARCHAR_TYPE_STRING": "of limited length",
}
"""What a key of a column's metadata makes it."""
_NAMES: Final[Mapping[str, str]] = {
    "deletionVectors": "deletion vectors",
    "columnMapping": "column mapping",
    "rowTracking": "row tracking",
    "clustering": "liquid clustering",
    "typeWidening": "type widening",
    "identityColumns": "identity columns",
    "allowColumnDefaults": "column defaults",
    "catalogManaged": "commits by its catalog",
    "v2Checkpoint": "checkpoints of version 2",
    "inCommitTimestamp": "timestamps in its commits",
}
_RAW = "!$&'()+,-./:;=@_~"
"""Beside letters and digits, what deltalake leaves as it is in a path of the log."""


def reason_for_spark(table: DeltaTable) -> str | None:
    """Why only Spark may commit to the table, as the end of a sentence; None where a driver may.

    Columns that must not be null are not among the reasons: see `required_columns`.
    """
    metadata = table.metadata()
    fields = json.loads(table.schema().to_json())["fields"]
    return _of_properties(metadata.configuration) or _of_columns(fields) or _of_protocol(table)


def required_columns(schema: Mapping[str, Any]) -> list[str]:
    """Columns and nested fields that must not be null, by a Delta schema as JSON has it; dotted."""
    return [".".join(path) for path, field in _nested(schema["fields"]) if not field["nullable"]]


def keeps_paths(paths: Iterator[str]) -> bool:
    """Whether deltalake would write these paths of the log as they stand there.

    It writes a file's removal with the path encoded in its own way. Where the add's way was another, readers that
    compare the two as text, as Spark does, would go on reading a file that was removed.
    """
    return all(quote(unquote(path), safe=_RAW) == path for path in paths)


def _of_protocol(table: DeltaTable) -> str | None:
    protocol = table.protocol()
    named = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
    if unknown := sorted(named - _HARMLESS):
        return f"it has {', '.join(_NAMES.get(each, each) for each in unknown)}"
    versions = (protocol.min_reader_version, protocol.min_writer_version)
    reader, writer = versions
    if (reader > _READER and reader != _BY_NAME[0]) or (writer > _WRITER and writer != _BY_NAME[1]):
        return f"its protocol is {reader}, {writer}"
    return None


def _of_properties(properties: Mapping[str, str | None]) -> str | None:
    for key, reason in _PROPERTIES.items():
        if (properties.get(key) or "").lower() == "true":
            return reason
    mapped = (properties.get("delta.columnMapping.mode") or "none").lower()
    if mapped != "none":
        return "it has column mapping"
    if any(key.startswith("delta.constraints.") for key in properties):
        return "it has CHECK constraints"
    if properties.get("delta.universalFormat.enabledFormats"):
        return "Spark keeps it readable as another format"
    return None


def _of_columns(fields: list[dict[str, Any]]) -> str | None:
    for path, field in _nested(fields):
        told = field.get("metadata") or {}
        found = next((what for key, what in _COLUMNS.items() if key in told), None)
        if found is not None:
            return f"its column '{'.'.join(path)}' is {found}"
    return None


def _nested(
    fields: list[dict[str, Any]], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Every field with its path, those of structs within arrays and maps too."""
    for field in fields:
        path = (*above, field["name"])
        yield path, field
        yield from _within(field["type"], path)


def _within(kind: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:  # noqa: ANN401  JSON
    if not isinstance(kind, Mapping):
        return
    match kind["type"]:
        case "struct":
            yield from _nested(kind["fields"], path)
        case "array":
            yield from _within(kind["elementType"], path)
        case "map":
            yield from _within(kind["keyType"], path)
            yield from _within(kind["valueType"], path)

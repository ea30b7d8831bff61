"""Table features, columns and properties: which of them leave a commit to Spark.

A commit through deltalake uses the protocol's oldest part: it adds and removes files with statistics. Whatever else a
table may ask of its writers, in its protocol, properties or column metadata, is left to Spark, as is everything
unknown. (https://github.com/delta-io/delta/blob/master/PROTOCOL.md, "Table Features".)
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

from sparkassets.core.spec.model import AssetSpec
from sparkassets.files.object_stores import local_path

if TYPE_CHECKING:
    from deltalake import DeltaTable

_NEWEST_PLAIN_READER, _NEWEST_PLAIN_WRITER = 1, 4
"""The newest protocol versions, before features were listed by name, that require only harmless ones."""
_NAMED_FEATURES_VERSIONS = (3, 7)
_HARMLESS: Final = frozenset(
    {"appendOnly", "invariants", "timestampNtz", "checkConstraints", "generatedColumns", "changeDataFeed"}
)
"""Features whose use shows in a property or in a column's metadata, where it is looked for; one that is a type; and the
change feed, of which files that only come and go are all: who copies rows of a file that goes has to tell which."""
_PROPERTY_REASONS: Final[Mapping[str, str]] = {
    "delta.appendOnly": "it is append-only",
    "delta.enableDeletionVectors": "it has deletion vectors",
    "delta.autoOptimize": "Spark optimizes each write to it",
    "delta.autoOptimize.autoCompact": "Spark compacts it after each write",
    "delta.autoOptimize.optimizeWrite": "Spark optimizes each write to it",
    "delta.compatibility.symlinkFormatManifest.enabled": "Spark writes its manifests",
    "delta.randomizeFilePrefixes": "its files are in folders with random names",
}
"""What a property requires of a writer if it is true."""
_COLUMN_REASONS: Final[Mapping[str, str]] = {
    "delta.generationExpression": "generated",
    "delta.identity.start": "an identity column",
    "delta.invariants": "bound by a condition",
    "delta.columnMapping.physicalName": "stored under another name",
    "CURRENT_DEFAULT": "filled by a default",
    "__CHAR_VARCHAR_TYPE_STRING": "of limited length",
    "__COLLATIONS": "text with its own collation",
}
"""What a metadata key makes of a column."""
_FEATURE_NAMES: Final[Mapping[str, str]] = {
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
_TIME_WITHOUT_ZONE = "timestamp_ntz"
_PLAIN_TYPE = re.compile(
    rf"string|long|integer|short|byte|float|double|boolean|binary|date|timestamp|{_TIME_WITHOUT_ZONE}|decimal\(\d+,\s*\d+\)"
)
_FORBIDDEN_CHARACTERS = re.compile(r"[ ,;{}()\n\t=]")
"""Characters that Delta forbids in column names."""
_UNQUOTED = "!$&'()+,-./:;=@_~"
"""Characters, besides letters and digits, that deltalake leaves as they are in a path of the log."""


def reason_for_spark(table: DeltaTable) -> str | None:
    """Why only Spark may commit to the table, as the end of a sentence; None where a driver may.

    NOT NULL columns are not among the reasons: see `required_columns`.
    """
    metadata = table.metadata()
    fields = json.loads(table.schema().to_json())["fields"]
    return _find_property_reason(metadata.configuration) or _find_column_reason(fields) or _find_protocol_reason(table)


def reason_of_columns(fields: Sequence[Mapping[str, Any]], table: DeltaTable | None) -> str | None:
    """Why only Spark may give a table these columns, as the end of a sentence; None where a driver may.

    The reasons include those for which Delta refuses the columns.

    Args:
        fields: As a Delta schema has them in JSON.
        table: The existing table; None for a new one.
    """
    reason = _find_column_reason(fields) or _find_name_reason(fields)
    if reason is not None or table is None or "timestampNtz" in (table.protocol().writer_features or ()):
        return reason
    if any(_TIME_WITHOUT_ZONE in _iterate_types(field["type"]) for _, field in _walk_fields(fields)):
        return "it does not support timestamps without a time zone yet"
    return None


def is_plain_type(name: str) -> bool:
    """Whether all Delta readers and writers know this type of a Delta schema.

    >>> is_plain_type("decimal(9,2)"), is_plain_type("variant"), is_plain_type("void")
    (True, False, False)
    """
    return _PLAIN_TYPE.fullmatch(name) is not None


def maps_columns(properties: Mapping[str, str | None]) -> bool:
    """Whether files and log name the columns of a table with these properties differently."""
    return (properties.get("delta.columnMapping.mode") or "none").lower() != "none"


def required_columns(schema: Mapping[str, Any]) -> list[str]:
    """Dotted names of NOT NULL columns and nested fields in a Delta schema in JSON."""
    return [".".join(path) for path, field in _walk_fields(schema["fields"]) if not field["nullable"]]


def keeps_paths(paths: Iterator[str]) -> bool:
    """Whether deltalake would write these paths of the log unchanged.

    It encodes the path of a removed file in its own way. If the add was encoded differently, readers that
    compare the two as text, as Spark does, would continue to read the removed file.
    """
    return all(quote(unquote(path), safe=_UNQUOTED) == path for path in paths)


def _find_protocol_reason(table: DeltaTable) -> str | None:
    """Why the table's protocol leaves its commits to Spark, as the end of a sentence; None where it does not."""
    protocol = table.protocol()
    features = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
    if harmful := sorted(features - _HARMLESS):
        return f"it has {', '.join(_FEATURE_NAMES.get(each, each) for each in harmful)}"
    versions = (protocol.min_reader_version, protocol.min_writer_version)
    reader, writer = versions
    if (reader > _NEWEST_PLAIN_READER and reader != _NAMED_FEATURES_VERSIONS[0]) or (
        writer > _NEWEST_PLAIN_WRITER and writer != _NAMED_FEATURES_VERSIONS[1]
    ):
        return f"its protocol is {reader}, {writer}"
    return None


def _find_property_reason(properties: Mapping[str, str | None]) -> str | None:
    """Why table properties leave its commits to Spark, as the end of a sentence; None where they do not."""
    for key, reason in _PROPERTY_REASONS.items():
        if (properties.get(key) or "").lower() == "true":
            return reason
    if maps_columns(properties):
        return "it has column mapping"
    if any(key.startswith("delta.constraints.") for key in properties):
        return "it has CHECK constraints"
    if properties.get("delta.universalFormat.enabledFormats"):
        return "Spark keeps it readable as another format"
    if properties.get("delta.parquet.format.version"):
        return "it sets the Parquet version of its files"
    return None


def _find_column_reason(fields: Sequence[Mapping[str, Any]]) -> str | None:
    """Why the type or the metadata of a column keeps all writers but Spark out; None where none does."""
    for path, field in _walk_fields(fields):
        metadata = field.get("metadata") or {}
        odd_types = (f"of type {kind}" for kind in _iterate_types(field["type"]) if not is_plain_type(kind))
        description = next((what for key, what in _COLUMN_REASONS.items() if key in metadata), None) or next(
            odd_types, None
        )
        if description is not None:
            return f"its column '{'.'.join(path)}' is {description}"
    return None


def _find_name_reason(fields: Sequence[Mapping[str, Any]]) -> str | None:
    """Why Delta refuses the name of a column in a new table; None where it takes all of them."""
    seen = set()
    for path, field in _walk_fields(fields):
        folded = tuple(name.lower() for name in path)
        if folded in seen or _FORBIDDEN_CHARACTERS.search(field["name"]):
            return f"Delta refuses the name of its column '{'.'.join(path)}'"
        seen.add(folded)
    return None


def _iterate_types(kind: Any) -> Iterator[str]:  # noqa: ANN401  JSON
    """The types that a column's type consists of, without the fields of structs."""
    if not isinstance(kind, Mapping):
        yield kind
        return
    match kind["type"]:
        case "struct":
            yield from () if kind["fields"] else ("struct<>",)
        case "array":
            yield from _iterate_types(kind["elementType"])
        case "map":
            yield from _iterate_types(kind["keyType"])
            yield from _iterate_types(kind["valueType"])
        case other:
            yield other


def _walk_fields(
    fields: Sequence[Mapping[str, Any]], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Every field with its path, also of structs within arrays and maps."""
    for field in fields:
        path = (*above, field["name"])
        yield path, field
        yield from _walk_type(field["type"], path)


def _walk_type(kind: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:  # noqa: ANN401  JSON
    """The fields within a type, at any depth, each with its path; elements, keys and values are steps of the path."""
    if not isinstance(kind, Mapping):
        return
    match kind["type"]:
        case "struct":
            yield from _walk_fields(kind["fields"], path)
        case "array":
            yield from _walk_type(kind["elementType"], (*path, "element"))
        case "map":
            yield from _walk_type(kind["keyType"], (*path, "key"))
            yield from _walk_type(kind["valueType"], (*path, "value"))


_HIDDEN_PREFIX = "_"
"""Delta takes folders with this prefix for hidden, except those of partitions."""


def spark_commit_reason(asset: AssetSpec, table: DeltaTable | None) -> str | None:
    """Why Spark commits to the asset's ``table``, as the end of a sentence; None where the driver does.

    A run may have further reasons: columns that change, or nulls in NOT NULL columns.
    """
    if asset.commit == "spark":
        return "the asset says 'commit: spark'"
    if asset.name.startswith(_HIDDEN_PREFIX):
        return "files in folders with its name would be hidden from VACUUM"
    if asset.storage is not None and asset.storage.table:
        return "its table is in a catalog"
    if asset.storage is None or not _can_commit_at(asset.storage.path):
        return "its table is neither on a local disk nor on S3"
    return None if table is None else reason_for_spark(table)


def spark_creation_reason(asset: AssetSpec) -> str | None:
    """Why Spark creates the asset's table, as the end of a sentence; None where the driver does."""
    return spark_commit_reason(asset, None) or (
        "the asset gives properties to its new table" if asset.properties else None
    )


def _can_commit_at(path: str) -> bool:
    """Whether the storage keeps staged files apart, and lets a commit be made only if there is none yet."""
    return local_path(path) is not None or path.partition("://")[0].lower() in ("s3", "s3a")


FEED: Final = "delta.enableChangeDataFeed"
"""The property that makes writers keep a change feed."""
FEED_MERGE_REASON: Final = "its rows are merged by keys, and it has a change feed"
"""Why Spark commits an upsert to a table with a change feed, as the end of a sentence."""
_FEED_PROPERTIES: Final = {FEED: "true"}
_ITERATION_PROPERTIES: Final = {"delta.deletedFileRetentionDuration": "interval 36500 days"}
"""For tables of iterations: Spark's ``VACUUM LITE`` uses the log, where older iterations' files are removed."""


def keeps_feed(properties: Mapping[str, Any]) -> bool:
    """Whether a table with these properties keeps a change feed.

    >>> keeps_feed({FEED: "TRUE"}), keeps_feed({})
    (True, False)
    """
    return str(properties.get(FEED) or "").lower() == "true"


def spark_properties(asset: AssetSpec) -> dict[str, str]:
    """Properties of a new table that Spark creates for the asset."""
    return {**(_FEED_PROPERTIES if asset.followed else {}), **asset.properties}


def driver_properties(asset: AssetSpec) -> dict[str, str]:
    """Properties of one that the driver creates; removed files stay no longer than its log, as Spark requires."""
    return {**(_ITERATION_PROPERTIES if asset.publishes else {}), **spark_properties(asset)}

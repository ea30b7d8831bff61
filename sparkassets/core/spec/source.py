"""Compiles the keys of a source: its kind, its path or table, and the columns of the path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from sparkassets.core.entry_points import Factory, RegisteredError
from sparkassets.core.patterns import PathPattern, PatternError
from sparkassets.core.phrases import listing
from sparkassets.core.source_formats import FORMATS, REGISTRY, FileFormat, build_registered_format
from sparkassets.core.spec.asset_models import AssetFile
from sparkassets.core.spec.model import SourceSpec
from sparkassets.core.spec.schedule_models import SegmentsMap
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.spec.time_bounds import fixed_seconds
from sparkassets.core.spec.write_models import WriteMap
from sparkassets.core.spec.yaml_document import DocumentPlace
from sparkassets.core.suggestions import suggest_close
from sparkassets.core.table_names import has_fields, parse_table_name
from sparkassets.errors import InputError

_WRITER_KEYS: Final = (
    *("inlets", "outlets", "schedule", "strategy", "write", "schema", "unchanged", "properties", "partitioned_by"),
    *("sql", "python", "params", "paused", "budget", "retries", "retry_delay", "timeout", "lease"),
)
_BUILT_IN_NAMES: Final = ("delta", *FORMATS)
_FORMAT_HINT: Final = (
    f"expected {listing(['true', *_BUILT_IN_NAMES], last='or')}, or a format that a package registers in the entry "
    f"point group '{REGISTRY.group}'"
)
_GLOBS: Final = "*?["
_PATTERN_MARKS: Final = "{" + _GLOBS
_TABLES: Final = frozenset({"delta", "tables"})
_NO_FORMATS: Final = {
    "events": "write 'source: true' for data known only by its events",
    "tables": "write 'source: delta'",
}


def compile_source(at: DocumentPlace, keys: AssetFile, installed: Mapping[str, Factory]) -> SourceSpec | None:
    """How others write the asset; None where it is written here. Formats of packages are ``installed``, by name."""
    kind = _find_kind(keys)
    if keys.source is None:
        if "source" not in at.document.failed:
            _refuse_source_keys(at)
        return None
    _refuse_writer_keys(at)
    settle = fixed_seconds(at / "settle", keys.settle, positive=False) if keys.settle else 0
    if keys.source in _NO_FORMATS:
        (at / "source").add_problem(f"unknown source format {keys.source!r}", hint=_NO_FORMATS[str(keys.source)])
    if kind in _TABLES or kind == "events":
        _check_table_source(at, keys, kind)
        return SourceSpec(kind, settle_seconds=settle)
    registered = None if kind in FORMATS else _build_registered(at, kind, keys, installed)
    _check_file_place(at, keys, kind)
    options = {key: plain_text(value) for key, value in keys.options.items()}
    _check_typed(at, keys, registered or FORMATS[kind], options)
    return SourceSpec(kind, options, settle, registered)


def _build_registered(at: DocumentPlace, kind: str, keys: AssetFile, installed: Mapping[str, Factory]) -> FileFormat:
    """The format of a package; what is wrong becomes a problem."""
    try:
        return build_registered_format(kind, keys.options, keys.known_types, installed=installed)
    except RegisteredError as error:
        if kind not in installed:
            error.hint = suggest_close(kind, [*_BUILT_IN_NAMES, *installed]) or _FORMAT_HINT
        (at / "options" if error.path else at).add_refusal(error, name="source")
        return FileFormat(kind, kind)


def _check_file_place(at: DocumentPlace, keys: AssetFile, kind: str) -> None:
    if keys.table is not None:
        (at / "table").add_key_problem(f"'table' is not allowed for a source of {kind} files", hint="give its 'path'")
    elif keys.path is None and at.document.failed.isdisjoint({"path", "source"}):
        (at / "source").add_problem(f"a source of {kind} files needs a path, such as path: landing/*.{kind}")


def _check_typed(at: DocumentPlace, keys: AssetFile, file_format: FileFormat, options: Mapping[str, str]) -> None:
    """Refuses a type for some columns only, where the files do not name their columns: all others would be lost."""
    if not keys.known_types or keys.types or file_format.columns == "own" or file_format.has_header(options):
        return
    untyped = next(name for name in keys.columns if name not in keys.known_types)
    message = f"the column {untyped!r} has no type, but {keys.source} files are read with the types of all columns"
    (at / "columns" / untyped).add_key_problem(message, hint="give every column a type, or none")


def compile_pattern(at: DocumentPlace, keys: AssetFile) -> PathPattern | None:
    """The path of files, or of tables that share a naming convention; None for others, whose paths may not vary."""
    kind = _find_kind(keys)
    if keys.path is None:
        return _compile_name_pattern(at, keys) if kind == "tables" and keys.table is not None else None
    if kind == "tables" and (mark := next((each for each in _GLOBS if each in keys.path), None)):
        message = f"the path of Delta tables may vary only by fields, but contains {mark!r}"
        (at / "path").add_text_problem(
            keys.path.index(mark), message, width=1, hint="write a field, such as {region}, for the part that varies"
        )
    elif kind not in ("delta", "events"):
        try:
            return PathPattern.parse(keys.path, _list_segment_columns(keys))
        except PatternError as error:
            (at / "path").add_problem(str(error.args[0]), hint=error.hint)
    elif "source" in at.document.failed:
        return None  # the wrong format may have meant files, whose paths may vary
    elif mark := next((each for each in _PATTERN_MARKS if each in keys.path), None):
        message = f"the path of a table cannot vary, but contains {mark!r}"
        (at / "path").add_text_problem(keys.path.index(mark), message, width=1)
    return None


def _compile_name_pattern(at: DocumentPlace, keys: AssetFile) -> PathPattern | None:
    """The name in a catalog of several tables as a pattern; None where it is wrong.

    `InputError` adds no problem here: `check_table` reads the name again and reports it.
    """
    text = keys.table or ""
    try:
        return replace(PathPattern.parse(StorageLocation.several(text).as_path, _list_segment_columns(keys)), text=text)
    except PatternError as error:
        (at / "table").add_problem(str(error.args[0]), hint=error.hint)
    except InputError:
        pass
    return None


def _list_segment_columns(keys: AssetFile) -> list[str]:
    """The columns of the declared segments: fields of a path with these names hold segments and not time."""
    dimensions = keys.partition if isinstance(keys.partition, list) else [keys.partition]
    return [each.column for each in dimensions if isinstance(each, SegmentsMap) and each.column is not None]


def _find_kind(keys: AssetFile) -> str:
    """The kind of a source: as written, else ``delta`` with a path or table, else ``events``.

    ``tables`` for a Delta source whose path or name has fields such as ``{region}``.
    """
    kind = keys.source if isinstance(keys.source, str) else "delta" if keys.path or keys.table else "events"
    has_pattern = "{" in keys.path if keys.path is not None else has_fields(keys.table or "")
    return "tables" if keys.source and kind == "delta" and has_pattern else kind


def _refuse_source_keys(at: DocumentPlace) -> None:
    if (at / "options").exists:
        (at / "options").add_key_problem(
            "'options' configure the reader of file sources, but this asset is not a source"
        )
    if (at / "settle").exists:
        (at / "settle").add_key_problem("'settle' is supported only for sources")


def _refuse_writer_keys(at: DocumentPlace) -> None:
    for key in _WRITER_KEYS:
        if (at / key).exists:
            (at / key).add_key_problem(f"{key!r} is not allowed for a source: others write it, so nothing runs")


def _check_table_source(at: DocumentPlace, keys: AssetFile, kind: str) -> None:
    """Refuses options of files, and a Delta source that says nothing of where its table is."""
    if (at / "options").exists:
        description = "a Delta source" if kind in _TABLES else "a source that is known only by its events"
        (at / "options").add_key_problem(f"'options' configure the reader of file sources, but this is {description}")
    if kind == "delta" and not (keys.path or keys.table) and at.document.failed.isdisjoint({"path", "table"}):
        (at / "source").add_problem(
            "a Delta source needs 'path', the folder of its table, or 'table', its name in a catalog"
        )


def plain_text(value: str | float) -> str:
    """A value of YAML as the text that Spark's options and settings take."""
    return str(value).lower() if isinstance(value, bool) else str(value)


_STAND_IN = ("unnamed",)
"""In place of what is no name, which is refused where it stands."""


def named_table(text: str, *, several: bool = False) -> StorageLocation:
    """The location of the table of that name, or of ``several`` that its fields stand for."""
    try:
        return StorageLocation.several(text) if several else StorageLocation.of_table(parse_table_name(text))
    except InputError:
        return StorageLocation.of_table(_STAND_IN)


def check_table(at: DocumentPlace, keys: AssetFile) -> None:
    """Refuses a name that is none, and what a table in a catalog does not do."""
    if keys.table is None:
        return
    place = at / "table"
    try:
        if keys.source and has_fields(keys.table):
            StorageLocation.several(keys.table)
        else:
            parse_table_name(keys.table)
    except InputError as error:
        place.add_problem(str(error.args[0]), hint=error.hint)
    if keys.path is not None:
        place.add_key_problem("'table' and 'path' exclude each other")
    for option in _find_unsupported_options(keys):
        place.add_key_problem(f"{option} needs a 'path': a catalog table has no folder beside it")


def _find_unsupported_options(keys: AssetFile) -> list[str]:
    """Options of the asset that need folders beside the table, which a catalog's table lacks."""
    publishes = isinstance(keys.write, WriteMap) and keys.write.publish is not None
    return ["'publish'"] if publishes else []

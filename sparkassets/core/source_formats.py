"""Formats of the files that others write: a value each, with all that differs between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Final, Literal

from sparkassets.core.entry_points import EntryPointRegistry, Factory, RegisteredError
from sparkassets.core.phrases import kind_of, show_value
from sparkassets.frozen import frozen

REGISTRY: Final = EntryPointRegistry("source format", "sparkassets.sources", "source")
"""The formats that packages register."""


@frozen
class FileFormat:
    """A format of files, as Spark reads it and as a look without Spark sees it.

    Attributes:
        name: As ``source`` has it.
        reader: What Spark calls the format.
        options: Options of Spark's reader, unless the author gives others.
        columns: ``own``: files hold names and types, which are compared with the declared ones. ``header``: files hold
            names, unless the option ``header`` is not true, and types are declared. ``declared``: both are declared.
        expressions: SQL on what Spark's reader returns, one for each column; empty for all as it is.
        empty_is_rowless: Whether a file of 0 bytes has no rows, and is as good as not there; else it is broken.
        has_statistics: Whether a look without Spark reads values of columns, from Parquet's footers.
    """

    name: str
    reader: str
    options: Mapping[str, str] = field(default_factory=dict)
    columns: Literal["own", "header", "declared"] = "declared"
    expressions: tuple[str, ...] = ()
    empty_is_rowless: bool = True
    has_statistics: bool = False

    def is_rowless(self, size: int) -> bool:
        """Whether a file of that size in bytes holds no rows: such a file is not there.

        >>> FORMATS["csv"].is_rowless(0), FORMATS["csv"].is_rowless(1), FORMATS["parquet"].is_rowless(0)
        (True, False, False)
        """
        return size == 0 and self.empty_is_rowless

    def has_header(self, options: Mapping[str, str]) -> bool:
        """Whether files hold the names of their columns in a header, with these options of the author."""
        given = next((value for key, value in options.items() if key.lower() == "header"), "true")
        return self.columns == "header" and given.lower() == "true"


_STRICT: Final = {"mode": "FAILFAST"}
"""What does not parse fails the run."""

FORMATS: Final[Mapping[str, FileFormat]] = {
    each.name: each
    for each in (
        # headers are compared with the schema: without that columns go by their order
        FileFormat("csv", "csv", {"header": "true", "enforceSchema": "false", **_STRICT}, columns="header"),
        FileFormat("json", "json", _STRICT),
        FileFormat("parquet", "parquet", columns="own", empty_is_rowless=False, has_statistics=True),
    )
}
"""The formats of sparkassets itself, by name."""


def build_registered_format(
    name: str, options: Mapping[str, object], columns: Mapping[str, str], *, installed: Mapping[str, Factory]
) -> FileFormat:
    """The format that a package registered, as a value: a run needs the package no more.

    The entry point makes of the source's ``options`` an object with ``reader``, what Spark calls the format, and as
    it likes: ``reader_options()``, a map of texts; ``expressions(columns)``, SQL on what the reader returns, for the
    declared columns; ``has_types``, whether files hold names and types; ``empty_is_rowless``, False where a file of
    0 bytes is broken.

    Args:
        name: As ``source`` has it.
        options: As written.
        columns: The declared ones, by name their types.
        installed: What is registered; asked for this name only.

    Raises:
        RegisteredError: There is none of that name, its options are wrong, or it lacks what a format has.
    """
    made = REGISTRY.make(name, options, installed=installed, reserved=())
    reader = getattr(made, "reader", None)
    if not isinstance(reader, str) or not reader:
        raise RegisteredError(f"source format '{name}' is {kind_of(made)}; expected an object with the text 'reader'")
    given, expressions = _ask(name, made, "reader_options", {}), _ask(name, made, "expressions", (), columns)
    if not isinstance(given, Mapping) or not all(isinstance(each, str) for pair in given.items() for each in pair):
        raise RegisteredError(
            f"source format '{name}' has the reader options {show_value(given)}; expected texts by name"
        )
    if isinstance(expressions, str) or not isinstance(expressions, Sequence):
        raise RegisteredError(f"source format '{name}' has the expressions {show_value(expressions)}; expected a list")
    has_types = bool(getattr(made, "has_types", False)) or bool(expressions)
    return FileFormat(
        name,
        reader,
        dict(given),
        "own" if has_types else "declared",
        tuple(map(str, expressions)),
        bool(getattr(made, "empty_is_rowless", True)),
    )


def _ask(name: str, made: object, method: str, default: object, *arguments: object) -> Any:  # noqa: ANN401
    """What a method of another package's object returns, or the default where it has none."""
    found = getattr(made, method, None)
    return default if found is None else REGISTRY.call(name, lambda: found(*arguments))

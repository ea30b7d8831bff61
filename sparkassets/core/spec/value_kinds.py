"""The kinds of values in the files, as annotated types for pydantic: what they are and how a message names them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    WithJsonSchema,
)
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from sparkassets.core.partitions import NAMED_GRAINS
from sparkassets.frozen import frozen

EXPECTED: Final = "expected"
"""Type of the errors whose message is a noun phrase: what would have been right."""

_MARK: Final = "x-definition"
"""Stands for a ``$ref``, which pydantic would look for among its own definitions."""


class StrictMap(BaseModel):
    """Base of all maps of the files: no unknown keys, no conversion of types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


@frozen
class ValueDescription:
    """Annotates a type with the words that describe its values; any error inside is replaced by these words."""

    words: str

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Wraps the schema of the annotated type."""
        return core_schema.custom_error_schema(
            handler(source), custom_error_type=EXPECTED, custom_error_message=self.words
        )


@frozen
class _NonNullValue:
    """Refuses null as a value of a key that may be left out: an empty key is usually a mistake."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        return schema["schema"] if schema["type"] == "nullable" else schema


S = TypeVar("S", bound=str)


def one_or_more(written: S | list[S] | None) -> tuple[S, ...]:
    """The items of a value that may be left out, one text, or a list of texts."""
    if written is None:
        return ()
    return (written,) if isinstance(written, str) else tuple(written)


T = TypeVar("T")
Maybe = Annotated[T | None, _NonNullValue()]
"""A key that may be left out."""


def kind_of(value: object) -> str | None:
    """The branch of a union for a YAML value: ``<text>``, ``<list>`` or ``<map>``; None for any other value."""
    match value:
        case str():
            return "<text>"
        case list():
            return "<list>"
        case dict():
            return "<map>"
        case _:
            return None


def off_or_kind(value: object) -> str | None:
    """The branch as of `kind_of`; ``<off>`` for false."""
    return "<off>" if value is False else kind_of(value)


def on_or_kind(value: object) -> str | None:
    """The branch as of `kind_of`; ``<on>`` for true."""
    return "<on>" if value is True else kind_of(value)


def discriminate_by_kind(words: str, kind: Callable[[Any], str | None] = kind_of) -> Discriminator:
    """Chooses the branch of a union by the kind of the value; ``words`` describe what is expected if none fits."""
    return Discriminator(kind, custom_error_type=EXPECTED, custom_error_message=words)


@frozen
class KindCheck:
    """Refuses values of another kind, in words; errors inside a value of the right kind are reported as they are."""

    kind: str
    words: str

    def __call__(self, value: object) -> object:
        """Returns the value unchanged.

        Raises:
            PydanticCustomError: It is of another kind.
        """
        if kind_of(value) != self.kind:
            raise PydanticCustomError(EXPECTED, self.words)
        return value


def require_map(words: str) -> BeforeValidator:
    """A validator that only accepts maps; ``words`` describe what is expected."""
    return BeforeValidator(KindCheck("<map>", words))


@frozen
class ColumnMapCheck(KindCheck):
    """Checks a map whose keys are columns; a map with the column as a value is reported as a whole."""

    def __call__(self, value: object) -> object:
        """The value, which is such a map."""
        if isinstance(value, dict) and isinstance(value.get("column"), str):
            raise PydanticCustomError(EXPECTED, self.words)
        return KindCheck.__call__(self, value)


def require_column_map(words: str) -> BeforeValidator:
    """A validator that only accepts maps by column; a map with a key ``column`` is another form, refused whole."""
    return BeforeValidator(ColumnMapCheck("<map>", words))


def require_list(words: str) -> BeforeValidator:
    """A validator that only accepts lists; ``words`` describe what is expected."""
    return BeforeValidator(KindCheck("<list>", words))


Text = Annotated[str, ValueDescription("text")]
ColumnType = Annotated[str, ValueDescription("a Spark SQL type such as bigint or decimal(12,2)")]
IdentifierText = Annotated[
    str,
    Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$"),
    ValueDescription("at most 128 letters, digits and '_', not beginning with a digit"),
]
DurationText = Annotated[
    str,
    Field(pattern=r"^-?([0-9]+(mo|[smhdwy]))+$"),
    ValueDescription("a number with its unit (s m h d w mo y), such as 90s or 7d"),
]
SpanText = Annotated[
    str,
    Field(pattern=r"^(session|-?([0-9]+(mo|[smhdwy]))+)$"),
    ValueDescription("a number with its unit (s m h d w mo y), such as 90s or 7d, or session"),
]
Degrees = Annotated[int | float, ValueDescription("degrees such as 52.37")]
InstantText = Annotated[str, ValueDescription("a date or a time such as 2025-01-31 or 2025-01-31T06:00")]
ZoneText = Annotated[str, ValueDescription("an IANA time zone such as Europe/Berlin")]
FunctionText = Annotated[
    str,
    Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*$"),
    ValueDescription("a function as package.module:function"),
]
Count = Annotated[int, Field(ge=1), ValueDescription("a whole number of at least 1")]
Natural = Annotated[int, Field(ge=0), ValueDescription("a whole number of at least 0")]
SizeValue = Annotated[
    Annotated[int, Field(ge=1)] | Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+)? ?([kKmMgGtTpP]i?)?[bB]?$")],
    ValueDescription("bytes, or a size such as 10GB or 512MiB"),
]
Plain = Annotated[str | bool | int | float, ValueDescription("text, a number, true or false")]
PartitionText = Literal["none", "auto", "@hourly", "@daily", "@weekly", "@monthly", "@quarterly", "@yearly"]
GrainText = Annotated[
    str,
    Field(pattern=rf"^({'|'.join(NAMED_GRAINS)}|auto|\s*\S+(\s+\S+)+\s*)$"),
    ValueDescription("hour, day, week, month, quarter, year, auto or a cron"),
]
ConditionList = Annotated[
    list[Any],
    WithJsonSchema({"type": "array", "minItems": 1, "items": {_MARK: "Condition"}}),
]
TimesValue = Annotated[
    dict[str, Any] | list[Any],
    ValueDescription("a map such as {hours: [9, 17]}, or a list of such maps"),
    WithJsonSchema({_MARK: "Times"}),
]
ConditionMap = Annotated[dict[str, Any], WithJsonSchema({_MARK: "ConditionMap"})]


def with_references(schema: Any) -> Any:  # noqa: ANN401 - JSON
    """The JSON Schema with every mark of a definition replaced by the reference to it."""
    if isinstance(schema, dict):
        if _MARK in schema:
            return {"$ref": f"#/$defs/{schema[_MARK]}"}
        return {key: with_references(value) for key, value in schema.items()}
    return [with_references(value) for value in schema] if isinstance(schema, list) else schema


def written_keys(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The keys of a map as they are written in files."""
    return {field.alias or name: field for name, field in model.model_fields.items()}

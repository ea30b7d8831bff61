"""`validations` of the asset files as pydantic models: a map for each rule."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field, Tag

from sparkassets.core.spec.value_kinds import (
    ColumnType,
    Count,
    DurationText,
    FunctionText,
    Maybe,
    Natural,
    Plain,
    StrictMap,
    Text,
    ValueDescription,
    discriminate_by_kind,
    kind_of,
    require_column_map,
    require_list,
    require_map,
)
from sparkassets.core.suggestions import find_nearest
from sparkassets.core.validations.rules import MOST_SAMPLES

_Column = Annotated[str, ValueDescription("the name of a column")]
_ColumnList = Annotated[list[_Column], Field(json_schema_extra={"minItems": 1, "uniqueItems": True})]
ColumnNames = Annotated[
    Annotated[_Column, Tag("<text>")] | Annotated[_ColumnList, Tag("<list>")],
    discriminate_by_kind("a column, or a list of columns"),
]
_Bound = Maybe[Annotated[Plain, ValueDescription("a number, or a date or a time as text")]]
_SEVERITY: Final[Any] = Field(
    default="fail",
    description=(
        "What becomes of what fails. fail: the partition is withheld. warn: it is published with a warning. drop: the "
        "rows that fail are left out. quarantine: they are left out, and kept in a table beside the target."
    ),
)
_Allow = Annotated[
    Annotated[int, Field(ge=0)] | Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+)?%$")],
    ValueDescription("a number of rows, or a share such as 0.1%"),
]


class RangeMap(StrictMap):
    """Bounds of a column; both belong."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    min: _Bound = Field(default=None, description="The least value.")
    max: _Bound = Field(default=None, description="The highest value.")


class RowCountMap(StrictMap):
    """How many rows there are to be."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    min: Maybe[Natural] = Field(default=None, description="At least so many.")
    max: Maybe[Natural] = Field(default=None, description="At most so many.")
    change: Maybe[
        Annotated[
            str,
            Field(pattern=r"^([+-]?[0-9]+(\.[0-9]+)?%)?\.\.([+-]?[0-9]+(\.[0-9]+)?%)?$"),
            ValueDescription("a range such as -50%..+100%"),
        ]
    ] = Field(default=None, description="How far it may be from the median of the latest that were published.")
    over: Maybe[Count] = Field(default=None, description="How many of the latest count for `change`; 7 by default.")


def _kind_of_key(value: object) -> str | None:
    """``<key>`` where another asset is named by a key of its own."""
    kind = kind_of(value)
    if not isinstance(value, dict) or kind != "<map>":
        return None
    return "<key>" if any(find_nearest(str(key), ("asset",)) for key in value) and "columns" in value else kind


class ForeignKeyMap(StrictMap):
    """Columns whose values another asset has."""

    columns: ColumnNames = Field(description="Of the rows.")
    asset: Text = Field(description="Which has their values; it is read as an inlet is.")
    to: Maybe[ColumnNames] = Field(
        default=None, description="Its columns, in that order; those of the same names else."
    )


class _CommonRuleMap(StrictMap):
    """Keys that every rule may have."""

    name: Maybe[Text] = Field(default=None, description="How it is called; by default as not_null(id).")
    severity: Literal["fail", "warn", "drop", "quarantine"] = _SEVERITY
    allow: Maybe[_Allow] = Field(
        default=None, description="So many rows, or such a share of those that are looked at, may fail."
    )
    where: Maybe[Text] = Field(
        default=None, description="A condition in SQL: only rows for which it is true are looked at."
    )
    samples: Annotated[
        int, Field(ge=0, le=MOST_SAMPLES), ValueDescription(f"a whole number from 0 to {MOST_SAMPLES}")
    ] = Field(
        default=0,
        description="So many rows that fail are shown, and kept in the state; never values of columns with `pii`.",
    )


class RuleMap(_CommonRuleMap):
    """One validation: a check, with what becomes of what fails."""

    has_columns: Maybe[
        Annotated[
            Annotated[_ColumnList, Tag("<list>")] | Annotated[dict[str, ColumnType | None], Tag("<map>")],
            discriminate_by_kind("a list of columns, or a map of them to their types"),
        ]
    ] = Field(default=None, description="These columns are there, of these types.")
    row_count: Maybe[Annotated[RowCountMap, require_map("a map such as {min: 1}")]] = Field(
        default=None, description="How many rows there are."
    )
    not_null: Maybe[ColumnNames] = Field(default=None, description="None of these columns is NULL.")
    unique: Maybe[ColumnNames] = Field(
        default=None, description="No two rows have the same values in these columns; NULL is no value."
    )
    accepted: Maybe[
        Annotated[
            dict[str, Annotated[list[Plain], require_list("a list of values")]],
            require_column_map("{status: [open, closed]}"),
        ]
    ] = Field(default=None, description="The column has one of these values, or NULL.")
    range: Maybe[
        Annotated[
            dict[str, Annotated[RangeMap, require_map("a map such as {min: 0}")]],
            require_column_map("{amount: {min: 0}}"),
        ]
    ] = Field(default=None, description="The column lies between these bounds, or is NULL.")
    pattern: Maybe[Annotated[dict[str, Text], require_map("{email: '.+@.+'}")]] = Field(
        default=None, description="The whole text of the column matches this regular expression, or is NULL."
    )
    freshness: Maybe[Annotated[dict[str, DurationText], require_column_map("{updated_at: 2d}")]] = Field(
        default=None,
        description="The newest value of the column is not older than this at the partition's end, or now.",
    )
    foreign_key: Maybe[
        Annotated[
            Annotated[dict[str, Text], Tag("<map>")] | Annotated[ForeignKeyMap, Tag("<key>")],
            discriminate_by_kind("{shop_id: shops.id}, or {columns: [a, b], asset: other}", _kind_of_key),
        ]
    ] = Field(default=None, description="The values of the column are those of a column of another asset, or NULL.")
    sql: Maybe[Text] = Field(
        default=None, description="A condition in SQL on the row, or on aggregates of `per: partition` or `per: run`."
    )
    python: Maybe[FunctionText] = Field(
        default=None, description="A function of an allowed package that tells it, as package.module:function."
    )
    per: Maybe[Literal["row", "partition", "run"]] = Field(
        default=None, description="What is judged: rows, each partition, or all rows of the run."
    )


class RegisteredRuleMap(_CommonRuleMap):
    """A check that an installed package registered; the keys that are not here are its parameters."""

    model_config = ConfigDict(extra="allow")

    check: Text = Field(description="Its name in the entry point group `sparkassets.checks`.")


CHECKS: Final = tuple(key for key in RuleMap.model_fields if key not in _CommonRuleMap.model_fields and key != "per")
"""The keys of a rule that are checks; a rule has exactly one."""
TAKING: Final = ("drop", "quarantine")
"""The severities of rules that take rows away."""


def kind_of_rule(value: object) -> str | None:
    """The branch of a rule."""
    if not isinstance(value, dict):
        return None
    known = {*RuleMap.model_fields} - {*_CommonRuleMap.model_fields}
    return "<registered>" if "check" in value and not known & value.keys() else "<map>"


def row_removing_rule_maps(keys: Any) -> dict[str, object]:  # noqa: ANN401  the keys of an asset
    """The rules that take rows away, of an asset and its outlets, as they are written: which rows come out.

    They are by the names that they have as parts of a definition.
    """
    lists = {"validations": keys.validations}
    for name, outlet in (keys.outlets or {}).items():
        lists[f"validations.{name}"] = outlet.validations if outlet else []
    return {
        f"{path}.{number}": rule.model_dump(exclude_none=True, exclude={"samples"})
        for path, rules in lists.items()
        for number, rule in enumerate(rules, start=1)
        if rule.severity in TAKING
    }


def rule_map(value: object) -> type[StrictMap]:
    """The model of a rule, chosen by its keys."""
    return RegisteredRuleMap if kind_of_rule(value) == "<registered>" else RuleMap


RuleList = list[
    Annotated[
        Annotated[RuleMap, Tag("<map>")] | Annotated[RegisteredRuleMap, Tag("<registered>")],
        discriminate_by_kind("a map such as {not_null: [id]}", kind_of_rule),
    ]
]

"""`validations` of the asset files as pydantic models: a map for each rule."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, get_args

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
        "What happens on failure. fail: the partition is withheld. warn: it is published with a "
        "warning. drop: failing rows are left out. quarantine: failing rows are moved to a table "
        "beside the target."
    ),
)
_Allow = Annotated[
    Annotated[int, Field(ge=0)] | Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+)?%$")],
    ValueDescription("a number of rows, or a share such as 0.1%"),
]


class RangeMap(StrictMap):
    """Bounds of a column; both belong."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    min: _Bound = Field(default=None, description="Least value, inclusive.")
    max: _Bound = Field(default=None, description="Greatest value, inclusive.")


class RowCountMap(StrictMap):
    """How many rows there are to be."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    min: Maybe[Natural] = Field(default=None, description="Least number of rows.")
    max: Maybe[Natural] = Field(default=None, description="Greatest number of rows.")
    change: Maybe[
        Annotated[
            str,
            Field(pattern=r"^([+-]?[0-9]+(\.[0-9]+)?%)?\.\.([+-]?[0-9]+(\.[0-9]+)?%)?$"),
            ValueDescription("a range such as -50%..+100%"),
        ]
    ] = Field(default=None, description="Allowed deviation from the median of recently published partitions.")
    over: Maybe[Count] = Field(
        default=None, description="How many recent partitions `change` compares with; default: 7."
    )


def _kind_of_key(value: object) -> str | None:
    """The branch of a foreign key: ``<key>`` for a map with ``columns`` and ``asset``, else ``<map>`` by column.

    A key that is nearly ``asset`` counts as one, so that a misspelt map is reported as what it was meant to be.
    """
    kind = kind_of(value)
    if not isinstance(value, dict) or kind != "<map>":
        return None
    return "<key>" if any(find_nearest(str(key), ("asset",)) for key in value) and "columns" in value else kind


class ForeignKeyMap(StrictMap):
    """Columns whose values another asset has."""

    columns: ColumnNames = Field(description="Columns of the rows.")
    asset: Text = Field(description="Asset that holds the values; it becomes an inlet.")
    to: Maybe[ColumnNames] = Field(
        default=None, description="Columns of that asset, in the same order; default: the same names."
    )


class _CommonRuleMap(StrictMap):
    """Keys that every rule may have."""

    name: Maybe[Text] = Field(
        default=None, description="Name of the rule; default: derived from the check, such as not_null(id)."
    )
    severity: Literal["fail", "warn", "drop", "quarantine"] = _SEVERITY
    allow: Maybe[_Allow] = Field(
        default=None, description="How many rows, or what share of the checked rows, may fail."
    )
    where: Maybe[Text] = Field(default=None, description="SQL condition; only rows for which it is true are checked.")
    samples: Annotated[
        int, Field(ge=0, le=MOST_SAMPLES), ValueDescription(f"a whole number from 0 to {MOST_SAMPLES}")
    ] = Field(
        default=0,
        description="How many failing rows to show and to store in the state; never values of `pii` columns.",
    )


class RuleMap(_CommonRuleMap):
    """One validation: a check, with what becomes of what fails."""

    has_columns: Maybe[
        Annotated[
            Annotated[_ColumnList, Tag("<list>")] | Annotated[dict[str, ColumnType | None], Tag("<map>")],
            discriminate_by_kind("a list of columns, or a map of them to their types"),
        ]
    ] = Field(default=None, description="The columns exist, with these types.")
    row_count: Maybe[Annotated[RowCountMap, require_map("a map such as {min: 1}")]] = Field(
        default=None, description="Bounds on the number of rows."
    )
    not_null: Maybe[ColumnNames] = Field(default=None, description="None of the columns is NULL.")
    unique: Maybe[ColumnNames] = Field(
        default=None, description="No two rows have the same values in these columns; rows with a NULL are ignored."
    )
    accepted: Maybe[
        Annotated[
            dict[str, Annotated[list[Plain], require_list("a list of values")]],
            require_column_map("{status: [open, closed]}"),
        ]
    ] = Field(default=None, description="The column has one of these values or is NULL.")
    range: Maybe[
        Annotated[
            dict[str, Annotated[RangeMap, require_map("a map such as {min: 0}")]],
            require_column_map("{amount: {min: 0}}"),
        ]
    ] = Field(default=None, description="The column lies between these bounds or is NULL.")
    pattern: Maybe[Annotated[dict[str, Text], require_map("{email: '.+@.+'}")]] = Field(
        default=None, description="The whole text of the column matches this regular expression or is NULL."
    )
    freshness: Maybe[Annotated[dict[str, DurationText], require_column_map("{updated_at: 2d}")]] = Field(
        default=None,
        description=(
            "The newest value of the column is at most this old, at the partition's end or now, whichever is earlier."
        ),
    )
    foreign_key: Maybe[
        Annotated[
            Annotated[dict[str, Text], Tag("<map>")] | Annotated[ForeignKeyMap, Tag("<key>")],
            discriminate_by_kind("{shop_id: shops.id}, or {columns: [a, b], asset: other}", _kind_of_key),
        ]
    ] = Field(default=None, description="Every value of the column exists in a column of another asset, or is NULL.")
    sql: Maybe[Text] = Field(
        default=None, description="SQL condition on the row, or on aggregates with `per: partition` or `per: run`."
    )
    python: Maybe[FunctionText] = Field(
        default=None, description="Function of an allowed package that decides, as package.module:function."
    )
    per: Maybe[Literal["row", "partition", "run"]] = Field(
        default=None, description="What the rule judges: each row, each partition, or all rows of the run."
    )


ColumnCheck = Literal["not_null", "unique"]
"""The checks of a column that need no value."""


class ColumnRuleMap(_CommonRuleMap):
    """One validation of the column below which it stands; exactly one key is a check."""

    not_null: Maybe[Literal[True]] = Field(default=None, description="The column is not NULL.")
    unique: Maybe[Literal[True]] = Field(default=None, description="No two rows have the same value.")
    accepted: Maybe[Annotated[list[Plain], require_list("a list of values")]] = Field(
        default=None, description="It has one of these values or is NULL."
    )
    range: Maybe[Annotated[RangeMap, require_map("a map such as {min: 0}")]] = Field(
        default=None, description="It lies between these bounds or is NULL."
    )
    pattern: Maybe[Text] = Field(default=None, description="Its whole text matches this regular expression.")
    freshness: Maybe[DurationText] = Field(default=None, description="Its newest value is at most this old.")
    foreign_key: Maybe[Text] = Field(default=None, description="Its values exist in a column such as shops.id.")
    per: Maybe[Literal["row", "partition", "run"]] = Field(
        default=None, description="What the rule judges, as in `validations`."
    )

    def rule_of(self, column: str) -> RuleMap:
        """The same as one of an asset's `validations`, which name the column.

        Keys that were not written are left out, as pydantic tells given values from defaults.
        """
        keys: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        for name in keys.keys() & set(CHECKS):
            keys[name] = [column] if name in get_args(ColumnCheck) else {column: keys[name]}
        return RuleMap.model_construct(**keys)


ColumnRuleList = Annotated[
    list[
        Annotated[
            Annotated[ColumnCheck, Tag("<text>")] | Annotated[ColumnRuleMap, Tag("<map>")],
            discriminate_by_kind("not_null, unique or a map such as {pattern: '.+@.+'}"),
        ]
    ],
    require_list("a list such as [not_null, {pattern: '.+@.+'}]"),
]


def column_rule(column: str, check: ColumnCheck | ColumnRuleMap) -> RuleMap:
    """One of the `checks` of a column as one of an asset's `validations`."""
    return (ColumnRuleMap.model_validate({check: True}) if isinstance(check, str) else check).rule_of(column)


class RegisteredRuleMap(_CommonRuleMap):
    """A check that an installed package registered; the keys that are not here are its parameters."""

    model_config = ConfigDict(extra="allow")

    check: Text = Field(description="Name in the entry point group `sparkassets.checks`.")


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
    lists: dict[str, list[Any]] = {"validations": keys.validations, **_column_rules(keys, "columns")}
    for name, outlet in (keys.outlets or {}).items():
        lists[f"validations.{name}"] = outlet.validations if outlet else []
        lists |= _column_rules(outlet, f"columns.{name}") if outlet else {}
    return {
        f"{path}.{number}": rule.model_dump(exclude_none=True, exclude={"samples"})
        for path, rules in lists.items()
        for number, rule in enumerate(rules, start=1)
        if rule.severity in TAKING
    }


def _column_rules(keys: Any, path: str) -> dict[str, list[Any]]:  # noqa: ANN401  the keys of an asset or an outlet
    """The checks of columns as validations, by their path."""
    return {
        f"{path}.{name}": [column_rule(name, check) for check in column.checks]
        for name, column in keys.columns.items()
        if not isinstance(column, str)
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

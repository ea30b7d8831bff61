"""Validations of rows in Python: ``AssetValidation.not_null(orders.amount, severity="warn")``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, TypedDict

from sparkassets.authoring.arguments import AssetColumn, to_plain

if TYPE_CHECKING:
    from typing import Unpack

Column = AssetColumn | str
Bound = int | float | str | date


class RuleOptions(TypedDict, total=False):
    """Options of every rule, as in YAML."""

    name: str
    severity: str
    allow: int | str
    where: str
    per: str
    samples: int


@dataclass(frozen=True)
class AssetValidation:
    """One rule: a check with what it needs, and what becomes of rows that fail.

    A rule on columns of an inlet, such as ``orders.amount``, is judged on what the run reads of it; any other on the
    asset's own rows. The options of every rule are arguments: `severity`, `allow`, `where`, `name`, `samples`.

    Attributes:
        check: Its name in YAML.
        value: What it needs, as YAML has it.
        asset: Whose columns it names; None where they are named by text.
    """

    check: str
    value: Any
    options: Mapping[str, Any] = field(default_factory=dict)
    asset: str | None = None

    def plain(self) -> dict[str, Any]:
        """It as YAML has it."""
        rule: dict[str, Any] = to_plain({self.check: self.value, **self.options})
        return rule

    @classmethod
    def has_columns(cls, *columns: Column | Mapping[Any, str], **options: Unpack[RuleOptions]) -> AssetValidation:
        """These columns are there; a map of columns to types also checks the types."""
        if len(columns) == 1 and isinstance(columns[0], Mapping):
            types = columns[0]
            return cls("has_columns", _by_name(types), options, _owner(types))
        return cls("has_columns", _names(columns), options, _owner(columns))

    @classmethod
    def not_null(cls, *columns: Column, **options: Unpack[RuleOptions]) -> AssetValidation:
        """None of these columns is NULL."""
        return cls("not_null", _names(columns), options, _owner(columns))

    @classmethod
    def unique(cls, *columns: Column, **options: Unpack[RuleOptions]) -> AssetValidation:
        """No two rows have the same values in these columns."""
        return cls("unique", _names(columns), options, _owner(columns))

    @classmethod
    def accepted(cls, column: Column, values: Sequence[Any], **options: Unpack[RuleOptions]) -> AssetValidation:
        """The column has one of these values, or NULL."""
        return cls("accepted", {_name(column): list(values)}, options, _owner([column]))

    @classmethod
    def range(
        cls,
        column: Column,
        *,
        min: Bound | None = None,  # noqa: A002  the keys of YAML
        max: Bound | None = None,  # noqa: A002
        **options: Unpack[RuleOptions],
    ) -> AssetValidation:
        """The column lies between these bounds, or is NULL."""
        bounds = {key: value for key, value in (("min", min), ("max", max)) if value is not None}
        return cls("range", {_name(column): bounds}, options, _owner([column]))

    @classmethod
    def pattern(cls, column: Column, expression: str, **options: Unpack[RuleOptions]) -> AssetValidation:
        """The whole text of the column matches a regular expression, or is NULL."""
        return cls("pattern", {_name(column): expression}, options, _owner([column]))

    @classmethod
    def freshness(cls, column: Column, age: str | timedelta, **options: Unpack[RuleOptions]) -> AssetValidation:
        """The newest value of the column is not older than this."""
        return cls("freshness", {_name(column): age}, options, _owner([column]))

    @classmethod
    def foreign_key(cls, column: Column, references: AssetColumn, **options: Unpack[RuleOptions]) -> AssetValidation:
        """The values of the column are those of a column of another asset, or NULL."""
        return cls("foreign_key", {_name(column): f"{references.asset}.{references.name}"}, options, _owner([column]))

    @classmethod
    def row_count(
        cls,
        *,
        min: int | None = None,  # noqa: A002  the keys of YAML
        max: int | None = None,  # noqa: A002
        change: str | None = None,
        over: int | None = None,
        **options: Unpack[RuleOptions],
    ) -> AssetValidation:
        """How many rows there are, and how far that may be from the latest counts."""
        given = {"min": min, "max": max, "change": change, "over": over}
        return cls("row_count", {key: value for key, value in given.items() if value is not None}, options)

    @classmethod
    def sql(cls, condition: str, **options: Unpack[RuleOptions]) -> AssetValidation:
        """A condition in SQL is true."""
        return cls("sql", condition, options)

    @classmethod
    def python(cls, function: str, **options: Unpack[RuleOptions]) -> AssetValidation:
        """A function of an allowed package judges, as ``package.module:function``."""
        return cls("python", function, options)


def plain_rules(value: object) -> Any:  # noqa: ANN401  what is no list YAML's checks refuse
    """Rules as in YAML, except those that `place_rules` may move to an inlet."""
    if not isinstance(value, list | tuple):
        return to_plain(value)
    return [each if isinstance(each, AssetValidation) else to_plain(each) for each in value]


def place_rules(keys: dict[str, Any]) -> None:
    """Moves the rules among an asset's `validations` that name columns of an inlet to that inlet; changes ``keys``."""
    rules = keys.get("validations")
    if not isinstance(rules, list):
        return
    own = keys.get("asset")
    keys["validations"] = []
    for rule in rules:
        if not isinstance(rule, AssetValidation):
            keys["validations"].append(rule)
        elif rule.asset in (None, own):
            keys["validations"].append(rule.plain())
        else:
            _add_to_inlet(keys, rule.asset, rule)


def _add_to_inlet(keys: dict[str, Any], name: str, rule: AssetValidation) -> None:
    """Adds the rule to the inlet of that name, which becomes one if it is not; a list of inlets becomes a map."""
    inlets = keys.get("inlets")
    if not isinstance(inlets, dict):
        inlets = keys["inlets"] = {each: {} for each in inlets or ()}
    inlet = inlets[name] = dict(inlets.get(name) or {})
    inlet["validations"] = [*inlet.get("validations", ()), rule.plain()]


def _name(column: Column) -> str:
    return column.name if isinstance(column, AssetColumn) else column


def _names(columns: Sequence[Any]) -> list[str]:
    return [_name(each) for each in columns]


def _by_name(types: Mapping[Any, str]) -> dict[str, str]:
    return {_name(column): kind for column, kind in types.items()}


def _owner(columns: Iterable[object]) -> str | None:
    """The asset that the columns belong to; None where they are named by text.

    Raises:
        TypeError: They belong to more than one.
    """
    owners = {each.asset for each in columns if isinstance(each, AssetColumn)}
    if len(owners) > 1:
        raise TypeError(f"one validation names columns of several assets: {', '.join(sorted(owners))}")
    return next(iter(owners), None)

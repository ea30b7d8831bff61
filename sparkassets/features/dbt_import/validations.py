"""Makes validations of dbt's generic tests."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from sparkassets.features.dbt_import.dbt_nodes import DbtTest
from sparkassets.features.dbt_import.dbt_rendering import NotRenderableError
from sparkassets.features.dbt_import.queries import convert_condition

_REFERENCE: Final = re.compile(r"""\s*(ref|source)\(\s*['"](\w+)['"](?:\s*,\s*['"](\w+)['"])?\s*\)\s*""")
_NAME: Final = re.compile(r"\w+")
_THRESHOLDS: Final = {"error_if": "!= 0", "warn_if": "!= 0"}


def make_validation(test: DbtTest, find_asset: Callable[[str, str], str | None], *, dialect: str) -> dict[str, Any]:
    """The validation that judges what the test judges.

    Args:
        test: A generic test.
        find_asset: The asset of ``("ref", name)`` or ``("source", group.table)``.
        dialect: The SQL of its conditions.

    Raises:
        NotRenderableError: None does.
        KeyError: The test lacks an argument, which is the key.
    """
    check = _make_check(test, find_asset, dialect)
    if any(test.config.get(key) not in (None, usual) for key, usual in _THRESHOLDS.items()):
        raise NotRenderableError("its error_if and warn_if are conditions; write `allow`")
    if str(test.config.get("severity", "error")).lower() == "warn":
        check["severity"] = "warn"
    if where := test.config.get("where"):
        check["where"] = convert_condition(str(where), dialect)
    return check


def _make_check(test: DbtTest, find_asset: Callable[[str, str], str | None], dialect: str) -> dict[str, Any]:
    """The validation of a generic test without its configuration.

    Raises:
        NotRenderableError: There is none for such a test.
        KeyError: The test lacks an argument.
    """
    arguments = test.arguments
    match test.name.removeprefix("dbt_utils."):
        case "unique" | "not_null" as name:
            return {name: [_plain(test.column)]}
        case "accepted_values":
            return {"accepted": {_plain(test.column): list(arguments["values"])}}
        case "relationships":
            return {"foreign_key": {_plain(test.column): _read_reference(arguments, find_asset)}}
        case "unique_combination_of_columns":
            return {"unique": [_plain(each) for each in arguments["combination_of_columns"]]}
        case "expression_is_true":
            text = f"{test.column} {arguments['expression']}".strip()
            return {"sql": convert_condition(text, dialect)}
        case "accepted_range" if arguments.get("inclusive", True):
            bounds = {key: arguments[f"{key}_value"] for key in ("min", "max") if f"{key}_value" in arguments}
            if all(isinstance(value, int | float) for value in bounds.values()):
                return {"range": {_plain(test.column): bounds}}
    raise NotRenderableError("no validation is known for it")


def _read_reference(arguments: Mapping[str, Any], find_asset: Callable[[str, str], str | None]) -> str:
    """The column that a foreign key refers to, ``asset.column``."""
    match = _REFERENCE.fullmatch(str(arguments["to"]))
    name = match and (f"{match[2]}.{match[3]}" if match[1] == "source" else match[3] or match[2])
    asset = find_asset(match[1], name) if match and name else None
    if asset is None:
        raise NotRenderableError(f"{arguments['to']} names no model of the project")
    return f"{asset}.{_plain(arguments['field'])}"


def _plain(column: object) -> str:
    """The name of a column.

    Raises:
        NotRenderableError: It is an expression.
    """
    name = str(column).strip('"`')
    if not _NAME.fullmatch(name):
        raise NotRenderableError(f"{column!r} is an expression and not a column")
    return name

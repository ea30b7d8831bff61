"""Checks that packages register: their parameters are keys of the YAML, and what is wrong is told at its place."""

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from sparkassets.core.validations import RegisteredCheck
from tests.core.spec.in_memory import compiled, errors


@dataclass(frozen=True)
class Weighing:
    """Rows are within limits."""

    column: str
    most: int = 9
    per: ClassVar[str] = "row"

    def __call__(self, rows: Any) -> Any:
        raise AssertionError("nobody calls it where a project is compiled")


@dataclass(frozen=True)
class Whole(Weighing):
    """All rows together."""

    per: ClassVar[str] = "run"


@dataclass(frozen=True)
class Strange(Weighing):
    """Nobody knows what of."""

    per: ClassVar[str] = "table"


def without_per(column: str) -> Any:
    return column.upper


@dataclass(frozen=True)
class Below:
    """A condition in SQL."""

    column: str
    most: int = 9
    per: ClassVar[str] = "row"

    def condition(self) -> Any:
        if self.most < 0:
            raise LookupError("no limit")
        return f"{self.column} < {self.most}" if self.most else None


INSTALLED = {"below": Below, "weighing": Weighing, "whole": Whole, "strange": Strange, "plain": without_per}


def text(rule: str) -> dict[str, str]:
    return {"a.yml": f"asset: a\nsql: SELECT 1 AS id\nvalidations:\n  - {rule}\n"}


def test_a_registered_check_with_its_parameters():
    (rule,) = (
        compiled(text("{check: weighing, column: id, most: 3, severity: drop}"), checks=INSTALLED).assets["a"].rules
    )
    assert rule.check == RegisteredCheck("weighing", {"column": "id", "most": 3}, "row")
    assert (rule.name, rule.severity) == ("check(weighing)", "drop")
    assert rule.to_yaml()["check"] == {"check": "weighing", "column": "id", "most": 3}


def test_a_condition_is_read_where_the_project_is_compiled_and_is_part_of_the_rule():
    rules = [
        compiled(text(f"{{check: below, column: id, most: {n}}}"), checks=INSTALLED).assets["a"].rules for n in (3, 4)
    ]
    assert rules[0][0].check == RegisteredCheck("below", {"column": "id", "most": 3}, "row", "id < 3")
    assert rules[0][0].check.failing_rows(str) == "NOT (id < 3)"
    assert rules[1][0].to_yaml()["check"] == {"check": "below", "column": "id", "most": 4, "condition": "id < 4"}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (
            "{check: weigh, column: id}",
            "a.yml:4:13: unknown check 'weigh'; installed: below, plain, strange, weighing, whole",
        ),
        ("{check: a.b:C}", "use the name that a package registers in the entry point"),
        ("{check: weighing}", "a.yml:4:13: check 'weighing' needs the key 'column'"),
        ("{check: weighing, column: 5}", "a.yml:4:31: 'column' of check 'weighing' is 5; expected a valid string"),
        ("{check: weighing, colum: id}", "a.yml:4:23: unknown key 'colum' of check 'weighing'; expected column, most"),
        ("{check: strange, column: id}", "check 'strange' has 'per' 'table'; expected 'row', 'partition' or 'run'"),
        ("{check: below, column: id, most: -1}", "a.yml:4:13: check 'below' failed: LookupError: no limit"),
        ("{check: below, column: id, most: 0}", "check 'below' has the condition empty; expected SQL"),
        ("{check: unique, column: id}", "'unique' is a built-in check, not one that a package registers"),
        ("{check: unique, column: id}", "hint: write it as a key, {unique: …}"),
        ("{check: plain, column: id}", "check 'plain' is"),
        (
            "{check: whole, column: id, severity: drop}",
            "'severity' is 'drop', but 'whole' of a run does not identify failing rows",
        ),
        ("{check: weighing, column: id, not_null: id}", "unknown key 'check' in item 1 of 'validations'"),
    ],
)
def test_what_is_refused(rule, expected):
    assert expected in errors(text(rule), checks=INSTALLED)


def test_where_nothing_is_installed():
    refused = errors(text("{check: weighing}"))
    assert "unknown check 'weighing'; installed: none" in refused
    assert "install the package that registers it in the entry point group 'sparkassets.checks'" in refused

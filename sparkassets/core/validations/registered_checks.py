"""Checks that packages register: what they provide, and how one is made of a rule's parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol, cast, get_args, runtime_checkable

from sparkassets.core.entry_points import EntryPointRegistry, Factory, RegisteredError
from sparkassets.core.phrases import kind_of, show_value
from sparkassets.core.validations.checks import Check, CheckScope, RegisteredCheck

BUILT_IN: Final = {
    kind: f"write it as a key, {{{kind}: …}}" for kind in (each.kind for each in get_args(Check)) if kind != "check"
}
REGISTRY: Final = EntryPointRegistry("check", "sparkassets.checks", "validation", built_in=BUILT_IN)
"""The checks that packages register."""
RESERVED: Final = frozenset({"check", "name", "severity", "allow", "where", "per", "samples"})
"""Keys of every validation; no parameter may have such a name."""


@runtime_checkable
class RowChecker(Protocol):
    """The object that an entry point of the group ``sparkassets.checks`` makes from its parameters, given by keyword.

    The entry point is a callable, usually a frozen dataclass, whose annotated parameters are the keys beside ``check``
    in the YAML. ``per`` is read where the project is compiled; the checker is called where a run executes: keep heavy
    imports inside ``__call__``. A check that one condition in SQL can say is better a `ConditionChecker`.

    Attributes:
        per: ``row``, ``partition`` or ``run``: what its answer is about.
    """

    per: str

    def __call__(self, rows: Any, /) -> Any:  # noqa: ANN401  of Spark, which is not known here
        """Judges the rows, a DataFrame of Spark, classic or Connect, without changing anything.

        Returns a Column of booleans: of each row or, for a partition or a run, an aggregate. For a run it may also be
        True or None, for fine, or False or a text that says what is wrong.
        """


@runtime_checkable
class ConditionChecker(Protocol):
    """A registered check that is a condition in SQL; it goes into the one look that all rules share.

    It is made like a `RowChecker`. The condition is read where the project is compiled, so that a mistake in it is
    found by ``validate``, a change of it counts as a change of the rule, and a run needs the package no more.

    Attributes:
        per: ``row``, ``partition`` or ``run``: whether the condition is on the columns of a row, or on aggregates.
    """

    per: str

    def condition(self) -> str:
        """Spark SQL that is to be true, as of the check ``sql``."""


def build_registered_check(
    name: str, parameters: Mapping[str, object], *, installed: Mapping[str, Factory]
) -> RegisteredCheck:
    """The check of that name with these parameters, as a value.

    Raises:
        RegisteredError: There is none, its parameters are wrong, its ``per`` is not a scope, or it has no condition.
    """
    checker = _make_checker(name, parameters, installed)
    if not isinstance(checker, ConditionChecker):
        checker = _as_row_checker(name, checker)
    if checker.per not in get_args(CheckScope):
        raise RegisteredError(f"check '{name}' has 'per' {checker.per!r}; expected 'row', 'partition' or 'run'")
    condition = REGISTRY.call(name, checker.condition) if isinstance(checker, ConditionChecker) else ""
    if isinstance(checker, ConditionChecker) and not (isinstance(condition, str) and condition.strip()):
        raise RegisteredError(f"check '{name}' has the condition {show_value(condition)}; expected SQL")
    return RegisteredCheck(name, dict(parameters), cast("CheckScope", checker.per), condition)


def build_row_checker(name: str, parameters: Mapping[str, object], *, installed: Mapping[str, Factory]) -> RowChecker:
    """The checker of that name, to be called with the rows.

    Raises:
        RegisteredError: There is none of that name, or its parameters are wrong.
    """
    return _as_row_checker(name, _make_checker(name, parameters, installed))


def _make_checker(name: str, parameters: Mapping[str, object], installed: Mapping[str, Factory]) -> object:
    return REGISTRY.make(name, parameters, installed=installed, reserved=RESERVED)


def _as_row_checker(name: str, checker: object) -> RowChecker:
    if not callable(checker) or not isinstance(checker, RowChecker):
        raise RegisteredError(
            f"check '{name}' is {kind_of(checker)}; expected a callable that takes rows and has 'per'"
        )
    return checker

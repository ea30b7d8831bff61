"""Checks that other packages register: their protocol, and the check as a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol, cast, get_args, runtime_checkable

from sparkassets.core.entry_points import EntryPointRegistry, Factory, RegisteredError
from sparkassets.core.phrases import kind_of
from sparkassets.core.validations.checks import CheckScope, RegisteredCheck

REGISTRY: Final = EntryPointRegistry("check", "sparkassets.checks", "validation")
"""The checks that packages register."""
RESERVED: Final = frozenset({"check", "name", "severity", "allow", "where", "per"})
"""Keys of every validation; no parameter may have such a name."""


@runtime_checkable
class RowChecker(Protocol):
    """The object that an entry point of the group ``sparkassets.checks`` makes from its parameters, given by keyword.

    The entry point is a callable, usually a frozen dataclass, whose annotated parameters are the keys beside ``check``
    in the YAML. ``per`` is read where the project is compiled; the checker is called where a run executes: keep heavy
    imports inside ``__call__``.

    Attributes:
        per: ``row``, ``block`` or ``run``: what its answer is about.
    """

    per: str

    def __call__(self, rows: Any, /) -> Any:  # noqa: ANN401  of Spark, which is not known here
        """Judges the rows, a DataFrame of Spark, classic or Connect, without changing anything.

        A Column of booleans: of each row or, for a block or a run, an aggregate. For a run it may as well be True or
        None, for fine, or False or a text that says what is wrong.
        """


def build_registered_check(
    name: str, parameters: Mapping[str, object], *, installed: Mapping[str, Factory]
) -> RegisteredCheck:
    """The check of that name with these parameters, as a value.

    Raises:
        RegisteredError: There is none, its parameters are wrong, or its ``per`` is not a scope.
    """
    made = build_row_checker(name, parameters, installed=installed)
    if made.per not in get_args(CheckScope):
        raise RegisteredError(f"check '{name}' has 'per' {made.per!r}; expected 'row', 'block' or 'run'")
    return RegisteredCheck(name, dict(parameters), cast("CheckScope", made.per))


def build_row_checker(name: str, parameters: Mapping[str, object], *, installed: Mapping[str, Factory]) -> RowChecker:
    """The checker of that name, to be called with the rows.

    Raises:
        RegisteredError: There is none of that name, or its parameters are wrong.
    """
    factory = REGISTRY.factory(name, installed)
    taken = REGISTRY.accepted_parameters(name, factory, RESERVED)
    made = REGISTRY.make_instance(name, factory, REGISTRY.validate_parameters(name, taken, parameters))
    if not callable(made) or not isinstance(made, RowChecker):
        raise RegisteredError(f"check '{name}' cannot be called with rows, or has no 'per'; it is {kind_of(made)}")
    return made

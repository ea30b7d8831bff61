"""Write modes that packages register: rows of a run and rows of the table make the rows that replace these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol, runtime_checkable

from sparkassets.core.entry_points import EntryPointRegistry, Factory, RegisteredError
from sparkassets.core.phrases import kind_of, show_value
from sparkassets.core.writes.mode import WriteMode
from sparkassets.frozen import frozen

REGISTRY: Final = EntryPointRegistry(
    "write mode",
    "sparkassets.writes",
    "write",
    built_in={
        "append": "write: append",
        "publish": "write: {publish: {keep: 10}}",
        "replace": "write: replace",
        "self": "write: self",
        "upsert": "write: {upsert: {keys: [<column>]}}",
    },
)
"""The write modes that packages register."""
RESERVED: Final = frozenset({"mode"})


@runtime_checkable
class RowCombiner(Protocol):
    """The object that an entry point of the group ``sparkassets.writes`` makes from its parameters, given by keyword.

    Attributes:
        repeatable: Whether rows that are combined once more change nothing, as rows that go by keys. Otherwise no run
            computes a partition again, as with ``append``.
    """

    repeatable: bool

    def combine(self, rows: Any, there: Any, /) -> Any:  # noqa: ANN401  of Spark, which is not known here
        """The rows that replace those of the run's partitions, or all of an asset without partitions.

        A function of its arguments, DataFrames of Spark, without effects: the driver stages, judges and commits what it
        returns. ``there`` is what the table holds of these partitions at the version upon which the run commits;
        without rows at the first run and at a rebuild.
        """


@frozen
class RegisteredWrite(WriteMode):
    """A mode that a package registered, with its parameters; its rows land as those of ``replace``.

    Attributes:
        name: As registered.
        parameters: As JSON.
        recomputable: As ``repeatable`` of `RowCombiner`.
    """

    name: str  # type: ignore[misc]  # those of the other modes are of their classes
    parameters: Mapping[str, object]
    recomputable: bool  # type: ignore[misc]
    side_by_side = False
    combines = True

    def why_not(self, strategy: str, *, partitioned: bool) -> str | None:
        """Why a strategy does not go with it."""
        del partitioned  # rows that are there are combined with, not lost
        if self.recomputable or strategy in ("latest_only", "every_instance"):
            return None
        return "what is computed again would be combined once more, and the mode is not 'repeatable'"

    def parts(self) -> Mapping[str, object]:
        """The parameters."""
        return {f"write.{self.name}": dict(self.parameters)} if self.parameters else {}


def build_registered_write(
    name: str, parameters: Mapping[str, object], *, installed: Mapping[str, Factory]
) -> RegisteredWrite:
    """The mode of that name with these parameters, as a value.

    Raises:
        RegisteredError: There is none of that name, its parameters are wrong, or it does not say if it is repeatable.
    """
    made = build_combiner(name, parameters, installed=installed)
    if not isinstance(made.repeatable, bool):
        raise RegisteredError(f"write mode '{name}' has 'repeatable' {show_value(made.repeatable)}; expected a boolean")
    return RegisteredWrite(name, dict(parameters), made.repeatable)


def build_combiner(name: str, parameters: Mapping[str, object], *, installed: Mapping[str, Factory]) -> RowCombiner:
    """The combiner of that name, for a run.

    Raises:
        RegisteredError: There is none of that name, or its parameters are wrong.
    """
    made = REGISTRY.make(name, parameters, installed=installed, reserved=RESERVED)
    if not isinstance(made, RowCombiner):
        raise RegisteredError(
            f"write mode '{name}' lacks 'repeatable' or 'combine(rows, there)'; it is {kind_of(made)}"
        )
    return made

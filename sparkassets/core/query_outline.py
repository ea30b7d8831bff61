"""What the SQL template of an asset says by itself, whatever the asset is, and what the asset makes wrong of it.

An outline follows from the text alone, so that of a text which was read before can be taken (`OutlineMemo`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from sparkassets.core.query_text import StatementFault, find_write_fault
from sparkassets.core.suggestions import KnownColumns, did_you_mean
from sparkassets.errors import InputError, TextFault
from sparkassets.frozen import frozen

_WATERMARK: Final = ("low", "high")


class TemplateError(InputError):
    """A text that is no template.

    Attributes:
        fault: The place.
    """

    def __init__(self, fault: TextFault) -> None:
        super().__init__(fault.message, hint=fault.hint)
        self.fault = fault


@frozen(array_like=True)
class NamedMember:
    """A member of one of the run's names, such as ``params.low``: the asset decides whether there is one.

    Attributes:
        path: ``("params", "low")``; for a column ``("inlets", "flights", "day")``; for ``outlets`` without a member
            ``("outlets",)``.
        line, column: Of the last step, counted from 1.
    """

    path: tuple[str, ...]
    line: int
    column: int

    def fault(self, message: str, hint: str | None) -> TextFault:
        """What is wrong with it."""
        return TextFault(self.line, self.column, len(self.path[-1]), message, hint)


@frozen(array_like=True)
class QueryOutline:
    """What a template says by itself; lines and columns count from 1.

    Attributes:
        inlets: The assets named as ``inlets.<name>``, in order of appearance, with line and column of the first
            mention.
        outlets: The same of ``outlets.<name>``.
        members: What it names that not every asset has, in order of appearance.
        faults: What is wrong with it for every asset.
        reads_files: Whether it tries to read other templates: what it says with them is unknown.
        select_fault: Why it is not one SELECT; None where it is, and where it reads files.
        partitions: Line and column of the first mention of the relation of the run's partitions; None without one.
        columns: Those that it yields, in order; None where its text is ambiguous.
        tables: Those in FROM or JOIN with one name and without braces, each with its position in the text.
        normal_form: As `sparkassets.core.query_text` has it.
        has_credentials: Whether there are any in the normal form.
    """

    inlets: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    outlets: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    members: tuple[NamedMember, ...] = ()
    faults: tuple[TextFault, ...] = ()
    reads_files: bool = False
    select_fault: TextFault | None = None
    partitions: tuple[int, int] | None = None
    columns: tuple[str, ...] | None = None
    tables: tuple[tuple[str, int], ...] = ()
    normal_form: str = ""
    has_credentials: bool = False

    @property
    def inlets_with_columns(self) -> frozenset[str]:
        """The inlets with a column that is named, as ``inlets.<name>.<column>``."""
        return frozenset(path[1] for path in (each.path for each in self.members) if path[0] == "inlets")


def check_template(
    outline: QueryOutline,
    *,
    asset: str,
    columns: Mapping[str, KnownColumns],
    params: Collection[str],
    dimensions: Collection[str],
    events: Collection[str] | None,
    watermarked: bool,
) -> list[TextFault]:
    """Everything that is wrong with the names in a template, in order of place; unknown inlets are for the caller.

    Args:
        outline: Of the template.
        asset: The only name that may follow ``outlets.``.
        columns: The known columns by inlet; for an inlet that is not among the keys every column is accepted.
        params: What may follow ``params.``.
        dimensions: What may follow ``partition.``: the partition's column, if there is one.
        events: What may follow ``triggering_events.``: the datasets of which an update can trigger the asset, by each
            of their names; None where they are not known.
        watermarked: Whether an inlet is read above a watermark.
    """
    judge = _MemberChecker(asset, columns, params, dimensions, events, watermarked)
    return sorted([*outline.faults, *(fault for each in outline.members if (fault := judge.check(each)) is not None)])


def find_statement_fault(text: str, outline: QueryOutline, *, writes: bool) -> TextFault | None:
    """Why a template with this outline is not one SELECT or, where its asset ``writes``, not statements that write."""
    if not writes:
        return outline.select_fault
    return None if outline.reads_files else place_fault(text, find_write_fault(text))


def place_fault(text: str, fault: StatementFault | None) -> TextFault | None:
    """The fault of a statement with its line and column; None for none."""
    return None if fault is None else fault_at(text, fault.position, fault.width, fault.message, fault.hint)


def fault_at(text: str, position: int, width: int, message: str, hint: str | None) -> TextFault:
    """A fault at a position of a text, in characters."""
    before = text[:position]
    return TextFault(before.count("\n") + 1, position - before.rfind("\n"), width, message, hint)


@dataclass(frozen=True)
class _MemberChecker:
    """Decides which members one asset has; its attributes are the arguments of `check_template`."""

    asset: str
    columns: Mapping[str, KnownColumns]
    params: Collection[str]
    dimensions: Collection[str]
    events: Collection[str] | None
    watermarked: bool

    def check(self, named: NamedMember) -> TextFault | None:
        """What is wrong with a member of the run's names; None where the asset has it."""
        match named.path:
            case "inlets", inlet, column:
                known = self.columns.get(inlet)
                refused = known.find_problem(column) if known is not None else None
                return named.fault(*refused) if refused else None
            case (owner,):
                example = f"{owner}.{self.asset}"
                message = f"{owner!r} must be followed by the name of an asset, such as {example}"
                return named.fault(message, None)
            case owner, member:
                found = self._list_known(owner, member)
                if found is not None and member not in found[0]:
                    return named.fault(found[1], did_you_mean(member, found[0]))
        return None

    def _list_known(self, owner: str, member: str) -> tuple[Collection[str], str] | None:
        """The members of one of the run's names, and the message for another one; None where they are unknown."""
        match owner:
            case "outlets":
                return (self.asset,), f"{member!r} is not an outlet of asset {self.asset!r}"
            case "params":
                return self.params, f"unknown parameter {member!r}; 'params' has no such key"
            case "partition":
                return self.dimensions, f"{member!r} is not a partition column of asset {self.asset!r}"
            case "watermark" if not self.watermarked:
                return (), "'watermark' is undefined: no inlet has 'read: {after: …}'"
            case "watermark":
                return _WATERMARK, f"'watermark' has no {member!r}"
        return (
            None if self.events is None else (self.events, f"no event of {member!r} can trigger asset {self.asset!r}")
        )

"""Column lineage, for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from sparkassets.core.planner.explain.explanation import ExplanationNode

if TYPE_CHECKING:
    from sparkassets.core.derivation.column_lineage import AssetColumnLineage, ColumnLineage, LineageStep
    from sparkassets.core.derivation.column_uses import UseKind

_WORDS: Final[dict[UseKind, str]] = {
    "IDENTITY": "as it is",
    "TRANSFORMATION": "computed",
    "AGGREGATION": "aggregated",
    "CONDITIONAL": "in a condition",
    "WINDOW": "orders a window",
    "FILTER": "filters rows",
    "JOIN": "joins rows",
    "GROUP_BY": "groups rows",
    "SORT": "sorts rows",
}
_UNSURE: Final = "not known what of it"


def column_tree(found: ColumnLineage) -> ExplanationNode:
    """Both ways of a column."""
    return ExplanationNode(f"{found.asset}.{found.column}", None, tuple(_ways(found)))


def columns_tree(found: AssetColumnLineage) -> ExplanationNode:
    """The columns of an asset as a tree, each with the columns that it is made of."""
    if found.columns is None:
        return ExplanationNode(
            found.asset, None, (ExplanationNode("neither its query nor a declaration tells its columns", holds=False),)
        )
    below = [
        ExplanationNode(name, None, tuple(_back(each) for each in steps))
        if steps is not None
        else ExplanationNode(f"{name}: {_OPEN}", holds=False)
        for name, steps in found.columns.items()
    ]
    return ExplanationNode(found.asset, None, (*below, *_rows(found.rows)))


_OPEN: Final = "its query does not tell for sure what it is made of"


def _ways(found: ColumnLineage) -> Iterator[ExplanationNode]:
    if not found.sure:
        yield ExplanationNode(_OPEN, holds=False)
    elif found.made_of:
        yield ExplanationNode("made of", None, tuple(_back(each) for each in found.made_of))
    yield from _rows(found.rows if found.sure else ())
    ahead = tuple(_ahead(each) for each in found.used_by)
    yield ExplanationNode("used by", None, ahead) if ahead else ExplanationNode("nothing reads it")


def _rows(steps: tuple[LineageStep, ...] | None) -> Iterator[ExplanationNode]:
    if steps is None:
        yield ExplanationNode("its query does not tell for sure which rows there are", holds=False)
    elif steps:
        yield ExplanationNode("which rows there are goes by", None, tuple(_back(each) for each in steps))


def _back(step: LineageStep) -> ExplanationNode:
    text = f"{step.asset}.{step.column}: {_words(step)}{', as above' if step.is_repeated else ''}"
    below = tuple(_back(each) for each in step.next_steps)
    return ExplanationNode(text, None, below if step.is_certain else (ExplanationNode(_OPEN, holds=False),))


def _ahead(step: LineageStep) -> ExplanationNode:
    if not step.is_certain:
        return ExplanationNode(f"{step.asset}: {_UNSURE}", holds=False)
    name = f"{step.asset}.{step.column}" if step.column else f"rows of {step.asset}"
    text = f"{name}: {_words(step)}{', as above' if step.is_repeated else ''}"
    return ExplanationNode(text, None, tuple(_ahead(each) for each in step.next_steps))


def _words(step: LineageStep) -> str:
    return ", ".join([*(_WORDS[how] for how in step.how), *(["only a hash of it"] if step.masked else [])])

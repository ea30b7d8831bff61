"""What columns are made of, for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from sparkassets.core.planner.explain import Node

if TYPE_CHECKING:
    from sparkassets.core.derivation.tracing import ColumnLineage, ColumnsMade, Step
    from sparkassets.core.derivation.uses import How

_WORDS: Final[dict[How, str]] = {
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


def column_tree(found: ColumnLineage) -> Node:
    """Both ways of a column."""
    return Node(f"{found.asset}.{found.column}", None, tuple(_ways(found)))


def columns_tree(found: ColumnsMade) -> Node:
    """The columns of an asset, with what each is made of."""
    if found.columns is None:
        return Node(found.asset, None, (Node("neither its query nor a declaration tells its columns", holds=False),))
    below = [
        Node(name, None, tuple(_back(each) for each in steps))
        if steps is not None
        else Node(f"{name}: {_OPEN}", holds=False)
        for name, steps in found.columns.items()
    ]
    return Node(found.asset, None, (*below, *_rows(found.rows)))


_OPEN: Final = "its query does not tell for sure what it is made of"


def _ways(found: ColumnLineage) -> Iterator[Node]:
    if not found.sure:
        yield Node(_OPEN, holds=False)
    elif found.made_of:
        yield Node("made of", None, tuple(_back(each) for each in found.made_of))
    yield from _rows(found.rows if found.sure else ())
    ahead = tuple(_ahead(each) for each in found.used_by)
    yield Node("used by", None, ahead) if ahead else Node("nothing reads it")


def _rows(steps: tuple[Step, ...] | None) -> Iterator[Node]:
    if steps is None:
        yield Node("its query does not tell for sure which rows there are", holds=False)
    elif steps:
        yield Node("which rows there are goes by", None, tuple(_back(each) for each in steps))


def _back(step: Step) -> Node:
    text = f"{step.asset}.{step.column}: {_words(step)}{', as above' if step.again else ''}"
    below = tuple(_back(each) for each in step.further)
    return Node(text, None, below if step.sure else (Node(_OPEN, holds=False),))


def _ahead(step: Step) -> Node:
    if not step.sure:
        return Node(f"{step.asset}: {_UNSURE}", holds=False)
    name = f"{step.asset}.{step.column}" if step.column else f"rows of {step.asset}"
    text = f"{name}: {_words(step)}{', as above' if step.again else ''}"
    return Node(text, None, tuple(_ahead(each) for each in step.further))


def _words(step: Step) -> str:
    return ", ".join([*(_WORDS[how] for how in step.how), *(["only a hash of it"] if step.masked else [])])

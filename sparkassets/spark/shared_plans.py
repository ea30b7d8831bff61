"""What the outlets of one run have in common: held, so that it is computed once, and is the same rows for all of them.

A function that splits rows (`randomSplit`, a random number, its own code) describes each part by itself, and Spark
would compute what is before the split once for each: rows that come out otherwise the second time could be in both
parts, or in none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from sparkassets.spark.own_session import is_remote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CHEAP: Final = frozenset(
    ["Filter", "LocalRelation", "LogicalRDD", "LogicalRelation", "Project", "Range", "Relation", "SubqueryAlias"]
)
"""Parts of a plan that read or pick: twice they cost less than to hold all rows, and come out alike."""


def hold_common(frames: Sequence[DataFrame]) -> Any | None:  # noqa: ANN401  a data set of the JVM
    """What is held of the frames until its ``unpersist``: the largest part that all have; None where there is none.

    Also where a session can hold nothing, or does not tell its plans (Spark Connect).
    """
    if len(frames) < 2 or is_remote(frames[0].sparkSession):  # noqa: PLR2004  two have something in common
        return None
    with suppress(Exception):  # a platform's own Spark may have no such classes: nothing is held then
        found = _common([frame._jdf.queryExecution().analyzed() for frame in frames])  # noqa: SLF001  no other way
        jvm, session = frames[0].sparkSession._jvm, frames[0]._jdf.sparkSession()  # noqa: SLF001
        return None if found is None else jvm.org.apache.spark.sql.classic.Dataset.ofRows(session, found).persist()
    return None


def _common(plans: Sequence[Any]) -> Any | None:  # noqa: ANN401  a plan of the JVM
    """The topmost part of the first plan that is in all others and worth to be held."""
    others = [{node.semanticHash() for node in _parts(plan)} for plan in plans[1:]]
    return next(
        (
            node
            for node in _parts(plans[0])
            if all(node.semanticHash() in hashes for hashes in others) and _is_worth(node)
        ),
        None,
    )


def _is_worth(plan: Any) -> bool:  # noqa: ANN401  a plan of the JVM
    """Whether it does more than to read and pick, or might come out otherwise the next time."""
    return not plan.deterministic() or any(node.nodeName() not in _CHEAP for node in _parts(plan))


def _parts(plan: Any) -> Iterator[Any]:  # noqa: ANN401  plans of the JVM
    """The plan and all below it, from the top."""
    ahead = [plan]
    for node in ahead:
        yield node
        children = node.children()
        ahead += [children.apply(number) for number in range(children.size())]

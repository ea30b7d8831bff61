"""The common part of one run's outlets: cached, so that it is computed once and has the same rows for all of them.

A function that splits rows (`randomSplit`, a random number, its own code) describes each part separately, and Spark
would compute everything before the split once for each: rows that differ the second time could be in both
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
"""Plan nodes that only read or pick rows: computing them twice is cheaper than caching, and deterministic."""


def hold_common(frames: Sequence[DataFrame]) -> Any | None:  # noqa: ANN401  a data set of the JVM
    """Caches the largest plan that all frames share, until its ``unpersist``; None where there is none.

    None, too, where a session cannot cache, or does not reveal its plans (Spark Connect).
    """
    if len(frames) < 2 or is_remote(frames[0].sparkSession):  # noqa: PLR2004  two have something in common
        return None
    with suppress(Exception):  # a platform's own Spark may have no such classes: nothing is held then
        found = _common([frame._jdf.queryExecution().analyzed() for frame in frames])  # noqa: SLF001  no other way
        jvm, session = frames[0].sparkSession._jvm, frames[0]._jdf.sparkSession()  # noqa: SLF001
        return None if found is None else jvm.org.apache.spark.sql.classic.Dataset.ofRows(session, found).persist()
    return None


def _common(plans: Sequence[Any]) -> Any | None:  # noqa: ANN401  a plan of the JVM
    """The topmost part of the first plan that is in all others and worth caching."""
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
    """Whether it does more than read and pick rows, or may differ the next time."""
    return not plan.deterministic() or any(node.nodeName() not in _CHEAP for node in _parts(plan))


def _parts(plan: Any) -> Iterator[Any]:  # noqa: ANN401  plans of the JVM
    """The plan and all plans below it, from the top."""
    ahead = [plan]
    for node in ahead:
        yield node
        children = node.children()
        ahead += [children.apply(number) for number in range(children.size())]

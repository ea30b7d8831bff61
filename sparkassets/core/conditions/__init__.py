"""Conditions over updates of assets: the tree and its evaluation that keeps its reasons; `parse` reads their text."""

from sparkassets.core.conditions.tree import (
    AllOf,
    AnyOf,
    Condition,
    ConditionResult,
    TimeLeaf,
    UpdateLeaf,
    datasets,
    evaluate_condition,
    join_all,
    join_any,
    times_true_alone,
)

__all__ = [
    "AllOf",
    "AnyOf",
    "Condition",
    "ConditionResult",
    "TimeLeaf",
    "UpdateLeaf",
    "datasets",
    "evaluate_condition",
    "join_all",
    "join_any",
    "times_true_alone",
]

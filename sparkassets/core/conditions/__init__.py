"""Conditions over updates of assets: the tree and its evaluation that keeps its reasons; `parse` reads their text."""

from sparkassets.core.conditions.evaluate import Verdict, evaluate
from sparkassets.core.conditions.tree import AllOf, AnyOf, Condition, Leaf, Time, alone, datasets, join_all, join_any

__all__ = [
    "AllOf",
    "AnyOf",
    "Condition",
    "Leaf",
    "Time",
    "Verdict",
    "alone",
    "datasets",
    "evaluate",
    "join_all",
    "join_any",
]

"""Conditions over updates of assets: the tree, its text form, and its evaluation that keeps its reasons."""

from sparkassets.core.conditions.evaluate import Verdict, evaluate
from sparkassets.core.conditions.parse import ConditionError, UnreadableConditionError, is_time_text, parse_condition
from sparkassets.core.conditions.tree import AllOf, AnyOf, Condition, Leaf, Time, alone, join_all, join_any

__all__ = [
    "AllOf",
    "AnyOf",
    "Condition",
    "ConditionError",
    "Leaf",
    "Time",
    "UnreadableConditionError",
    "Verdict",
    "alone",
    "evaluate",
    "is_time_text",
    "join_all",
    "join_any",
    "parse_condition",
]

"""Evaluation: the truth of a condition is a bool or a set of partitions, and every part's truth is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from operator import and_, or_
from typing import Generic, TypeVar

from sparkassets.core.conditions.tree import AllOf, AnyOf, Condition, TimeLeaf, UpdateLeaf
from sparkassets.core.partitions import PartitionSet
from sparkassets.frozen import frozen

T = TypeVar("T", bool, PartitionSet)


@frozen
class ConditionResult(Generic[T]):
    """The result of evaluating a condition.

    Attributes:
        node: The condition.
        value: Its truth.
        children: The verdicts of its children, in their order; none for a leaf.
        never_decidable: For what it can neither be true nor false: it is left out there; None where nobody asked.
    """

    node: Condition
    value: T
    children: tuple[ConditionResult[T], ...] = ()
    never_decidable: T | None = None

    def leaves(self) -> Iterator[tuple[UpdateLeaf | TimeLeaf, T]]:
        """The leaves with their truth, from left to right."""
        if isinstance(self.node, UpdateLeaf | TimeLeaf):
            yield self.node, self.value
        for child in self.children:
            yield from child.leaves()

    def used_leaves(self) -> Mapping[UpdateLeaf | TimeLeaf, T]:
        """The leaves that made it true, each with what it is used for.

        What a leaf is true for below a part that does not hold is kept for another time; but nothing ever asks for it
        where it is void, so whatever holds there uses it too.
        """
        found: dict[UpdateLeaf | TimeLeaf, T] = {}
        queue = [(self, self.value)]
        while queue:
            part, above = queue.pop()
            held = above & part.value
            if isinstance(part.node, UpdateLeaf | TimeLeaf) and part.never_decidable is not None:
                held = held | (part.never_decidable & self.value)
            if held and isinstance(part.node, UpdateLeaf | TimeLeaf):
                found[part.node] = found[part.node] | held if part.node in found else held
            queue += [(child, held) for child in reversed(part.children)]
        return found


def evaluate_condition(
    condition: Condition,
    truth: Callable[[UpdateLeaf | TimeLeaf], T],
    void: Callable[[UpdateLeaf | TimeLeaf], T] | None = None,
) -> ConditionResult[T]:
    """The verdict on ``condition``; asks for the truth of every leaf, whatever the others say.

    Args:
        condition: A parsed condition.
        truth: A leaf's truth; sets of partitions are intersected under ``&`` and united under ``|``.
        void: For what a leaf counts neither way, apart from its truth: neither asked for under ``&`` nor enough
            under ``|``.
    """
    match condition:
        case UpdateLeaf() | TimeLeaf():
            return ConditionResult(condition, truth(condition), (), void(condition) if void is not None else None)
        case AllOf(parts):
            children = tuple(evaluate_condition(part, truth, void) for part in parts)
            asked = (
                child.value if child.never_decidable is None else child.value | child.never_decidable
                for child in children
            )
            some = reduce(or_, (child.value for child in children))
            return ConditionResult(condition, reduce(and_, asked) & some, children, _void_of_children(children))
        case AnyOf(choices):
            children = tuple(evaluate_condition(choice, truth, void) for choice in choices)
            return ConditionResult(
                condition, reduce(or_, (child.value for child in children)), children, _void_of_children(children)
            )


def _void_of_children(children: tuple[ConditionResult[T], ...]) -> T | None:
    voids = [child.never_decidable for child in children if child.never_decidable is not None]
    return reduce(and_, voids) if voids else None

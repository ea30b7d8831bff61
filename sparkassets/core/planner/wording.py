"""The sentences of a plan, in one place, so that they read alike and can be tested."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sparkassets.core import phrases
from sparkassets.core.conditions import AnyOf, Condition, TimeLeaf, UpdateLeaf
from sparkassets.core.partitions import Partitioning, PartitionSet
from sparkassets.core.phrases import FEW, few


def label_partitions(parts: PartitionSet, partitioning: Partitioning) -> str:
    """Keys of ``parts`` for a sentence, the first few written out; empty without keys.

    ``2013-01-05..2013-01-08, 2013-01-11``
    """
    return few(partitioning.display_labels(parts, most=FEW), of=partitioning.display_label_count(parts))


def describe_unchanged(unchanged: PartitionSet, partitions: PartitionSet, partitioning: Partitioning) -> str:
    """How many partitions of a run came out unchanged: ``unchanged: 2 of 3 partitions``; empty for none.

    >>> from sparkassets.core.partitions import EVERYTHING, UNPARTITIONED
    >>> describe_unchanged(EVERYTHING, EVERYTHING, UNPARTITIONED)
    'unchanged'
    """
    return _describe_share("unchanged", unchanged, partitions, partitioning)


def describe_withheld(withheld: PartitionSet, partitions: PartitionSet, partitioning: Partitioning) -> str:
    """How many partitions of a run are withheld: ``withheld: 2 of 3 partitions``; empty for none.

    >>> from sparkassets.core.partitions import EVERYTHING, UNPARTITIONED
    >>> describe_withheld(EVERYTHING, EVERYTHING, UNPARTITIONED)
    'withheld'
    """
    return _describe_share("withheld", withheld, partitions, partitioning)


def _describe_share(word: str, part: PartitionSet, partitions: PartitionSet, partitioning: Partitioning) -> str:
    """The word alone where all partitions are meant, ``word: 2 of 3 partitions`` for some of them, empty for none."""
    if not part or part == partitions:
        return word if part else ""
    return f"{word}: {partitioning.count(part):,} of {plural(partitioning.count(partitions), 'partition')}"


def name_partitions(name: str, parts: PartitionSet, partitioning: Partitioning) -> str:
    """The asset's name followed by its partitions: ``sales 2013-01-05``; the name alone without keys."""
    return " ".join(filter(None, [name, label_partitions(parts, partitioning)]))


def label_prefix(parts: PartitionSet, partitioning: Partitioning) -> str:
    """Keys before a sentence about them: ``2013-01-05: ``; empty without keys."""
    labels = label_partitions(parts, partitioning)
    return f"{labels}: " if labels else ""


def plural(count: int, noun: str) -> str:
    """``1 partition``, ``2 partitions``.

    >>> plural(1, "partition"), plural(24, "partition")
    ('1 partition', '24 partitions')
    """
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def listing(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return phrases.listing(names, last="and")


def leaf_name(leaf: UpdateLeaf | TimeLeaf) -> str:
    """How a sentence names a condition's leaf: the dataset, the timetable, or "3h without orders"."""
    if isinstance(leaf, UpdateLeaf):
        return leaf.ref
    if leaf.without is not None:
        return f"{leaf.span} without {leaf.without.ref}"
    return leaf.timetable.text if leaf.source_text.startswith("{") else leaf.source_text


def describe_unmet(condition: Condition, lacks: Callable[[UpdateLeaf | TimeLeaf], bool]) -> str:
    """The leaves that a condition still waits for, joined by "and" and "or"; empty where it waits for nothing.

    ``lacks`` says whether a leaf is unmet. An "or" with one met branch waits for nothing.

    >>> from sparkassets.core.conditions import UpdateLeaf, join_all, join_any
    >>> condition = join_any([UpdateLeaf("a"), join_all([UpdateLeaf("b"), UpdateLeaf("c")])])
    >>> describe_unmet(condition, lambda leaf: True), describe_unmet(condition, lambda leaf: leaf.text() != "b")
    ('a or (b and c)', 'a or c')
    """
    return _join_unmet(condition, lacks)[0]


def _join_unmet(condition: Condition, lacks: Callable[[UpdateLeaf | TimeLeaf], bool]) -> tuple[str, bool]:
    """The unmet leaves as text, and whether the text joins several, so that a caller must put it in parentheses."""
    if isinstance(condition, UpdateLeaf | TimeLeaf):
        return (leaf_name(condition) if lacks(condition) else ""), False
    is_any = isinstance(condition, AnyOf)
    unmet = [part for child in condition.children if (part := _join_unmet(child, lacks))[0]]
    if not unmet or (is_any and len(unmet) < len(condition.children)):
        return "", False
    if len(unmet) == 1:
        return unmet[0]
    texts = dict.fromkeys(f"({text})" if is_joined else text for text, is_joined in unmet)
    return phrases.listing([*texts], last="or" if is_any else "and"), len(texts) > 1 or unmet[0][1]

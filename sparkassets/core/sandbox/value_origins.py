"""Origins of printed values: raw text may come from the project's files alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final, cast

from jinja2 import nodes

RAW: Final = "raw"
"""The filter that pastes a text as SQL."""

FROM_OUTSIDE: Final = frozenset(
    {"partition", "partitions", "watermark", "triggering_event", "triggering_events", "triggering_dataset_events"}
)
"""Names whose values come from data, or from whoever emits an event."""

_OF_MACROS: Final = frozenset({"varargs", "kwargs", "caller"})


def find_untrusted_raw(tree: nodes.Template) -> Iterator[tuple[nodes.Filter, str]]:
    """Each use of ``raw`` on what may come from outside, with the name that it comes by.

    Names are followed through loops, assignments and macros, whatever their scope: one that is ever assigned something
    from outside counts as from outside everywhere.
    """
    raws = [node for node in tree.find_all(nodes.Filter) if node.name == RAW]
    if not raws:
        return
    outside = _untrusted_names(tree)
    for node in raws:
        if found := sorted(outside & set(_names(node))):
            yield node, found[0]


def _untrusted_names(tree: nodes.Template) -> set[str]:
    flows = list(_name_flows(tree))
    outside = set(FROM_OUTSIDE)
    while more := {name for into, of in flows if of & outside for name in into - outside}:
        outside |= more
    return outside


def _name_flows(tree: nodes.Template) -> Iterator[tuple[set[str], set[str]]]:
    """Assigned names, each set with the names that its value is made of."""
    arguments, given = set(_OF_MACROS), set()
    for node in tree.find_all((nodes.Macro, nodes.CallBlock, nodes.Call)):
        if isinstance(node, nodes.Call):
            given |= set(_names(node))
        else:
            arguments |= {each.name for each in cast("nodes.Macro", node).args}
    yield arguments, given
    for node in tree.find_all((nodes.Assign, nodes.AssignBlock, nodes.For, nodes.With, nodes.Macro, nodes.CallBlock)):
        match node:
            case nodes.Assign():
                yield set(_names(node.target)), set(_names(node.node))
            case nodes.AssignBlock():
                yield set(_names(node.target)), set(_all(node.body))
            case nodes.For():
                yield {*_names(node.target), "loop"}, set(_names(node.iter))
            case nodes.With():
                yield set(_all(node.targets)), set(_all(node.values))
            case nodes.Macro():
                yield {node.name, *(each.name for each in node.args)}, set(_all([*node.body, *node.defaults]))
            case nodes.CallBlock():
                yield {"caller"}, set(_all(node.body))
    yield {"self"}, set(_all(tree.find_all(nodes.Block)))


def _all(found: Iterable[nodes.Node]) -> Iterator[str]:
    return chain.from_iterable(map(_names, found))


def _names(node: nodes.Node) -> Iterator[str]:
    """The names in a part of a template, itself included."""
    if isinstance(node, nodes.Name):
        yield node.name
    yield from (each.name for each in node.find_all(nodes.Name))

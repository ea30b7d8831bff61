"""The graph of the assets: dependencies, ancestors, cycles and the topological order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sparkassets.core.conditions import datasets
from sparkassets.core.spec.model import AssetSpec


def upstream_edges(assets: Mapping[str, AssetSpec]) -> dict[str, tuple[str, ...]]:
    """The assets that each asset reads, waits for or is triggered by, without itself; in the order of its inlets.

    An outlet depends on the asset whose runs write it. Every other writer of an upstream dataset is upstream too: its
    updates are updates of that dataset.
    """
    by_uri: dict[str, list[str]] = {}
    for asset in assets.values():
        by_uri.setdefault(asset.uri, []).append(asset.name)
    edges: dict[str, tuple[str, ...]] = {}
    for asset in assets.values():
        if asset.written_by:
            edges[asset.name] = (asset.written_by,) if asset.written_by in assets else ()
            continue
        leaves = datasets(asset.schedule.condition) if asset.schedule.condition else []
        upstream = dict.fromkeys([*asset.inlets, *(leaf.ref for leaf in leaves if not leaf.is_uri)])
        uris = [assets[name].uri for name in upstream if name in assets] + [leaf.ref for leaf in leaves if leaf.is_uri]
        for uri in uris:
            upstream |= dict.fromkeys(by_uri.get(uri, ()))
        edges[asset.name] = tuple(name for name in upstream if name != asset.name and name in assets)
    return edges


def find_ancestors(assets: Mapping[str, AssetSpec], name: str) -> set[str]:
    """The assets that the named asset depends on, directly or through others; without itself."""
    return _find_reachable(name, upstream_edges(assets)) - {name}


def find_descendants(assets: Mapping[str, AssetSpec], name: str) -> set[str]:
    """The assets that depend on the named asset, directly or through others; without itself."""
    return _find_reachable(name, reverse_edges(upstream_edges(assets))) - {name}


def sort_topologically(edges: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Every name after all that it depends on, else in the order given; names on cycles are left out."""
    waiting = {name: set(needs) for name, needs in edges.items()}
    consumers = reverse_edges(edges)
    ready = [name for name, needs in waiting.items() if not needs]
    for name in ready:
        for consumer in consumers[name]:
            waiting[consumer].discard(name)
            if not waiting[consumer]:
                ready.append(consumer)
    return ready


def find_cycles(edges: Mapping[str, tuple[str, ...]]) -> Iterator[list[str]]:
    """One cycle for each group of assets that depend on each other: its names along the data, the first one twice.

    >>> list(find_cycles({"a": ("b",), "b": ("a",), "c": ("b",)}))
    [['a', 'b', 'a']]
    """
    remaining = set(edges) - set(sort_topologically(edges))
    while remaining:
        path = [min(remaining)]
        dead_ends: set[str] = set()  # names from which no cycle is reached
        while path:
            next_names = [need for need in edges[path[-1]] if need in remaining and need not in dead_ends]
            repeated = next((need for need in next_names if need in path), None)
            if repeated is not None:
                cycle = path[path.index(repeated) :]
                start = cycle.index(min(cycle))
                yield [cycle[start], *reversed(cycle[start + 1 :] + cycle[:start]), cycle[start]]
                remaining -= _find_cycle_group(cycle[0], edges, remaining)
                break
            if next_names:
                path.append(next_names[0])
            else:
                dead_ends.add(path.pop())
        remaining -= dead_ends


def _find_cycle_group(name: str, edges: Mapping[str, tuple[str, ...]], among: set[str]) -> set[str]:
    """The names that both lead to ``name`` and are reached from it."""
    inner = {each: [need for need in edges[each] if need in among] for each in among}
    return _find_reachable(name, inner) & _find_reachable(name, reverse_edges(inner))


def reverse_edges(edges: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The edges the other way round."""
    reversed_edges: dict[str, list[str]] = {name: [] for name in edges}
    for name, needs in edges.items():
        for need in needs:
            reversed_edges[need].append(name)
    return reversed_edges


def _find_reachable(name: str, edges: Mapping[str, Sequence[str]]) -> set[str]:
    """The name, and every name that its edges lead to."""
    reached, queue = {name}, [name]
    for each in queue:
        for need in edges[each]:
            if need not in reached:
                reached.add(need)
                queue.append(need)
    return reached

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.spec.asset_graph import find_cycles, sort_topologically


def edges(pairs, names="abcdef"):
    return {name: tuple(sorted({need for one, need in pairs if one == name and need != name})) for name in names}


graphs = st.sets(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef"))).map(edges)


def test_a_cycle_follows_the_data():
    assert list(find_cycles({"a": ("c",), "b": ("a",), "c": ("b",)})) == [["a", "b", "c", "a"]]


def test_each_group_is_told_once():
    graph = {"a": ("b",), "b": ("a",), "c": ("d", "a"), "d": ("c",), "e": ("a",), "f": ()}
    assert list(find_cycles(graph)) == [["a", "b", "a"], ["c", "d", "c"]]


@given(graphs)
def test_what_is_ordered_comes_after_its_needs(graph):
    order = sort_topologically(graph)
    assert all(set(graph[name]) <= set(order[:index]) for index, name in enumerate(order))


@given(graphs)
def test_there_is_a_cycle_just_where_an_order_is_missing(graph):
    found = list(find_cycles(graph))
    assert bool(found) == (len(sort_topologically(graph)) < len(graph))
    for cycle in found:
        assert cycle[0] == cycle[-1] == min(cycle)
        assert all(before in graph[after] for before, after in pairwise(cycle))

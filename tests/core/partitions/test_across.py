"""The grid of partitions says of each of them what was said of it, in as few rows and columns as can be."""

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.partitions import EVERYTHING, Partitioning
from sparkassets.core.partitions.partition_grid import build_partition_grid
from tests.core.partitions.test_segments import DAYS, REGIONS, STORES, partitionings, set_of, slots


@st.composite
def labelled_partitionings(draw):
    """A partitioning, with a word for some of its partitions."""
    partitioning = draw(partitionings.filter(lambda each: each.is_partitioned))
    known = slots(partitioning)
    words = draw(st.lists(st.sampled_from(["", "late", "there"]), min_size=len(known), max_size=len(known)))
    return partitioning, {slot: word for slot, word in zip(known, words, strict=True) if word}


@given(labelled_partitionings())
def test_each_partition_has_its_word(drawn):
    partitioning, words = drawn
    layers = {
        word: set_of(partitioning, [slot for slot, each in words.items() if each == word]) for word in words.values()
    }
    grid = build_partition_grid(partitioning, [(parts, word) for word, parts in layers.items()])
    found = {}
    for row in grid.rows:
        for column, word in zip(grid.columns, row.words, strict=True):
            for keys in column if word else ():
                given_keys = keys.split(",") if keys else []
                if partitioning.time is not None:
                    given_keys.insert(partitioning.time_at, row.label)
                parts = partitioning.parse(",".join(given_keys))
                assert row.count == partitioning.count(parts)
                found |= dict.fromkeys(partitioning.keys(parts), word)
    assert found == {
        key: word for slot, word in words.items() for key in partitioning.keys(set_of(partitioning, [slot]))
    }
    assert all(any(row.words) for row in grid.rows)
    assert len({tuple(row.words[i] for row in grid.rows) for i in range(len(grid.columns))}) == len(grid.columns)


def test_for_people_what_all_known_tuples_share_is_one_label():
    both = Partitioning(DAYS, (REGIONS, STORES), time_at=1)
    week = both.parse("*,1970-01-01..1970-01-07")
    assert both.display_labels(week) == ["*,1970-01-01..1970-01-07,*"]
    assert both.parse(both.display_labels(week)[0]) == week
    assert both.display_label_count(week) == 1
    some = week - both.parse("nl,1970-01-03,a")
    assert both.display_labels(some) == both.labels(some)
    assert both.display_label_count(some) == both.label_count(some) == 7
    apart = both.parse("*,1970-01-01") | both.parse("*,1970-01-03")
    assert both.display_labels(apart, most=1) == ["*,1970-01-01,*"]
    assert both.display_label_count(apart) == 2


def test_without_time_segments_are_named():
    stores = Partitioning(None, (STORES,))
    assert stores.display_labels(stores.known_partitions) == ["a", "b"]
    assert stores.can_list(stores.known_partitions)
    assert stores.as_range("a") == "a"


def test_what_is_open_in_time_cannot_be_listed():
    both = Partitioning(DAYS, (STORES,))
    assert not both.can_list(both.parse("*,a"))
    assert not both.can_list(EVERYTHING)
    assert both.can_list(both.parse("1970-01-01,a"))
    assert both.as_range("1970-01-01,a") == "1970-01-01..1970-01-01,a"
    assert both.columns == ("store",)

"""A table whose files hold several partitions tells by its change feed which of them changed, else says why not."""

from pathlib import Path

import pytest
from deltalake import DeltaTable
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.partitions import Partitioning
from tests.depth import histories
from tests.sources.looks import DAYS
from tests.sources.test_delta_segments import BOTH, REGIONS, add, delta

FEED = {"delta.enableChangeDataFeed": "true"}
ROWS = [(1, "de"), (1, "nl"), (2, "de"), (2, "nl")]
VAGUE = (
    "a rewritten file spans several partitions, which all count as changed; not so in a table partitioned by {}, "
    "or with a change feed (delta.enableChangeDataFeed = true)"
)


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "table")


def looked(path, partitioning=BOTH, *, feed=True):
    add(path, *ROWS, **({"configuration": FEED} if feed else {}))
    source = delta(path, partitioning)
    source.look()
    return source


def changed(source):
    seen = source.look()
    return source.keys(seen.changed), source.keys(seen.removed)


def test_an_update_of_one_partition_in_a_file_of_several(path):
    source = looked(path)
    DeltaTable(path).update(updates={"x": "9"}, predicate="region = 'nl' AND day = '2013-01-02'")
    assert changed(source) == (["2013-01-02,nl"], [])
    assert source.notes == ()
    DeltaTable(path).delete("region = 'de' AND day = '2013-01-01'")
    assert changed(source) == ([], ["2013-01-01,de"])


def test_a_row_that_goes_to_another_partition_changes_both(path):
    source = looked(path)
    DeltaTable(path).update(updates={"region": "'nl'"}, predicate="region = 'de' AND day = '2013-01-02'")
    assert changed(source) == (["2013-01-02,nl"], ["2013-01-02,de"])


@pytest.mark.parametrize(
    ("partitioning", "keys", "quoted"),
    [
        (BOTH, ["2013-01-01,de", "2013-01-01,nl", "2013-01-02,de", "2013-01-02,nl"], "'day' and 'region'"),
        (Partitioning(None, (REGIONS,)), ["de", "nl"], "'region'"),
        (Partitioning(DAYS), ["2013-01-01", "2013-01-02"], "'day'"),
    ],
)
def test_without_a_feed_all_partitions_of_the_file_are_news_and_the_plan_says_why(path, partitioning, keys, quoted):
    source = looked(path, partitioning, feed=False)
    DeltaTable(path).update(updates={"x": "9"}, predicate="region = 'nl' AND day = '2013-01-02'")
    seen = source.look()
    assert source.keys(seen.changed) == keys
    assert seen.notes == (VAGUE.format(quoted),)
    assert (seen.extra["reason"], seen.extra["rewritten"]) == (VAGUE.format(quoted), 1)


def test_a_feed_that_was_vacuumed_tells_nothing(path):
    source = looked(path)
    DeltaTable(path).update(updates={"x": "9"}, predicate="region = 'nl' AND day = '2013-01-02'")
    for each in Path(path, "_change_data").glob("*"):
        each.unlink()
    assert len(changed(source)[0]) == 4


def test_only_what_the_feed_tells_is_looked_for(path):
    """Of a commit without change files, such as an append, its files tell."""
    source = looked(path)
    DeltaTable(path).update(updates={"x": "9"}, predicate="region = 'nl' AND day = '2013-01-02'")
    add(path, (1, "de"))
    assert changed(source) == (["2013-01-01,de", "2013-01-02,nl"], [])


CELLS = st.tuples(st.integers(1, 3), st.sampled_from(["de", "nl"]))
STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "update", "move", "delete", "compact", "look"]), CELLS), min_size=1, max_size=7
)


@histories(25)
@given(STEPS)
def test_no_change_is_missed_and_partitions_without_one_are_no_news(tmp_path_factory, steps):
    """Against what each partition held at the looks; one that changed and changed back may count."""
    path = str(tmp_path_factory.mktemp("feeds") / "table")
    source = looked(path)
    before, touched = held(path), set()
    for what, (day, region) in [*steps, ("look", (1, "de"))]:
        here = f"region = '{region}' AND day = '2013-01-0{day}'"
        key = f"2013-01-0{day},{region}"
        match what:
            case "add":
                add(path, (day, region))
            case "update":
                DeltaTable(path).update(updates={"x": "x + 1"}, predicate=here)
            case "move" if region == "de":  # else it changes no row, of which deltalake keeps no feed
                DeltaTable(path).update(updates={"region": "'nl'"}, predicate=here)
                touched.add(f"2013-01-0{day},nl")
            case "delete":
                DeltaTable(path).delete(here)
            case "compact":
                DeltaTable(path).optimize.compact()
        if what in ("add", "update", "move", "delete"):
            touched.add(key)
        if what == "look":
            seen, after = source.look(), held(path)
            differ = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
            news = set(source.keys(seen.changed | seen.removed)) if seen else set()
            assert differ <= news <= touched
            before, touched = after, set()


def held(path):
    """By partition its rows."""
    rows = {}
    for row in DeltaTable(path).to_pyarrow_table().to_pylist():
        rows.setdefault(f"{row['day']},{row['region']}", []).append(row["x"])
    return {key: sorted(each) for key, each in rows.items()}

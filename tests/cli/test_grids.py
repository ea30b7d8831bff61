"""Partitions on a screen: what is alike is one, and what has no room is told."""

import io

import pytest

from sparkassets.cli.commands.partitions import print_grid, print_list
from sparkassets.cli.output import Terminal
from sparkassets.core.partitions import Partitioning, SegmentPartition, TimePartition
from sparkassets.core.partitions.partition_grid import build_partition_grid

REGIONS = tuple(f"region-{letter}" for letter in "abcdefgh")
BOTH = Partitioning(TimePartition("day", "UTC"), (SegmentPartition("region", REGIONS),))


@pytest.fixture
def printed():
    """Prints by a function that takes a terminal of a size: its lines."""

    def run(function, *args, width=None, height=None, **more):
        stream = io.StringIO()
        function(*args, Terminal(stream, width, height), **more)
        return stream.getvalue().splitlines()

    return run


def grid(*told):
    return build_partition_grid(BOTH, [(BOTH.parse(key), status) for key, status in told])


SOME = grid(
    ("2025-01-01..2025-01-04", "current"),
    ("2025-01-05,region-a", "missing"),
    ("2025-01-05,region-c", "stale"),
    ("2025-01-05,region-d", "stale"),
)


def test_segments_that_are_alike_share_a_column(printed):
    assert printed(print_grid, SOME, time="day", whole=False, width=80, height=24) == [
        "  day                     region-a  region-b, region-e and 3  region-c, region-d",
        "                                    more",
        "  2025-01-01..2025-01-04  current   current                   current",
        "  2025-01-05              missing                             stale",
    ]


def test_what_is_no_terminal_has_room_for_all(printed):
    lines = printed(print_grid, SOME, time="day", whole=False)
    assert lines[0].split("  ")[-2:] == ["region-b, region-e, region-f, region-g, region-h", "region-c, region-d"]
    assert len(lines) == 3


def each_day(days):
    """Every region has a status of its own on every day but the first."""
    words = ["current", "missing", "stale", "failed"]
    keys = [
        (f"2025-01-{day:02},{region}", words[(day * i) % 4])
        for day in range(1, days)
        for i, region in enumerate(REGIONS)
    ]
    return grid(*keys, *((f"2025-02-0{i + 1},{region}", "stale") for i, region in enumerate(REGIONS)))


def test_columns_without_room_are_told_or_follow_below(printed):
    cut = printed(print_grid, each_day(4), time="day", whole=False, width=40, height=24)
    assert cut[0] == "  day         region-a  region-b"
    assert cut[-1] == "  6 more to the right: --all shows them"
    whole = printed(print_grid, each_day(4), time="day", whole=True, width=40, height=24)
    titles = [line for line in whole if line.startswith("  day")]
    assert titles == [f"  day         region-{one}  region-{two}" for one, two in ["ab", "cd", "ef", "gh"]]
    assert whole.count("") == 3


def test_rows_without_room_are_the_oldest(printed):
    cut = printed(print_grid, each_day(20), time="day", whole=False, width=120, height=12)
    assert len(cut) == 12 - 2
    assert cut[-2].startswith("  2025-02-08")
    assert cut[-1] == "  19 more above: --all shows them"


def test_a_list_has_at_most_a_screen(printed):
    stretches = [(f"2025-01-{day:02}", 1, "stale") for day in range(1, 31)]
    cut = printed(print_list, stretches, whole=False, width=80, height=12)
    assert (len(cut), cut[1], cut[-1]) == (10, "  2025-01-23      1  stale", "  22 more above: --all shows them")
    assert len(printed(print_list, stretches, whole=True, width=80, height=12)) == 31
    assert len(printed(print_list, stretches, whole=False)) == 31

"""Tables of assets whose log a power failure has torn."""

import os

import pytest

from sparkassets.core.partitions import EVERYTHING
from sparkassets.errors import SourceError
from tests.sources.test_targets import Table


@pytest.mark.parametrize("tear", [lambda entry: os.truncate(entry, 40), lambda entry: entry.write_bytes(bytes(99))])
def test_a_table_whose_newest_commit_is_torn_is_told_and_computed_anew_where_it_is_moved_away(tmp_path, tear):
    table = Table(tmp_path / "a")
    for day in (1, 2, 3):
        table.write(day)
    newest = max((tmp_path / "a" / "_delta_log").glob("*.json"))
    tear(newest)
    with pytest.raises(SourceError) as error:
        table.look()
    assert str(error.value) == (
        f"{newest} is truncated, as after a power failure: move that file away; lost partitions are recomputed"
    )
    newest.rename(tmp_path / "moved")
    found = table.look()
    assert (found.kind, found.lost) == ("restored", EVERYTHING)

"""A state that an older release stored is of today's format once it is migrated, and says what it said."""

import json
from dataclasses import replace

import pytest

from sparkassets.core.journal.codec import decode, from_row
from sparkassets.core.journal.codec.formats import FORMAT
from sparkassets.core.journal.codec.migrating import entry_of_today, known_of_today
from sparkassets.ports import Upgrade
from sparkassets.state import DeltaStore, migrating
from tests.core.journal.test_formats import STORED, rows, snapshot

UPGRADE = Upgrade(entry_of_today, known_of_today)


@pytest.fixture
def old(tmp_path) -> str:
    """The state that the code of format 1 stored, in several files."""
    uri, entries = str(tmp_path / "state"), rows(STORED["rows"])
    store = DeltaStore(uri)
    store.create(project="p")
    for commit, first in enumerate(range(0, len(entries), 20)):
        store.append(entries[first : first + 20], after=commit)
    known = snapshot(STORED["snapshot"])
    store.save_snapshot(known, seq=known[0].seq)
    return uri


def formats(uri: str) -> set[int]:
    image = DeltaStore(uri).read(project="p")
    return {json.loads(row.body)["v"] for row in (*DeltaStore(uri).history(), *image.snapshot)}


def test_it_is_of_today_and_says_the_same(old):
    before, entries = DeltaStore(old).read(project="p"), [*map(from_row, DeltaStore(old).history())]
    assert formats(old) == {1}
    assert DeltaStore(old).migrate(UPGRADE) == len(entries) + len(before.snapshot)
    assert formats(old) == {FORMAT}
    after = DeltaStore(old).read(project="p")
    assert [*map(from_row, DeltaStore(old).history())] == entries
    assert decode(after.snapshot, journal_id="j") == decode(before.snapshot, journal_id="j")
    assert (after.snapshot_seq, list(DeltaStore(old).damages())) == (before.snapshot_seq, [])
    assert DeltaStore(old).migrate(UPGRADE) == 0


def test_killed_at_any_file_it_is_done_anew(old, monkeypatch):
    entries = [*map(from_row, DeltaStore(old).history())]
    replace_files, left = migrating.replace_files, 2

    def dies(*args: object, **more: object) -> bool:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        return replace_files(*args, **more)

    monkeypatch.setattr(migrating, "replace_files", dies)
    with pytest.raises(KeyboardInterrupt):
        DeltaStore(old).migrate(UPGRADE)
    monkeypatch.undo()
    assert formats(old) == {1, FORMAT}
    assert [*map(from_row, DeltaStore(old).history())] == entries
    DeltaStore(old).migrate(UPGRADE)
    assert formats(old) == {FORMAT}
    assert [*map(from_row, DeltaStore(old).history())] == entries


def test_format_2_too():
    row = entry_of_today(rows(STORED["rows"])[0])
    older = replace(row, body=json.dumps({**json.loads(row.body), "v": 2}))
    assert entry_of_today(older) == row

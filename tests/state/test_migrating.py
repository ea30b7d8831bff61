"""A state that an older release stored is of today's format once it is migrated, and says what it said."""

import json
from dataclasses import replace

import pytest
from deltalake import DeltaTable

from sparkassets.core.journal.codec import decode, from_row
from sparkassets.core.journal.codec.snapshot import upgrade_entry_row, upgrade_snapshot_row
from sparkassets.core.journal.rows import FORMAT
from sparkassets.errors import StateError
from sparkassets.ports import FormatUpgrade
from sparkassets.state import maintenance, numbered_table
from sparkassets.state.delta_store import DeltaStore
from tests.core.journal.test_formats import STORED, rows, snapshot

UPGRADE = FormatUpgrade(upgrade_entry_row, upgrade_snapshot_row)


OLD = 3


@pytest.fixture
def old(tmp_path, monkeypatch) -> str:
    """The state that the code of format 3 stored, in several files."""
    monkeypatch.setattr(numbered_table, "FORMAT", OLD)
    uri, entries = str(tmp_path / "state"), rows(STORED["rows"])
    store = DeltaStore(uri)
    store.create(project="p")
    for commit, first in enumerate(range(0, len(entries), 20)):
        store.append(entries[first : first + 20], after=commit)
    known = snapshot(STORED["snapshot"])
    store.save_snapshot(known, seq=known[0].seq)
    monkeypatch.undo()
    return uri


def noted(uri: str) -> set[str]:
    """The formats that the tables say they have."""
    tables = (DeltaTable(f"{uri}/{name}") for name in ("journal", "watermarks"))
    return {table.metadata().configuration["sparkassets.format"] for table in tables}


def formats(uri: str) -> set[int]:
    image = DeltaStore(uri).read_image(project="p")
    return {json.loads(row.body)["v"] for row in (*DeltaStore(uri).read_history(), *image.snapshot)}


def test_it_is_of_today_and_says_the_same(old):
    before, entries = DeltaStore(old).read_image(project="p"), [*map(from_row, DeltaStore(old).read_history())]
    assert (formats(old), noted(old)) == ({OLD}, {str(OLD)})
    assert DeltaStore(old).migrate(UPGRADE) == len(entries) + len(before.snapshot)
    assert (formats(old), noted(old)) == ({FORMAT}, {str(FORMAT)})
    after = DeltaStore(old).read_image(project="p")
    assert [*map(from_row, DeltaStore(old).read_history())] == entries
    assert decode(after.snapshot, journal_id="j") == decode(before.snapshot, journal_id="j")
    assert (after.snapshot_seq, list(DeltaStore(old).find_damages())) == (before.snapshot_seq, [])
    assert DeltaStore(old).migrate(UPGRADE) == 0


def test_killed_at_any_file_it_is_done_anew(old, monkeypatch):
    entries = [*map(from_row, DeltaStore(old).read_history())]
    replace_files, left = maintenance.replace_files, 2

    def dies(*args: object, **more: object) -> bool:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        return replace_files(*args, **more)

    monkeypatch.setattr(maintenance, "replace_files", dies)
    with pytest.raises(KeyboardInterrupt):
        DeltaStore(old).migrate(UPGRADE)
    monkeypatch.undo()
    assert formats(old) == {OLD, FORMAT}
    assert [*map(from_row, DeltaStore(old).read_history())] == entries
    DeltaStore(old).migrate(UPGRADE)
    assert formats(old) == {FORMAT}
    assert [*map(from_row, DeltaStore(old).read_history())] == entries


def test_a_format_of_a_draft_is_refused():
    row = rows(STORED["rows"])[0]
    draft = replace(row, body=json.dumps({**json.loads(row.body), "v": 2}))
    with pytest.raises(StateError, match="has the draft format 2") as error:
        from_row(draft)
    assert error.value.hint == "let `state` in project.yml name a new or empty folder"

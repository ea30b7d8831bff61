"""Where a state may be."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from sparkassets.core.journal.rows import JournalRow
from sparkassets.errors import StateError
from sparkassets.state.delta_store import DeltaStore
from sparkassets.state.location import StateLocation


def append(store: DeltaStore, count: int) -> None:
    commit, rows = store.read_after(0)
    for step in range(count):
        row = JournalRow(len(rows) + step + 1, datetime(2025, 3, 21, tzinfo=UTC), "d", "event")
        store.append([row], after=commit + step)


def seqs(state: Path) -> list[int]:
    return [row.seq for row in DeltaStore(str(state)).read_history()]


@pytest.mark.parametrize("form", ["{}", "{}/", "file://{}"])
def test_forms_of_a_local_uri(tmp_path, form):
    state = tmp_path / "state"
    DeltaStore(str(state)).create(project="p")
    append(DeltaStore(str(state)), 3)
    store = DeltaStore(form.format(state))
    assert store.exists()
    store.maintain()
    append(store, 1)
    assert seqs(state) == [1, 2, 3, 4]


def test_a_relative_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = DeltaStore("state")
    store.create(project="p")
    append(store, 2)
    assert seqs(tmp_path / "state") == [1, 2]


def test_a_folder_with_blanks_and_umlauts(tmp_path):
    state = tmp_path / "mein zustand #1 ü"
    store = DeltaStore(str(state))
    store.create(project="p")
    append(store, 20)
    store.maintain()
    assert seqs(state) == list(range(1, 21))


def test_a_percent_sign_is_refused(tmp_path):
    store = DeltaStore(str(tmp_path / "a%20b"))
    with pytest.raises(StateError, match="contains '%', which Delta's libraries read as an escape"):
        store.create(project="p")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("uri", ["s3://bucket/state", "abfss://c@account.dfs.core.windows.net/state", "gs://b/s"])
def test_object_stores_are_left_to_deltalake(uri):
    location = StateLocation(uri + "/")
    assert location.folder is None
    assert location.table("journal") == uri + "/journal"

"""The state that is kept between processes is that of the journal, and of no other journal."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sparkassets.core.journal.entries import ObservedEntry
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.errors import StateError
from sparkassets.runtime.ledger import JournalLedger
from sparkassets.runtime.observation import changed_spec_entries
from sparkassets.state.delta_store import DeltaStore
from tests.builders import asset, project, source
from tests.runtime.fakes import FakeClock

PROJECT: ProjectSpec = project(source("s"), asset("a", "s"))
DAY = 86_400
READ = """
import sys
from pathlib import Path
from sparkassets.state.delta_store import DeltaStore
store = DeltaStore("state", cache=Path("cache"))
store.create(project="test")
folded = store.read_state(project="test")
assert store.exists() and store.read_after(folded.state.seq) == (folded.state.commit, ())
print(folded.state.seq, "deltalake" in sys.modules)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def opened(name: str = "state") -> DeltaStore:
    """A store as another process has it."""
    return DeltaStore(name, cache=Path("cache"))


def ledger(store: DeltaStore) -> JournalLedger:
    store.create(project=PROJECT.name)
    found = JournalLedger(store, project=PROJECT.name, driver="d", clock=FakeClock())
    found.open()
    return found


def observe(found: JournalLedger, day: int) -> None:
    found.commit(lambda state: changed_spec_entries(PROJECT, state))
    found.commit(lambda _: [ObservedEntry("s", "x-s", PartitionSet.span(day * DAY, (day + 1) * DAY))])


def read_elsewhere() -> tuple[int, bool]:
    """The newest entry as a process of its own knows it, and whether that has loaded deltalake."""
    done = subprocess.run([sys.executable, "-c", READ], capture_output=True, text=True, check=True)
    seq, loaded = done.stdout.split()
    return int(seq), loaded == "True"


def is_current() -> bool:
    """Whether a store that finds what it can in the cache reads what a store without a cache does."""
    return opened().read_state(project="test") == DeltaStore("state").read_state(project="test")


def test_an_unchanged_journal_is_read_without_deltalake():
    writer = ledger(opened())
    observe(writer, 1)
    seq = writer.state.seq
    assert read_elsewhere() == (seq, True)
    assert read_elsewhere() == (seq, False)
    observe(writer, 2)
    assert read_elsewhere() == (seq + 1, True)
    assert read_elsewhere() == (seq + 1, False)


def test_whatever_is_committed_is_read():
    writer = ledger(DeltaStore("state"))
    for day in range(40):
        observe(writer, day)
        assert is_current()
        assert is_current()
        if day % 7 == 0:
            writer.compact()
            assert is_current()


def test_whoever_found_the_state_in_the_cache_appends_to_the_journal():
    observe(ledger(DeltaStore("state")), 1)
    opened().read_state(project="test")
    first, second = ledger(opened()), ledger(opened())
    observe(first, 2)
    observe(second, 3)
    first.refresh()
    assert first.state == second.state == DeltaStore("state").read_state(project="test").state


def test_another_project_is_refused():
    observe(ledger(DeltaStore("state")), 1)
    opened().read_state(project="test")
    for ask in (opened().create, opened().read_state):
        with pytest.raises(StateError, match="belongs to the project 'test', not to 'q'"):
            ask(project="q")


def test_a_state_that_is_removed_is_not_begun_anew():
    observe(ledger(DeltaStore("state")), 1)
    opened().read_state(project="test")
    driver = opened()
    driver.create(project="test")
    shutil.rmtree("state")
    with pytest.raises(StateError, match="was removed"):
        driver.create(project="test")


def test_an_older_copy_of_the_journal_is_refused():
    writer = ledger(DeltaStore("state"))
    observe(writer, 1)
    shutil.copytree("state/journal", "copy")
    opened().read_state(project="test")
    observe(writer, 2)
    writer.compact()
    shutil.rmtree("state/journal")
    shutil.move("copy", "state/journal")
    with pytest.raises(StateError, match="restore"):
        opened().read_state(project="test")


def test_a_torn_entry_is_not_passed_over():
    writer = ledger(DeltaStore("state"))
    observe(writer, 1)
    opened().read_state(project="test")
    newest = max(Path("state/journal/_delta_log").glob("*.json"))
    os.truncate(newest, 0)
    with pytest.raises(StateError, match="is truncated"):
        opened().read_state(project="test")


@pytest.mark.parametrize("table", ["journal", "watermarks"])
def test_a_lost_data_file_is_missed(table):
    writer = ledger(DeltaStore("state"))
    observe(writer, 1)
    writer.compact()
    observe(writer, 2)
    opened().read_state(project="test")
    for file in Path("state", table).glob("*.parquet"):
        file.unlink()
    with pytest.raises(StateError):
        opened().read_state(project="test")


@pytest.mark.parametrize("content", [b"", b"x" * 100])
def test_a_damaged_file_is_read_anew(content):
    observe(ledger(DeltaStore("state")), 1)
    opened().read_state(project="test")
    (file,) = Path("cache/states").iterdir()
    file.write_bytes(content)
    assert is_current()

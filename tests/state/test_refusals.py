"""Each state that cannot be used: what is said, where, what to do, and that nothing was touched."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from deltalake import DeltaTable, Field, Schema, write_deltalake

from sparkassets.core.journal.rows import JournalRow, SnapshotRow
from sparkassets.errors import StateError
from sparkassets.state.delta_store import DeltaStore

AT = datetime(2025, 3, 21, tzinfo=UTC)


def append(store: DeltaStore, first: int, last: int, *, commit: int) -> None:
    for offset, seq in enumerate(range(first, last + 1)):
        store.append([JournalRow(seq, AT, "d", "event")], after=commit + offset)


@pytest.fixture(scope="module")
def state_of_template(tmp_path_factory) -> Path:
    """Thirty commits, a checkpoint at the twentieth, a snapshot of entry 25."""
    state = tmp_path_factory.mktemp("made") / "state"
    store = DeltaStore(str(state))
    store.create(project="p")
    append(store, 1, 30, commit=0)
    store.save_snapshot([SnapshotRow("a", None, None, 25, 25)], seq=25)
    return state


@pytest.fixture
def state(state_of_template, tmp_path) -> Path:
    """A copy to harm."""
    return Path(shutil.copytree(state_of_template, tmp_path / "state"))


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refusal(folder: Path, ask: Callable[[DeltaStore], object] | None = None) -> StateError:
    """What a new process is told; the folder is as it was."""
    before = content(folder)
    with pytest.raises(StateError) as error:
        (ask or (lambda store: store.read_image(project="p")))(DeltaStore(str(folder)))
    assert content(folder) == before
    assert error.value.exit_code == 3
    return error.value


ASKS: list[Callable[[DeltaStore], object]] = [
    lambda store: store.read_image(project="p"),
    lambda store: store.read_after(0),
    lambda store: store.create(project="p"),
    lambda store: store.append([JournalRow(31, AT, "d", "event")], after=30),
    lambda store: store.save_snapshot([], seq=1),
    lambda store: store.read_history(),
    lambda store: store.maintain(),
]


def set_property(table: Path, key: str, value: str) -> None:
    DeltaTable(str(table)).alter.set_table_properties({key: value}, raise_if_not_exists=False)


@pytest.mark.parametrize("ask", ASKS)
class TestNotOurs:
    def test_a_folder_with_other_things(self, tmp_path, ask):
        for name in ("b.csv", "a.csv", "c", "d"):
            (tmp_path / name).write_text("mine")
        error = refusal(tmp_path, ask)
        assert str(error) == (
            f"the folder {tmp_path} is not a state: it has no journal, but contains a.csv, b.csv, c, …\n  hint: "
            "let `state` in project.yml name a new or empty folder; nothing was changed"
        )

    def test_a_file(self, tmp_path, ask):
        (tmp_path / "state").write_text("mine")
        with pytest.raises(StateError, match="is a file, not a folder"):
            ask(DeltaStore(str(tmp_path / "state")))
        assert (tmp_path / "state").read_text() == "mine"

    def test_a_folder_inside_a_file(self, tmp_path, ask):
        (tmp_path / "file").write_text("mine")
        for place in (tmp_path / "file" / "state", tmp_path / "file" / "below" / "state"):
            with pytest.raises(StateError) as raised:
                ask(DeltaStore(str(place)))
            assert str(raised.value) == (
                f"{tmp_path}/file, on the path of the state {place}, is a file, not a folder\n  hint: let `state` "
                "in project.yml name a new or empty folder; nothing was changed"
            )

    def test_a_journal_that_is_a_file(self, tmp_path, ask):
        (tmp_path / "journal").write_text("mine")
        with pytest.raises(StateError, match=r"/journal, on the path of the state \S+, is a file, not a folder"):
            ask(DeltaStore(str(tmp_path)))

    def test_somebody_elses_delta_table(self, tmp_path, ask):
        DeltaTable.create(str(tmp_path / "journal"), Schema([Field("seq", "long")]))
        error = refusal(tmp_path, ask)
        assert str(error) == (
            f"{tmp_path}/journal is a Delta table that sparkassets did not create: it has no property "
            "sparkassets.format\n  hint: let `state` in project.yml name a new or empty folder; nothing was changed"
        )

    def test_a_newer_release(self, state, ask):
        set_property(state / "journal", "sparkassets.format", "6")
        error = refusal(state, ask)
        assert str(error) == (
            f"the state in {state}/journal has format 6, and this release reads formats up to 5\n"
            "  hint: upgrade sparkassets; nothing was changed"
        )

    def test_a_watermarks_table_alone(self, state, ask):
        shutil.rmtree(state / "journal")
        error = refusal(state, ask)
        assert str(error).startswith(f"the state {state} has a watermarks table, but its journal table is missing")
        assert "restore journal from a backup" in error.hint


def test_another_project(state):
    for ask in (lambda store: store.create(project="q"), lambda store: store.read_image(project="q")):
        error = refusal(state, ask)
        assert str(error) == (
            f"the state in {state} belongs to the project 'p', not to 'q'\n  hint: give each project its own "
            "`state`, or restore the old name in project.yml; nothing was changed"
        )


def test_the_snapshot_of_another_journal(state, tmp_path):
    other = DeltaStore(str(tmp_path / "other"))
    other.create(project="p")
    shutil.rmtree(state / "watermarks")
    shutil.copytree(tmp_path / "other" / "watermarks", state / "watermarks")
    error = refusal(state)
    assert str(error).startswith(f"the table {state}/watermarks is the snapshot of another journal")
    shutil.rmtree(state / "watermarks")
    assert len(DeltaStore(str(state)).read_image(project="p").tail) == 30


def entry(state: Path, version: int, table: str = "journal") -> Path:
    return state / table / "_delta_log" / f"{version:020d}.json"


def data_file(state: Path, version: int, table: str = "journal") -> Path:
    actions = [json.loads(line) for line in entry(state, version, table).read_text().splitlines()]
    (path,) = (action["add"]["path"] for action in actions if "add" in action)
    return state / table / path


def insert_again(state: Path) -> None:
    """What another program does that writes to the journal."""
    table = DeltaTable(str(state / "journal"))
    write_deltalake(table, table.scan(predicate="seq = 30"), mode="append")


def scribble_over_checkpoint(state: Path) -> None:
    """Leaves its size and its ends: it is whole by what a power failure leaves."""
    path = checkpoint(state)
    content = path.read_bytes()
    path.write_bytes(content[:4] + bytes(range(1, 201)) + content[204:-8] + content[-8:])


def remove_checkpoint_and_first_entry(state: Path) -> None:
    checkpoint(state).unlink()
    entry(state, 0).unlink()


def test_a_state_that_is_removed_while_it_is_used(state):
    store = DeltaStore(str(state))
    store.create(project="p")
    commit = store.read_image(project="p").commit
    shutil.rmtree(state)
    for ask in (
        lambda store: store.create(project="p"),
        lambda store: store.read_after(30),
        lambda store: append(store, 31, 31, commit=commit),
        lambda store: store.save_snapshot([], seq=30),
        lambda store: store.maintain(),
    ):
        with pytest.raises(StateError) as raised:
            ask(store)
        assert str(raised.value) == (
            f"the state {state} was removed while this process used it\n  hint: restore it from a backup and start "
            "again; without a backup, `sparkassets run` creates a new state"
        )
    assert not state.exists()


class TestDamage:
    @pytest.mark.parametrize(
        ("harm", "why"),
        [
            (lambda state: entry(state, 25).unlink(), f"the entry {25:020d}.json of its log is missing"),
            (lambda state: entry(state, 29).write_text("no json"), f"the entry {29:020d}.json of its log is not JSON"),
            (scribble_over_checkpoint, f"its checkpoint {20:020d}.checkpoint.parquet cannot be read"),
            (lambda state: data_file(state, 29).unlink(), "No such file or directory"),
            (lambda state: os.truncate(data_file(state, 29), 100), "Requested range"),
            (lambda state: os.truncate(data_file(state, 29), 0), "error"),
            (remove_checkpoint_and_first_entry, f"the entry {0:020d}.json of its log is missing"),
            (lambda state: DeltaTable(str(state / "journal")).delete("seq = 29"), "entry 29 is missing"),
            (lambda state: DeltaTable(str(state / "journal")).delete("seq = 26"), "entry 26 is missing"),
            (insert_again, "entry 30 exists twice"),
        ],
    )
    def test_of_the_journal(self, state, harm, why):
        harm(state)
        error = refusal(state)
        assert str(error).startswith(f"the table {state}/journal is damaged: ")
        assert why in str(error)
        assert str(error).endswith("\n  hint: restore it from a backup; nothing was changed")
        assert len(str(error).splitlines()) == 2

    def test_a_missing_file_behind_the_snapshot_is_found_by_maintenance(self, state):
        missing = data_file(state, 5)
        missing.unlink()
        error = refusal(state, lambda store: store.maintain())
        assert str(error) == (
            f"the table {state}/journal is damaged: its file {missing.name} is missing\n  hint: restore it from a "
            "backup; `sparkassets state verify` lists everything that is missing; nothing was changed"
        )

    @pytest.mark.parametrize("length", [0, 100])
    def test_found_by_a_merge(self, state, length):
        os.truncate(data_file(state, 5), length)
        error = refusal(state, lambda store: store.maintain())
        assert str(error).startswith(f"the table {state}/journal is damaged: ")

    def test_of_the_format(self, state):
        set_property(state / "journal", "sparkassets.format", "one")
        assert "its property sparkassets.format is 'one', expected a number" in str(refusal(state))

    def test_of_the_columns(self, tmp_path):
        DeltaTable.create(
            str(tmp_path / "journal"),
            Schema([Field("seq", "long")]),
            configuration={"sparkassets.format": "1"},
            raise_if_key_not_exists=False,
        )
        assert "its column 'at' is missing" in str(refusal(tmp_path))

    def test_of_the_protocol(self, state):
        with entry(state, 30).open("a") as log:
            log.write('\n{"protocol":{"minReaderVersion":9,"minWriterVersion":9}}')
        error = refusal(state)
        assert "needs a newer reader" in str(error)
        assert "upgrade sparkassets" in error.hint

    @pytest.mark.parametrize(
        "harm",
        [
            lambda state: data_file(state, 1, "watermarks").unlink(),
            lambda state: os.truncate(data_file(state, 1, "watermarks"), 50),
            lambda state: entry(state, 0, "watermarks").unlink(),
        ],
    )
    def test_of_the_snapshot_is_repaired_by_removing_it(self, state, harm):
        harm(state)
        error = refusal(state)
        assert str(error).startswith(f"the table {state}/watermarks is damaged: ")
        assert error.hint == "remove the folder watermarks; it is rebuilt from the journal; nothing was changed"
        shutil.rmtree(state / "watermarks")
        store = DeltaStore(str(state))
        image = store.read_image(project="p")
        assert (image.snapshot_seq, len(image.tail)) == (0, 30)
        store.save_snapshot([SnapshotRow("a", None, None, 30, 30)], seq=30)
        assert store.read_image(project="p").snapshot_seq == 30

    def test_a_journal_that_is_older_than_its_snapshot(self, state):
        backup = state.with_name("backup")
        shutil.copytree(state / "journal", backup)
        store = DeltaStore(str(state))
        append(store, 31, 33, commit=30)
        store.save_snapshot([], seq=33)
        shutil.rmtree(state / "journal")
        shutil.copytree(backup, state / "journal")
        error = refusal(state)
        assert "it ends at entry 30, but the snapshot is of entry 33" in str(error)


def checkpoint(state: Path) -> Path:
    (found,) = (state / "journal" / "_delta_log").glob("*.checkpoint.parquet")
    return found


class TestReadOnly:
    SCRIPT = """
import sys
from tests.modes import obey_modes
obey_modes()
from datetime import UTC, datetime
from sparkassets.core.journal.rows import JournalRow
from sparkassets.errors import StateError
from sparkassets.state.delta_store import DeltaStore
store = DeltaStore(sys.argv[1])
try:
    if sys.argv[2] == "create":
        store.create(project="p")
    elif sys.argv[2] == "verify":
        print(store.find_damages())
    else:
        assert store.read_image(project="p").commit == 30
        store.append([JournalRow(31, datetime.now(UTC), "d", "event")], after=30)
except StateError as error:
    print(error)
"""

    def ask(self, state: Path, verb: str) -> list[str]:
        """What a process is told that may read but not write."""
        command = [sys.executable, "-c", self.SCRIPT, str(state), verb]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()

    @pytest.fixture
    def locked(self, state):
        """The state where everybody may look, and nobody may write."""
        (state / "new").mkdir()
        for path in (state, *state.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        yield state
        for path in (state, *state.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)

    def test_appending(self, locked):
        before = content(locked)
        said = self.ask(locked, "append")
        assert said[0].startswith(f"cannot write to the table {locked}/journal: ")
        assert "Permission denied" in said[0]
        assert said[1] == "  hint: the state must be writable for whoever runs the project; nothing was changed"
        assert content(locked) == before

    def test_creating(self, locked):
        place = locked / "new"
        said = self.ask(place, "create")
        assert said[0].startswith(f"cannot write to the table {place}/journal: ")
        assert said[1] == "  hint: the state must be writable for whoever runs the project; nothing was changed"
        assert list(place.iterdir()) == []

    def test_verifying_where_one_file_may_not_be_read(self, locked):
        assert self.ask(locked, "verify") == ["[]"]
        file = min((locked / "journal").glob("*.parquet"))
        file.chmod(0o000)
        said = self.ask(locked, "verify")
        file.chmod(0o444)
        assert said[0].startswith(f"the state {locked}/journal cannot be reached: ")
        assert said[0].endswith("Permission denied (os error 13)")
        assert said[1:] == ["  hint: check the path, the permissions and the credentials"]

    def test_looking_without_permission(self, locked):
        locked.chmod(0o000)
        said = self.ask(locked, "append")
        locked.chmod(0o755)
        assert said[0].startswith(f"the state {locked} cannot be reached: ")
        assert said[1] == "  hint: check the path, the permissions and the credentials"


class TestHalfMade:
    def test_a_creation_that_was_killed_is_made_again(self, tmp_path):
        (tmp_path / "state" / "journal" / "_delta_log").mkdir(parents=True)
        store = DeltaStore(str(tmp_path / "state"))
        assert not store.exists()
        store.create(project="p")
        assert store.read_image(project="p").commit == 0

    def test_one_that_was_killed_between_the_tables(self, tmp_path):
        store = DeltaStore(str(tmp_path / "state"))
        store.create(project="p")
        shutil.rmtree(tmp_path / "state" / "watermarks")
        again = DeltaStore(str(tmp_path / "state"))
        assert again.read_image(project="p").snapshot_seq == 0
        again.create(project="p")
        assert DeltaTable(str(tmp_path / "state" / "watermarks")).version() == 0


def test_looking_imports_nothing_heavy_and_makes_nothing(tmp_path):
    code = (
        "import sys; from sparkassets.state.delta_store import DeltaStore; "
        f"assert not DeltaStore({str(tmp_path / 'none')!r}).exists(); "
        "assert not {'deltalake', 'arro3', 'pyarrow', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert list(tmp_path.iterdir()) == []


def test_reading_imports_no_pyarrow(state):
    code = (
        "import sys; from sparkassets.state.delta_store import DeltaStore; "
        f"image = DeltaStore({str(state)!r}).read_image(project='p'); assert len(image.tail) == 5; "
        "assert not {'pyarrow', 'pandas', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_writing_imports_no_pandas(state):
    code = (
        "import sys; from datetime import UTC, datetime; from sparkassets.state.delta_store import DeltaStore; "
        "from sparkassets.core.journal.rows import JournalRow; "
        f"store = DeltaStore({str(state)!r}); "
        "store.append([JournalRow(31, datetime.now(UTC), 'd', 'event')], after=30); store.maintain(); "
        "assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

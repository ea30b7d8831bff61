"""The state and files on Azure, as its emulator Azurite serves them: many drivers, lost answers, no answers."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sparkassets.core.journal.rows import JournalRow
from sparkassets.core.patterns import PathPattern
from sparkassets.errors import JournalConflictError, StateError
from sparkassets.files import list_files
from sparkassets.files.object_stores import open_store
from sparkassets.state.delta_store import DeltaStore
from tests.contracts import test_journal_store as contract
from tests.integration.emulators import ACCOUNT, ACCOUNT_KEY, NotInstalledError, azurite, environment
from tests.integration.lossy import before

pytestmark = pytest.mark.deep

AT = datetime(2025, 3, 21, tzinfo=UTC)
FOLDERS = itertools.count()
LONG = f"abfss://lake@{ACCOUNT}.dfs.core.windows.net"
QUICK = {"timeout": "2s", "retry_timeout": "3s", "max_retries": "3", "backoff_config.init_backoff": "50ms"}
APPENDS = 20
REACHED = "check the path, the permissions and the credentials"


@pytest.fixture(scope="module")
def azure() -> Iterator[str]:
    """The address of the store, which the environment has."""
    try:
        with azurite() as address:
            yield address
    except NotInstalledError as error:
        pytest.skip(str(error))


@pytest.fixture
def place(azure) -> str:
    """A folder of the test's own."""
    return f"az://lake/{next(FOLDERS)}"


@pytest.fixture
def empty(place) -> DeltaStore:
    """What the contract's tests begin with."""
    return DeltaStore(place)


@pytest.fixture
def store(empty) -> DeltaStore:
    empty.create(project="p")
    return empty


class TestCreation(contract.TestCreation): ...


class TestAppend(contract.TestAppend): ...


class TestSnapshot(contract.TestSnapshot): ...


class TestHistory(contract.TestHistory): ...


class TestMaintenance(contract.TestMaintenance): ...


def append(place: str, driver: str, count: int) -> None:
    """Commits so many entries of a driver's, each upon what others did."""
    store = DeltaStore(place)
    store.create(project="p")
    number, rows = store.read_after(0)
    done, seq = sum(row.driver == driver for row in rows), len(rows)
    while done < count:
        try:
            store.append([JournalRow(seq + 1, AT, driver, "event", run=f"{driver}-{done}")], after=number)
        except JournalConflictError:
            number, rows = store.read_after(seq)
            seq += len(rows)
        else:
            number, seq, done = number + 1, seq + 1, done + 1


def driver(place: str, name: str) -> subprocess.Popen[bytes]:
    """A process that appends."""
    code = f"from tests.integration.test_azure import append; append({place!r}, {name!r}, {APPENDS})"
    return subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parents[2])


def test_drivers_at_once_one_of_which_is_killed_and_started_again(place):
    append(place, "first", 1)
    drivers = [driver(place, name) for name in "abc"]
    while not any(row.driver == "a" for row in DeltaStore(place).read_history()):
        time.sleep(0.05)
    drivers[0].send_signal(signal.SIGKILL)
    assert drivers[0].wait() == -signal.SIGKILL
    drivers.append(driver(place, "a"))
    assert [each.wait(timeout=120) for each in drivers[1:]] == [0, 0, 0]
    rows = DeltaStore(place).read_history()
    assert [row.seq for row in rows] == list(range(1, 3 * APPENDS + 2))
    assert sorted(row.run for row in rows[1:]) == sorted(f"{name}-{i}" for name in "abc" for i in range(APPENDS))


def test_threads_that_put_one_entry_have_one_winner(store, place):
    def once(number: int) -> bool:
        try:
            DeltaStore(place).append([JournalRow(1, AT, str(number), "event")], after=0)
        except JournalConflictError:
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(once, range(16))) == 1
    assert [row.seq for row in store.read_history()] == [1]


@pytest.mark.parametrize("at", [1, 3, 9])
def test_an_answer_that_is_lost_after_the_put(azure, place, at):
    with before(azure) as lossy, environment({"AZURITE_BLOB_STORAGE_URL": lossy.address}):
        lossy.begin("lose", at=range(at, at + 1))
        append(place, "a", 10)
    assert [row.run for row in DeltaStore(place).read_history()] == [f"a-{number}" for number in range(10)]


def test_every_spelling_is_one_state(store, place):
    store.append([JournalRow(1, AT, "a", "event")], after=0)
    folder = place.removeprefix("az://lake")
    for base in (LONG, LONG.replace("abfss", "abfs"), "abfs://lake", "azure://lake", "adl://lake"):
        assert [row.seq for row in DeltaStore(base + folder).read_history()] == [1]


def test_files_are_listed_by_the_same_credentials(store, place):
    assert store.exists()
    folder = place.removeprefix("az://lake/")
    for base in ("az://lake/", f"{LONG}/"):
        opened, path = open_store(base + folder)
        with opened.open_output_stream(f"{path}/in/2025-01-01.csv") as file:
            file.write(b"a\n1\n")
        assert opened.get_file_info(f"{path}/in/2025-01-01.csv").size == 4
        files = list_files(PathPattern.parse(f"{base}{folder}/in/{{day}}.csv"))
        assert files is not None
        assert len(files) == 1


@pytest.mark.parametrize(
    ("uri", "said", "told"),
    [
        ("az://nowhere/x", {}, "404 Not Found: ContainerNotFound"),
        ("az://lake/x", {"AZURE_STORAGE_ACCOUNT_KEY": "d3JvbmdzZWNyZXQ="}, "403 Forbidden: AuthorizationFailure"),
        ("az://lake/x", {"AZURE_STORAGE_ACCOUNT_KEY": "wrong secret"}, "Invalid Access Key"),
        ("az://lake/x", {"AZURITE_BLOB_STORAGE_URL": "http://127.0.0.1:9"}, "Connection refused"),
    ],
)
def test_what_cannot_be_reached_is_told_in_a_line_without_a_credential(azure, uri, said, told):
    with environment(said):
        for ask in (DeltaStore.exists, lambda store: store.create(project="p")):
            with pytest.raises(StateError) as error:
                ask(DeltaStore(uri, QUICK))
            line, hint = str(error.value).splitlines()
            assert line.startswith(f"the state {uri}/journal cannot be reached: ")
            assert told in line
            assert hint == f"  hint: {REACHED}"
            assert not any(secret in line for secret in (ACCOUNT_KEY, "d3Jvbmdz", "wrong secret", "<"))


def test_a_token_in_the_address_is_not_shown(azure):
    signed = "sv=2021-08-06&ss=b&srt=sco&sp=rwdlac&se=2030-01-01T00:00:00Z&sig=c2lnbmF0dXJlc2lnbmF0dXJl"
    said = {
        "AZURE_STORAGE_USE_EMULATOR": "false",
        "AZURE_STORAGE_ENDPOINT": f"{azure}/{ACCOUNT}",
        "AZURE_ALLOW_HTTP": "true",
        "AZURE_STORAGE_SAS_TOKEN": signed,
    }
    key = os.environ.pop("AZURE_STORAGE_ACCOUNT_KEY")
    try:
        with environment(said), pytest.raises(StateError, match="403 Forbidden") as error:
            DeltaStore("az://lake/x", QUICK).exists()
    finally:
        os.environ["AZURE_STORAGE_ACCOUNT_KEY"] = key
    assert "c2lnbmF0" not in str(error.value)

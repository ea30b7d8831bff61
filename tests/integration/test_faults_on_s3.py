"""The journal on S3 where answers are lost, refused and late: nothing is lost or doubled."""

from __future__ import annotations

import itertools
import re
from datetime import UTC, datetime

import pytest

from sparkassets.core.journal.rows import JournalRow, SnapshotRow
from sparkassets.errors import JournalConflictError, StateError
from sparkassets.state.delta_store import DeltaStore
from tests.integration.lossy import LOG_ENTRY

pytestmark = pytest.mark.deep

AT = datetime(2025, 3, 21, tzinfo=UTC)
FOLDERS = itertools.count()
QUICK = {"timeout": "1s", "retry_timeout": "3s", "max_retries": "3", "backoff_config.init_backoff": "50ms"}
ANY_PUT = r"PUT .*"
STALLED = "  hint: the store does not respond; start again once it does: committed entries are kept"
COMMITS = 17
"""As many as are merged once."""


@pytest.fixture
def place(s3) -> str:
    """A folder of the test's own; all goes well until it says otherwise."""
    s3.begin()
    return f"s3a://lake/{next(FOLDERS)}"


def started(place: str) -> DeltaStore:
    """What a new process has of the state."""
    return DeltaStore(place, QUICK)


def work(store: DeltaStore) -> None:
    """What a driver does in a few invocations, from wherever the journal is."""
    store.create(project="p")
    image = store.read_image(project="p")
    seq = max([image.snapshot_seq, *(row.seq for row in image.tail)])
    number = image.commit
    while seq < COMMITS:
        try:
            store.append([JournalRow(seq + 1, AT, "d", "event", run=str(seq + 1))], after=number)
        except JournalConflictError:
            number, rows = store.read_after(seq)
            seq = max([seq, *(row.seq for row in rows)])
        else:
            seq, number = seq + 1, number + 1
    store.save_snapshot([SnapshotRow("a", None, None, seq, number)], seq=seq)
    store.maintain()


def until_done(place: str, *, most: int = 4) -> list[StateError]:
    """Starts again for as long as it fails; what was told."""
    told: list[StateError] = []
    while len(told) < most:
        try:
            work(started(place))
        except StateError as error:
            told.append(error)
        else:
            break
    return told


def check(place: str) -> None:
    """All of it is there, once."""
    store = started(place)
    assert [row.seq for row in store.read_history()] == list(range(1, COMMITS + 1))
    image = store.read_image(project="p")
    assert (image.snapshot_seq, image.commit, list(image.tail)) == (COMMITS, COMMITS + 1, [])


@pytest.mark.parametrize("at", [1, 3, 21])
def test_an_answer_that_is_lost_after_the_put(s3, place, at):
    s3.begin("lose", LOG_ENTRY, range(at, at + 1))
    assert until_done(place) == []
    assert sum(bool(re.match(LOG_ENTRY, each)) for each in s3.requests()) > 20
    check(place)


@pytest.mark.parametrize("at", [2])
def test_answers_that_are_lost_of_every_put_of_any_object(s3, place, at):
    s3.begin("lose", ANY_PUT, range(at, at + 200, 7))
    assert until_done(place) == []
    check(place)


def test_a_store_that_is_busy(s3, place):
    s3.begin("busy", r".*", range(1, 10_000, 5))
    assert until_done(place) == []
    check(place)


@pytest.mark.parametrize("which", [LOG_ENTRY, r"GET "])
def test_a_store_that_stalls_and_answers_the_next_request(s3, place, which):
    """What changes something is not asked for again by itself: it may land yet."""
    s3.begin("stall", which, range(4, 5))
    told = until_done(place)
    assert [str(each).splitlines()[1] for each in told] == [STALLED] * (which == LOG_ENTRY)
    check(place)


@pytest.mark.parametrize(("what", "step"), [("deny", 1), ("busy", 9)])
def test_a_store_that_is_away_is_told_in_a_line_whatever_was_asked_of_it(s3, place, what, step):
    work(started(place))
    check(place)
    for at in range(1, 33, step):
        s3.begin(what, r".*", range(at, 10_000))
        try:
            asked_all(started(place))
        except StateError as error:
            lines = str(error).splitlines()
            assert len(lines) == 2, lines
            assert "damaged" not in lines[0], lines
            assert lines[1].startswith("  hint: ")
    s3.begin()
    assert until_done(place) == []


def test_a_new_journal_of_which_one_request_is_refused_is_told_in_two_lines(s3, place):
    started(place).create(project="p")
    told = []
    for at in range(1, 8):
        s3.begin("deny", r"GET .*_delta_log/0{20}\.json", range(at, at + 1))
        try:
            started(place).read_image(project="p")
        except StateError as error:
            told.append(str(error))
    assert {len(each.splitlines()) for each in told} == {2}, told
    s3.begin()
    assert started(place).read_image(project="p").commit == 0


def asked_all(store: DeltaStore) -> None:
    """Everything that can be asked of a state."""
    store.create(project="p")
    seq = store.read_image(project="p").commit - 1
    rows = store.read_history()
    store.append([JournalRow(len(rows) + 1, AT, "d", "event")], after=seq + 1)
    store.save_snapshot([], seq=len(rows) + 1)
    store.maintain()

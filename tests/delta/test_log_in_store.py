"""The log of a table in an object store: entries are read without a look for them before."""

from __future__ import annotations

import pytest

from sparkassets.delta import log as module
from sparkassets.delta.log import DeltaLog
from tests.sources.looks import write


@pytest.fixture
def put(tmp_path):
    """Puts an entry there."""
    return lambda version, text: write(tmp_path, f"_delta_log/{version:020d}.json", text)


@pytest.fixture
def log(tmp_path, put):
    """Reached as an object store is."""
    put(0, "{}\n")
    return DeltaLog(tmp_path.as_uri())


def test_an_entry_is_its_content_and_one_that_is_not_there_is_none(log, put):
    put(1, "x" * 10_000)
    assert (log.read_content(0), log.read_content(1), log.read_content(2)) == (b"{}\n", b"x" * 10_000, None)


@pytest.mark.parametrize("version", [1, 70, 5_000])
def test_also_of_versions_that_were_not_expected(log, put, version):
    put(version, "x")
    assert log.read_content(version) == b"x"
    assert log.read_content(version + 1) is None
    assert log.token(version) is not None


def test_an_empty_entry_is_empty(log, put):
    put(1, "")
    assert log.read_content(1) == b""


@pytest.mark.parametrize("size", [7, 8, 9, 100])
def test_an_entry_of_any_size_is_read_whole(tmp_path, put, monkeypatch, size):
    monkeypatch.setattr(module, "_ONE_REQUEST_BYTES", 8)
    put(1, "x" * size)
    assert DeltaLog(tmp_path.as_uri()).read_content(1) == b"x" * size


def test_the_token_tells_an_entry_by_how_it_begins(log, put):
    before = log.token(0)
    put(1, "{}\n")
    assert log.token(1) == before
    put(0, '{"commitInfo": {}}\n')
    assert log.token(0) != before
    assert log.token(2) is None


def test_what_a_log_refers_to_is_there_or_not(log):
    assert log.holds("_delta_log/00000000000000000000.json")
    assert not log.holds("_delta_log")
    assert not log.holds("part-0.parquet")


def test_the_last_checkpoint_is_what_its_hint_says(log, put):
    assert log.checkpoint() == -1
    write(put(1, "").parent, "_last_checkpoint", '{"version": 3}')
    assert log.checkpoint() == 3


def test_a_store_that_refuses_is_no_log_without_entries(log, put):
    put(1, "x").chmod(0)
    try:
        content = log.read_content(1)
    except OSError:
        return
    assert content == b"x"  # who may read everything is refused nothing

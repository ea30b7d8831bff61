"""What a start with nothing due asks of S3: each request is a way to far away, and some are paid for."""

from __future__ import annotations

from collections import Counter

import pytest

from sparkassets import Project
from tests.benchmark.bench_s3 import fill, write
from tests.crash.driver import PlainProject

SIZE = 2


@pytest.fixture(scope="module")
def request_counts(s3, tmp_path_factory) -> Counter[str]:
    """Requests of a start with nothing due to how often each was made; of lists without where they begin."""
    home = tmp_path_factory.mktemp("project") / "quiet"
    write(home, SIZE)
    fill(home, SIZE)
    project = PlainProject(Project.load(home).spec)
    s3.begin()
    assert project.run().runs == ()
    return Counter(each.partition("&start-after")[0] for each in s3.requests())


def test_a_table_is_three_requests_for_what_its_log_holds(request_counts):
    tables = [each for each in request_counts if "/state/" not in each and "list-type" not in each]
    names = ("00000000000000000000.json", "00000000000000000001.json", "_last_checkpoint")
    sources = [f"GET /lake/quiet/s{n}/_delta_log/{name}" for n in range(SIZE) for name in names]
    targets = [f"GET /lake/quiet/lake/a{n}/_delta_log/{name}" for n in range(SIZE) for name in names]
    assert sorted(tables) == sorted([*sources, *targets])
    assert {request_counts[each] for each in tables} == {1}
    assert [each for each in request_counts if "list-type" in each and "state" not in each] == []


def test_an_entry_of_the_journal_is_read_twice_and_the_newest_once_more(request_counts):
    """By deltalake, for what the table is and for its files; and for its number."""
    entries = {each: times for each, times in request_counts.items() if "/journal/_delta_log/0" in each}
    newest = max(entry.partition(" ")[2] for entry in entries)
    assert entries.pop(f"HEAD {newest}") == 1
    assert entries.pop(f"GET {newest}") == 3
    assert len(entries) > 1
    assert {*entries.values()} == {2}

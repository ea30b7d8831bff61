"""A driver's commit beside runs of the same asset in other slots: their rows are others by the protocol of runs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from deltalake import CommitProperties, DeltaTable, Transaction

from sparkassets.core.runs import asset_app
from sparkassets.delta.commit import CommitConflictError, commit
from sparkassets.delta.file_split import split_files
from tests.delta.test_commit import DAYS, change, days, path, replacing, theirs

__all__ = ["path"]
SIBLING = "journal/daily/2"


def committed_by(app: str) -> CommitProperties:
    return CommitProperties(app_transactions=[Transaction(app, 9)])


def beside(made):
    return replace(made, is_parallel_run=lambda app: asset_app(app) == "journal/daily" and app != made.app)


def test_what_seems_to_touch_it_does_not_where_a_run_beside_it_came(path):
    table, made = replacing(path, "2013-01-02", 2, 2)
    theirs(path, 2, commit_properties=committed_by(SIBLING))
    commit(path, table, beside(made))
    assert days(path) == [1, 2, 2, 2, 3]


@pytest.mark.parametrize("app", ["journal/other", "journal/daily"])
def test_that_of_anyone_else_refuses_it(path, app):
    table, made = replacing(path, "2013-01-02", 2, 2, version=5)
    theirs(path, 2, commit_properties=CommitProperties(app_transactions=[Transaction(app, 4)]))
    with pytest.raises(CommitConflictError):
        commit(path, table, beside(made))


def test_a_file_that_a_run_beside_it_took_refuses_it(path):
    theirs(path, 5, 6)
    table = DeltaTable(path)
    (mixed,) = split_files(table, DAYS.parse("2013-01-05"), partitioning=DAYS).mixed
    (same,) = split_files(table, DAYS.parse("2013-01-06"), partitioning=DAYS).mixed
    assert mixed.path == same.path
    first = beside(change(path, 5, 6, removes=[mixed]))
    second = beside(replace(change(path, 5, 6, removes=[same]), app=SIBLING))
    commit(path, table, first)
    with pytest.raises(CommitConflictError, match="moved rows that the run replaces to other files"):
        commit(path, table, second)
    assert days(path) == [1, 2, 3, 5, 6]

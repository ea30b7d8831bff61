"""Which replays begin at the rows that the run found in its table."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.spec.code_bodies import SqlBody
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.writes import AppendWrite, HistoryColumns, RegisteredWrite, ReplaceWrite, UpsertWrite
from sparkassets.features.replay.recorded_run import needs_earlier_rows
from sparkassets.ports import RunOrder
from tests.builders import HERE, asset

HISTORY = UpsertWrite(("id",), history=HistoryColumns("since", "until", "holds"))
SUPPLEMENT = RegisteredWrite("supplement", {}, recomputable=True)
OWN = "SELECT count(*) AS n FROM {{ outlets.a }}"


@pytest.mark.parametrize(
    ("write", "sql", "rebuilds", "in_catalog", "expected"),
    [
        (ReplaceWrite(), "SELECT 1 AS n", False, False, False),
        (ReplaceWrite(), OWN, False, False, True),
        (ReplaceWrite(), OWN, True, False, True),
        (AppendWrite(), "SELECT 1 AS n", False, False, False),
        (AppendWrite(), "SELECT 1 AS n", False, True, True),
        (UpsertWrite(("id",)), "SELECT 1 AS id", False, False, True),
        (UpsertWrite(("id",)), "SELECT 1 AS id", True, False, False),
        (HISTORY, "SELECT 1 AS id", False, False, True),
        (SUPPLEMENT, "SELECT 1 AS n", False, False, True),
        (SUPPLEMENT, "SELECT 1 AS n", True, False, False),
    ],
)
def test_a_replay_begins_at_earlier_rows_where_rows_follow_from_them(write, sql, rebuilds, in_catalog, expected):
    made = asset("a", by=None, write=write, body=SqlBody(sql, HERE))
    if in_catalog:
        made = replace(made, storage=StorageLocation.of_table(("main", "a")))
    at = datetime(2025, 1, 1, tzinfo=UTC)
    order = RunOrder(made, "a-1", "j/a", 1, EVERYTHING, {}, {}, None, at, {}, rebuilds=rebuilds)
    assert needs_earlier_rows(order) is expected

"""The tables' columns are the rows' fields."""

from __future__ import annotations

from dataclasses import fields

import pytest

from sparkassets.core.journal.rows import JournalRow, SnapshotRow
from sparkassets.state.table_columns import JOURNAL_COLUMNS, SNAPSHOT_COLUMNS, delta_schema


@pytest.mark.parametrize(("row", "columns"), [(JournalRow, JOURNAL_COLUMNS), (SnapshotRow, SNAPSHOT_COLUMNS)])
def test_in_the_same_order(row, columns):
    assert [field.name for field in fields(row)] == list(columns)
    assert [field.name for field in delta_schema(columns).fields] == list(columns)


def test_what_is_never_null():
    required = {field.name for field in delta_schema(JOURNAL_COLUMNS).fields if not field.nullable}
    assert required == {"seq", "at", "driver", "kind", "body"}

"""A day that failed is loaded by hand, accepted, read by others, traced, and stale again once its source changes."""

from __future__ import annotations

import json
from datetime import date

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from sparkassets import Project
from sparkassets.cli import main
from tests.e2e.projects import rows, sell, write
from tests.e2e.test_corrections import BROKEN, FIRST, PROJECT, SECOND, home

__all__ = ["home"]
pytestmark = pytest.mark.spark


@pytest.mark.alike
def test_a_failed_day_that_was_loaded_by_hand(home, capsys):
    write(home, {"assets/daily.yml": "asset: daily\n" + BROKEN % "sales"})
    sell(home / "sales", (2, "2025-01-02", 50))
    assert main(["run", "--project", "."]) == 1
    by_hand = pa.table({"day": pa.array([date(2025, 1, 2)], pa.date32()), "amount": pa.array([42], pa.int64())})
    write_deltalake(home / "warehouse" / "daily", by_hand, mode="append")
    said = ("--partition", "2025-01-02", "--done", "--reason", "loaded by hand", "--project", ".")
    assert main(["mark", "daily", *said]) == 0

    assert main(["run", "--project", "."]) == 0
    assert [run.status for run in Project.load(home).history.runs(asset="daily")] == ["success", "failed"]
    assert rows(home / "warehouse" / "copy", "day", "amount") == [(FIRST, 10), (SECOND, 42)]
    assert rows(home / "warehouse" / "report", "amount") == [(52,)]
    capsys.readouterr()
    assert main(["lineage", "copy", "--partition", "2025-01-02", "--project", ".", "--json"]) == 0
    (copied,) = json.loads(capsys.readouterr().out)["origins"]
    (read,) = copied["reads"]
    (origin,) = read["origins"]
    assert (origin["kind"], origin["note"].partition(": ")[2]) == ("mark", "loaded by hand")

    write(home, {"assets/daily.yml": PROJECT["assets/daily.yml"]})
    sell(home / "sales", (3, "2025-01-02", 1))
    assert main(["run", "--project", "."]) == 0
    assert rows(home / "warehouse" / "copy", "day", "amount") == [(FIRST, 10), (SECOND, 51)]

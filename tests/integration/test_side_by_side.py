"""Each partition a run of its own, side by side in one table: appended, and in the place of what was there."""

from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets import Project
from tests.e2e.projects import write

pytestmark = pytest.mark.spark

FILES = {
    "project.yml": "project: shop\nstate: state\nwarehouse: warehouse\nassets: [assets]\nmax_parallel_runs: 4\n",
    "assets/loads.yml": """
asset: loads
source: delta
path: lake/loads
partition:
  - {by: hour, column: hour}
  - {segments: [dwh, ops], column: warehouse}
""",
    "assets/bills.sql": "SELECT hour, warehouse, sum(amount) AS amount FROM {{ inlets.loads }} GROUP BY ALL",
}
ASSET = """
asset: bills
inlets: [loads]
strategy: every_instance
write: {write}
partition:
  - {{by: hour, column: hour}}
  - {{segments: [dwh, ops], column: warehouse}}
retries: 0
"""


def load(root: Path, amount: int, hour: int, warehouse: str) -> None:
    """One row, in a file of its own, in the place of the one that was there."""
    at = datetime(2025, 3, 1, hour, tzinfo=UTC)
    data = pa.table({"hour": pa.array([at], pa.timestamp("us", "UTC")), "warehouse": [warehouse], "amount": [amount]})
    same = f"hour = '{at:%Y-%m-%dT%H:%M:%SZ}' AND warehouse = '{warehouse}'"
    there = DeltaTable.is_deltatable(str(root / "lake/loads"))
    write_deltalake(root / "lake/loads", data, mode="overwrite", predicate=same if there else None)


def held(root: Path) -> list[tuple[str, str, int]]:
    rows = DeltaTable(root / "warehouse/bills").to_pyarrow_table().to_pylist()
    return sorted((f"{row['hour']:%H}", row["warehouse"], row["amount"]) for row in rows)


@pytest.mark.parametrize("mode", ["append", "replace"])
def test_each_hour_of_each_warehouse_is_a_run(tmp_path: Path, mode: str) -> None:
    write(tmp_path, {**FILES, "assets/bills.yml": ASSET.format(write=mode)})
    for hour, warehouse in product(range(6), ("dwh", "ops")):
        load(tmp_path, 1, hour, warehouse)
    project = Project.load(tmp_path)
    summary = project.run(at="2025-03-02T00:00Z")
    assert [run.status for run in summary.runs] == ["success"] * 12
    assert held(tmp_path) == [(f"{hour:02}", warehouse, 1) for hour in range(6) for warehouse in ("dwh", "ops")]
    for hour in (2, 3):
        load(tmp_path, 5, hour, "dwh")
    summary = project.run(at="2025-03-02T00:00Z")
    if mode == "append":
        assert summary.runs == ()
        assert ("02", "dwh", 1) in held(tmp_path)
    else:
        assert [run.status for run in summary.runs] == ["success"] * 2
        assert [row for row in held(tmp_path) if row[2] == 5] == [("02", "dwh", 5), ("03", "dwh", 5)]
        assert len(held(tmp_path)) == 12
    assert project.plan(at="2025-03-02T00:00Z").runs == ()


PARAMS = """
asset: forecasts
inlets: [loads]
strategy: every_instance
partition: {segments: [small, big], column: model}
params:
  - {model: small, factor: 2}
  - {model: big, factor: 9}
sql: >-
  SELECT '{{ params.model }}' AS model, sum(amount) * {{ params.factor }} AS amount FROM {{ inlets.loads }}
"""


def test_each_segment_has_the_params_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, {**FILES, "assets/forecasts.yml": PARAMS})
    (tmp_path / "assets/bills.sql").unlink()
    load(tmp_path, 3, 0, "dwh")
    project = Project.load(tmp_path)
    assert [run.status for run in project.run(at="2025-03-02T00:00Z").runs] == ["success"] * 2
    rows = DeltaTable(tmp_path / "warehouse/forecasts").to_pyarrow_table().to_pylist()
    assert sorted((row["model"], row["amount"]) for row in rows) == [("big", 27), ("small", 6)]

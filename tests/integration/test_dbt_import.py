"""An imported dbt project computes the rows that dbt-duckdb computed (tests/features/dbt_import/expected_rows.py)."""

import json
import shutil
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from sparkassets import Project
from sparkassets.cli import main

pytestmark = [pytest.mark.spark, pytest.mark.alike]

HERE = Path(__file__).parents[1] / "features/dbt_import"
EXPECTED = json.loads((HERE / "expected.json").read_text("utf-8"))


def as_text(value):
    """A value as Python prints that of DuckDB, which has no zone and no trailing zeros."""
    if isinstance(value, datetime):
        return str(value.replace(tzinfo=None))
    return str(value.normalize()) if isinstance(value, Decimal) else str(value)


def stored(folder, wanted):
    """The rows of a table as texts, sorted, with the columns that dbt has."""
    rows = pa.table(DeltaTable(folder).scan().read_all()).to_pylist()
    return sorted(({name: as_text(row[name]) for name in wanted} for row in rows), key=str)


def expected(rows):
    numbers = {"amount", "revenue"}
    return sorted(
        (
            {name: as_text(Decimal(each)) if name in numbers and each != "None" else each for name, each in row.items()}
            for row in rows
        ),
        key=str,
    )


def test_every_table_has_the_rows_of_dbt_before_and_after_its_input_changed(tmp_path, spark):
    folder = tmp_path / "shop"
    assert main(["import", "dbt", str(HERE / "shop"), "--to", str(folder)]) == 0
    for moment in ("first", "later"):
        with Project.load(folder) as project:
            project.run(spark, at="2025-01-05T00:00")
        for name, rows in EXPECTED[moment].items():
            assert stored(folder / "warehouse" / name, rows[0]) == expected(rows), (moment, name)
        shutil.copy(HERE / "later_orders.csv", folder / "seeds/raw_orders.csv")


def test_a_row_whose_time_equals_the_highest_one_is_read_as_dbt_reads_it(tmp_path, spark):
    source = shutil.copytree(HERE / "shop", tmp_path / "dbt")
    model = source / "models/marts/latest_orders.sql"
    model.write_text(model.read_text("utf-8").replace("updated_at > (", "updated_at >= ("), "utf-8")
    folder = tmp_path / "shop"
    assert main(["import", "dbt", str(source), "--to", str(folder)]) == 0
    orders = folder / "seeds/raw_orders.csv"
    for added, found in (("", ["1", "2", "3", "5"]), ("7,a,100,placed,2025-01-03,2025-01-03 23:59:59\n", [*"12357"])):
        orders.write_text(orders.read_text("utf-8") + added, "utf-8")
        with Project.load(folder) as project:
            project.run(spark, at="2025-01-05T00:00")
        assert [row["order_id"] for row in stored(folder / "warehouse/latest_orders", ["order_id"])] == found

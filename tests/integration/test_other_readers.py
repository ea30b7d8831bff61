"""Every kind of table that runs write is read alike by Spark, delta-rs, pandas, Polars, pyarrow and DuckDB."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from textwrap import dedent

import pyarrow as pa
import pyarrow.dataset
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets import Project

duckdb = pytest.importorskip("duckdb")
polars = pytest.importorskip("polars")
pytestmark = pytest.mark.spark

FIRST = date(2025, 1, 1)
ROWS = "SELECT day, shop, id, amount FROM {{ inlets.sales }}"
TIMES = "{valid_from: since, valid_to: until, current: holds}"
HISTORY = f"write: {{upsert: {{keys: [shop], newest_by: [_at, _id], history: {TIMES}}}}}"
BY_DAY = "partition: {by: day, column: day}"
RULES = "validations: [{range: {amount: {max: 7}}, severity: drop}, {not_null: [shop], severity: quarantine}]"
ASSETS = {
    "by_day": f"{BY_DAY}\nsql: {ROWS}",
    "by_day_and_shop": f"partition: [{{by: day, column: day}}, {{segments: [de, fr], column: shop}}]\nsql: {ROWS} "
    "WHERE shop IS NOT NULL",
    "by_hour": "partition: {by: hour, column: at}\n"
    "sql: SELECT timestampadd(HOUR, id % 24, CAST(day AS TIMESTAMP)) AS at, id FROM {{ inlets.sales }}",
    "ruled": f"{BY_DAY}\n{RULES}\nsql: {ROWS}",
    "withheld": f"{BY_DAY}\nvalidations: [{{range: {{amount: {{max: 7}}}}}}]\nsql: {ROWS}",
    "whole": f"inlets: [sales]\nschedule: sales\n{RULES}\nsql: {ROWS}",
    "published": f"inlets: [sales]\nschedule: sales\nwrite: {{publish: {{keep: 3}}}}\n{RULES}\nsql: {ROWS}",
    "newest": "inlets: {sales: {read: changes}}\nwrite: {upsert: {keys: [id], newest_by: _at}}\n"
    f"sql: {ROWS.replace('amount', 'amount, day AS _at')}",
    "kept": f"inlets: {{sales: {{read: changes}}}}\n{HISTORY}\n"  # noqa: S608  a test's own
    "sql: SELECT coalesce(shop, '-') AS shop, amount, day AS _at, id AS _id FROM {{ inlets.sales }}",
    "shared": f"{BY_DAY}\nsql: {ROWS.replace('shop, ', '')}",
}


def project(folder: Path) -> Path:
    """Tables of every kind, over a table of sales."""
    home = folder / "conf"
    (home / "assets").mkdir(parents=True)
    settings = "spark: {sparkassets.small_data: 'true'}\ndefaults: {retries: 0, unchanged: skip}\n"
    (home / "project.yml").write_text(f"project: shop\nwarehouse: ../warehouse\nstate: ../state\n{settings}")
    source = "asset: sales\nsource: delta\npath: ../sales\npartition: {by: day, column: day}\n"
    (home / "assets/sales.yml").write_text(source)
    for name, text in ASSETS.items():
        (home / f"assets/{name}.yml").write_text(dedent(f"asset: {name}\n{text}\n"))
    return home


def sell(folder: Path, day: int) -> None:
    """A day's sales, of which rules take some."""
    shops = ["de", "fr", None, "de"]
    rows = [
        {"day": FIRST + timedelta(day), "shop": shop, "id": day * 10 + n, "amount": (n + day) % 9}
        for n, shop in enumerate([*shops, *shops])
    ]
    schema = pa.schema([("day", pa.date32()), ("shop", pa.string()), ("id", pa.int64()), ("amount", pa.int64())])
    write_deltalake(folder / "sales", pa.Table.from_pylist(rows, schema), mode="append")


def tables(folder: Path) -> list[Path]:
    """All tables that were written: of assets, beside them, and iterations; those of the state, too."""
    logs = [log.parent for place in ("warehouse", "state") for log in (folder / place).rglob("_delta_log")]
    return sorted(path for path in logs if any((path / "_delta_log").glob("*.json")))


def told(rows: list[dict[str, object]]) -> list[str]:
    """Rows as text, sorted; instants of Spark are in UTC, and do not say so."""
    return sorted(str(sorted((key, str(value).removesuffix("+00:00")) for key, value in row.items())) for row in rows)


def read_by_all(spark, path: Path) -> dict[str, list[dict[str, object]]]:
    """The rows as each reader has them."""
    there = DeltaTable(path)
    files, names = there.file_uris(), [field.name for field in there.schema().fields]
    hive = pyarrow.dataset.dataset(files, partitioning="hive", schema=None)
    found = {
        "spark": [row.asDict() for row in spark.read.format("delta").load(str(path)).collect()],
        "delta-rs": pa.table(there.scan().read_all()).to_pylist(),
        "pandas": pa.Table.from_pandas(there.to_pandas(types_mapper=_as_arrow), preserve_index=False).to_pylist(),
        "polars": polars.read_delta(str(path)).to_dicts(),
    }
    relation = duckdb.connect().read_parquet(files, union_by_name=True, hive_partitioning=True)
    assert set(relation.columns) == set(names), ("duckdb", path)
    assert set(hive.schema.names) == set(names), ("pyarrow", path)
    assert hive.count_rows() == relation.count("*").fetchall()[0][0] == len(found["spark"])
    return found


def _as_arrow(kind: pa.DataType) -> object:
    import pandas as pd

    return pd.ArrowDtype(kind)


def test_all_readers_see_the_same_columns_and_rows(spark, tmp_path):
    home = project(tmp_path)
    layout = pa.schema([("day", pa.date32()), ("id", pa.int64()), ("amount", pa.int64())])
    write_deltalake(tmp_path / "warehouse/shared", layout.empty_table())
    for days in ((0, 1, 2), (1, 3)):
        for day in days:
            sell(tmp_path, day)
        with Project.load(home) as project_:
            project_.run(spark, check=False)
    seen = tables(tmp_path)
    names = {str(path.relative_to(tmp_path / "warehouse")) for path in seen if "warehouse" in path.parts}
    assert names >= {*ASSETS, "ruled_quarantine", "whole_quarantine", "newest/_sparkassets/remembered"}
    for path in seen:
        paths = [add.removeprefix(f"{path}/") for add in DeltaTable(path).file_uris()]
        columns = set(DeltaTable(path).metadata().partition_columns)
        keys = {part.partition("=")[0] for each in paths for part in each.split("/")[:-1] if "=" in part}
        assert keys <= columns, path
        if "warehouse" in path.parts:
            found = read_by_all(spark, path)
            expected = told(found["spark"])
            assert {name: told(rows) for name, rows in found.items()} == dict.fromkeys(found, expected), path

"""Every kind of table that runs write is read alike by Spark, delta-rs, pandas, Polars, pyarrow and DuckDB.

`make matrix ONLY=readers` has DuckDB's own reader of Delta and the oldest Spark as well.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Collection, Mapping
from datetime import date, timedelta
from pathlib import Path
from textwrap import dedent

import pyarrow as pa
import pyarrow.dataset
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets import Project
from tests.depth import deep
from tests.matrix.suites import environment_of

duckdb = pytest.importorskip("duckdb")
polars = pytest.importorskip("polars")
pytestmark = pytest.mark.spark

FIRST = date(2025, 1, 1)
ROWS = "SELECT day, shop, id, amount FROM {{ inlets.sales }}"
TIMES = "{valid_from: since, valid_to: until, current: holds}"
HISTORY = f"write: {{upsert: {{keys: [shop], newest_by: [_at, _id], history: {TIMES}}}}}"
BY_DAY = "partition: {by: day, column: day}"
RULES = "validations: [{range: {amount: {max: 7}}, severity: drop}, {not_null: [shop], severity: quarantine}]"
DELETED = (
    "inlets: {sales: {read: changes}}\nwrite: {upsert: {keys: [id], newest_by: _at, delete_when: amount > 6}}\n"
    f"sql: {ROWS.replace('amount', 'amount, day AS _at')}"
)
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
    "appended": f"inlets: {{sales: {{read: changes}}}}\nwrite: append\nsql: {ROWS}",
    "grown": f"{BY_DAY}\nschema: add_columns\nsql: {ROWS.replace('day', 'dayGROWN')}",
    "widened": f"{BY_DAY}\nschema: evolve\nsql: {ROWS.replace('amount', 'CAST(amount AS WIDE) AS amount')}",
    "deleted": DELETED,
    "followed": f"{BY_DAY}\nproperties: {{delta.enableChangeDataFeed: 'true'}}\nsql: {ROWS}",
    "vectors": f"properties: {{delta.enableDeletionVectors: 'true'}}\n{DELETED}",
}
"""An asset for each write mode, for changed columns, and for rows that are deleted."""
BEFORE, AFTER = {"GROWN": "", "WIDE": "INT"}, {"GROWN": ", upper(shop) AS code", "WIDE": "BIGINT"}
"""What changes in the queries between the two invocations."""
USUAL = {"by_day", "published", "kept", "grown", "vectors"}
"""An asset for each way to commit: `make test` has these alone, the suite of readers and `make deep` all."""
KINDS = [name if name in USUAL or environment_of("readers") else deep(name) for name in ASSETS]
REFUSED = {
    ("widened", "spark 3.5"): "upgrade to Delta 4.0 or higher to read this table",
    ("widened", "delta-rs"): "Unsupported table features required: [TypeWidening]",
    ("widened", "pandas"): "{'typeWidening'} but these are not yet supported",
    ("widened", "polars"): "['typeWidening'], which polars does not support",
    ("vectors", "pandas"): "{'deletionVectors'} but these are not yet supported",
}
"""Tables with a feature that a reader lacks, and what it says."""
CHANGED = {"grown", "widened"}
"""Tables whose files have not all the same columns: Spark commits these, and repeats partition columns in files."""


def project(folder: Path, kinds: Collection[str]) -> Path:
    """Tables of these kinds, over a table of sales."""
    home = folder / "conf"
    (home / "assets").mkdir(parents=True)
    settings = "spark: {sparkassets.small_data: 'true'}\ndefaults: {retries: 0, unchanged: skip}\n"
    (home / "project.yml").write_text(f"project: shop\nwarehouse: ../warehouse\nstate: ../state\n{settings}")
    source = "asset: sales\nsource: delta\npath: ../sales\npartition: {by: day, column: day}\n"
    (home / "assets/sales.yml").write_text(source)
    declare(home, kinds, BEFORE)
    return home


def declare(home: Path, kinds: Collection[str], words: Mapping[str, str]) -> None:
    """Writes these assets, with what stands for each word in their queries."""
    for name in kinds:
        text = ASSETS[name]
        for word, meaning in words.items():
            text = text.replace(word, meaning)
        (home / f"assets/{name}.yml").write_text(dedent(f"asset: {name}\n{text}\n"))


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


def sorted_texts(rows: list[dict[str, object]]) -> list[str]:
    """Rows as text, sorted; instants of Spark are in UTC, and do not say so."""
    return sorted(str(sorted((key, str(value).removesuffix("+00:00")) for key, value in row.items())) for row in rows)


def read_by_all(spark, path: Path) -> dict[str, list[dict[str, object]] | str]:
    """The rows as each reader has them, or the message of one that refuses the table."""
    there = DeltaTable(path)
    files, names = there.file_uris(), [field.name for field in there.schema().fields]
    readers = {
        "spark": lambda: [row.asDict() for row in spark.read.format("delta").load(str(path)).collect()],
        "delta-rs": lambda: rows_of(there),
        "pandas": lambda: pa.Table.from_pandas(
            there.to_pandas(types_mapper=_as_arrow), preserve_index=False
        ).to_pylist(),
        "polars": lambda: polars.read_delta(str(path)).to_dicts(),
    }
    found = {}
    for reader, read in readers.items():
        try:
            found[reader] = read()
        except Exception as error:
            if (path.name, reader) not in REFUSED:
                raise
            found[reader] = str(error)
    if path.name not in CHANGED:
        hive = pyarrow.dataset.dataset(files, partitioning="hive", schema=None)
        relation = duckdb.connect().read_parquet(files, union_by_name=True, hive_partitioning=True)
        assert set(relation.columns) == set(names), ("duckdb", path)
        assert set(hive.schema.names) == set(names), ("pyarrow", path)
        assert hive.count_rows() == relation.count("*").fetchall()[0][0] == len(found["spark"])
    return found


def _as_arrow(kind: pa.DataType) -> object:
    import pandas as pd

    return pd.ArrowDtype(kind)


@pytest.fixture(scope="module")
def kinds(request):
    """Those of all assets whose tables are looked at."""
    items = [each for each in request.session.items if each.path == request.path and hasattr(each, "callspec")]
    return {each.callspec.params["kind"] for each in items} & ASSETS.keys()


@pytest.fixture(scope="module")
def lake(spark, kinds, tmp_path_factory):
    """The folder of the tables: written, changed by late rows and by other code, and one partition deleted."""
    folder = tmp_path_factory.mktemp("lake")
    home = project(folder, kinds)
    layout = pa.schema([("day", pa.date32()), ("id", pa.int64()), ("amount", pa.int64())])
    write_deltalake(folder / "warehouse/shared", layout.empty_table())
    for days, words in (((0, 1, 2), BEFORE), ((1, 3), AFTER)):
        for day in days:
            sell(folder, day)
        declare(home, kinds, words)
        with Project.load(home) as project_:
            project_.run(spark, check=False)
    DeltaTable(folder / "sales").delete("day = '2025-01-03'")
    with Project.load(home) as project_:
        project_.run(spark, check=False)
    return folder


@pytest.fixture(scope="module")
def read_elsewhere(lake):
    """By reader and table the rows as text, of the readers in an environment of their own; none without it."""
    elsewhere = environment_of("readers")
    if elsewhere is None:
        return {}
    script = Path(__file__).parents[1] / "matrix/read_tables.py"
    command = [elsewhere / "bin/python", script, *(path for path in tables(lake) if "warehouse" in path.parts)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_every_kind_of_table_is_there(lake, kinds):
    names = {str(path.relative_to(lake / "warehouse")) for path in tables(lake) if "warehouse" in path.parts}
    beside = {"published_quarantine", "kept/_sparkassets/remembered"}
    assert names >= {*kinds, *(name for name in beside if name.startswith(tuple(kinds)))}
    told = {
        "grown": lambda table: "code" in table.schema().to_json(),
        "widened": lambda table: '"long"' in table.schema().to_json(),
        "by_day": lambda table: "2025-01-03" not in str(rows_of(table)),  # the deleted partition
    }
    assert [name for name in kinds & told.keys() if not told[name](DeltaTable(lake / "warehouse" / name))] == []


def rows_of(table: DeltaTable) -> list[dict[str, object]]:
    return pa.table(table.scan().read_all()).to_pylist()


@pytest.mark.parametrize("kind", [*KINDS, "beside"])
def test_all_readers_see_the_same_columns_and_rows(spark, lake, read_elsewhere, kind):
    for path in tables(lake):
        asset = path.relative_to(lake / "warehouse").parts[0] if "warehouse" in path.parts else ""
        if asset != kind and (kind != "beside" or asset in ASSETS):
            continue
        paths = [add.removeprefix(f"{path}/") for add in DeltaTable(path).file_uris()]
        columns = set(DeltaTable(path).metadata().partition_columns)
        keys = {part.partition("=")[0] for each in paths for part in each.split("/")[:-1] if "=" in part}
        assert keys <= columns, path
        if asset:
            found = read_by_all(spark, path)
            found |= {reader: by_path[str(path)] for reader, by_path in read_elsewhere.items()}
            for reader in [each for each in found if (path.name, each) in REFUSED]:
                assert REFUSED[path.name, reader] in found.pop(reader)
            expected = sorted_texts(found["spark"])
            assert {reader: sorted_texts(rows) for reader, rows in found.items()} == dict.fromkeys(found, expected), (
                path
            )

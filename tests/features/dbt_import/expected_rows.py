"""Writes expected.json: the rows of every table of shop/ by dbt, before and after orders came that changed.

python -m venv /tmp/dbt && /tmp/dbt/bin/pip install dbt-core==1.10.23 dbt-duckdb==1.11.1
/tmp/dbt/bin/python tests/features/dbt_import/expected_rows.py
"""

import json
import os
import shutil
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
BATCHES = ["--event-time-start", "2025-01-01", "--event-time-end", "2025-01-05"]


def build(folder):
    """Seeds first: a source that a seed fills is no dependency of dbt's."""
    from dbt.cli.main import dbtRunner  # the environment of the tests has no dbt

    for command in (["seed"], ["run", *BATCHES], ["snapshot"]):
        ended = dbtRunner().invoke([*command, "--project-dir", str(folder), "--profiles-dir", str(folder)])
        if not ended.success:
            raise SystemExit(f"dbt {command[0]} failed: {ended.exception}")


def stored(folder):
    """The rows of each table as texts, sorted."""
    import duckdb

    with duckdb.connect(os.environ["SHOP_DB"]) as connection:
        query = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main' ORDER BY 1"
        tables = [name for (name,) in connection.execute(query).fetchall()]
        return {name: rows(connection.execute(f'SELECT * FROM main."{name}"')) for name in tables}  # noqa: S608


def rows(found):
    """Without the columns that a snapshot has for dbt alone."""
    names = [column[0] for column in found.description]
    wanted = [name for name in names if name not in ("dbt_scd_id", "dbt_updated_at")]
    records = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    return sorted(({name: str(each[name]) for name in wanted} for each in records), key=str)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        os.environ["SHOP_DB"] = f"{name}/shop.duckdb"
        project = Path(shutil.copytree(HERE / "shop", Path(name) / "shop"))
        build(project)
        found = {"first": stored(project)}
        shutil.copy(HERE / "later_orders.csv", project / "seeds/raw_orders.csv")
        build(project)
        found["later"] = stored(project)
    (HERE / "expected.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")

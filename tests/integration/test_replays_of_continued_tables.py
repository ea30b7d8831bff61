"""Replays of runs that added to their tables, merged into them or read them: they begin at the rows of before."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyarrow import parquet

from sparkassets import Project, RunError
from sparkassets.core.documents.table_difference import ReplayResult, RowCounts
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.ports import CommitStamp
from sparkassets.spark.upserts.upsert_memory import copy_memory
from tests.depth import deep
from tests.example_package import install_example
from tests.integration.test_branches_of_continued_tables import FILES, LATE, ROWS, SQL, land

pytestmark = pytest.mark.spark

READS = "inlets: {changes: {read: changes}}\n"
ORDERED = "upsert: {keys: [id], newest_by: lsn}"
PROJECT = {
    "project.yml": "project: shop\nstate: state\nwarehouse: warehouse\nassets: [assets/]\n"
    "defaults: {retries: 0}\npython: [continued_jobs]\n",
    "assets/changes.yml": "asset: changes\nsource: delta\npath: changes\n",
    "assets/given.yml": "asset: given\nsource: delta\npath: given\npartition: {by: day, column: day}\n",
    **{f"assets/{name}.yml": FILES[f"assets/{name}.yml"] for name in SQL},
    **{f"assets/{name}.sql": text.format("value") for name, text in SQL.items()},
    "assets/ordered.yml": f"asset: ordered\n{READS}write: {{{ORDERED}}}\n",
    "assets/ordered.sql": "SELECT id, value, lsn FROM {{ inlets.changes }} WHERE op <> 'd'\n",
    "assets/grown.yml": "asset: grown\nstrategy: full_refresh\ncolumns: {times: bigint, lsn: int}\n",
    "assets/grown.sql": "SELECT (SELECT count(*) FROM {{ outlets.grown }}) AS times, lsn FROM {{ inlets.changes }}\n",
    "assets/paid.yml": "asset: paid\npartition: {by: day, column: day}\nwrite: {mode: supplement, keys: [id]}\n"
    "columns: {day: string, id: bigint, name: string}\n"
    "validations: [{not_null: name, severity: drop}, {sql: id <> 13, name: lucky}]\n",
    "assets/paid.sql": "SELECT day, id, name FROM {{ inlets.given }}\n",
    "assets/split.yml": f"asset: split\npython: continued_jobs:split\n{READS}write: {{{ORDERED}}}\n"
    "outlets: {lines: {}, newest: {}}\n",
    "assets/facts.yml": f"asset: facts\npython: continued_jobs:facts\n{READS}strategy: latest_only\nwrite: append\n",
    "continued_jobs.py": "from pathlib import Path\n\n\ndef facts(changes):\n"
    "    factor = Path(__file__).with_name('factor').read_text()\n"
    "    return changes.selectExpr('id', f'lsn * {factor} AS lsn')\n\n\ndef split(changes):\n"
    "    rows = facts(changes).groupBy('id').max('lsn').toDF('id', 'lsn')\n"
    "    return {'lines': rows, 'newest': rows.filter('id > 1')}\n",
    "factor": "1",
}
DAYS = (
    [("2025-01-01", 1, "ann"), ("2025-01-01", 2, None), ("2025-01-02", 3, "bob")],
    [("2025-01-01", 1, None), ("2025-01-01", 4, "eve"), ("2025-01-02", 13, "bad")],
    [("2025-01-01", 4, "eva")],
)
CHANGES = (ROWS, LATE, [(5, "e", 11, "i"), (4, "", 12, "d")])
FUNCTIONS = ("facts", "split")
QUERIES = ("customers", "log", deep("prices"), deep("ordered"), deep("grown"), "paid")


def give_days(root: Path, rows: list[tuple[str, int, str | None]]) -> None:
    kinds = {"day": pa.string(), "id": pa.int64(), "name": pa.string()}
    columns = dict(zip(kinds, zip(*rows, strict=True), strict=True))
    table = pa.table({name: pa.array(columns[name], kind) for name, kind in kinds.items()})
    days = ", ".join(f"'{row[0]}'" for row in rows)
    how = {"predicate": f"day IN ({days})"} if (root / "given").exists() else {}
    write_deltalake(root / "given", table, mode="overwrite", **how)


def write_project(root: Path, names: tuple[str, ...]) -> None:
    sources = ("changes", "given")
    for name, text in PROJECT.items():
        if not name.startswith("assets/") or Path(name).stem in (*names, *sources):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)


def run_all(root: Path, spark, changes: int) -> dict[str, str]:
    """Lands the next rows and runs everything; returns the run of each asset."""
    land(spark, root, CHANGES[changes])
    give_days(root, DAYS[changes])
    return {each.asset: each.run for each in Project.load(root).run(spark, check=False).runs}


@pytest.fixture(scope="module")
def queries(request) -> set[str]:
    """The assets with a query that are looked at."""
    items = [each for each in request.session.items if each.path == request.path and hasattr(each, "callspec")]
    return {"customers", "paid", *(each.callspec.params["name"] for each in items)} - {*FUNCTIONS}


@pytest.fixture(scope="module")
def shop(spark, queries, tmp_path_factory) -> Iterator[tuple[Path, list[dict[str, str]]]]:
    """A project after three runs of each asset, with other code, another input and other rows in its tables since."""
    root = tmp_path_factory.mktemp("shop")
    with pytest.MonkeyPatch.context() as patch:
        install_example(root, patch)
        patch.setenv("SPARKASSETS_CACHE", str(root / "cache"))
        write_project(root, (*queries, *FUNCTIONS))
        runs = [run_all(root, spark, number) for number in range(3)]
        for name in queries:
            sql = root / f"assets/{name}.sql"
            column = {"customers": "_lsn", "prices": "_lsn", "paid": "id"}.get(name, "lsn")
            sql.write_text(f"SELECT * FROM ({sql.read_text()}) WHERE {column} > 9\n")  # noqa: S608  the test's own
            DeltaTable(root / "warehouse" / name).delete()
        land(spark, root, [(1, "other", 20, "u")])
        yield root, runs


def replay(root: Path, run: str, spark) -> ReplayResult:
    return Project.load(root).history.replay(run, spark)


@pytest.mark.parametrize("name", [*QUERIES, "facts", deep("split")])
def test_runs_give_what_they_published(shop, spark, name):
    root, runs = shop
    replayed = [replay(root, each[name], spark) for each in runs]
    assert [(each.is_equal, each.is_present_code) for each in replayed] == [(True, name in FUNCTIONS)] * 3
    assert not [*(root / "warehouse/_replays").iterdir()]


@contextmanager
def forged_commit(table: Path, run: str) -> Iterator[None]:
    """The commit of a run in a table, with a file in it that lacks the first row, as if somebody had edited it."""
    logs = (table / "_delta_log").glob("*.json")
    log = next(each for each in logs if f'\\"run\\":\\"{run}' in each.read_text() and '"add"' in each.read_text())
    before = log.read_text()
    actions = [json.loads(line) for line in before.splitlines()]
    added = next(each["add"] for each in actions if "add" in each)
    rows = parquet.ParquetFile(table / added["path"]).read()
    parquet.write_table(rows.slice(1), table / "forged.parquet")
    added.update(path="forged.parquet", size=(table / "forged.parquet").stat().st_size)
    added.pop("stats", None)
    log.write_text("\n".join(map(json.dumps, actions)))
    try:
        yield
    finally:
        log.write_text(before)


@pytest.mark.parametrize("name", QUERIES)
def test_a_row_that_somebody_took_from_the_commit_is_found(shop, spark, name):
    root, runs = shop
    with forged_commit(root / "warehouse" / name, runs[-1][name]):
        (difference,) = replay(root, runs[-1][name], spark).differences
    counts = difference.total_row_counts
    assert (counts.added, counts.removed, counts.changed) == (1, 0, 0)


def test_other_rows_are_found_in_each_table(shop, spark):
    root, runs = shop
    (root / "factor").write_text("2")
    try:
        found = {name: replay(root, runs[-1][name], spark) for name in FUNCTIONS}
    finally:
        (root / "factor").write_text("1")
    assert [each.total_row_counts for each in found["facts"].differences] == [RowCounts(added=2, removed=2)]
    counts = {each.asset: each.total_row_counts for each in found["split"].differences}
    assert counts == {"lines": RowCounts(changed=2, same=3), "newest": RowCounts(changed=2, same=2)}


def test_only_published_partitions_are_compared(shop, spark):
    root, runs = shop
    (difference,) = replay(root, runs[1]["paid"], spark).differences
    assert [counts for _, counts in difference.rows.partitions] == [RowCounts(same=2)]  # 2025-01-02 was withheld


def test_deletions_are_as_old_as_they_were_then(shop, spark, tmp_path):
    table = shop[0] / "warehouse/customers"
    app = next(iter(json.loads(each["userMetadata"]) for each in DeltaTable(table).history() if "userMetadata" in each))
    stamp = CommitStamp(app["app"], 1, 1, "copied", 0, "layout")
    source, target = (StorageLocation(str(place), str(place)) for place in (table, tmp_path / "copy"))
    as_of = datetime.now(UTC) + timedelta(days=1)
    version = DeltaTable(table).version()
    copied = copy_memory(spark, source, target, version=version, app=app["app"], stamp=stamp, as_of=as_of)
    memories = [f"{each.path}/_sparkassets/remembered" for each in (source, target)]
    old, new = (spark.read.format("delta").load(each).selectExpr("max(at)").head()[0] for each in memories)
    assert copied == 0
    assert timedelta(hours=23) < old - new < timedelta(hours=25)


@pytest.fixture
def gone(tmp_path, spark, monkeypatch) -> tuple[Path, dict[str, str]]:
    """A project with two tables, and the second run of each."""
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))
    write_project(tmp_path, ("customers", "log"))
    return tmp_path, [run_all(tmp_path, spark, number) for number in range(2)][1]


def test_what_is_gone_is_named(gone, spark):
    root, runs = gone
    table = root / "warehouse/log"
    DeltaTable(table).optimize.compact()
    assert replay(root, runs["log"], spark).is_equal
    DeltaTable(table).vacuum(0, enforce_retention_duration=False, dry_run=False)
    with pytest.raises(RunError, match=r"version 1 of log; VACUUM"):
        replay(root, runs["log"], spark)
    table = root / "warehouse/customers"
    shutil.rmtree(table / "_sparkassets/remembered")
    with pytest.raises(RunError, match=r"versions 0 and 1 of customers; VACUUM"):
        replay(root, runs["customers"], spark)
    DeltaTable(table).create_checkpoint()
    for version in range(DeltaTable(table).version() + 1):
        (table / f"_delta_log/{version:020}.json").unlink()
    with pytest.raises(RunError, match=r"version 1, which run .* made, is no longer in the table's log"):
        replay(root, runs["customers"], spark)
    assert not [*(root / "warehouse/_replays").iterdir()]

"""Upserts, histories and appends are promoted on Spark: the base goes on as if the new code had computed it alone."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from sparkassets import Project, RunFailedError
from sparkassets.core.results import Summary
from sparkassets.spark.upserts.upsert_memory import copy_memory
from sparkassets.spark.writes import modes

pytestmark = pytest.mark.spark

CONTINUED = "inlets: {changes: {read: changes}}\nwrite: {upsert: {keys: [id], delete_when: \"_op = 'd'\", "
FILES = {
    "project.yml": "project: shop\nstate: ../state\nwarehouse: ../warehouse\nassets: [assets/]\n"
    "defaults: {retries: 0}\n",
    "assets/changes.yml": "asset: changes\nsource: delta\npath: ../changes\n",
    "assets/customers.yml": f"asset: customers\n{CONTINUED} newest_by: _lsn}}}}\n",
    "assets/log.yml": "asset: log\ninlets: {changes: {read: changes}}\nstrategy: latest_only\nwrite: append\n",
    "assets/prices.yml": f"asset: prices\n{CONTINUED} newest_by: [_at, _lsn],\n"
    "  history: {valid_from: since, valid_to: until, current: holds}}}\n",
}
BEST = "SELECT {}(lsn) AS lsn FROM {{{{ inlets.changes }}}}"
PUBLISHED = "asset: best\ninlets: {changes: {}}\nwrite: {publish: {keep: 3}}\n"
SQL = {
    "customers": "SELECT id, {} AS value, lsn AS _lsn, op AS _op FROM {{{{ inlets.changes }}}}",
    "log": "SELECT id, {} AS value, lsn, op FROM {{{{ inlets.changes }}}}",
    "prices": "SELECT id, {} AS value, at AS _at, lsn AS _lsn, op AS _op FROM {{{{ inlets.changes }}}}",
}
ROWS = [(1, "a", 1, "i"), (2, "b", 2, "i"), (3, "c", 3, "i"), (2, "", 6, "d"), (1, "A", 7, "u"), (3, "", 9, "d")]
LATE = [(2, "late", 4, "u"), (3, "late", 8, "u"), (1, "late", 5, "u"), (4, "d", 10, "i")]


def write(folder: Path, names: tuple[str, ...], value: str) -> Path:
    """A checkout of these assets, with that value in all queries."""
    files = {f"assets/{name}.yml": FILES[f"assets/{name}.yml"] for name in (*names, "changes")}
    queries = {f"assets/{name}.sql": SQL[name].format(value) for name in names}
    for name, text in {"project.yml": FILES["project.yml"], **files, **queries}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def land(spark, root: Path, rows: list[tuple[object, ...]]) -> None:
    frame = spark.createDataFrame(rows, "id bigint, value string, lsn int, op string")
    frame = frame.selectExpr("*", "timestamp'2025-01-01' + make_interval(0, 0, 0, 0, lsn) AS at")
    frame.coalesce(1).write.format("delta").mode("append").save(str(root / "changes"))


def held(spark, root: Path, name: str) -> list[tuple[str, ...]]:
    rows = spark.read.format("delta").load(str(root / "warehouse" / name)).collect()
    return sorted(tuple(map(str, row)) for row in rows)


def run(spark, folder: Path) -> Summary:
    return Project.load(folder, env={}).run(spark)


def die_afterwards(*args: Any, **more: Any) -> None:
    """Commits the memory of an upsert, and nothing after it."""
    copy_memory(*args, **more)
    raise RuntimeError("the driver died")


@pytest.mark.spark_alone  # reads changes
@pytest.mark.parametrize(
    "names", [("customers",), pytest.param(("log", "prices"), marks=pytest.mark.deep)], ids=["upsert", "others"]
)
def test_what_is_promoted_goes_on_as_if_the_new_code_had_run_in_the_base(names, spark, tmp_path, monkeypatch):
    one, other = tmp_path / "one", tmp_path / "other"
    prod, dev = write(one / "prod", names, "value"), write(one / "dev", names, "upper(value)")
    alone = write(other / "prod", names, "upper(value)")
    land(spark, one, ROWS)
    shutil.copytree(one / "changes", other / "changes")
    run(spark, prod)
    run(spark, alone)
    project = Project.load(dev, env={})
    assert len(project.branches.open("dev").run(spark).runs) == len(names)
    assert {wait.asset for wait in project.branches.plan_promotion("dev").waiting if wait.stuck} == set(names)
    if "customers" in names:
        monkeypatch.setattr(modes, "copy_memory", die_afterwards)
        with pytest.raises(RunFailedError, match="the driver died"):
            project.branches.promote("dev", spark, rebuild=True)
        monkeypatch.undo()
    assert len(project.branches.promote("dev", spark, rebuild=True).runs) == len(names)
    project.branches.drop("dev")
    for root, checkout in ((one, dev), (other, alone)):
        land(spark, root, LATE)
        assert len(run(spark, checkout).runs) == len(names)
    found = {name: held(spark, one, name) for name in names}
    assert found == {name: held(spark, other, name) for name in names}
    assert found.get("customers") in (None, [("1", "A"), ("4", "D")])


@pytest.mark.alike
def test_a_branch_is_promoted_as_a_new_iteration(spark, tmp_path):
    prod, dev = write(tmp_path / "prod", (), ""), write(tmp_path / "dev", (), "")
    for folder, aggregate in ((prod, "min"), (dev, "max")):
        (folder / "assets/best.yml").write_text(PUBLISHED)
        (folder / "assets/best.sql").write_text(BEST.format(aggregate))
    land(spark, tmp_path, ROWS)
    run(spark, prod)
    project = Project.load(dev, env={})
    assert project.branches.open("dev").run(spark).ok
    assert len(project.branches.promote("dev", spark).runs) == 1
    project.branches.drop("dev")
    assert held(spark, tmp_path, "best") == [("9",)]
    assert [each.newest for each in project.history.iterations("best")] == [True, False]
    land(spark, tmp_path, LATE)
    assert len(run(spark, dev).runs) == 1
    assert held(spark, tmp_path, "best") == [("10",)]

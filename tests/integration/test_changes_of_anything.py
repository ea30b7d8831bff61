"""Whatever happens to a table: what is upserted from its changes is the table, what is appended is every change once.

One long random history with every kind of commit, cut into ticks; some drivers die when a run is in its table and not
recorded. The oracle is made of the table's versions themselves, each compared with the one before.
"""

from __future__ import annotations

import random
from collections import Counter
from textwrap import dedent

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from sparkassets import Project
from sparkassets.runtime.outcomes import CommittedRun
from sparkassets.runtime.run_recorder import RunRecorder
from tests.depth import deep, examples
from tests.e2e.projects import rows as table_rows
from tests.e2e.projects import write
from tests.integration.test_changes import Orders

pytestmark = pytest.mark.spark

FILES = {
    "project.yml": "project: shop\nstate: state\nwarehouse: warehouse\nassets: [.]\n",
    "items.yml": "asset: items\nsource: delta\npath: lake/items\n",
    "copy.yml": """
        asset: copy
        inlets: {items: {read: changes}}
        write: {upsert: {keys: [id]}}
        sql: SELECT id, name, _change_type, _commit_version FROM {{ inlets.items }}
    """,
    "log.yml": """
        asset: log
        inlets: {items: {read: changes}}
        write: append
        sql: SELECT id, name, _change_type AS change, _commit_version AS version FROM {{ inlets.items }}
    """,
}
GOES = {"delete", "update_preimage"}


class Killed(BaseException):
    """What happens to a driver: nothing after it runs."""


COMMITS = [
    "INSERT INTO {orders} VALUES ({new_id}, {name})",
    "UPDATE {orders} SET name = {name} WHERE id % 4 = {some}",
    "UPDATE {orders} SET id = id + {step} WHERE id % 4 = {some} AND id < 8",
    "DELETE FROM {orders} WHERE id % 4 = {some}",
    "INSERT OVERWRITE {orders} SELECT CAST(id AS INT), IF(id % 3 = 0, {name}, 'same') FROM range({last})",
    "INSERT OVERWRITE {orders} SELECT CAST(id AS INT), IF(id % 3 = 1, {name}, 'same') FROM range({last})",
    "RESTORE {orders} TO VERSION AS OF {version}",
    "OPTIMIZE {orders}",
]


def change(rng, items, number):
    """Some commit; ``number`` is in no row yet, and no two rows have one id."""
    values = {
        "new_id": 1000 + number,
        "name": f"'{number}'",
        "some": rng.randrange(4),
        "step": 10_000 * number,
        "last": rng.randrange(8, 16),
        "version": rng.randrange(1, items.version + 1),
    }
    statement = rng.choice(COMMITS)
    for name, value in values.items():
        statement = statement.replace(f"{{{name}}}", str(value))
    items(statement)


def dying(project, spark, monkeypatch):
    """A driver that dies when its run is in the table, and has not said so; not at all where nothing is due."""

    def killed(recorder, _):
        assert [type(end.outcome) for end in recorder._active.ended] == [CommittedRun]
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(RunRecorder, "record_ended", killed)
        try:
            project.run(spark, select=["log"])
        except Killed:
            return True
    return False


def held(items, version):
    """The rows of a version."""
    read = pa.table(DeltaTable(items.path, version=version).scan().read_all())
    return Counter(zip(read.column("id").to_pylist(), read.column("name").to_pylist(), strict=True))


def changes(items, first):
    """By version what it brought and took, all of the first."""
    found = {first: dict(held(items, first))}
    for version in range(first + 1, items.version + 1):
        before, after = held(items, version - 1), held(items, version)
        found[version] = {row: after[row] - before[row] for row in before | after if after[row] != before[row]}
    return {version: each for version, each in found.items() if each}


def logged(folder):
    """By version what the log says it brought and took; a row that a version both took and brought is an update's."""
    rows = table_rows(folder / "warehouse/log", "id", "name", "change", "version")
    found: dict[int, Counter] = {}
    for number, name, kind, version in rows:
        found.setdefault(version, Counter())[number, name] += -1 if kind in GOES else 1
    plain = Counter((number, name, version) for number, name, kind, version in rows if not kind.startswith("update"))
    assert set(plain.values()) <= {1}
    return {version: {row: n for row, n in each.items() if n} for version, each in found.items()}


@pytest.mark.parametrize("ticks", [2, deep(4)])
@pytest.mark.parametrize("seed", range(examples(1)))
def test_copy_and_log_are_what_the_versions_of_the_table_are(spark, tmp_path, monkeypatch, seed, ticks):
    rng, folder = random.Random(seed), write(tmp_path, {name: dedent(text) for name, text in FILES.items()})  # noqa: S311
    items = Orders(spark, tmp_path / "lake/items", columns="id INT, name STRING")
    items("INSERT INTO {orders} SELECT CAST(id AS INT), 'first' FROM range(12)")
    monkeypatch.setattr("sparkassets.wiring.project.any_alive", lambda _: False)  # a claim that is left is of the dead
    project, deaths, number = Project.load(folder, env={}), 0, 0
    project.run(spark)
    for tick in range(ticks):
        for _ in range(rng.randint(2, 4)):
            number += 1
            change(rng, items, number)
        if tick % 2:
            deaths += dying(project, spark, monkeypatch)
        project.run(spark)
        assert Counter(table_rows(folder / "warehouse/copy", "id", "name")) == held(items, None)
        assert {v: each for v, each in logged(folder).items() if each} == changes(items, 1)
    assert deaths == ticks // 2
    assert project.run(spark).runs == ()

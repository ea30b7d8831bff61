"""Two drivers on one catalog, each in a session of its own: what one of them does the other does not do again."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from sparkassets import Project
from sparkassets.spark.commit_stamps import read_stamp
from tests.integration import catalogs

pytestmark = [pytest.mark.spark, pytest.mark.deep]

ASSETS = 3
ROUNDS = 3


@pytest.fixture
def schema(spark, tmp_path):
    with catalogs.schema(spark, tmp_path) as name:
        yield name


@pytest.fixture
def home(tmp_path, schema):
    folder = tmp_path / "conf"
    folder.mkdir()
    (folder / "project.yml").write_text("project: p\nstate: ../state\nassets: [assets.yml]\ndefaults: {retries: 0}\n")
    source = f"asset: raw\nsource: true\ntable: {schema}.raw\n"
    write = ("write: append", "write: {upsert: {keys: [id]}}", "write: append")
    assets = (
        f"asset: a{n}\ntable: {schema}.a{n}\ninlets: {{raw: {{read: changes}}}}\n{write[n]}\n"  # noqa: S608  a folder of the test
        "sql: SELECT id FROM {{ inlets.raw }}\n"
        for n in range(ASSETS)
    )
    (folder / "assets.yml").write_text("---\n".join([source, *assets]))
    return folder


def test_two_drivers_share_the_work(spark, home, schema):
    spark.sql(f"CREATE TABLE {schema}.raw (id INT) USING DELTA")
    sessions = [spark.newSession() for _ in range(2)]
    for number in range(1, ROUNDS + 1):
        spark.sql(f"INSERT INTO {schema}.raw VALUES ({number})")  # noqa: S608  a folder of the test
        with ThreadPoolExecutor(2) as pool:
            summaries = list(pool.map(lambda session: Project.load(home, env={}).run(session, check=False), sessions))
        assert [summary.failures for summary in summaries] == [(), ()]
        assert Project.load(home, env={}).run(spark).runs == ()
        for asset in (f"a{n}" for n in range(ASSETS)):
            assert [row.id for row in spark.table(f"{schema}.{asset}").orderBy("id").collect()] == [
                *range(1, number + 1)
            ]
    for asset in (f"a{n}" for n in range(ASSETS)):
        history = spark.sql(f"DESCRIBE HISTORY {schema}.{asset}").collect()
        told = [said for row in history if (said := read_stamp(row.asDict())) is not None and said["kind"] == "data"]
        recorded = [row.run for row in Project.load(home, env={}).history.rows(asset=asset, kinds=["success"])]
        assert Counter(each["run"] for each in told) == Counter(recorded)
        assert len(recorded) == ROUNDS

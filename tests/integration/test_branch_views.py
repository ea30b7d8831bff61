"""A branch in a catalog: a schema beside the base's has every asset under its usual name, own ones and reused ones."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from datetime import date

import pytest

from sparkassets import Project
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.ports.views import BranchViews, ShownTable
from sparkassets.spark.catalog_views import update_views
from tests.integration import catalogs

pytestmark = pytest.mark.spark

DAILY = "SELECT day, sum(amount) AS amount FROM {{ inlets.sales }} GROUP BY day\n"
FIRST, SECOND = date(2025, 1, 1), date(2025, 1, 2)


@pytest.fixture
def schema(spark, tmp_path):
    with catalogs.schema(spark, tmp_path) as name:
        yield name
        spark.sql(f"DROP SCHEMA IF EXISTS {name}__x100 CASCADE")


@pytest.fixture
def prod(spark, tmp_path, schema):
    """The base's checkout, which has run; nobody has written the source `later` yet."""
    folder = tmp_path / "prod"
    (folder / "assets").mkdir(parents=True)
    by_day = "partition: {by: day, column: day}\n"
    files = {
        "project.yml": "project: p\nstate: ../state\nwarehouse: ../lake\ndefaults: {retries: 0}\n",
        "assets/sales.yml": f"asset: sales\nsource: true\ntable: {schema}.sales\n{by_day}",
        "assets/later.yml": f"asset: later\nsource: true\ntable: {schema}.later\n{by_day}",
        "assets/daily.yml": f"asset: daily\ntable: {schema}.daily\n{by_day}",
        "assets/daily.sql": DAILY,
        "assets/total.yml": f"asset: total\ntable: {schema}.`order`\n",
        "assets/total.sql": "SELECT sum(amount) AS amount FROM {{ inlets.daily }}",
        "assets/days.yml": f"asset: days\ntable: {schema}.days\n",
        "assets/days.sql": "SELECT DISTINCT day FROM {{ inlets.sales }}",
        "assets/report.yml": "asset: report\n",
        "assets/report.sql": "SELECT count(*) AS days FROM {{ inlets.days }}",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    sell(spark, schema, (FIRST, 1), (SECOND, 2))
    Project.load(folder, env={}).run(spark)
    return folder


@pytest.fixture
def dev(prod, tmp_path):
    """Another checkout, in which `daily` counts a hundred times as much."""
    shutil.copytree(prod, tmp_path / "dev")
    (tmp_path / "dev/assets/daily.sql").write_text(DAILY.replace("sum(amount)", "sum(amount) * 100"))
    return tmp_path / "dev"


def sell(spark, schema: str, *sold: tuple[date, int]) -> None:
    frame = spark.createDataFrame(list(sold), "day date, amount int")
    frame.write.format("delta").mode("append").saveAsTable(f"{schema}.sales")


def views(spark, schema: str) -> set[str]:
    if not spark.catalog.databaseExists(schema):
        return set()
    return {row.viewName for row in spark.sql(f"SHOW VIEWS IN {schema}").collect() if not row.isTemporary}


def rows(spark, table: str) -> list[tuple]:
    return sorted(tuple(row) for row in spark.table(table).collect())


def run(spark, folder) -> list[str]:
    return [run.asset for run in Project.load(folder, env={}).branches.open("x100").run(spark).runs]


def test_a_branch_has_every_table_of_its_base_under_its_name(spark, prod, dev, schema):
    branch = f"{schema}__x100"
    assert run(spark, dev) == ["daily", "total"]
    assert views(spark, branch) == {"sales", "daily", "order", "days"}
    assert rows(spark, f"{branch}.daily") == [(FIRST, 100), (SECOND, 200)]
    assert rows(spark, f"{branch}.`order`") == [(300,)]
    assert rows(spark, f"{branch}.days") == [(FIRST,), (SECOND,)]

    sell(spark, schema, (date(2025, 1, 3), 3))
    spark.sql(f"CREATE TABLE {schema}.later (day DATE) USING DELTA")
    Project.load(prod, env={}).run(spark)
    assert len(rows(spark, f"{branch}.days")) == 3, "a reused table is shown as it is now"
    assert len(rows(spark, f"{branch}.daily")) == 2
    assert run(spark, dev) == ["daily", "total"]
    assert len(rows(spark, f"{branch}.daily")) == 3
    assert views(spark, branch) == {"sales", "daily", "order", "days", "later"}

    project = Project.load(dev, env={})
    assert [run.asset for run in project.branches.promote("x100", spark).runs] == ["daily", "total"]
    assert rows(spark, f"{schema}.daily") == rows(spark, f"{branch}.daily")
    assert not any(each.total_row_counts.has_differences for each in project.branches.diff("x100", spark))
    project.branches.drop("x100")
    assert not spark.catalog.databaseExists(branch)
    assert rows(spark, f"{schema}.`order`") == [(600,)]


def test_a_view_follows_what_becomes_own_and_goes_with_its_asset(spark, prod, dev, schema):
    branch = f"{schema}__x100"
    run(spark, dev)
    (dev / "assets/days.sql").write_text("SELECT DISTINCT day, 'x' AS kind FROM {{ inlets.sales }}")
    spark.sql(f"ALTER TABLE {schema}.sales ADD COLUMN shop STRING")
    assert run(spark, dev)[:1] == ["days"]
    assert rows(spark, f"{branch}.days") == [(FIRST, "x"), (SECOND, "x")]
    assert rows(spark, f"{schema}.days") == [(FIRST,), (SECOND,)]
    for name in ("days.yml", "days.sql", "report.yml", "report.sql"):
        (dev / "assets" / name).unlink()
    assert run(spark, dev) == []
    assert views(spark, branch) == {"sales", "daily", "order"}


def test_what_others_have_under_these_names_stays(spark, prod, dev, schema):
    branch = f"{schema}__x100"
    spark.sql(f"CREATE SCHEMA {branch}")
    spark.sql(f"CREATE TABLE {branch}.daily (their INT) USING DELTA")
    spark.sql(f"CREATE VIEW {branch}.days AS SELECT 'theirs' AS their")
    spark.sql(f"CREATE VIEW {branch}.another AS SELECT 'theirs' AS their")
    with pytest.warns(RuntimeWarning) as warned:
        run(spark, dev)
    (text,) = [str(each.message) for each in warned if "branch" in str(each.message)]
    for name in ("daily", "days"):
        assert f"{branch}.{name} is not a view of the branch, and stays as it is" in text
    assert views(spark, branch) == {"sales", "order", "days", "another"}
    Project.load(dev, env={}).branches.drop("x100")
    assert views(spark, branch) == {"days", "another"}
    assert rows(spark, f"{branch}.days") == rows(spark, f"{branch}.another") == [("theirs",)]
    assert rows(spark, f"{branch}.daily") == []


def test_a_sample_is_not_shown(spark, prod, dev, schema):
    project = Project.load(dev, env={})
    sample = project.branches.sample("x100", 1)
    project.branches.open("x100", sample=sample).run(spark, select=tuple(sample.partitions))
    assert not spark.catalog.databaseExists(f"{schema}__x100")
    project.branches.drop("x100")


class KilledError(BaseException):
    """In place of a signal that nobody can handle."""


class Mortal:
    """A session that dies before one of its statements."""

    def __init__(self, spark, statements: int) -> None:
        self.catalog, self._spark, self._left = spark.catalog, spark, statements

    def sql(self, statement: str):
        if not self._left:
            raise KilledError
        self._left -= 1
        return self._spark.sql(statement)


def survive(spark, wanted: BranchViews, prepare) -> Iterator[None]:
    """Kills an update before each of its statements in turn, and yields each time that it was done again."""
    for statements in range(100):
        prepare()
        try:
            update_views(Mortal(spark, statements), wanted)
        except KilledError:
            assert update_views(spark, wanted) == []
            yield
        else:
            return
    raise AssertionError


@pytest.fixture
def wanted(spark, schema):
    """Views of two tables, and then of the second and a third."""
    tables = {name: (schema, name) for name in ("a", "b", "c")}
    for name, table in tables.items():
        spark.sql(f"CREATE TABLE {schema}.{name} AS SELECT '{name}' AS name")
        tables[name] = table, ShownTable(StorageLocation.of_table(table), f"{name}@0")

    def of(**shown: str) -> BranchViews:
        names = {tables[name][0]: tables[other][1] for name, other in shown.items()}
        return BranchViews("x100", "journal/x100", {**dict.fromkeys(table for table, _ in tables.values()), **names})

    return of


def test_wherever_an_update_is_killed_the_next_one_completes_it(spark, schema, wanted):
    branch, before, after, none = f"{schema}__x100", wanted(a="a", b="b"), wanted(b="c", c="c"), wanted()
    kills = 0
    for _ in survive(spark, before, lambda: update_views(spark, none)):
        assert views(spark, branch) == {"a", "b"}
        kills += 1
    for _ in survive(spark, after, lambda: [update_views(spark, each) for each in (none, before)]):
        assert views(spark, branch) == {"b", "c"}
        assert rows(spark, f"{branch}.b") == [("c",)]
        kills += 1
    for _ in survive(spark, none, lambda: update_views(spark, before)):
        assert not spark.catalog.databaseExists(branch)
        kills += 1
    assert kills > 12


def test_two_drivers_at_once_make_each_view_once(spark, schema, wanted):
    answers: list[list[str]] = []
    for views_of_both in (wanted(a="a", b="b", c="c"), wanted(a="b", b="a"), wanted()):
        drivers = [
            threading.Thread(target=lambda each=views_of_both: answers.append(update_views(spark, each)))
            for _ in range(2)
        ]
        for driver in drivers:
            driver.start()
        for driver in drivers:
            driver.join()
    assert answers == [[]] * 6
    assert not spark.catalog.databaseExists(f"{schema}__x100")


def test_an_unchanged_view_is_not_made_again(spark, schema, wanted):
    asked: list[str] = []

    class Listening(Mortal):
        def sql(self, statement: str):
            asked.append(statement)
            return super().sql(statement)

    for _ in range(2):
        asked.clear()
        assert update_views(Listening(spark, 100), wanted(a="a", b="b")) == []
    assert not [each for each in asked if each.startswith("CREATE")]

"""What `render` prints is what a run computes: the statements are executed by hand beside the run."""

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets import InputError, Project, RunError

pytestmark = pytest.mark.spark

FILES = {
    "project.yml": "project: shop\nassets: [assets]\npython: [rendered_jobs]\n",
    "assets/orders.yml": (
        "asset: orders\nsource: delta\npath: lake/orders\npartition: [{by: day, column: day}, "
        "{segments: [de, nl], column: shop}]\n"
    ),
    "assets/landed.yml": "asset: landed\nsource: csv\npath: landing/{day}/*.csv\ncolumns: {id: bigint}\n"
    "partition: {by: day, column: day}\n",
    "assets/daily.yml": 'asset: daily\npath: lake/daily\nstart: 2025-01-01\nend: 2025-01-03\nparams: {note: "it\'s"}\n'
    "partition: [{by: day, column: day}, {segments: [de, nl], column: shop}]\n",
    "assets/daily.sql": (
        "WITH wanted AS (SELECT * FROM {{ inlets.orders }})\n"
        "SELECT day, shop, sum(id) AS total, {{ params.note }} AS note\n"
        "FROM wanted JOIN {{ partitions }} USING (day, shop) GROUP BY ALL\n"
    ),
    "assets/rows.yml": (
        "asset: rows\npath: lake/rows\npartition: {by: day, column: day}\nstart: 2025-01-01\nend: 2025-01-03\n"
    ),
    "assets/rows.sql": "SELECT day, id, note FROM {{ inlets.landed }}\n",
    "assets/doubled.yml": "asset: doubled\npath: lake/doubled\npython: rendered_jobs:double\n",
    "rendered_jobs.py": "def double(orders):\n    return orders.selectExpr('id * 2 AS id')\n",
    "assets/itself.yml": "asset: itself\npath: lake/itself\nwrite: self\nschedule: manual\n",
    "assets/itself.sql": "INSERT INTO {{ outlets.itself }} SELECT 1 AS id\n",
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))
    for name, text in FILES.items():
        file = tmp_path / "conf" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    days = [dt.date(2025, 1, 1), dt.date(2025, 1, 2)]
    orders = pa.table({"day": pa.array([*days, *days]), "shop": ["de", "nl", "nl", "de"], "id": [1, 2, 3, 4]})
    write_deltalake(tmp_path / "conf" / "lake" / "orders", orders)
    for day, names in zip(days, [("a", "b"), ("a,b", "c{d}")], strict=True):
        for name in names:
            landed = tmp_path / "conf" / "landing" / str(day) / f"{name}.csv"
            landed.parent.mkdir(parents=True, exist_ok=True)
            landed.write_text(f"id,note\n{day.day},it's\n")
    return Project.load(tmp_path / "conf")


def by_hand(spark, run):
    (code,) = run.code
    for statement in code.statements:
        frame = spark.sql(statement)
    return sorted(map(tuple, frame.collect()))


def written(project, name):
    table = DeltaTable(project.spec.assets[name].storage.path).to_pyarrow_table()
    return sorted(tuple(row.values()) for row in table.to_pylist())


@pytest.mark.parametrize("name", ["daily", "rows"])
def test_statements_compute_what_the_run_writes(project, spark, name):
    session = spark.newSession()
    rendered = by_hand(session, project.queries.render(name))
    shown = project.queries.compute(name, spark)
    project.run(spark, select=name)
    assert rendered == written(project, name) == sorted(shown.rows)
    assert sorted(project.queries.show(name).rows) == rendered


def test_of_one_partition_only_its_rows(project, spark):
    run = project.queries.render("daily", partition="2025-01-02,de")
    assert by_hand(spark.newSession(), run) == [(dt.date(2025, 1, 2), "de", 4, "it's")]
    project.run(spark, select="daily")
    assert project.queries.show("daily", partition="2025-01-02,de").rows == ((dt.date(2025, 1, 2), "de", 4, "it's"),)


def test_rows_of_a_query_with_two_columns_of_one_name_are_refused_in_a_sentence(project, spark):
    (Path(project.spec.root) / "assets/rows.sql").write_text("SELECT *, 1 AS id FROM {{ inlets.landed }}\n")
    with pytest.raises(RunError, match="rows: the result has the column 'id' more than once"):
        Project.load(project.spec.root).queries.compute("rows", spark=spark)


def test_a_function_is_computed_and_writes_nothing(project, spark):
    assert sorted(project.queries.compute("doubled", spark, limit=10).rows) == [(2,), (4,), (6,), (8,)]
    assert len(project.queries.compute("doubled", spark, limit=3).rows) == 3
    assert project.history.runs() == []


def test_code_that_writes_itself_is_not_run_to_be_shown(project, spark):
    with pytest.raises(InputError, match="the code of 'itself' writes files or its table itself"):
        project.queries.compute("itself", spark)

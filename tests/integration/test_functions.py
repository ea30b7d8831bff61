from __future__ import annotations

from datetime import UTC, date, datetime
from textwrap import dedent

import pytest

from sparkassets.errors import RunError
from sparkassets.spark.engine import SparkEngine
from tests.integration.orders import computed, execute, function, order, project, table, target

pytestmark = pytest.mark.spark


@pytest.fixture
def engine(spark):
    return SparkEngine(project(python=("tasks",)), spark)


@pytest.fixture
def tasks(tmp_path):
    """Writes the module ``tasks.work`` and returns the folder it is found in."""

    def write(code):
        package = tmp_path / "project" / "tasks"
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").touch()
        (package / "work.py").write_text(dedent(code), encoding="utf-8")
        return tmp_path / "project"

    return write


def failing(engine, run):
    with pytest.raises(RunError) as error:
        engine.compute(run, attempt=1)
    assert "\tat " not in str(error.value)
    return error.value


def test_a_function_gets_inlets_context_and_session_by_name(engine, spark, flights, tasks, tmp_path):
    folder = tasks("""
        def totals(context, flights, spark):
            context.extra["rows"] = flights.count()
            (only,) = context.partitions
            head = (context.asset, context.run_id, only.key, str(only.start), context.ds, context.params["n"])
            return spark.createDataFrame([head], "a string, run string, day string, start string, ds string, n int")
    """)
    body = function(folder, "totals", "context", "flights", "spark", inlets=["flights"])
    daily = table("daily", tmp_path, by="day", params={"n": 7}, **body)
    interval = (datetime(2013, 1, 3, tzinfo=UTC), datetime(2013, 1, 4, tzinfo=UTC))
    run = order(daily, flights, keys="2013-01-03", interval=interval)
    computation = execute(engine, run)
    assert computation.measures == {"extra": {"rows": 6}}
    expected = ("daily", run.run, "2013-01-03", "2013-01-03 00:00:00+00:00", "2013-01-03", 7)
    assert [tuple(row) for row in spark.read.format("delta").load(daily.storage.path).collect()] == [expected]
    (committed,) = target(engine, run).find_commits([run.run])
    assert committed.measures == {"extra": {"rows": 6}}


def test_functions_of_the_package_reach_the_workers(engine, flights, tasks, tmp_path):
    folder = tasks("""
        from pyspark.sql import functions as sql

        def double(value):
            return 2 * value

        def doubled(flights):
            return flights.select(sql.udf(double, "int")("delay").alias("delay")).distinct()
    """)
    run = order(table("report", tmp_path, **function(folder, "doubled", "flights", inlets=["flights"])), flights)
    assert computed(engine, run) == [(20,), (40,), (60,)]


def test_what_a_function_imports_on_a_worker_is_found_there(engine, flights, tasks, tmp_path):
    code = """
        from pyspark.sql import functions as sql

        def doubled(value):
            from tasks.factors import FACTOR
            return FACTOR * value

        def rows(flights):
            return flights.select(sql.udf(doubled, "int")("delay").alias("delay")).distinct()
    """
    folder = tasks(code)
    (folder / "tasks/factors.py").write_text("FACTOR = 2")
    run = order(table("report", tmp_path, **function(folder, "rows", "flights", inlets=["flights"])), flights)
    assert computed(engine, run) == [(20,), (40,), (60,)]


def test_what_a_worker_raises_has_the_line_of_the_file(engine, flights, tasks, tmp_path):
    folder = tasks("""
        from pyspark.sql import functions as sql

        def broken(value):
            raise ValueError(f"no {value}")

        def rows(flights):
            return flights.orderBy("day").limit(1).select(sql.udf(broken, "int")("day").alias("n"))
    """)
    run = order(table("report", tmp_path, **function(folder, "rows", "flights", inlets=["flights"])), flights)
    with pytest.raises(RunError) as error:
        execute(engine, run)
    assert str(error.value) == f"report: {folder}/tasks/work.py:5: ValueError: no 2013-01-01"


def test_what_a_function_raises_has_the_line_of_the_file_and_may_be_tried_again(engine, tasks, tmp_path):
    folder = tasks("""
        def fetch():
            return ask()

        def ask():
            raise ConnectionError("the service is away")
    """)
    error = failing(engine, order(table("report", tmp_path, **function(folder, "fetch"))))
    assert str(error) == f"{folder}/tasks/work.py:6: ConnectionError: the service is away"
    assert error.retryable
    assert isinstance(error.__cause__, ConnectionError)


@pytest.mark.spark_alone  # words its errors so
def test_what_spark_refuses_within_a_function_is_one_line(engine, flights, tasks, tmp_path):
    folder = tasks("""
        def rows(flights):
            return flights.select("dely")
    """)
    run = order(table("report", tmp_path, **function(folder, "rows", "flights", inlets=["flights"])), flights)
    error = failing(engine, run)
    assert str(error).startswith(f"{folder}/tasks/work.py:3: AnalysisException: [UNRESOLVED_COLUMN")
    assert "\n" not in str(error)
    assert not error.retryable


@pytest.mark.alike
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def rows(): return None", "asset.yml:3:1: tasks.work:rows returned nothing; expected a"),
        ("def rows(): return [1]", "asset.yml:3:1: tasks.work:rows returned a list; expected a"),
        (
            "import pyarrow\ndef rows(): return pyarrow.array([1])",
            "asset.yml:3:1: tasks.work:rows returned an Int64Array of pyarrow; expected a DataFrame",
        ),
        ("def other(): pass", "asset.yml:3:1: tasks.work has no function 'rows'"),
        ("rows = 1", "asset.yml:3:1: tasks.work has no function 'rows'"),
        ("import nosuch", "{folder}/tasks/work.py:1: tasks.work cannot be imported: ModuleNotFoundError: No module"),
        ("def rows(:", "{folder}/tasks/work.py:1: tasks.work cannot be imported: SyntaxError: "),
    ],
)
def test_functions_that_cannot_be_used(engine, tasks, tmp_path, code, message):
    folder = tasks(code)
    said = str(failing(engine, order(table("report", tmp_path, **function(folder, "rows")))))
    assert said.startswith(message.format(folder=folder))


@pytest.mark.alike
def test_a_package_that_is_not_installed_is_named(engine, tasks, tmp_path):
    folder = tasks("def rows():\n    import nosuch.parts")
    error = failing(engine, order(table("report", tmp_path, **function(folder, "rows"))))
    assert str(error) == (
        f"{folder}/tasks/work.py:2: ModuleNotFoundError: No module named 'nosuch'\n  hint: install the package "
        "that provides 'nosuch' where the driver runs, or move it beside the project's package 'tasks'"
    )


@pytest.mark.alike
def test_a_package_that_is_not_allowed_is_not_imported(spark, tasks, tmp_path):
    folder = tasks("raise SystemExit")
    error = failing(SparkEngine(project(), spark), order(table("report", tmp_path, **function(folder, "rows"))))
    assert str(error) == (
        "asset.yml:3:1: functions may not come from the package 'tasks'\n"
        "  hint: the project allows none; see 'python' in project.yml"
    )


@pytest.mark.alike
def test_extras_that_cannot_be_recorded_are_refused(engine, tasks, tmp_path):
    folder = tasks("""
        from datetime import date

        def rows(context, spark):
            context.extra["day"] = date(2013, 1, 1)
            return spark.range(1)
    """)
    said = str(failing(engine, order(table("report", tmp_path, **function(folder, "rows", "context", "spark")))))
    assert said == (
        "asset.yml:3:1: context.extra['day'] is a date, which cannot be recorded\n  hint: use text, numbers, or "
        "lists or dicts of these"
    )


@pytest.mark.alike
def test_two_projects_with_packages_of_one_name(engine, tasks, tmp_path):
    code = "def rows(spark): return spark.range({n}).selectExpr('id AS {name}')"
    first = tasks(code.format(n=1, name="a"))
    assert computed(engine, order(table("report", tmp_path, **function(first, "rows", "spark")))) == [(0,)]
    second = tmp_path / "second"
    first.rename(second)
    tasks(code.format(n=2, name="b"))
    assert computed(engine, order(table("report", tmp_path, **function(first, "rows", "spark")))) != []
    assert computed(engine, order(table("report", tmp_path, **function(second, "rows", "spark")))) == [(0,)]


@pytest.mark.alike
def test_a_package_without_init_file_is_not_hidden_by_another_projects(engine, tasks, tmp_path):
    code = "def rows(spark): return spark.range({n}).selectExpr('id AS {name}')"
    regular = tasks(code.format(n=1, name="a"))
    assert computed(engine, order(table("one", tmp_path, **function(regular, "rows", "spark")))) == [(0,)]
    for name in ("second", "third"):
        (tmp_path / name / "tasks").mkdir(parents=True)
    (tmp_path / "second/tasks/work.py").write_text(code.format(n=2, name="b"))
    (tmp_path / "third/tasks/work.py").write_text(code.format(n=3, name="c"))
    for folder, count in {"second": 2, "third": 3, "project": 1}.items():
        body = function(tmp_path / folder, "rows", "spark")
        assert len(computed(engine, order(table(folder, tmp_path, **body)))) == count


@pytest.mark.alike
def test_a_module_that_went_away_is_told_where_it_is_named(engine, tasks, tmp_path, monkeypatch):
    folder = tasks("def rows(): pass")
    monkeypatch.chdir(folder)
    (folder / "tasks/work.py").unlink()
    said = str(failing(engine, order(table("report", tmp_path, **function(folder, "rows")))))
    assert said == (
        "asset.yml:3:1: tasks.work cannot be imported: ModuleNotFoundError: No module named 'tasks.work'\n  hint: "
        "module 'tasks.work' not found in the project's package 'tasks'"
    )
    (folder / "tasks").rename(tmp_path / "elsewhere")
    empty = tmp_path / "empty"
    said = str(failing(engine, order(table("report", tmp_path, **function(empty, "rows")))))
    assert f"ModuleNotFoundError: No module named 'tasks' in {empty}\n  hint: module" in said


@pytest.mark.alike
def test_a_function_without_inlets_and_session(engine, tasks, tmp_path):
    folder = tasks("""
        from pyspark.sql import SparkSession

        def rows():
            return SparkSession.active().sql("SELECT DATE'2013-01-01' AS day")
    """)
    assert computed(engine, order(table("report", tmp_path, **function(folder, "rows")))) == [(date(2013, 1, 1),)]


WOULD_END_THE_PROCESS = "return, or raise an exception with a message: other runs share the process"


@pytest.mark.alike
@pytest.mark.parametrize(
    ("code", "message", "hint"),
    [
        ("import sys\ndef rows(): sys.exit(3)", "work.py:2: SystemExit: 3", WOULD_END_THE_PROCESS),
        ("raise SystemExit", "work.py:1: tasks.work cannot be imported: SystemExit", WOULD_END_THE_PROCESS),
        ("def rows():\n    yield {}\n    raise KeyboardInterrupt", "work.py:3: KeyboardInterrupt", None),
        (
            "class E(Exception):\n    def __str__(self): raise SystemExit\ndef rows(): raise E",
            "asset.yml:3:1: E, whose text is not available",
            "",
        ),
        (
            "def rows(): raise ExceptionGroup('both', [ValueError('a'), OSError('b')])",
            "work.py:1: ExceptionGroup: both (2 sub-exceptions): ValueError: a",
            "",
        ),
    ],
)
def test_whatever_a_function_raises_is_a_failure_of_its_run(engine, tasks, tmp_path, code, message, hint):
    run = order(table("out", tmp_path, **function(tasks(code), "rows")))
    error = failing(engine, run)
    assert str(error.args[0]).endswith(message)
    assert error.hint == (WOULD_END_THE_PROCESS if hint is None else hint or None)

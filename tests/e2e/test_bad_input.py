"""Bad input on real projects: the exit code, a sentence, no traceback, and nothing half done."""

from __future__ import annotations

import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
from deltalake import DeltaTable

from sparkassets import Project
from sparkassets.cli import main
from sparkassets.core.journal.rows import FORMAT
from tests.depth import deep
from tests.e2e.projects import rows, sell, write

PROJECT = {
    "project.yml": """
project: shop
state: ./state
warehouse: ./warehouse
assets: [assets/]
python: [tasks]
defaults: {retries: 0}
""",
    "assets/orders.yml": """
asset: orders
source: csv
path: landing/{day}.csv
columns: {id: bigint, amount: bigint}
partition: {by: day, column: day}
""",
    "assets/daily.yml": """
asset: daily
partition: {by: day, column: day}
sql: SELECT day, sum(amount) AS amount FROM {{ inlets.orders }} GROUP BY day
""",
    "landing/2025-01-01.csv": "id,amount\n1,10\n",
}
HEAD = "asset: daily\npartition: {by: day, column: day}\n"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The folder of a project, and the current one."""
    monkeypatch.chdir(tmp_path)
    return write(tmp_path, PROJECT)


@pytest.fixture
def run_in_home(home, capfd):
    """Runs a command on the project: (exit code, what people read); never with a traceback."""

    def run(*arguments):
        capfd.readouterr()
        code = main([*arguments, "--project", str(home)])
        out, err = capfd.readouterr()
        assert "Traceback" not in out + err
        assert "\tat " not in err, "a Java stack trace"
        return code, err

    return run


def everything(folder):
    """Every file below ``folder`` with its bytes."""
    return {file.relative_to(folder): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


# ------------------------------------------------------------------ the project's files, and what is typed


@pytest.mark.parametrize(
    ("daily", "message"),
    {
        "asset: daily\n  sql: SELECT 1\n": "daily.yml:2:6: a second ':' on the line, or a key that is not below",
        HEAD + "shedule: manual\n": "daily.yml:3:1: unknown key 'shedule' in asset 'daily'",
        HEAD + "sql: SELECT 1\nsql: SELECT 2\n": "daily.yml:4:1: the key 'sql' is defined twice; first in line 3",
        "asset: !!python/object:os.system daily\n": "daily.yml:1:8: the tag !!python/object:os.system is not allowed",
        HEAD: (
            "daily.yml:1:8: asset 'daily' has neither 'sql' nor 'python', and the file assets/daily.sql does not exist"
        ),
        HEAD + "sql: day.sql\n": "daily.yml:3:6: the file 'day.sql' does not exist",
        HEAD + "sql: SELECT {{ yesterday }}\n": "daily.yml:3:16: unknown name 'yesterday' in the template",
        HEAD + "sql: SELECT {{ inlets.__class__.__mro__ }}\n": "'__class__' is not allowed in the template's",
        HEAD + "sql: INSERT INTO x SELECT 1\n": "daily.yml:3:6: the SQL begins with 'INSERT'; expected one SELECT",
        HEAD + "python: tasks.work:daily\n": "module 'tasks.work' not found",
        HEAD + "python: os.path:join\n": (
            "the package 'os' is not allowed: it is not listed under 'python' in the project file"
        ),
        HEAD + "schedule: '0 0 31 2 *'\n": "cron '0 0 31 2 *' never fires",
    }.items(),
)
def test_a_project_that_is_wrong_does_nothing(home, run_in_home, daily, message):
    write(home, {"assets/daily.yml": daily})
    before = everything(home)
    code, err = run_in_home("run")
    assert code == 2
    assert message in err
    assert "in the project's files" in err
    assert everything(home) == before


def test_a_project_without_assets(home, run_in_home):
    shutil.rmtree(home / "assets")
    (home / "assets").mkdir()
    code, err = run_in_home("run")
    assert code == 2
    assert "the project has no assets" in err
    assert not (home / "state").exists()


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["run", "--select", "dayly"], "--select: no asset 'dayly' in project 'shop'", "did you mean 'daily'?"),
        (["run", "--at", "{{job.start}}"], "argument '{{job.start}}' still contains '{{'", "check its name"),
        (["run", "--at", "yesterday"], "'yesterday' is not an instant", "expected an ISO date or time"),
        (["backfill", "orders", "--partition", "2025-01-01"], "asset 'orders' is a source", "nothing to backfill"),
        (["backfill", "daily", "--partition", "2025-W01"], "'2025-W01' is not a partition key by day", "2013-01-05"),
        (["backfill", "daily"], "asset 'daily' has partitions", "--partition A..B"),
        (["backfill", "daily", "--interval", "2025-01-01"], "asset 'daily' has partitions", "--partition A..B"),
        (
            ["backfill", "daily", "--partition", "2025-01-02..2025-01-01"],
            "partition range '2025-01-02..2025-01-01' ends before it starts",
            "expected the older key first",
        ),
        (["explain", "daily", "--partition", "2025-01"], "'2025-01' is not a partition key by day", "2013-01-05"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_arguments_that_are_wrong_do_nothing(home, run_in_home, arguments, message, hint):
    before = everything(home)
    code, err = run_in_home(*arguments)
    assert code == 2
    assert message in err
    assert hint in err
    assert everything(home) == before


# ------------------------------------------------------------------ the state


def recorded(home):
    """Makes a state that holds something."""
    Project.load(home).events.add("orders", partition="2025-01-01")


def foreign(home):
    write(home, {"state/notes.txt": "mine"})


def a_file(home):
    write(home, {"state": "mine"})


def below_a_file(home):
    write(home, {"shelf": "mine", "project.yml": PROJECT["project.yml"].replace("./state", "./shelf/state")})


def another_table(home):
    sell(home / "state" / "journal", (1, "2025-01-01", 10))


def of_another_project(home):
    recorded(home)
    write(home, {"project.yml": PROJECT["project.yml"].replace("shop", "store")})


def newer(home):
    recorded(home)
    commit = home / "state" / "journal" / "_delta_log" / "00000000000000000000.json"
    text = commit.read_text("utf-8")
    commit.write_text(text.replace(f'"sparkassets.format":"{FORMAT}"', '"sparkassets.format":"99"'), "utf-8")
    assert commit.read_text("utf-8") != text


def with_a_gap(home):
    recorded(home)
    recorded(home)
    (home / "state" / "journal" / "_delta_log" / "00000000000000000001.json").unlink()


def without_its_files(home):
    recorded(home)
    for file in (home / "state" / "journal").glob("*.parquet"):
        file.unlink()


@pytest.mark.parametrize(
    ("damage", "message", "looks_too"),
    [
        (foreign, "is not a state: it has no journal, but contains notes.txt", False),
        (a_file, "is a file, not a folder", False),
        (below_a_file, "shelf, on the path of the state ", True),
        (another_table, "is a Delta table that sparkassets did not create", True),
        (of_another_project, "belongs to the project 'shop', not to 'store'", True),
        (newer, "has format 99, and this release reads formats up to 5", True),
        (with_a_gap, "is damaged: ", True),
        (without_its_files, "is damaged: ", True),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_state_that_cannot_be_used_is_not_touched(home, run_in_home, damage, message, looks_too):
    damage(home)
    before = everything(home)
    commands = [["run"], ["events", "add", "orders"], ["backfill", "daily", "--partition", "2025-01-01"]]
    for command in commands + [["plan"], ["status"]] * looks_too:
        code, err = run_in_home(*command)
        assert code == 3
        assert message in err
        assert "nothing was changed" in err
    assert everything(home) == before


@pytest.fixture
def read_only(home):
    """A project with a state that nobody may write to."""
    recorded(home)
    folders = [home / "state", *(path for path in (home / "state").rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    yield home
    for folder in folders:
        folder.chmod(0o755)


def test_a_state_that_is_read_only(read_only):
    before = everything(read_only)
    for *words, expected in (["plan", 0], ["run", 3], ["events", "add", "orders", 3]):
        command = [sys.executable, "-m", "tests.modes", *words, "--project", str(read_only)]
        ended = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
        assert ended.returncode == expected
        if expected:
            assert "error: cannot write to the table" in ended.stderr
            assert "the state must be writable for whoever runs the project; nothing was changed" in ended.stderr
    assert everything(read_only) == before


# ------------------------------------------------------------------ what only a run can tell


def function(body):
    return {
        "assets/daily.yml": HEAD + "python: tasks.work:daily\n",
        "tasks/work.py": f"def daily(orders):\n    {body}\n",
    }


def query(sql):
    return {"assets/daily.yml": f"{HEAD}sql: {sql} FROM {{{{ inlets.orders }}}}\n"}


@pytest.mark.spark
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            query("SELECT day + INTERVAL 1 DAY AS day, amount"),
            "daily: rows outside the run's partitions 2025-01-02: day is 2025-01-03; nothing was written",
        ),
        deep(
            query("SELECT CAST(NULL AS DATE) AS day, amount"),
            "daily: rows outside the run's partitions 2025-01-02: day is NULL; nothing was written",
        ),
        (
            query("SELECT day, 'x' AS amount"),
            "does not match the target: column 'amount' is string, but bigint in",
        ),
        (query("SELECT day, amont AS amount"), "with name `amont` cannot be resolved. Did you mean"),
        (query("SELECT day, sum(amount"), "assets/daily.yml:3: [PARSE_SYNTAX_ERROR] Syntax error at or near"),
        deep(query("SELECT day, CAST(raise_error('no such shop') AS BIGINT) AS amount"), "no such shop"),
        (function("raise ValueError('no such shop: 7')"), "work.py:2: ValueError: no such shop: 7"),
        deep(function("return 42"), "tasks.work:daily returned an int; expected a DataFrame of Spark"),
        deep(function("return None"), "tasks.work:daily returned nothing; expected a DataFrame of Spark"),
        deep(function("return orders.amont"), "amont"),
        ({"landing/2025-01-02.csv": "id,amount\n2,five\n"}, 'landing/2025-01-02.csv. For input string: "five"'),
        deep({"landing/2025-01-02.csv": "id,total\n2,5\n"}, "amount"),
    ],
)
def test_a_run_that_fails_leaves_its_target_as_it_was(home, run_in_home, spark, wrong, message):
    assert run_in_home("run")[0] == 0
    table = home / "warehouse" / "daily"
    schema = DeltaTable(table).schema()
    write(home, {"landing/2025-01-02.csv": "id,amount\n2,5\n", **wrong})
    code, err = run_in_home("run")
    assert code == 1
    assert message in err
    (failed,) = Project.load(home).history.runs(asset="daily", status="failed")
    assert message in failed.error
    assert "Traceback" in Path(failed.details).read_text("utf-8")
    assert rows(table, "day", "amount") == [(date.fromisoformat("2025-01-01"), 10)]
    assert DeltaTable(table).schema() == schema
    assert len(Project.load(home).history.events(asset="daily")) == 1
    assert dict(Project.load(home).partitions.statuses("daily")) == {"2025-01-01": "current", "2025-01-02": "failed"}
    write(home, {"landing/2025-01-02.csv": "id,amount\n2,5\n", "assets/daily.yml": PROJECT["assets/daily.yml"]})
    assert run_in_home("run")[0] == 0
    assert rows(table, "day", "amount") == [
        (date.fromisoformat("2025-01-01"), 10),
        (date.fromisoformat("2025-01-02"), 5),
    ]


@pytest.mark.spark
def test_a_source_that_vanished_is_named_and_the_rest_goes_on(home, run_in_home, spark):
    sell(home / "sales", (1, "2025-01-01", 10))
    source = "asset: sales\nsource: delta\npath: sales\n"
    write(
        home, {"assets/sales.yml": source, "assets/total.yml": "asset: total\nsql: SELECT * FROM {{ inlets.sales }}\n"}
    )
    assert run_in_home("run")[0] == 0
    shutil.rmtree(home / "sales")
    write(home, {"landing/2025-01-02.csv": "id,amount\n2,5\n"})
    code, err = run_in_home("run")
    assert code == 1
    assert "the source 'sales' vanished" in err
    assert rows(home / "warehouse" / "daily", "amount") == [(5,), (10,)]
    assert rows(home / "warehouse" / "total", "id", "amount") == [(1, 10)]


@pytest.mark.spark
def test_a_folder_of_files_that_vanished_is_named(home, run_in_home, spark):
    assert run_in_home("run")[0] == 0
    shutil.rmtree(home / "landing")
    code, err = run_in_home("run")
    assert code == 1
    assert "the source 'orders' vanished" in err
    assert rows(home / "warehouse" / "daily", "amount") == [(10,)]

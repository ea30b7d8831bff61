"""What each command loads: none starts Spark before something is due, and help loads next to nothing."""

import importlib.util
import json
import subprocess
import sys

LOADED = (
    "import json, sys\n"
    "from sparkassets.cli import main\n"
    "for line in sys.argv[1:]:\n"
    "    code = main(line.split())\n"
    "    print(json.dumps([line, code, sorted(sys.modules)]), file=sys.stderr)\n"
)
SPARK = {"pyspark", "py4j", "delta"}
HEAVY = SPARK | {"pandas", "numpy", "pyarrow", "rich", "pendulum", "detect_secrets", "requests"}
PARSING = {"sparkassets.core.timetables.parse", "sparkassets.core.conditions.parsing", "sparkassets.core.credentials"}
COMPILING = PARSING | {"pydantic", "yaml", "jinja2", "croniter"}
COMPILING |= {"sparkassets.core.spec.compilation", "sparkassets.core.query_text"}
SLOW = {"asyncio", "concurrent.futures", "difflib", "email", "random", "secrets", "shlex", "socket", "tempfile"}
SLOW |= {"unicodedata", "zoneinfo"}
"""Of the standard library, what takes milliseconds and a look has no use for."""


MOST_OWN_MODULES = 160
"""Of ours in a plan with nothing due: each takes some 0.25 ms at every start."""

LOOKS = """
plan
plan --json
status
validate
graph
schema
explain daily_revenue
partitions daily_revenue
runs
events list
backfill daily_revenue --partition 2025-01-01 --dry-run
"""


def loaded_by_each(*lines, cwd):
    """By command, in one process, the modules that are loaded when it ends."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *lines], cwd=cwd, capture_output=True, text=True, check=True, timeout=60
    )
    found = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("[")]
    assert [(line, code) for line, code, _ in found] == [(line, 0) for line in lines], done.stderr
    return {line: set(names) for line, _, names in found}


def loaded(*args, cwd):
    """The modules that a command has loaded when it ends."""
    line = " ".join(args)
    return loaded_by_each(line, cwd=cwd)[line]


def test_a_look_loads_nothing_heavy(shop):
    found = loaded_by_each(*LOOKS.split("\n")[1:-1], cwd=shop.parent)
    assert {line: names & HEAVY for line, names in found.items()} == {line: set() for line in found}


def test_a_journal_that_has_not_changed_needs_no_deltalake(shop):
    for landed in (shop / "landing/orders").iterdir():
        landed.unlink()
    assert "deltalake" in loaded("run", cwd=shop.parent)
    loaded("plan", cwd=shop.parent)
    found = loaded_by_each("plan", "status", "run", cwd=shop.parent)
    assert not any("deltalake" in names for names in found.values())


def test_what_is_compiled_is_not_compiled_again(shop):
    file = shop / "assets/daily_revenue.yml"
    file.write_text(f"{file.read_text()}\nowner: ${{HOME}}\n")
    for landed in (shop / "landing/orders").iterdir():
        landed.unlink()
    assert loaded("run", cwd=shop.parent) > COMPILING - {"croniter"}
    needless = COMPILING | SLOW | HEAVY | {"sparkassets.authoring"}
    found = loaded_by_each("plan", "status", "run", cwd=shop.parent)
    assert {line: names & needless for line, names in found.items()} == {line: set() for line in found}


def test_tests_that_were_read_are_not_read_again(shop):
    (shop / "tests").mkdir()
    (shop / "tests/revenue.yml").write_text("test: nothing comes\nsteps: [{at: 2025-01-05T06:00, runs: {}}]\n")
    assert loaded("test", cwd=shop.parent) > {"pydantic", "yaml"}
    assert not loaded("test", cwd=shop.parent) & {"pydantic", "yaml", "pyspark"}


def test_what_computes_loads_nothing_that_compiles(tmp_path):
    code = "import sys, sparkassets.spark.engine; print(sorted({'pydantic', 'yaml', 'sqlglot'} & {*sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_plan_loads_nothing_of_other_questions(shop):
    modules = ("explanation", "impact", "preview", "status")
    questions = {f"sparkassets.core.planner.explain.{name}" for name in modules}
    assert all(map(importlib.util.find_spec, questions))
    answers = {"sparkassets.cli.plan_details", "sparkassets.core.documents.table_difference"}
    assert not loaded("plan", cwd=shop.parent) & {*questions, *answers, "click.shell_completion"}


def test_what_only_writes_to_the_journal_loads_no_spark(shop):
    assert not loaded("events", "add", "orders", cwd=shop.parent) & SPARK


def test_a_start_with_nothing_due_loads_nothing_that_runs_or_records(shop):
    for landed in (shop / "landing/orders").iterdir():
        landed.unlink()
    loaded("run", cwd=shop.parent)
    loaded("plan", cwd=shop.parent)
    needless = {
        *(f"sparkassets.runtime.{name}" for name in ("claimed_runs", "execution", "requested_works", "run_recorder")),
        *("sparkassets.cli.progress_events", "sparkassets.core.documents.status", "sparkassets.core.journal.codec"),
        *(
            "sparkassets.core.planner.batch.backfill",
            "sparkassets.core.planner.batch.run_batches",
            "sparkassets.features.telemetry.log_capture",
        ),
    }
    assert all(map(importlib.util.find_spec, needless))
    found = loaded_by_each("plan", "status", "run", cwd=shop.parent)
    assert {line: names & {*needless, "logging"} for line, names in found.items()} == {line: set() for line in found}
    assert sum(name.startswith("sparkassets") for name in found["plan"]) <= MOST_OWN_MODULES


def test_a_run_with_nothing_due_loads_no_spark(shop):
    for file in (shop / "landing/orders").iterdir():
        file.unlink()
    assert not loaded("run", cwd=shop.parent) & SPARK
    assert not loaded("run", cwd=shop.parent) & HEAVY  # the journal is there now, and nothing is written


def test_help_loads_no_project(tmp_path):
    names = loaded("--help", cwd=tmp_path)
    assert not names & (HEAVY | {"pydantic", "deltalake", "jinja2", "yaml", "croniter", "pendulum", "tenacity"})


def test_the_package_itself_loads_next_to_nothing(tmp_path):
    code = "import sys, sparkassets; print(sorted(set(sys.modules) & {'click', 'pydantic', 'deltalake', 'pyspark'}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_only_the_process_of_its_own_looks_for_garbage_less_often(tmp_path):
    code = (
        "import atexit, gc, sys\nfrom sparkassets.cli import main\nbefore = gc.get_threshold()\nmain(['--help'])\n"
        "aside = gc.get_freeze_count()\n"
        "assert gc.get_threshold() == before\nsys.argv = ['sparkassets', '--help']\n"
        "atexit.register(lambda: print('left alone:', gc.get_freeze_count() > aside))\nmain()\n"
        "assert gc.get_threshold()[0] > before[0]\nprint('left alone:', gc.get_freeze_count() > aside)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-2:] == ["left alone: False", "left alone: True"]

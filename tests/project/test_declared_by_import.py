"""Modules that declare assets are imported in a process of its own, bounded, without a JVM; the result is kept."""

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from sparkassets.errors import FileLocation, SpecError
from sparkassets.project import declared, load_project

YAML = "asset: orders\nsource: csv\npath: landing/{day}.csv\npartition: {by: day, column: day}\n"


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes a project of these files below `jobs`; returns its folder."""
    monkeypatch.chdir(tmp_path)

    def written(files, yaml=YAML):
        (tmp_path / "conf/assets").mkdir(parents=True, exist_ok=True)
        (tmp_path / "conf/project.yml").write_text("project: shop\npython: [jobs]\n")
        (tmp_path / "conf/assets/given.yml").write_text(yaml)
        for name, text in files.items():
            file = tmp_path / "jobs" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(dedent(text), encoding="utf-8")
        return Path("conf")

    return written


def errors(folder, env=None):
    with pytest.raises(SpecError) as error:
        load_project(folder, env or {})
    return str(error.value)


LOOP = """
from sparkassets import asset

for region in ("de", "nl"):
    @asset(f"sales_{region}", description=region.upper(), retries=1)
    def sales(orders, context):
        return orders
"""


def test_assets_of_a_loop(write):
    known = {*sys.modules}  # a test before this one may have imported the `jobs` of the repository
    project = load_project(write({"made.py": LOOP}), {})
    assert list(project.assets) == ["orders", "sales_de", "sales_nl"]
    made = project.assets["sales_nl"]
    assert (made.description, made.location) == ("NL", FileLocation("jobs/made.py", 5, 12))
    body = made.body
    assert (body.module, body.function, body.arguments) == ("jobs.made", "sales", ("orders", "context"))
    assert body.location == FileLocation("jobs/made.py", 6, 5)
    assert "sparkassets_authoring_discovery" not in sys.modules
    assert "jobs" not in {*sys.modules} - known


def test_assets_of_a_factory_in_another_module(write):
    files = {
        "common/__init__.py": "",
        "common/made.py": """
            from sparkassets import asset

            def daily(name, **more):
                @asset(name, partition={"by": "day", "column": "day"}, **more)
                def inner(orders): return orders
                return inner
        """,
        "b.py": "from .common.made import daily\n\nx = daily('x', retries=2)\ny = daily('y', owner=7)\n",
        "plain.py": "from sparkassets import asset\n\n@asset\ndef plain(orders): ...\n",
        "script.py": "from sparkassets import Project\nfrom jobs.plain import plain\nraise SystemExit\n",
    }
    assert errors(write(files)) == (
        "jobs/b.py:4:22: 'owner' is 7; expected text\n"
        "    y = daily('y', owner=7)\n"
        "                         ^\n"
        "  hint: put it in quotes"
    )
    project = load_project(write(files | {"b.py": files["b.py"].replace("7", "'7'")}), {})
    made = project.assets["x"]
    assert list(project.assets) == ["orders", "x", "y", "plain"]
    assert (made.retries, made.location) == (2, FileLocation("jobs/b.py", 3, 11))
    assert (made.body.module, made.body.function) == ("jobs.b", "inner")
    assert made.body.location == FileLocation("jobs/common/made.py", 6, 5)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("1 / 0", "jobs/made.py:4:1: the module 'jobs.made' cannot be imported: ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "jobs/made.py:4:1: the module 'jobs.made' cannot be imported: SystemExit: 3"),
        ("raise KeyboardInterrupt", "jobs/made.py:4:1: the module 'jobs.made' cannot be imported: KeyboardInterrupt"),
        (
            "import os; os._exit(7)",
            (
                "jobs/made.py:1:1: the module 'jobs.made' cannot be imported: the process that imported it "
                "ended with exit "
                "code 7"
            ),
        ),
        (
            "import nothere",
            (
                "jobs/made.py:4:1: the module 'jobs.made' cannot be imported: ModuleNotFoundError: No "
                "module named 'nothere'"
            ),
        ),
        (
            "import subprocess; subprocess.Popen(['/opt/spark/bin/spark-submit', 'pyspark-shell'])",
            (
                "jobs/made.py:4:1: the module 'jobs.made' cannot be imported: RuntimeError: the module starts "
                "Spark on import; use the argument `spark` of the asset's function instead"
            ),
        ),
        (
            "asset('a', shedule=str('@daily'))",
            "jobs/made.py:4:1: asset() declares nothing: it decorates no function and has no 'sql' or 'source'",
        ),
        (
            "asset('a')(lambda orders: orders)",
            (
                "jobs/made.py:4:1: asset 'a' is computed by <lambda>; expected a function that is defined by 'def' "
                "in the project's packages"
            ),
        ),
        (
            "asset('a')(print)",
            (
                "jobs/made.py:4:1: asset 'a' is computed by <built-in function print>; expected a function that is "
                "defined by 'def' in the project's packages"
            ),
        ),
    ],
)
def test_what_goes_wrong_is_told_at_its_line(write, code, message):
    module = f"from sparkassets import asset\nmade = [asset(n)(lambda: 1) for n in ()]\n\n{code}\n"
    yaml = "---\nasset: b\nsql: SELECT * FROM {{ inlets.a }}\n" if "'a'" in code else ""
    found = errors(write({"made.py": module}, YAML + yaml))
    assert found.splitlines()[0] == message
    assert "unknown asset" not in found


def test_a_module_that_does_not_end(write, monkeypatch):
    monkeypatch.setattr(declared, "_MOST_SECONDS", 2)
    found = errors(write({"made.py": LOOP + "\nimport time\ntime.sleep(600)\n"}))
    assert found.splitlines()[0] == (
        "jobs/made.py:1:1: the module 'jobs.made' cannot be imported: it did not end within 2 s"
    )


def test_what_a_module_prints_and_its_threads_are_nobodys(write, capfd):
    code = LOOP + (
        "\nimport sys, threading, time\nprint('x' * 10_000_000)\nsys.stderr.write('y' * 1_000_000)\n"
        "threading.Thread(target=time.sleep, args=(600,)).start()\n"
    )
    assert "sales_de" in load_project(write({"made.py": code}), {}).assets
    assert capfd.readouterr() == ("", "")


def test_what_it_was_made_of_is_known_to_the_cache(write, tmp_path, monkeypatch):
    files = {
        "made.py": """
            import os
            from pathlib import Path
            from sparkassets import asset

            for region in Path(__file__).with_name("regions.txt").read_text().split():
                @asset(f"sales_{region}", path=f"{os.environ['PLACE']}/{region}")
                def sales(orders): ...
        """,
        "regions.txt": "de nl",
    }
    started = []
    monkeypatch.setattr(subprocess, "Popen", _counted(started, subprocess.Popen))
    folder, cache = write(files), tmp_path / "cache"

    def assets(place):
        found = load_project(folder, {"PLACE": place}, cache=cache).assets
        return {name: each.storage.given for name, each in found.items() if name != "orders"}

    assert assets("/lake/1") == {"sales_de": "/lake/1/de", "sales_nl": "/lake/1/nl"}
    assert assets("/lake/1") == {"sales_de": "/lake/1/de", "sales_nl": "/lake/1/nl"}
    assert len(started) == 1
    assert assets("/lake/2") == {"sales_de": "/lake/2/de", "sales_nl": "/lake/2/nl"}
    write(files | {"regions.txt": "be"})
    assert assets("/lake/2") == {"sales_be": "/lake/2/be"}
    assert len(started) == 3
    assert not any(b"/lake/2" in each.read_bytes() for each in (cache / "projects").iterdir())


def test_a_change_of_yaml_imports_nothing(write, tmp_path, monkeypatch):
    started = []
    monkeypatch.setattr(subprocess, "Popen", _counted(started, subprocess.Popen))
    folder, cache = write({"made.py": LOOP}), tmp_path / "cache"
    assert len(load_project(folder, {}, cache=cache).assets) == 3
    total = "asset: total\nsql: SELECT * FROM {{ inlets.sales_de }}\n"
    write({}, f"{YAML}---\n{total}")
    assert len(load_project(folder, {}, cache=cache).assets) == 4
    assert len(started) == 1
    write({"made.py": LOOP.replace('"de", "nl"', '"nl",')})
    (tmp_path / "conf/assets/given.yml").write_text(YAML)
    assert [*load_project(folder, {}, cache=cache).assets] == ["orders", "sales_nl"]
    assert len(started) == 2


@pytest.mark.parametrize(
    "head",
    [
        "from sparkassets import *",
        "import sparkassets\nasset = sparkassets.asset",
        "import sparkassets as sa\nasset = sa.asset",
        "from sparkassets import asset as dataset\nasset = dataset",
        "from .names import *",
        "from jobs.names import asset",
        "try:\n    from sparkassets import asset\nexcept ImportError:\n    raise",
        "def asset(**keys):\n    from sparkassets import asset\n    return asset(**keys)",
    ],
)
def test_every_way_to_import_the_decorator(write, head):
    code = f"{head}\n\n@asset(retries=2)\ndef made(orders): ...\n"
    project = load_project(write({"made.py": code, "names.py": "from sparkassets import *\n", "__init__.py": ""}), {})
    assert list(project.assets) == ["orders", "made"]
    assert project.assets["made"].retries == 2


def test_the_decorator_is_no_code_of_a_function_after_a_star_import(write):
    def of(code):
        return load_project(write({"made.py": code}), {}).assets["made"].definition

    code = "from sparkassets import *\n\n@asset(retries=1)\ndef made(orders): return 1\n"
    assert of(code) == of(code.replace("retries=1", "retries=2")) != of(code.replace("return 1", "return 2"))


def test_a_module_that_imports_spark_where_none_is_installed(write):
    code = """
        import pyspark.sql.functions as F
        from pyspark.sql import DataFrame, types as T
        from delta.tables import DeltaTable
        from sparkassets import asset

        SCHEMA = T.StructType([T.StructField("id", T.LongType())])

        @F.udf("string")
        def upper(text): ...

        class Rows(DataFrame): ...

        @asset
        def made(orders: DataFrame | None) -> DataFrame: ...
    """
    assert list(load_project(write({"made.py": code}), {}).assets) == ["orders", "made"]


@pytest.mark.parametrize("place", ["elsewhere", "lib/site-packages"])
def test_a_module_from_elsewhere_is_known_to_the_cache(write, tmp_path, monkeypatch, place):
    made = """
        from sparkassets import asset
        from regions_of_others import REGIONS

        for region in REGIONS:
            @asset(f"sales_{region}")
            def sales(orders): ...
    """
    module = tmp_path / place / "regions_of_others.py"
    module.parent.mkdir(parents=True)
    module.write_text("REGIONS = ['de']\n")
    monkeypatch.syspath_prepend(module.parent)
    started = []
    monkeypatch.setattr(subprocess, "Popen", _counted(started, subprocess.Popen))
    folder, cache = write({"made.py": made}), tmp_path / "cache"
    for _ in range(2):
        assert [*load_project(folder, {}, cache=cache).assets] == ["orders", "sales_de"]
    assert len(started) == 1
    module.write_text("REGIONS = ['de', 'nl']\n")
    if place != "elsewhere":  # as when it is installed again
        (module.parent / "regions_of_others-2.dist-info").mkdir()
    assert [*load_project(folder, {}, cache=cache).assets] == ["orders", "sales_de", "sales_nl"]


def _counted(started, popen):
    def counted(*args, **kwargs):
        started.append(args)
        return popen(*args, **kwargs)

    return counted


def test_code_that_is_nested_too_deep_to_be_read(write):
    deep = f"x = (lambda: 0){'.a' * 2000}"
    code = f"from sparkassets import asset\n\ndef f():\n    {deep}\n\n@asset\ndef made(orders): ...\n"
    assert list(load_project(write({"made.py": code}), {}).assets) == ["orders", "made"]


def test_an_asset_for_each_file_of_a_folder_is_there_once_the_file_is(write, tmp_path):
    files = {
        "made.py": """
            from pathlib import Path

            from sparkassets import asset

            for each in sorted((Path(__file__).parent.parent / "queries").glob("*.sql")):
                asset(each.stem, sql=each.read_text())
        """,
        "../queries/one.sql": "SELECT * FROM {{ inlets.orders }}",
    }
    folder, cache = write(files), tmp_path / "cache"
    assert "one" in load_project(folder, {}, cache=cache).assets
    (tmp_path / "queries/two.sql").write_text("SELECT * FROM {{ inlets.one }}")
    assert "two" in load_project(folder, {}, cache=cache).assets
    (tmp_path / "queries/two.sql").unlink()
    assert "two" not in load_project(folder, {}, cache=cache).assets


def test_a_module_may_use_temporary_folders_while_it_is_imported(write):
    """Their removal lists folders by file descriptor."""
    code = """
        from pathlib import Path
        from tempfile import TemporaryDirectory

        from sparkassets import asset

        with TemporaryDirectory() as folder:
            (Path(folder) / "inner").mkdir()
            (Path(folder) / "inner/file").write_text("text")

        asset("made", sql="SELECT * FROM {{ inlets.orders }}")
    """
    assert list(load_project(write({"made.py": code}), {}).assets) == ["orders", "made"]

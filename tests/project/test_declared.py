"""Assets in Python: the same model as of YAML, with the places of the code."""

from pathlib import Path
from textwrap import dedent

import pytest

from sparkassets.authoring import AssetKeys
from sparkassets.core.spec.asset_models import AssetFile
from sparkassets.core.spec.value_kinds import written_keys
from sparkassets.errors import FileLocation, SpecError
from sparkassets.frozen import frozen
from sparkassets.project import load_project

SOURCE = "asset: orders\nsource: csv\npath: landing/{day}.csv\npartition: {by: day, column: day}\n"
HEAD = """\
from sparkassets import (
    Asset, PartitionAtRuntime, PartitionByInterval, PartitionByProduct, PartitionBySequence, asset,
)
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes a project of these modules below `jobs` and YAML files; returns its folder."""
    monkeypatch.chdir(tmp_path)

    def written(modules, assets=SOURCE):
        (tmp_path / "conf/assets").mkdir(parents=True, exist_ok=True)
        (tmp_path / "jobs").mkdir(exist_ok=True)
        (tmp_path / "conf/project.yml").write_text("project: shop\npython: [jobs]\n")
        (tmp_path / "conf/assets/given.yml").write_text(assets)
        for name, text in modules.items():
            (tmp_path / f"jobs/{name}.py").write_text(dedent(text), encoding="utf-8")
        return Path("conf")

    return written


def errors(folder, env=None):
    with pytest.raises(SpecError) as error:
        load_project(folder, env or {})
    return str(error.value)


@frozen
class Anywhere:
    """Equal to every place."""

    def __eq__(self, other):
        return isinstance(other, FileLocation | Anywhere)

    def __hash__(self):
        return 0


def facts(spec, **rest):
    """What a spec says, but for where it stands."""
    told = {
        name: getattr(spec, name) for name in type(spec).__match_args__ if name not in {"location", "definition", *rest}
    }
    inlets = {name: facts(each) for name, each in spec.inlets.items()} if "inlets" in told else {}
    body = facts(spec.body) if told.get("body") is not None else None
    return told | ({"inlets": inlets, "body": body} if "inlets" in told else {})


SAME = {
    "nothing": ("", ""),
    "short words": ('at="lake/x", write="append", strategy="every_instance", schedule="@daily", schema="evolve"',
                    "path: lake/x\nwrite: append\nstrategy: every_instance\nschedule: '@daily'\nschema: evolve"),
    "interval": ('partition=PartitionByInterval("@daily", column="day")', "partition: {by: day, column: day}"),
    "every key of an interval": (
        'partition=PartitionByInterval(by="week", column="w", timezone="Europe/Berlin", start="2025-01-06")',
        "partition: {by: week, column: w, timezone: Europe/Berlin, start: 2025-01-06}",
    ),
    "sequence": ('partition=PartitionBySequence(["de", "nl"], column="region")',
                 "partition: {segments: [de, nl], column: region}"),
    "runtime": ('partition=PartitionAtRuntime(column="model")', "partition: {segments: runtime, column: model}"),
    "product": (
        ('partition=PartitionByProduct([PartitionByInterval("@daily", column="day"), PartitionBySequence(("de",), '
        'column="region")])'),
        "partition: [{by: day, column: day}, {segments: [de], column: region}]",
    ),
    "options of an inlet": (
        'partition=PartitionByInterval("@daily", column="day"), inlets={orders: {"window": "7d", "require": "any"}}',
        "partition: {by: day, column: day}\ninlets: {orders: {window: 7d, require: any}}",
    ),
    "waits only": ('inlets=[Asset("other")]', "inlets: [other]"),
    "condition": (
        'schedule=Asset("other") | orders & "@daily" | Asset(uri="x-drop://inbox")',
        "schedule: {any: [other, {all: [orders, '@daily']}, {uri: 'x-drop://inbox'}]}",
    ),
    "all of a list": ('schedule=[other, "orders"]', "schedule: [other, orders]"),
    "one asset": ("schedule=other", "schedule: other"),
    "timetable": ('schedule={"cron": "0 6 * * *", "timezone": "Europe/Berlin", "catchup": "all"}',
                  "schedule: {cron: 0 6 * * *, timezone: Europe/Berlin, catchup: all}"),
    "kinds of values": (
        'extra={"a": [1, 2.5, True, None, "07", -3]}, paused=True, params={"n": 3}, columns={"id": "bigint"}',
        "extra: {a: [1, 2.5, true, null, '07', -3]}\npaused: true\nparams: {n: 3}\ncolumns: {id: bigint}",
    ),
    "a duration": ("timeout=timedelta(hours=2)", "timeout: 7200s"),
    "a date": ("start=date(2025, 1, 31)", "start: 2025-01-31"),
    "constants": ("**COMMON, owner=OWNER, description=f'{OWNER} and {ONE}'",
                  "retries: 2\ntype: report\nowner: ann\ndescription: ann and 1"),
    "of another module": ("description=common.TEXT, owner=TEXT", "description: text\nowner: text"),
    "none is not given": ("owner=None, schedule=None", ""),
    "a variable": ('description="${WHO}"', "description: ${WHO}"),
}  # fmt: skip


@pytest.mark.parametrize("case", SAME)
def test_python_says_what_yaml_says(write, case):
    python, yaml = SAME[case]
    code = f"""
from datetime import date, timedelta
from jobs import common
from .common import TEXT

OWNER: str = "ann"
ONE = 1
COMMON = {{"retries": 2, "type": "report"}}
orders = Asset("orders")

other = asset("other", source=True, uri="x-other://o")

@asset({python})
def made(orders, context): ...
"""
    same = f"asset: same\npython: jobs.same:made\n{yaml.replace('lake/x', 'lake/y')}\n"
    modules = {"made": HEAD + code, "common": "TEXT = 'text'\n", "same": "def made(orders, context): ...\n"}
    project = load_project(write(modules, f"{SOURCE}---\n{same}"), {"WHO": "bob"})
    made, written = facts(project.assets["made"]), facts(project.assets["same"])
    for each in ("name", "uri", "storage", "file"):
        del made[each], written[each]
    made_by, written_by = made.pop("body"), written.pop("body")
    assert (made_by["module"], made_by["function"], made_by["arguments"]) == (
        "jobs.made",
        "made",
        ("orders", "context"),
    )
    assert written_by["arguments"] == made_by["arguments"]
    assert made == written


def test_every_key_of_yaml_is_an_argument():
    grammar = set(written_keys(AssetFile))
    assert {"at", "name"} | grammar - {"asset", "python", "outlets"} == set(AssetKeys.__annotations__)


def test_places_are_those_of_the_code(write):
    code = '''\
from sparkassets import Asset, PartitionByInterval, asset


@asset(at="lake/a", shedule="@daily", retries="3", columns={"é": "bigit"}, partition=PartitionByInterval("dai"))
def a(ordrs): ...


@asset(schedule=a | Asset("nothere") & "@dayly", inlets={"ordres": {"windw": "7d"}}, python="x", owner="ann", name="b")
def c(orders): ...


asset("total", sql="""
SELECT count(*) AS n
FROM {{ inlets.ordes }}
""")
asset("second", sql="SELECT * FROM {{ inlets.ordes }}")
asset(sql="SELECT 1")


@asset(inlets=["orders"], owner="ann", at="x", path="y")
async def d(): ...


PartitionByInterval("@daily", colum="day")
'''
    found = errors(write({"made": code}))
    assert [line for line in found.splitlines() if line.startswith("jobs/")] == [
        "jobs/made.py:4:21: unknown key 'shedule' in asset 'a'",
        "jobs/made.py:4:47: 'retries' is '3'; expected a whole number of at least 0",
        "jobs/made.py:4:67: 'bigit' is not a Spark SQL type",
        (
            "jobs/made.py:4:106: 'by' in 'partition' is 'dai'; expected hour, day, week, month, "
            "quarter, year, auto or a "
            "cron"
        ),
        "jobs/made.py:5:7: the argument 'ordrs' is not the name of an asset",
        "jobs/made.py:8:28: unknown asset 'nothere'",
        (
            "jobs/made.py:8:41: unknown preset '@dayly'; expected @hourly, @daily, @weekly, @monthly, "
            "@quarterly, @yearly, "
            "@midnight, @annually, @once, @continuous"
        ),
        "jobs/made.py:8:58: unknown asset 'ordres'",
        "jobs/made.py:8:69: unknown key 'windw' in inlet 'ordres'",
        "jobs/made.py:8:93: @asset takes no 'python': the asset runs the decorated function",
        "jobs/made.py:14:16: unknown asset 'ordes'",
        "jobs/made.py:16:46: unknown asset 'ordes'",
        "jobs/made.py:17:1: asset(sql=…) and asset(source=…) need a name: asset('orders', source='csv')",
        "jobs/made.py:20:53: asset() got both 'at' and 'path', which set the same key",
        "jobs/made.py:21:11: the module 'jobs.made' must not declare as 'async' the function 'd'",
        (
            "jobs/made.py:24:1: the module 'jobs.made' cannot be imported: TypeError: PartitionByInterval.__init__() "
            "got an unexpected keyword argument 'colum'"
        ),
    ]
    assert "  hint: did you mean 'schedule'?" in found


def test_several_outlets_are_those_of_yaml(write):
    code = """
        from sparkassets import Asset, multi_asset

        @multi_asset(outlets={"train": {"at": "out/train", "columns": {"id": "bigint"}}, "test": {}}, retries=2)
        def split(orders): ...

        @multi_asset(outlets=[Asset("a"), "b"])
        def c(orders, train): ...
    """
    same = "asset: same\npython: jobs.same:made\noutlets: {one: {path: out/one, columns: {id: bigint}}, two: {}}\n"
    modules = {"made": code, "same": "def made(orders): ...\n"}
    project = load_project(write(modules, f"{SOURCE}---\n{same}retries: 2\n"), {})
    assert {*project.assets} == {"orders", "split", "train", "test", "c", "a", "b", "same", "one", "two"}
    split, train = project.assets["split"], project.assets["train"]
    assert (split.outlets, train.written_by, train.storage.given) == (("train", "test"), "split", "out/train")
    assert list(project.assets["c"].inlets) == ["orders", "train"]
    names = ("name", "uri", "storage", "file", "written_by", "outlets", "body", "written")
    for ours, theirs in (("split", "same"), ("train", "one"), ("test", "two")):
        left, right = facts(project.assets[ours]), facts(project.assets[theirs])
        assert {key: left[key] for key in left if key not in names} == {
            key: right[key] for key in right if key not in names
        }


def test_outlets_at_their_places(write):
    code = """\
from sparkassets import asset, multi_asset


@multi_asset(outlets={"train": {"colums": {}}, "orders": {}})
def a(orders): ...


@multi_asset(retries=2)
def b(orders): ...


@asset(outlets=["x"])
def c(orders): ...
"""
    found = errors(write({"made": code}))
    lines = [line for line in found.splitlines() if line.startswith("jobs/")]
    assert lines[0].startswith("jobs/made.py:4:33: unknown key 'colums' in ")
    assert lines[1].startswith("jobs/made.py:4:48: ")
    assert "jobs/made.py:8:2: @multi_asset has no 'outlets'; expected their names" in lines
    assert "jobs/made.py:12:16: use @multi_asset to declare several outlets" in lines


def test_one_namespace_with_yaml(write):
    code = "from sparkassets import asset\n\n\n@asset\ndef orders(): ...\n\n\n@asset()\ndef b(orders): ...\n"
    assert errors(write({"made": code})) == (
        "jobs/made.py:4:2: the asset 'orders' is defined twice; first at conf/assets/given.yml:1:8\n"
        "    @asset\n     ^^^^^"
    )


def test_both_kinds_read_each_other(write):
    code = """
        from sparkassets import asset

        @asset
        def clean(orders): ...

        asset("total", sql="SELECT count(*) AS n FROM {{ inlets.by_yaml }}")
    """
    yaml = "---\nasset: by_yaml\nsql: SELECT * FROM {{ inlets.clean }}\n"
    project = load_project(write({"made": code}, SOURCE + yaml), {})
    assert list(project.assets) == ["orders", "clean", "by_yaml", "total"]
    assert project.assets["clean"].location == FileLocation("jobs/made.py", 4, 2)
    assert project.assets["clean"].body.location == FileLocation("jobs/made.py", 5, 1)
    assert project.assets["total"].body.location == FileLocation("jobs/made.py", 7, 21)


def test_a_decorator_is_no_code_of_its_function(write):
    def of(code):
        return load_project(write({"made": code}), {}).assets["made"].definition

    code = """
        import sparkassets
        from sparkassets import asset

        @asset
        def other(): return 1

        @asset(retries=1)
        def made(other): return other + 1
    """
    first = of(code)
    assert of(code.replace("retries=1", "retries=2")) == first
    assert of(code.replace("@asset(retries=1)", "@sparkassets.asset(owner='ann')")) == first
    assert of(code.replace("return 1", "return 2")) == first
    assert of(code.replace("other + 1", "other + 2")) != first


def test_where_no_asset_is(write):
    module = "from sparkassets import Asset, get_current_context\n\n\ndef f(orders): ...\n"
    files = {"made": module, "broken": "def (", "none": "asset = 1\n"}
    assert list(load_project(write(files), {}).assets) == ["orders"]


def test_a_module_that_is_no_python(write):
    code = "from sparkassets import asset\n\n@asset\ndef made(orders) ...\n"
    yaml = "---\nasset: b\nsql: SELECT * FROM {{ inlets.made }}\n"
    found = errors(write({"made": code}, SOURCE + yaml))
    assert found.splitlines()[0] == "jobs/made.py:4:18: invalid Python: expected ':'"
    assert "unknown asset" not in found


def test_modules_beside_the_yaml_files_that_nothing_reads_are_told(write, tmp_path):
    folder = write({})
    (tmp_path / "conf/assets/best.py").write_text(
        "from sparkassets import asset\n\n\n@asset(schedule='orders')\ndef best(orders):\n    return orders\n"
    )
    (tmp_path / "conf/assets/plain.py").write_text("def helper(): ...\n")
    (told,) = load_project(folder, {}).warnings
    assert str(told) == (
        "conf/assets/best.py:4:1: this Python module declares assets, but is in no package that the project file "
        "allows\n  hint: write python: [assets] in project.yml"
    )
    (tmp_path / "conf/project.yml").write_text("project: shop\npython: [assets]\n")
    spec = load_project(folder, {})
    assert "best" in spec.assets
    assert not spec.warnings


def test_a_project_of_modules_that_nothing_reads_has_no_assets(write, tmp_path):
    folder = write({}, assets="")
    (tmp_path / "conf/assets/given.yml").unlink()
    (tmp_path / "conf/assets/best.py").write_text("import sparkassets\n@sparkassets.asset()\ndef best(): ...\n")
    assert "write python: [assets] in project.yml" in errors(folder)

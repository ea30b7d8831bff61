import json
import os
import pickle
import shutil
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core import templating
from sparkassets.errors import SpecError
from sparkassets.project import load_cases, load_project
from sparkassets.project import project_folder as heavy
from sparkassets.project.cache import ReferencePickler, ReferenceUnpickler

FILES = {
    "conf/project.yml": "project: shop\npython: [jobs]\n",
    "conf/assets/flights.yml": "asset: flights\nsource: csv\npath: landing/{day}.csv\npartition: '@daily'\n",
    "conf/assets/daily.yml": "asset: daily\npartition: {by: day, column: day}\nschedule: '0 6 * * MON-FRI'\n",
    "conf/assets/daily.sql": "SELECT * FROM {{ inlets.flights }}\n",
    "conf/assets/fact.yml": "asset: fact\nwrite: append\ninlets: {daily: {read: {after: id}}}\n",
    "conf/assets/fact.sql": "SELECT * FROM {{ inlets.daily }}\n",
    "conf/assets/model.yml": "asset: model\npython: jobs.train:train\nschedule: daily & (fact | x-drop://inbox)\n",
    "jobs/train.py": "def train(context, flights): ...\n",
}


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A project below the working directory, and what of it was compiled."""
    monkeypatch.chdir(tmp_path)
    for path, text in FILES.items():
        write(path, text)
    compiled = []
    compile_folder = heavy.compile_folder

    def counting(root, trace, **given):
        compiled.append(root)
        return compile_folder(root, trace, **given)

    monkeypatch.setattr(heavy, "compile_folder", counting)
    return compiled


def write(path, text):
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)


def loaded(env=None):
    return load_project(Path("conf"), env or {}, cache=Path("cache"))


def test_what_is_kept_equals_what_is_compiled(shop):
    first = loaded()
    assert loaded() == first == load_project(Path("conf"), {})
    assert len(shop) == 2


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("conf/project.yml", "project: other\npython: [jobs]\n"),
        ("conf/assets/daily.yml", "asset: daily\npartition: {by: day, column: date}\n"),
        ("conf/assets/daily.sql", "SELECT 1 FROM {{ inlets.flights }}\n"),
        ("conf/assets/deep/new.yml", "asset: new\nsource: true\n"),
        ("conf/assets/new.yaml", "asset: new\nsource: true\n"),
        ("jobs/train.py", "def train(context): ...\n"),
        ("conf/jobs/train.py", "def train(context): ...\n"),
    ],
)
def test_a_change_is_seen(shop, path, text):
    before = loaded()
    write(path, text)
    after = loaded()
    assert len(shop) == 2
    assert after != before
    assert after == load_project(Path("conf"), {})


def test_a_file_that_goes_is_seen(shop):
    loaded()
    Path("conf/assets/fact.sql").unlink()
    with pytest.raises(SpecError, match=r"the file assets/fact\.sql does not exist"):
        loaded()


def test_a_file_with_the_same_time_and_size_is_seen(shop):
    before = loaded()
    status = Path("conf/assets/daily.sql").stat()
    write("conf/assets/daily.sql", FILES["conf/assets/daily.sql"].replace("*", "1"))
    os.utime("conf/assets/daily.sql", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert loaded() != before


SECRETIVE = (
    FILES["conf/project.yml"]
    + "state: ${LAKE}/state\nspark: {spark.hadoop.fs.s3a.secret.key: '${KEY}', spark.x: '${X:-none}'}\n"
)
ENV = {"LAKE": "s3://the-lake", "KEY": 'wJalrXUtnFEMI/"K7MDENG"'}


def test_of_the_environment_references_are_kept(shop):
    write("conf/project.yml", SECRETIVE)
    first = loaded(ENV)
    assert loaded(ENV) == first == load_project(Path("conf"), ENV)
    assert first.spark["spark.hadoop.fs.s3a.secret.key"] == ENV["KEY"]
    assert first.variables == ENV
    assert len(shop) == 2  # once, and once more without a cache
    for value in ENV.values():
        assert value.encode() not in kept().read_bytes()
        assert json.dumps(value)[1:-1].encode() not in kept().read_bytes()


@pytest.mark.parametrize(
    "other",
    [{"KEY": "another"}, {"LAKE": "/lake"}, {"X": "some"}, {"X": ""}, {"X": "none"}],
    ids=str,
)
def test_another_value_is_seen(shop, other):
    write("conf/project.yml", SECRETIVE)
    loaded(ENV)
    assert loaded(ENV | other) == load_project(Path("conf"), ENV | other)
    assert len(shop) == 3


def test_a_variable_that_nobody_names_is_not_looked_at(shop):
    write("conf/project.yml", SECRETIVE)
    loaded(ENV)
    loaded(ENV | {"HOME": "/elsewhere"})
    assert len(shop) == 1


def test_a_variable_that_is_no_longer_set_is_told_as_ever(shop):
    write("conf/project.yml", SECRETIVE)
    loaded(ENV)
    told = r"conf/project\.yml:3:8: the environment variable 'LAKE' is not set\n(.*\n){2}  hint: .*or write \$\{LAKE:-a"
    for _ in range(2):
        with pytest.raises(SpecError, match=told):
            loaded({"KEY": ENV["KEY"]})
    assert loaded(ENV).state == "s3://the-lake/state"


def test_a_value_that_stands_everywhere_changes_nothing(shop):
    write(
        "conf/project.yml", FILES["conf/project.yml"] + "spark: {spark.x: '${X}', spark.y: '${Y}', spark.z: '${Z}'}\n"
    )
    env = {"X": "a", "Y": "sparkassets", "Z": "X"}
    assert loaded(env) == loaded(env) == load_project(Path("conf"), env)
    assert len(shop) == 2


@given(
    st.dictionaries(st.sampled_from("ABC"), st.text(st.sampled_from('xy"\\/'), min_size=3), min_size=1),
    st.lists(st.text(st.sampled_from('xy"\\/A'))),
)
def test_any_text_comes_back_and_holds_no_value(env, texts):
    stream, names = BytesIO(), tuple(sorted(env))
    texts += [f"x{value}y{json.dumps(value, ensure_ascii=False)}" for value in env.values()]
    ReferencePickler(stream, names, env).dump(texts)
    assert ReferenceUnpickler(BytesIO(stream.getvalue()), names, env).load() == texts
    for value in env.values():
        assert value.encode() not in stream.getvalue()


def test_places_follow_the_working_folder(shop, monkeypatch):
    assert loaded().assets["daily"].location.file == "conf/assets/daily.yml"
    monkeypatch.chdir("conf")
    project = load_project(Path(), {}, cache=Path("../cache"))
    assert project.assets["daily"].location.file == "assets/daily.yml"


def test_an_invalid_project_is_not_kept(shop):
    write("conf/assets/daily.yml", "asset: daily\nretries: x\n")
    for _ in range(2):
        with pytest.raises(SpecError):
            loaded()
    assert len(shop) == 2


def kept():
    (file,) = Path("cache/projects").iterdir()
    return file


@pytest.mark.parametrize("content", [b"", b"x" * 100, b"y" * 31])
def test_what_is_damaged_is_compiled_anew(shop, content):
    first = loaded()
    kept().write_bytes(content)
    assert loaded() == first
    assert len(shop) == 2


def test_what_is_cut_short_is_compiled_anew(shop):
    first = loaded()
    kept().write_bytes(kept().read_bytes()[:-1])
    assert loaded() == first


def test_another_version_of_python_keeps_its_own(shop, monkeypatch):
    first = loaded()
    monkeypatch.setattr(sys, "version", f"{sys.version} of tomorrow")
    assert loaded() == loaded() == first
    assert len(shop) == 2
    assert len(list(Path("cache/projects").iterdir())) == 2


HARVEST = """\
from datetime import timedelta
from sparkassets import Slot
class Harvest:
    def __init__(self, day: int, key: str = ""):
        self.day, self.key = day, key
    def __eq__(self, other):
        return vars(self) == vars(other)
    def slots(self, start, end):
        return [Slot(start, start - timedelta(1), start)]
"""


@pytest.fixture
def installed(shop, monkeypatch):
    """A project whose timetable is of a package."""
    monkeypatch.syspath_prepend(Path("site").absolute())
    monkeypatch.delitem(sys.modules, "harvest", raising=False)
    install("1.0")
    write(
        "conf/assets/daily.yml", "asset: daily\nwrite: replace\nschedule: {timetable: harvest, day: 3, key: '${KEY}'}\n"
    )
    yield shop
    sys.modules.pop("harvest", None)


def install(version, *, package="harvest", code=HARVEST):
    for old in Path("site").glob(f"{package}-*"):
        shutil.rmtree(old)
    info = f"site/{package}-{version}.dist-info"
    write(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    write(f"{info}/entry_points.txt", f"[sparkassets.timetables]\n{package} = harvest:Harvest\n")
    write("site/harvest.py", code)


def test_a_project_with_a_timetable_of_a_package_is_kept(installed):
    assert loaded(ENV) == loaded(ENV) == load_project(Path("conf"), ENV)
    assert loaded(ENV).assets["daily"].schedule.timetable.rule.key == ENV["KEY"]
    assert len(installed) == 2
    for form in (ENV["KEY"], json.dumps(ENV["KEY"])[1:-1]):
        assert form.encode() not in kept().read_bytes()


@pytest.mark.parametrize(
    "change",
    [
        lambda: install("2.0"),
        lambda: install("1.0", code=f"{HARVEST}\n# edited"),
        lambda: install("1.0", package="other"),
    ],
    ids=["upgraded", "edited in place", "another package"],
)
def test_another_package_is_seen(installed, change):
    loaded(ENV)
    change()
    loaded(ENV)
    assert len(installed) == 2


def test_a_package_that_goes_is_seen(installed):
    loaded(ENV)
    shutil.rmtree("site/harvest-1.0.dist-info")
    with pytest.raises(SpecError, match=r"daily\.yml:3:23: unknown timetable 'harvest'"):
        loaded(ENV)


@pytest.mark.parametrize("hook", ["__reduce__(self)", "__setstate__(self, state)"])
def test_a_timetable_that_cannot_be_kept_is_made_anew(installed, hook):
    install("1.0", code=f"{HARVEST}    def {hook}:\n        raise OSError\n")
    assert loaded(ENV) == loaded(ENV)
    assert len(installed) == 2


@pytest.mark.skipif(os.name == "nt", reason="file modes of POSIX")
def test_what_others_could_have_written_is_not_unpickled(shop, monkeypatch):
    loaded()
    kept().chmod(0o666)
    monkeypatch.setattr(pickle, "loads", pytest.fail)
    loaded()
    assert len(shop) == 2


def test_a_cache_that_cannot_be_written_to_is_no_error(shop):
    write("cache", "a file where the folder should be")
    assert loaded() == loaded()
    assert len(shop) == 2


def test_the_oldest_go(shop):
    loaded()
    for number in range(60):
        write(f"cache/projects/{number}", "")
        os.utime(f"cache/projects/{number}", (number, number))
    write("conf/assets/new.yml", "asset: new\nsource: true\n")
    loaded()
    names = {file.name for file in Path("cache/projects").iterdir()}
    assert len(names) == 50
    assert "59" in names
    assert "0" not in names


def test_a_kept_project_needs_no_pydantic_yaml_jinja_and_openssl(shop):
    loaded()
    script = (
        "import sys; from pathlib import Path; from sparkassets.project import load_project\n"
        "load_project(Path('conf'), {}, cache=Path('cache'))\n"
        "assert not {'pydantic', 'yaml', 'jinja2', 'hashlib'} & set(sys.modules), sorted(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.fixture
def outlined(shop, monkeypatch):
    """The SQL texts that were read."""
    read, read_outline = [], templating.read_outline

    def counting(text, macros=""):
        read.append(text)
        return read_outline(text, macros)

    monkeypatch.setattr(templating, "read_outline", counting)
    return read


def outlines():
    (file,) = Path("cache/outlines").iterdir()
    return file


def test_after_an_edit_only_its_sql_is_read(outlined):
    loaded()
    assert sorted(outlined) == sorted(FILES[f"conf/assets/{name}.sql"] for name in ("daily", "fact"))
    outlined.clear()
    write("conf/assets/daily.yml", FILES["conf/assets/daily.yml"] + "owner: me\n")
    assert loaded() == load_project(Path("conf"), {})
    assert len(outlined) == 2  # of the project without a cache
    outlined.clear()
    write("conf/assets/fact.sql", "SELECT 1 AS x FROM {{ inlets.daily }}\n")
    loaded()
    assert outlined == ["SELECT 1 AS x FROM {{ inlets.daily }}\n"]


def test_outlines_of_texts_that_are_gone_go(outlined):
    loaded()
    before = outlines().stat().st_size
    Path("conf/assets/fact.yml").unlink()
    write(
        "conf/assets/model.yml",
        FILES["conf/assets/model.yml"].replace(" | x-drop", " & x-drop").replace("(fact", "(daily"),
    )
    loaded()
    assert outlines().stat().st_size < before


@pytest.mark.parametrize("content", [b"", b"x" * 100, b"y" * 31])
def test_damaged_outlines_are_read_anew(outlined, content):
    first = loaded()
    outlines().write_bytes(content)
    kept().unlink()
    assert loaded() == first
    assert len(outlined) == 4


def test_outlines_hold_no_value_of_the_environment(outlined):
    write("conf/assets/fact.sql", "")
    sql = "SELECT '${KEY}' AS k FROM {{ inlets.daily }}"
    write(
        "conf/assets/fact.yml",
        f"asset: fact\nwrite: append\ninlets: {{daily: {{read: {{after: id}}}}}}\nsql: {json.dumps(sql)}\n",
    )
    first = loaded({"KEY": "hunter2"})
    assert b"hunter2" not in outlines().read_bytes()
    kept().unlink()
    assert loaded({"KEY": "hunter2"}) == first
    assert loaded({"KEY": "another"}).assets["fact"].body.template == sql.replace("${KEY}", "another")


CASE = "test: ${NAME}\nasset: daily\npartition: 2025-01-01\ngiven: {flights: []}\nexpect: []\n"


@pytest.fixture
def cases(shop, monkeypatch):
    """A function that loads the tests, and what of them was read."""
    write("conf/tests/daily.yml", CASE)
    read = []
    compile_cases = heavy.compile_cases

    def counting(project, trace, *, env):
        read.append(project.name)
        return compile_cases(project, trace, env=env)

    monkeypatch.setattr(heavy, "compile_cases", counting)
    return lambda env=None: load_cases(loaded(), {"NAME": "empty", **(env or {})}, cache=Path("cache")), read


def test_tests_that_are_kept_equal_those_that_are_read(cases):
    load, read = cases
    first = load()
    assert [each.name for each in first] == ["empty"]
    assert load() == first == load_cases(loaded(), {"NAME": "empty"})
    assert len(read) == 2


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("conf/tests/daily.yml", CASE.replace("01-01", "01-02")),
        ("conf/tests/deep/more.yml", CASE.replace("${NAME}", "more")),
        ("conf/assets/flights.yml", FILES["conf/assets/flights.yml"] + "columns: {number: int}\n"),
    ],
)
def test_a_change_of_a_test_or_of_what_it_tests_is_seen(cases, path, text):
    load, read = cases
    before = load()
    write(path, text)
    assert load() != before
    assert len(read) == 2


def test_a_test_is_refused_once_its_asset_is_gone(cases):
    load, _ = cases
    load()
    for gone in ("daily.yml", "daily.sql", "fact.yml", "fact.sql", "model.yml"):
        Path("conf/assets", gone).unlink()
    with pytest.raises(SpecError, match="unknown asset 'daily'"):
        load()


def test_a_test_has_the_present_value_of_a_variable(cases):
    load, _ = cases
    assert [each.name for env in ({}, {"NAME": "other"}, {}) for each in load(env)] == ["empty", "other", "empty"]

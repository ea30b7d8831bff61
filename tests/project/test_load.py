from pathlib import Path
from textwrap import dedent

import pytest

from sparkassets.core.spec.code_bodies import PythonBody
from sparkassets.errors import FileLocation, InputError, SpecError
from sparkassets.project import load_project

FLIGHTS = "asset: flights\nsource: csv\npath: landing/{day}.csv\npartition: {by: day, column: day}\n"
DAILY = "asset: daily\npartition: {by: day, column: day}\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Makes a project in ``conf`` below the working directory; files are given by their path from there."""
    monkeypatch.chdir(tmp_path)

    def make(files):
        for path, content in {"conf/project.yml": "project: shop\npython: [jobs]\n", **files}.items():
            file = tmp_path / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else dedent(content).encode())
        return Path("conf")

    return make


def errors(folder, env=None):
    with pytest.raises(SpecError) as error:
        load_project(folder, env or {})
    return str(error.value)


def test_a_project_of_two_assets(folder, tmp_path):
    conf = folder(
        {
            "conf/assets/flights.yml": FLIGHTS,
            "conf/assets/daily.yml": DAILY,
            "conf/assets/daily.sql": "SELECT * FROM {{ inlets.flights }}\n",
        }
    )
    project = load_project(conf, {})
    assert (project.name, project.root) == ("shop", str(tmp_path / "conf"))
    assert list(project.assets) == ["flights", "daily"]
    assert project.assets["daily"].body.template == "SELECT * FROM {{ inlets.flights }}\n"
    assert project.assets["daily"].location == FileLocation("conf/assets/daily.yml", 1, 8)
    assert project.assets["flights"].storage.path == str(tmp_path / "conf/landing/{day}.csv")


def test_files_are_named_as_people_know_them(folder, tmp_path, monkeypatch):
    conf = folder({"conf/assets/a.yml": "asset: a\nowner: 1\nsource: true\n"})
    assert errors(conf).startswith("conf/assets/a.yml:2:8: ")
    assert errors(tmp_path / "conf").startswith("conf/assets/a.yml:2:8: ")
    monkeypatch.chdir(tmp_path / "conf")
    assert errors(Path()).startswith("assets/a.yml:2:8: ")


def test_a_name_from_far_away_is_absolute_where_that_is_shorter(folder, tmp_path, monkeypatch):
    folder({"conf/assets/a.yml": "asset: a\nowner: 1\nsource: true\n"})
    monkeypatch.chdir("/")
    assert errors(tmp_path / "conf").startswith(f"{tmp_path}/conf/assets/a.yml:2:8: "[1:])


def test_where_asset_files_are_looked_for(folder):
    conf = folder(
        {
            "conf/project.yml": "project: shop\nassets: [assets, more/b.yaml]\n",
            "conf/assets/deep/er/a.yml": "asset: a\nsource: true\n",
            "conf/assets/.hidden/x.yml": "asset: x\nsource: true\n",
            "conf/assets/notes.txt": "asset: y",
            "conf/more/b.yaml": "asset: b\nsource: true\n",
            "conf/more/c.yml": "asset: c\nsource: true\n",
        }
    )
    assert set(load_project(conf, {}).assets) == {"a", "b"}


def test_the_project_folder_itself_has_no_subfolders_of_assets(folder):
    conf = folder(
        {
            "conf/project.yml": "project: shop\nassets: [.]\n",
            "conf/a.yml": "asset: a\nsource: true\n",
            "conf/landing/data.yml": "not: an asset\n",
        }
    )
    assert list(load_project(conf, {}).assets) == ["a"]


def test_a_folder_of_assets_that_is_missing(folder):
    conf = folder(
        {"conf/project.yml": "project: shop\nassets: [assets, more]\n", "conf/assets/a.yml": "asset: a\nsource: true"}
    )
    assert errors(conf) == (
        "conf/project.yml:2:18: the folder 'more' does not exist in the project's folder\n    assets: [assets, "
        "more]\n                     ^^^^"
    )


def test_the_default_folder_of_assets_that_is_missing(folder):
    assert errors(folder({})) == (
        "conf/project.yml:1:10: the project has no assets: no YAML file in assets/ declares one\n    project: "
        "shop\n             ^^^^"
    )


def test_no_folder_and_no_project_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as error:
        load_project(Path("conf"), {})
    assert str(error.value) == (
        "there is no folder 'conf'\n  hint: give the project's folder, or create a project: sparkassets init"
    )
    (tmp_path / "conf").mkdir()
    with pytest.raises(InputError) as error:
        load_project(Path("conf"), {})
    assert str(error.value) == (
        "there is no project.yml in 'conf'\n  hint: give the project's folder, or create a project: sparkassets init"
    )


def test_variables_come_from_the_environment_that_is_given(folder):
    conf = folder({"conf/assets/a.yml": "asset: a\nsource: true\nowner: ${TEAM}\n"})
    assert load_project(conf, {"TEAM": "data"}).assets["a"].owner == "data"
    assert errors(conf).startswith("conf/assets/a.yml:3:8: the environment variable 'TEAM' is not set\n")


def test_what_is_no_utf8(folder):
    conf = folder(
        {"conf/assets/a.yml": b"asset: a\nowner: \xe9t\xe9\n", "conf/assets/b.yml": "asset: b\nsource: true\n"}
    )
    assert errors(conf) == "conf/assets/a.yml:2:8: the byte 0xe9 is not UTF-8; files of a project are UTF-8 text"


def test_a_byte_order_mark_and_windows_lines(folder):
    conf = folder({"conf/assets/a.yml": b"\xef\xbb\xbfasset: a\r\nsource: true\r\nowner: \xc3\xa9t\xc3\xa9\r\n"})
    assert load_project(conf, {}).assets["a"].owner == "été"


def test_two_assets_may_share_a_file_of_sql(folder):
    conf = folder(
        {
            "conf/assets/a.yml": "asset: a\nsql: q.sql\n---\nasset: b\nsql: q.sql\n",
            "conf/q.sql": "SELECT {{ xyz }}",
        }
    )
    assert errors(conf).count("unknown name 'xyz'") == 1


# --------------------------------------------------------------------------- functions

ASSET = "asset: a\npython: jobs.train:train\n"


def test_a_function_in_the_project_folder(folder, tmp_path):
    conf = folder(
        {
            "conf/assets/flights.yml": FLIGHTS,
            "conf/assets/a.yml": ASSET,
            "conf/jobs/train.py": "import nowhere\n\n\n@nowhere.x\ndef train(context, flights, *, spark):\n    ...\n",
        }
    )
    asset = load_project(conf, {}).assets["a"]
    assert asset.body == PythonBody(
        "jobs.train",
        "train",
        ("context", "flights", "spark"),
        str(tmp_path / "conf"),
        FileLocation("conf/jobs/train.py", 5, 1),
    )
    assert list(asset.inlets) == ["flights"]
    assert asset.inlets["flights"].location == FileLocation("conf/jobs/train.py", 5, 20)
    assert asset.schedule.text == "flights"


@pytest.mark.parametrize("path", ["jobs/train.py", "jobs/train/__init__.py"])
def test_a_function_beside_the_project_folder(folder, tmp_path, path):
    conf = folder({"conf/assets/a.yml": ASSET, path: "def train(context): ..."})
    assert load_project(conf, {}).assets["a"].body.search_path == str(tmp_path)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param(
            "def tran(context): ...\nif True:\n    def train(): ...\n",
            """\
conf/assets/a.yml:2:20: the module 'jobs.train' has no function 'train'
    python: jobs.train:train
                       ^^^^^
  hint: did you mean 'tran'?""",
            id="not_at_the_top_level",
        ),
        pytest.param(
            "train = print\n",
            """\
conf/assets/a.yml:2:20: the module 'jobs.train' has no function 'train'
    python: jobs.train:train
                       ^^^^^
  hint: it must be a 'def' at the module's top level""",
            id="no_function",
        ),
        pytest.param(
            "async def train(): ...\n",
            """\
conf/assets/a.yml:2:20: the module 'jobs.train' must not declare as 'async' the function 'train'
    python: jobs.train:train
                       ^^^^^""",
            id="async",
        ),
        pytest.param(
            "def train(context, flihgts, limit=3): ...\n",
            """\
conf/jobs/train.py:1:20: the argument 'flihgts' is not the name of an asset
    def train(context, flihgts, limit=3): ...
                       ^^^^^^^
  hint: did you mean 'flights'?
conf/jobs/train.py:1:29: the argument 'limit' is not the name of an asset
    def train(context, flihgts, limit=3): ...
                                ^^^^^
  hint: arguments are inlets, 'context' or 'spark'; read params from context.params""",
            id="arguments_that_are_no_inlets",
        ),
        pytest.param(
            "def train(é, *flights, **more): ...\n",
            """\
conf/jobs/train.py:1:11: the argument 'é' is not the name of an asset
    def train(é, *flights, **more): ...
              ^
  hint: arguments are inlets, 'context' or 'spark'; read params from context.params
conf/jobs/train.py:1:15: the argument '*flights' of 'train' does not name an inlet; name each inlet as an argument
    def train(é, *flights, **more): ...
                  ^^^^^^^
conf/jobs/train.py:1:26: the argument '*more' of 'train' does not name an inlet; name each inlet as an argument
    def train(é, *flights, **more): ...
                             ^^^^""",
            id="arguments_that_collect",
        ),
        pytest.param(
            "def train(a): ...\n",
            """\
conf/jobs/train.py:1:11: asset 'a' cannot be its own inlet
    def train(a): ...
              ^
  hint: in SQL, {{ outlets.<asset> }} reads the target as it was before the run""",
            id="itself",
        ),
        pytest.param(
            "def train(:\n",
            """\
conf/jobs/train.py:1:11: invalid Python: invalid syntax
    def train(:
              ^""",
            id="no_python",
        ),
    ],
)
def test_functions_that_are_refused(folder, source, expected):
    conf = folder({"conf/assets/flights.yml": FLIGHTS, "conf/assets/a.yml": ASSET, "conf/jobs/train.py": source})
    assert errors(conf) == expected


def test_a_module_is_never_imported(folder):
    conf = folder({"conf/assets/a.yml": ASSET, "conf/jobs/train.py": "raise SystemExit\ndef train(): ..."})
    load_project(conf, {})


def test_only_what_is_allowed_is_looked_at(folder):
    conf = folder({"conf/assets/a.yml": "asset: a\npython: shutil:rmtree\n"})
    assert errors(conf) == (
        "conf/assets/a.yml:2:9: the package 'shutil' is not allowed: it is not listed under 'python' in the "
        "project file\n    python: shutil:rmtree\n            ^^^^^^\n  hint: add 'shutil' to 'python' in the "
        "project file"
    )

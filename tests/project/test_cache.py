import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from sparkassets.errors import SpecError
from sparkassets.project import folder as heavy
from sparkassets.project import load

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
    return load(Path("conf"), env or {}, cache=Path("cache"))


def test_what_is_kept_equals_what_is_compiled(shop):
    first = loaded()
    assert loaded() == first == load(Path("conf"), {})
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
    assert after == load(Path("conf"), {})


def test_a_file_that_goes_is_seen(shop):
    loaded()
    Path("conf/assets/fact.sql").unlink()
    with pytest.raises(SpecError, match=r"there is no file assets/fact\.sql"):
        loaded()


def test_a_file_with_the_same_time_and_size_is_seen(shop):
    before = loaded()
    status = Path("conf/assets/daily.sql").stat()
    write("conf/assets/daily.sql", FILES["conf/assets/daily.sql"].replace("*", "1"))
    os.utime("conf/assets/daily.sql", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert loaded() != before


def test_what_comes_from_the_environment_may_be_secret_and_is_not_kept(shop):
    write("conf/project.yml", FILES["conf/project.yml"] + "timezone: ${ZONE}\n")
    before = len(shop)
    assert loaded({"ZONE": "Europe/Berlin"}).timezone == "Europe/Berlin"
    assert loaded({"ZONE": "UTC"}).timezone == "UTC"
    assert len(shop) == before + 2
    assert not list(Path("cache").rglob("*/*"))


def test_places_follow_the_working_folder(shop, monkeypatch):
    assert loaded().assets["daily"].location.file == "conf/assets/daily.yml"
    monkeypatch.chdir("conf")
    project = load(Path(), {}, cache=Path("../cache"))
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


def test_a_kept_project_needs_no_pydantic_yaml_and_jinja(shop):
    loaded()
    script = (
        "import sys; from pathlib import Path; from sparkassets.project import load\n"
        "load(Path('conf'), {}, cache=Path('cache'))\n"
        "assert not {'pydantic', 'yaml', 'jinja2'} & set(sys.modules), sorted(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)

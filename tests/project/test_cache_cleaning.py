"""The cache folder: what nobody uses goes, what somebody uses stays, and what is not ours is not touched."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from sparkassets.cache import cleaning, note_use, used_files
from sparkassets.cache.cleaning import clean_cache, clean_when_due
from sparkassets.project import load_project

DAY = 86_400
MEGABYTE = 2**20
KEY = "0123456789abcdef"


@pytest.fixture
def cache(tmp_path) -> Path:
    return tmp_path / "cache"


def put(path: Path, *, days: float, size: int = 1) -> Path:
    """A file that was used so long ago; sparse, however large."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(size)
    return age(path, days)


def age(path: Path, days: float) -> Path:
    os.utime(path, (time.time() - days * DAY,) * 2)
    return path


def jars(cache: Path, version: str, *, days: float, size: int = 1) -> Path:
    put(cache / "jars" / f"delta-spark_2.13-{version}" / "delta.jar", days=400, size=size)
    return age(cache / "jars" / f"delta-spark_2.13-{version}", days)


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_an_empty_or_missing_cache_is_none_of_its_business(cache):
    clean_cache(cache)
    clean_when_due(cache)
    assert not cache.exists()
    (cache / "projects").mkdir(parents=True)
    clean_cache(cache)
    assert names(cache) == ["projects"]


def test_what_was_not_used_for_long_goes(cache):
    for number, days in enumerate((29, 31, 400)):
        put(cache / f"projects/{KEY}{number:016}", days=days)
    for version, days in (("3.0", 500), ("4.0", 179), ("4.1", 20)):
        jars(cache, version, days=days)
    for number, days in enumerate((1, 91)):
        put(cache / f"archive/{KEY}{number:04}.jsa", days=days)
    for name, days in (("shop-01234567", 31), ("lake-89abcdef", 1)):
        put(cache / f"logs/{name}/a-1.log", days=days)
        age(cache / f"logs/{name}", days)
    clean_cache(cache)
    assert names(cache / "projects") == [f"{KEY}{0:016}"]
    assert names(cache / "jars") == ["delta-spark_2.13-4.0", "delta-spark_2.13-4.1"]
    assert names(cache / "archive") == [f"{KEY}0000.jsa"]
    assert names(cache / "logs") == ["lake-89abcdef"]


def test_the_newest_stays_however_old(cache):
    """Whoever starts once a year may have no network then."""
    jars(cache, "3.0", days=800)
    jars(cache, "4.0", days=700)
    clean_cache(cache)
    assert names(cache / "jars") == ["delta-spark_2.13-4.0"]


def test_what_is_too_much_goes_that_was_used_longest_ago(cache):
    for number in range(6):
        put(cache / f"archive/{KEY}{number:04}.jsa", days=2 + number, size=300 * MEGABYTE)
    clean_cache(cache)
    assert names(cache / "archive") == [f"{KEY}{number:04}.jsa" for number in range(3)]


def test_what_was_used_today_is_never_too_much(cache):
    for number in range(6):
        put(cache / f"archive/{KEY}{number:04}.jsa", days=0.9, size=300 * MEGABYTE)
    clean_cache(cache)
    assert len(names(cache / "archive")) == 6


def test_what_killed_processes_left_goes_after_a_day(cache):
    for name, days in ((".fetch-abc", 2), (".fetch-def", 0.5), (".gone-abc", 2)):
        put(cache / f"jars/{name}/cache/x.xml", days=days)
        age(cache / f"jars/{name}", days)
    put(cache / "projects/.new-abc", days=2)
    put(cache / "projects/.new-def", days=0.5)
    clean_cache(cache)
    assert names(cache / "jars") == [".fetch-def"]
    assert names(cache / "projects") == [".new-def"]


def test_what_is_not_ours_stays(cache, tmp_path):
    put(cache / "notes.txt", days=900)
    put(cache / "other/x.jar", days=900)
    put(cache / "projects/README", days=900)
    put(cache / "jars/delta-spark_2.13-1.0/delta.jar", days=900)
    put(cache / "jars/delta-spark_2.13-1.0/mine.txt", days=900)
    put(cache / "jars/mine/x.jar", days=900)
    put(cache / "logs/shop-01234567/thesis.tex", days=900)
    put(cache / "logs/shop-01234567/a.log", days=900)
    put(tmp_path / "elsewhere/delta.jar", days=900)
    (cache / "jars/delta-linked").symlink_to(tmp_path / "elsewhere")
    for folder in ("jars/delta-spark_2.13-1.0", "logs/shop-01234567"):
        age(cache / folder, 900)
    jars(cache, "4.0", days=1)
    before = sorted(each for each in tmp_path.rglob("*"))
    clean_cache(cache)
    assert sorted(each for each in tmp_path.rglob("*")) == before


def test_a_shelf_of_another_cache_stays(cache, tmp_path):
    jars(tmp_path / "shared", "3.0", days=900)
    jars(tmp_path / "shared", "4.0", days=900)
    cache.mkdir()
    (cache / "jars").symlink_to(tmp_path / "shared/jars")
    clean_cache(cache)
    assert len(names(cache / "jars")) == 2


def test_what_is_someone_elses_stays(cache, monkeypatch):
    jars(cache, "3.0", days=900)
    jars(cache, "4.0", days=900)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    clean_cache(cache)
    assert len(names(cache / "jars")) == 2


def test_what_a_process_was_started_with_stays(cache):
    """A JVM that has run for a year opens a jar when it first needs one of its classes."""
    old, _ = jars(cache, "3.0", days=900), jars(cache, "4.0", days=1)
    waits = "import sys; print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", waits, f"-cp={old}/delta.jar"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as user:
        assert user.stdout is not None
        user.stdout.readline()
        clean_cache(cache)
        assert len(names(cache / "jars")) == 2
        user.communicate()
    clean_cache(cache)
    assert names(cache / "jars") == ["delta-spark_2.13-4.0"]


def test_what_comes_into_use_meanwhile_is_put_back(cache, monkeypatch):
    old, _ = jars(cache, "3.0", days=900), jars(cache, "4.0", days=1)
    monkeypatch.setattr(cleaning, "_is_in_use", lambda _: not note_use(old))
    clean_cache(cache)
    assert names(cache / "jars") == ["delta-spark_2.13-3.0", "delta-spark_2.13-4.0"]
    assert names(old) == ["delta.jar"]


def test_once_a_day(cache):
    old = put(cache / f"projects/{KEY}{KEY}", days=31)
    put(cache / f"projects/{KEY}{KEY[::-1]}", days=1)
    clean_when_due(cache)
    assert not old.exists()
    put(old, days=31)
    clean_when_due(cache)
    assert old.exists()
    age(cache / ".cleaned", 2)
    clean_when_due(cache)
    assert not old.exists()


def test_use_is_noted_where_it_was_not_for_an_hour(cache):
    file = put(cache / "x", days=3)
    assert note_use(file)
    assert time.time() - file.stat().st_mtime < 60
    at = age(file, 0.01).stat().st_mtime
    assert note_use(file)
    assert file.stat().st_mtime == at
    assert not note_use(cache / "y")


def test_a_project_that_is_loaded_stays(tmp_path, cache, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "project.yml").write_text("project: p\nassets: [a.yml]\n")
    (tmp_path / "a.yml").write_text("{asset: a, source: true}\n")
    load_project(tmp_path, {}, cache=cache)
    (kept,) = (cache / "projects").iterdir()
    age(kept, 100)
    put(cache / f"projects/{KEY}{KEY}", days=50)
    load_project(tmp_path, {}, cache=cache)
    clean_cache(cache)
    assert names(cache / "projects") == [kept.name]


def test_a_folder_that_goes_while_it_is_looked_into_holds_nothing(cache, monkeypatch):
    monkeypatch.setattr("sparkassets.cache.note_use", lambda _: True)
    assert used_files(cache / "jars/delta-spark_2.13-3.0", "*.jar") == []
    monkeypatch.setattr(Path, "glob", lambda *_: (_ for _ in ()).throw(FileNotFoundError))
    assert used_files(cache, "*.jar") == []


READER = """
import sys
from pathlib import Path
from sparkassets.cache import used_files
from sparkassets.project import load_project
cache, jars = Path(sys.argv[1]), Path(sys.argv[2])
print(flush=True)
for _ in range(300):
    load_project(Path(sys.argv[3]), {}, cache=cache)
    assert len(found := used_files(jars, "*.jar")) in (0, 20), found
print("whole", flush=True)
"""


def test_another_process_reads_while_it_is_cleaned(tmp_path, cache, monkeypatch):
    """It finds all that it looks for, or nothing of it."""
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "project.yml").write_text("project: p\nassets: [a.yml]\n")
    (conf / "a.yml").write_text("{asset: a, source: true}\n")
    monkeypatch.setattr(cleaning, "EVERY_SECONDS", -DAY)
    monkeypatch.setattr(cleaning, "_is_in_use", lambda _: False)
    jars(cache, "4.0", days=1)
    ours = cache / "jars/delta-spark_2.13-3.0"
    command = [sys.executable, "-c", READER, *map(str, (cache, ours, conf))]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as reader:
        assert reader.stdout is not None
        reader.stdout.readline()
        while reader.poll() is None:
            put(cache / f"projects/{KEY}{KEY}", days=0)
            for each in [*(cache / "projects").iterdir()][1:]:
                with suppress(FileNotFoundError):  # half of a file of the reader's, whole by now
                    age(each, 40)
            if not ours.exists():
                making = cache / "jars/.fetch-made"
                for number in range(20):
                    put(making / f"{number}.jar", days=1)
                making.rename(ours)
                age(ours, 200)
            clean_cache(cache)
        assert reader.stdout.read() == b"whole\n"

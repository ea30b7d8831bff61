from __future__ import annotations

import json
import os
from pathlib import Path

import psutil
import pytest

from sparkassets.spark.installation import JavaRuntime
from sparkassets.spark.session_settings import prepare

JAVA = JavaRuntime(Path("/java/bin/java"), 'JAVA_VERSION="17.0.15"')


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path))
    return tmp_path / "archive"


@pytest.fixture
def jars(tmp_path):
    made = [tmp_path / "a.jar", tmp_path / "b.jar"]
    for jar in made:
        jar.write_bytes(b"x")
    return made


def start(jars, *, java=JAVA, given=""):
    return prepare(java, class_path=jars, given_options=given)


def dumped(made, content=b"\xa8\xab\x0b\xf0 classes"):
    """What the JVM leaves behind at its end."""
    made.dump.write_bytes(content)
    made.belongs_to(os.getpid())
    owner = made.dump.with_suffix(".json")
    owner.write_text(json.dumps({**json.loads(owner.read_text()), "created": 0}))  # that process has ended


def test_the_first_start_orders_a_dump_and_the_next_uses_it(folder, jars):
    first = start(jars)
    assert first.options == ("-Xlog:disable", f"-XX:ArchiveClassesAtExit={first.dump}")
    dumped(first)
    second = start(jars)
    (ready,) = folder.iterdir()
    assert second.options == (
        "-Xlog:cds=off",
        "-Xlog:cds+dynamic=off",
        "-Xshare:auto",
        f"-XX:SharedArchiveFile={ready}",
    )
    assert second.dump is None
    assert ready.suffix == ".jsa"


def test_a_dump_that_is_being_written_is_left_alone(folder, jars):
    first = start(jars)
    first.dump.write_bytes(b"\xa8 so far")
    first.belongs_to(os.getpid())
    assert json.loads(first.dump.with_suffix(".json").read_text()) == {
        "pid": os.getpid(),
        "created": psutil.Process().create_time(),
    }
    assert start(jars).dump is not None
    assert first.dump.exists()
    assert not list(folder.glob("*.jsa"))


def test_a_dump_of_an_unknown_process_is_left_alone_for_an_hour(folder, jars):
    first = start(jars)
    first.dump.write_bytes(b"\xa8 whole?")
    start(jars)
    assert first.dump.exists()
    hours_ago = first.dump.stat().st_mtime - 7200
    os.utime(first.dump, (hours_ago, hours_ago))
    assert start(jars).dump is None
    assert [path.suffix for path in folder.iterdir()] == [".jsa"]


def test_half_a_dump_is_removed(folder, jars):
    first = start(jars)
    dumped(first, b"\0\0\0\0 the header is written last")
    assert start(jars).dump is not None
    assert not list(folder.iterdir())


def test_of_two_dumps_one_is_kept(folder, jars):
    first, second = start(jars), start(jars)
    assert first.dump != second.dump
    dumped(first)
    dumped(second)
    start(jars)
    assert [path.suffix for path in folder.iterdir()] == [".jsa"]


@pytest.mark.parametrize("change", ["java", "jar"])
def test_an_archive_holds_for_one_java_and_one_class_path(folder, jars, change):
    dumped(start(jars))
    assert start(jars).dump is None
    if change == "java":
        assert start(jars, java=JavaRuntime(JAVA.command, 'JAVA_VERSION="21"')).dump is not None
    else:
        jars[0].write_bytes(b"xy")
        assert start(jars).dump is not None
    assert len(list(folder.glob("*.jsa"))) == 1


@pytest.mark.parametrize("given", ["-Xshare:off", "-XX:SharedArchiveFile=a.jsa", "-XX:ArchiveClassesAtExit=a.jsa"])
def test_the_users_own_archive_wins(jars, given):
    assert start(jars, given=f"-Xmx1g {given}").options == ()


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path, jars, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "file"))
    assert start(jars).options == ()


def test_an_owner_without_a_dump_goes_after_an_hour(folder, jars):
    first = start(jars)
    first.belongs_to(os.getpid())
    owner = first.dump.with_suffix(".json")
    start(jars)
    assert owner.exists()
    hours_ago = owner.stat().st_mtime - 7200
    os.utime(owner, (hours_ago, hours_ago))
    start(jars)
    assert not owner.exists()

from __future__ import annotations

import atexit
import io
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from sparkassets.spark import session_settings
from sparkassets.spark.installation import JavaRuntime
from sparkassets.spark.session_settings import ClassArchive, prepare, write_archive

JAVA = JavaRuntime(Path("/java/bin/java"), 'JAVA_VERSION="17.0.15"')
RECORDING = ("-Xlog:disable", "-XX:+RecordDynamicDumpInfo")


class Jvm:
    """Writes an archive when it is ordered to.

    Args:
        answers: What to do with the path.
    """

    def __init__(self, answers=lambda path: path.write_bytes(b"classes"), *, runs=True):
        self.answers = answers
        self.runs = runs
        self.is_silent = False

    def is_running(self):
        return self.runs

    def silence_output(self):
        self.is_silent = True

    def run_diagnostic(self, operation, *arguments):
        assert self.is_silent
        assert (operation, arguments[0]) == ("vmCds", "dynamic_dump")
        self.answers(Path(arguments[1]))


@pytest.fixture(autouse=True)
def _no_options(monkeypatch):
    for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def jvm(monkeypatch):
    def has(*arguments, **options):
        monkeypatch.setattr(session_settings, "gateway", Jvm(*arguments, **options))

    has()
    return has


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


def test_the_first_start_writes_an_archive_at_its_end_and_the_next_uses_it(folder, jars, jvm, monkeypatch):
    at_exit = []
    monkeypatch.setattr(atexit, "register", lambda *call: at_exit.append(call))
    first = start(jars)
    assert first.options == RECORDING
    first.write_at_exit()
    ((write, ready),) = at_exit
    write(ready)
    assert list(folder.iterdir()) == [ready]
    second = start(jars)
    assert second.options == (
        "-Xlog:cds=off",
        "-Xlog:cds+dynamic=off",
        "-Xshare:auto",
        f"-XX:SharedArchiveFile={ready}",
    )
    second.write_at_exit()
    assert len(at_exit) == 1


def test_nothing_is_written_where_the_jvm_has_ended_or_another_driver_was_quicker(folder, jars, jvm):
    wanted = start(jars).wanted
    jvm(runs=False)
    write_archive(wanted)
    assert list(folder.iterdir()) == []
    jvm()
    wanted.write_bytes(b"of another")
    write_archive(wanted)
    assert wanted.read_bytes() == b"of another"


def test_none_is_wanted_of_a_class_path_with_a_folder(folder, jars):
    assert start([*jars, jars[0].parent]) == ClassArchive()


def test_none_is_wanted_where_the_cache_cannot_be_written_or_the_disk_is_nearly_full(folder, jars, monkeypatch):
    with monkeypatch.context() as full:
        full.setattr(session_settings.shutil, "disk_usage", lambda _: SimpleNamespace(free=2**20))
        assert start(jars) == ClassArchive()
    with monkeypatch.context() as read_only:
        read_only.setattr(session_settings.os, "access", lambda *_: False)
        assert start(jars) == ClassArchive()
    assert start(jars).wanted is not None


@pytest.mark.parametrize("is_terminal", [False, True])
def test_who_waits_at_a_terminal_is_told_for_what(folder, jars, jvm, monkeypatch, is_terminal):
    stream = io.StringIO()
    stream.isatty = lambda: is_terminal
    monkeypatch.setattr(sys, "stderr", stream)
    write_archive(start(jars).wanted)
    said = "archiving Spark's classes for faster starts, this once; Ctrl-C skips it\n"
    assert stream.getvalue() == (said if is_terminal else "")


@pytest.mark.parametrize("error", [RuntimeError("no such operation"), KeyboardInterrupt()])
def test_a_jvm_that_cannot_write_one_and_ctrl_c_are_no_errors(folder, jars, jvm, error):
    def fails(path):
        path.with_suffix(".dump.temp").touch()
        raise error

    jvm(fails)
    write_archive(start(jars).wanted)
    assert start(jars).options == RECORDING


def test_parts_that_killed_drivers_left_go_after_an_hour(folder, jars):
    wanted = start(jars).wanted
    parts = [wanted.with_suffix(end) for end in (f".{'a' * 32}.dump", f".{'b' * 32}.dump.temp")]
    for part in parts:
        part.touch()
    start(jars)
    assert all(part.exists() for part in parts)
    hours_ago = parts[0].stat().st_mtime - 7200
    for part in parts:
        os.utime(part, (hours_ago, hours_ago))
    start(jars)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("change", ["java", "jar"])
def test_an_archive_holds_for_one_java_and_one_class_path(folder, jars, jvm, change):
    write_archive(start(jars).wanted)
    assert start(jars).wanted is None
    if change == "java":
        assert start(jars, java=JavaRuntime(JAVA.command, 'JAVA_VERSION="21"')).wanted is not None
    else:
        jars[0].write_bytes(b"xy")
        assert start(jars).wanted is not None
    assert len(list(folder.glob("*.jsa"))) == 1


@pytest.mark.parametrize("given", ["-Xshare:off", "-XX:SharedArchiveFile=a.jsa", "-XX:ArchiveClassesAtExit=a.jsa"])
def test_the_users_own_archive_wins(folder, jars, given, monkeypatch):
    assert start(jars, given=f"-Xmx1g {given}").options == ()
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", given)
    assert start(jars).options == ()


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path, jars, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "file"))
    assert start(jars).options == ()

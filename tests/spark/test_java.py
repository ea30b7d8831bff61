from __future__ import annotations

import os
import re
from importlib.metadata import PackageNotFoundError

import pytest

from sparkassets.errors import SparkUnavailableError
from sparkassets.spark.installation import find_java

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the fake Java is a shell script")

HINT = "  hint: install Java 17, such as openjdk-17-jre-headless, or set JAVA_HOME to it"


@pytest.fixture(autouse=True)
def has_sail(monkeypatch):
    """Says that Sail is installed, or else that it is not."""

    def say(installed):
        monkeypatch.setattr("sparkassets.spark.installation.is_sail_installed", lambda: installed)

    say(installed=False)
    return say


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Makes JAVA_HOME a Java that says of itself what is given."""

    def make(*, release=None, said="", folder="home"):
        home = tmp_path / folder
        command = home / "bin" / "java"
        command.parent.mkdir(parents=True, exist_ok=True)
        command.write_text(f"#!/bin/sh\nprintf '%s' '{said}' >&2\n", encoding="utf-8")
        command.chmod(0o755)
        if release is not None:
            (home / "release").write_text(release, encoding="utf-8")
        monkeypatch.setenv("JAVA_HOME", str(home))
        return home

    return make


@pytest.fixture
def spark(monkeypatch):
    """Makes another version of pyspark seem installed, None for none."""

    def install(version):
        def find(package):
            if version is None:
                raise PackageNotFoundError(package)
            return version

        monkeypatch.setattr("sparkassets.spark.installation.package_version", find)

    return install


@pytest.mark.parametrize(
    "saying",
    [
        {"release": 'IMPLEMENTOR="x"\nJAVA_VERSION="17.0.15"\n'},
        {"release": 'JAVA_VERSION="21"\n'},
        {"said": 'openjdk version "17.0.15" 2025-04-15'},
        {"said": 'java version "21.0.1" 2023-10-17 LTS'},
        {"said": 'openjdk version "25.0.3" 2026-04-21 LTS'},
    ],
)
def test_java_17_21_or_25_is_taken(fake, saying, spark):
    spark("4.2.0")
    home = fake(**saying)
    found = find_java()
    assert found.command == home / "bin" / "java"
    assert found.build == saying.get("release", saying.get("said"))


@pytest.mark.parametrize(
    ("version", "javas", "refused"),
    [
        ("3.5.9", "11 or 17", (8, 21, 25)),
        ("4.0.5", "17 or 21", (11, 25)),
        ("4.1.4", "17 or 21", (11, 25)),
        ("4.2.0", "17, 21 or 25", (11, 26)),
        (None, "11, 17, 21 or 25", (8, 26)),
    ],
)
def test_each_spark_runs_on_its_own_versions_of_java(fake, spark, version, javas, refused):
    spark(version)
    for java in map(int, re.findall(r"\d+", javas)):
        fake(release=f'JAVA_VERSION="{java}.0.1"')
        find_java()
    for java in refused:
        home = fake(release=f'JAVA_VERSION="{java}.0.1"')
        with pytest.raises(SparkUnavailableError) as error:
            find_java()
        named = f"Spark {version}" if version else "Spark"
        assert str(error.value) == (f"{named} needs Java {javas}, but {home}/bin/java is Java {java}\n{HINT}")


@pytest.mark.parametrize(
    ("saying", "named"),
    [
        ({"release": 'JAVA_VERSION="1.8.0_402"'}, "Java 8"),
        ({"said": 'openjdk version "26" 2026-03-17'}, "Java 26"),
        ({"said": "command not recognised"}, "of an unknown version"),
    ],
)
def test_another_java_is_refused_in_one_line(fake, saying, named, spark):
    spark("4.2.0")
    home = fake(**saying)
    with pytest.raises(SparkUnavailableError) as error:
        find_java()
    assert str(error.value) == f"Spark 4.2.0 needs Java 17, 21 or 25, but {home}/bin/java is {named}\n{HINT}"


def test_no_java_is_one_line(tmp_path, monkeypatch, spark):
    spark("4.2.0")
    needed = "Spark 4.2.0 needs Java 17, 21 or 25"
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SparkUnavailableError) as error:
        find_java()
    assert str(error.value) == f"{needed}, but there is no Java at JAVA_HOME={tmp_path}\n{HINT}"
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SparkUnavailableError) as error:
        find_java()
    assert str(error.value) == f"{needed}, but there is no Java on the PATH\n{HINT}"


def test_without_java_sail_is_named_where_it_is_installed(tmp_path, monkeypatch, has_sail):
    has_sail(installed=True)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SparkUnavailableError) as error:
        find_java()
    assert str(error.value).endswith(f"{HINT}; Sail needs no Java: --engine sail")


def test_links_are_followed_to_the_release_file(fake, tmp_path, monkeypatch):
    home = fake(release='JAVA_VERSION="17.0.1"', folder="real")
    links = tmp_path / "links"
    links.mkdir()
    (links / "java").symlink_to(home / "bin" / "java")
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(links))
    assert find_java().command == home / "bin" / "java"

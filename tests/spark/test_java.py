from __future__ import annotations

import os

import pytest

from sparkassets.errors import SparkUnavailableError
from sparkassets.spark.installation import find_java

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the fake Java is a shell script")


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Makes JAVA_HOME a Java that says of itself what is given."""

    def make(*, release=None, said="", folder="home"):
        home = tmp_path / folder
        command = home / "bin" / "java"
        command.parent.mkdir(parents=True)
        command.write_text(f"#!/bin/sh\nprintf '%s' '{said}' >&2\n", encoding="utf-8")
        command.chmod(0o755)
        if release is not None:
            (home / "release").write_text(release, encoding="utf-8")
        monkeypatch.setenv("JAVA_HOME", str(home))
        return home

    return make


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
def test_a_java_of_17_21_or_25_is_taken(fake, saying, monkeypatch):
    monkeypatch.setattr("sparkassets.spark.installation.package_version", lambda _: "4.2.0")
    home = fake(**saying)
    found = find_java()
    assert found.command == home / "bin" / "java"
    assert found.build == saying.get("release", saying.get("said"))


@pytest.mark.parametrize(
    ("saying", "named"),
    [
        ({"release": 'JAVA_VERSION="1.8.0_402"'}, "Java 8"),
        ({"release": 'JAVA_VERSION="11.0.2"'}, "Java 11"),
        ({"said": 'openjdk version "26" 2026-03-17'}, "Java 26"),
        ({"said": "command not recognised"}, "of an unknown version"),
    ],
)
def test_another_java_is_refused_in_one_line(fake, saying, named):
    home = fake(**saying)
    with pytest.raises(SparkUnavailableError) as error:
        find_java()
    assert str(error.value) == (
        f"Spark needs Java 17, 21 or 25, but {home}/bin/java is {named}\n  hint: install Java, such as "
        "openjdk-17-jre-headless, or set JAVA_HOME to it"
    )


def test_no_java_is_one_line(tmp_path, monkeypatch):
    hint = "  hint: install Java, such as openjdk-17-jre-headless, or set JAVA_HOME to it"
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SparkUnavailableError) as error:
        find_java()
    assert str(error.value) == f"Spark needs Java 17, 21 or 25, but there is no Java at JAVA_HOME={tmp_path}\n{hint}"
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SparkUnavailableError) as error:
        find_java()
    assert str(error.value) == f"Spark needs Java 17, 21 or 25, but there is no Java on the PATH\n{hint}"


def test_links_are_followed_to_the_release_file(fake, tmp_path, monkeypatch):
    home = fake(release='JAVA_VERSION="17.0.1"', folder="real")
    links = tmp_path / "links"
    links.mkdir()
    (links / "java").symlink_to(home / "bin" / "java")
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(links))
    assert find_java().command == home / "bin" / "java"


@pytest.mark.parametrize(("java", "oldest", "spark"), [("25.0.3", "4.2", "4.1.1"), ("21.0.1", "4.0", "3.5.9")])
def test_a_newer_java_is_for_a_newer_spark(fake, monkeypatch, java, oldest, spark):
    fake(said=f'openjdk version "{java}" 2026-04-21 LTS')
    monkeypatch.setattr("sparkassets.spark.installation.package_version", lambda _: spark)
    refused = rf"is Java {java[:2]}, which Spark takes from {oldest} on, and pyspark is {spark}"
    with pytest.raises(SparkUnavailableError, match=refused):
        find_java()

"""Fetching the jars, from a small repository on the disk."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile

import pytest

from sparkassets.spark.installation import delta_coordinates

pytestmark = pytest.mark.spark

FETCH = """
from pathlib import Path
import pyspark
from sparkassets.spark.installation import fetch_delta_jars
from sparkassets.spark.installation import find_java
from sparkassets.errors import SparkUnavailableError
try:
    print(*(jar.name for jar in fetch_delta_jars(Path(pyspark.__file__).parent, find_java())))
except SparkUnavailableError as error:
    print(error)
"""


def publish(repository, organisation, name, version, *dependencies):
    folder = repository / organisation.replace(".", "/") / name / version
    folder.mkdir(parents=True)
    needs = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>1</version></dependency>"
        for group, artifact in dependencies
    )
    (folder / f"{name}-{version}.pom").write_text(
        f"<project><modelVersion>4.0.0</modelVersion><groupId>{organisation}</groupId><artifactId>{name}</artifactId>"
        f"<version>{version}</version><dependencies>{needs}</dependencies></project>"
    )
    with zipfile.ZipFile(folder / f"{name}-{version}.jar", "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "")


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    wanted = delta_coordinates()
    publish(folder, "io.delta", wanted.name, wanted.version, ("io.delta", "delta-storage"), ("org.other", "shipped"))
    publish(folder, "io.delta", "delta-storage", "1", ("io.unitycatalog", "client"))
    publish(folder, "io.unitycatalog", "client", "1", ("org.other", "shipped"))
    publish(folder, "com.globalmentor", "hadoop-bare-naked-local-fs", "0.1.0", ("org.other", "shipped"))
    return folder


def fetch(tmp_path, repository):
    env = {**os.environ, "SPARKASSETS_CACHE": str(tmp_path / "cache"), "DEFAULT_ARTIFACT_REPOSITORY": repository}
    return subprocess.Popen([sys.executable, "-c", FETCH], env=env, stdout=subprocess.PIPE, text=True)


def test_two_processes_at_once_fetch_what_pyspark_does_not_ship(tmp_path, repository):
    wanted = delta_coordinates()
    said = [process.communicate()[0].split() for process in [fetch(tmp_path, repository.as_uri()) for _ in range(2)]]
    delta = [f"{wanted.name}-{wanted.version}.jar", "delta-storage-1.jar"]
    jars = ["client-1.jar", *delta, "hadoop-bare-naked-local-fs-0.1.0.jar"]
    assert said == [jars, jars]
    (folder,) = (tmp_path / "cache" / "jars").iterdir()
    assert sorted(path.name for path in folder.iterdir()) == jars
    nowhere = fetch(tmp_path, "https://127.0.0.1:9/")
    assert nowhere.communicate()[0].split() == jars


@pytest.mark.parametrize(
    ("where", "reason"),
    [("https://nowhere.invalid/", "no connection"), ("", "it does not exist")],
    ids=["no network", "not published"],
)
def test_jars_that_cannot_be_fetched_are_one_line(tmp_path, where, reason):
    (tmp_path / "empty").mkdir()
    place = where or (tmp_path / "empty").as_uri()
    said = fetch(tmp_path, place).communicate()[0].splitlines()
    assert said[0].startswith(f"cannot fetch Delta's jars ({delta_coordinates()}) from {place}: ")
    assert reason in said[0] or "not found" in said[0]
    assert said[1:] == [
        "  hint: connect to the network for this one download, or set DEFAULT_ARTIFACT_REPOSITORY to a mirror"
    ]
    assert not list((tmp_path / "cache" / "jars").iterdir())

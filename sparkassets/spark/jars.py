"""The jars that Spark needs, fetched once into the cache, so that a start does not resolve 33 artifacts again.

Beside Delta's one of a few kilobytes, that of a file system for disks. Hadoop's own starts a process, ``chmod``, for
every file and folder that it makes, where its native library is not installed, as it is not with pyspark: of a year
written by day those are most of the time. (https://github.com/globalmentor/hadoop-bare-naked-local-fs, Apache 2.0)
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from xml.sax.saxutils import quoteattr

from sparkassets.cache import cache_folder, used_files
from sparkassets.errors import SparkUnavailableError
from sparkassets.frozen import frozen
from sparkassets.spark.java import JavaRuntime

_CENTRAL = "https://repo1.maven.org/maven2/"
_FETCH_TIMEOUT_SECONDS = 900

LOCAL_FILES: Final = "com.globalmentor.apache.hadoop.fs.NakedLocalFileSystem"
"""The class of that file system."""
_LOCAL_FILES_JAR = ("com.globalmentor", "hadoop-bare-naked-local-fs", "0.1.0")


@frozen
class MavenCoordinates:
    """Delta's main artifact in a Maven repository; printed as ``io.delta:<name>:<version>``."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"io.delta:{self.name}:{self.version}"


def delta_coordinates() -> MavenCoordinates:
    """The artifact that the installed ``delta-spark`` names for the installed ``pyspark``.

    Delta's own rule is asked, because the artifact's name carries Spark's version in some releases only.

    Raises:
        SparkUnavailableError: One of the two packages is not installed.
    """
    try:
        from delta.pip_utils import configure_spark_with_delta_pip
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise SparkUnavailableError(
            f"the Python package {error.name} is not installed", hint="pip install 'sparkassets[spark]'"
        ) from error
    options = configure_spark_with_delta_pip(SparkSession.Builder())._options  # noqa: SLF001 - Delta offers no other way
    _, name, version = options["spark.jars.packages"].split(":")
    return MavenCoordinates(name, version)


def fetch_delta_jars(spark_home: Path, java: JavaRuntime) -> list[Path]:
    """The jars in the cache folder, sorted by name; fetched if they are missing.

    Raises:
        SparkUnavailableError: They cannot be fetched.
    """
    wanted = delta_coordinates()
    folder = cache_folder() / "jars" / f"{wanted.name}-{wanted.version}-{_LOCAL_FILES_JAR[1]}-{_LOCAL_FILES_JAR[2]}"
    asked = JarFetch(f"Delta's jars ({wanted})", wanted.name, _module(wanted), folder)
    return asked.jars(spark_home, java)


@frozen
class JarFetch:
    """Jars that are fetched together.

    Attributes:
        what: Their name in messages.
        main: The artifact that must be among them.
        module: An Ivy module that depends on them.
        folder: Where they are stored.
    """

    what: str
    main: str
    module: str
    folder: Path

    def jars(self, spark_home: Path, java: JavaRuntime) -> list[Path]:
        """The jars, sorted by name; fetched if they are missing.

        Raises:
            SparkUnavailableError: They cannot be fetched.
        """
        found = used_files(self.folder, "*.jar")
        if not found:
            _fetch(self, spark_home=spark_home, java=java)
            found = sorted(self.folder.glob("*.jar"))
        return found


def _fetch(asked: JarFetch, *, spark_home: Path, java: JavaRuntime) -> None:
    """Fills the folder by one atomic rename; if two processes try at once, the second one's work is dropped."""
    folder = asked.folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SparkUnavailableError(
            f"cannot create the cache folder {folder.parent}: {error.strerror}",
            hint="set SPARKASSETS_CACHE to another one",
        ) from error
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetch-", ignore_cleanup_errors=True) as work:
        jars = Path(work) / "jars"
        _run_ivy(asked, work=Path(work), into=jars, spark_home=spark_home, java=java)
        try:
            jars.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
            shutil.rmtree(jars, ignore_errors=True)


def _run_ivy(asked: JarFetch, *, work: Path, into: Path, spark_home: Path, java: JavaRuntime) -> None:
    repository = os.environ.get("DEFAULT_ARTIFACT_REPOSITORY", _CENTRAL)
    (work / "ivy.xml").write_text(asked.module, encoding="utf-8")
    (work / "settings.xml").write_text(_settings(repository), encoding="utf-8")
    command: Sequence[str] = [
        *(str(java.command), "-cp", str(spark_home / "jars" / "*"), "org.apache.ivy.Main", "-warn"),
        *("-settings", str(work / "settings.xml"), "-ivy", str(work / "ivy.xml"), "-cache", str(work / "cache")),
        *("-types", "jar", "-retrieve", f"{into}/[artifact]-[revision].[ext]"),
    ]
    said = ""
    try:
        done = subprocess.run(  # noqa: S603 - Spark's own Ivy, with a fixed list of arguments
            command, capture_output=True, text=True, check=False, timeout=_FETCH_TIMEOUT_SECONDS
        )
        said = done.stdout + done.stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        said = str(error)
    if not any(jar.name.startswith(f"{asked.main}-") for jar in into.glob("*.jar")):
        raise SparkUnavailableError(
            f"cannot fetch {asked.what} from {repository}: {_reason(said)}",
            hint="they are fetched once; connect to the network, or name a mirror in DEFAULT_ARTIFACT_REPOSITORY",
        )


def _reason(said: str) -> str:
    """The one line of Ivy's output that a person needs."""
    lines = [line.strip(" :\t") for line in said.splitlines()]
    if trouble := next((line for line in lines if line.startswith("HttpClientHandler: ")), None):
        return f"no connection ({trouble.removeprefix('HttpClientHandler: ').partition(' url=')[0]})"
    return next((line for line in lines if line.endswith("not found")), lines[0] if lines else "it says nothing")


def _module(wanted: MavenCoordinates) -> str:
    """An Ivy module of Delta and the file system; other organisations' artifacts are in Spark's ``jars`` folder."""
    organisation, name, version = map(quoteattr, _LOCAL_FILES_JAR)
    return f"""<ivy-module version="2.0">
  <info organisation="sparkassets" module="jars"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
    <dependency org="io.delta" name={quoteattr(wanted.name)} rev={quoteattr(wanted.version)} conf="default->default"/>
    <dependency org={organisation} name={name} rev={version} conf="default->master" transitive="false"/>
    <exclude org="^(?!(io\\.(delta|unitycatalog)|com\\.globalmentor)$).*" matcher="regexp"/>
  </dependencies>
</ivy-module>
"""


def _settings(repository: str) -> str:
    return f"""<ivysettings>
  <settings defaultResolver="maven"/>
  <resolvers><ibiblio name="maven" m2compatible="true" root={quoteattr(repository)}/></resolvers>
</ivysettings>
"""

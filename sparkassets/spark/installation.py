"""Which Java, Spark, Delta and Sail are installed, whether they fit, and the jars of Delta and S3 that they need.

Beside Delta's jar there is one of a few kilobytes: a file system for disks. Where Hadoop's native library is not
installed, as with pyspark, its own file system starts a process, ``chmod``, for every file and folder that it creates;
for a year written by day these take most of the time. (https://github.com/globalmentor/hadoop-bare-naked-local-fs,
Apache 2.0) Of Amazon's libraries only the needed ones are fetched: 14 MB instead of the 690 of ``hadoop-aws``' bundle.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.metadata import version as package_version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from sparkassets.cache import cache_folder, used_files
from sparkassets.core.phrases import listing
from sparkassets.errors import SparkUnavailableError
from sparkassets.frozen import frozen

OLDEST: Final = (3, 5)
NEWEST: Final = (4, 2)
"""The Spark versions that `make matrix` runs the tests with."""
_TOO_NEW: Final = (5,)
"""The first version of which nobody can say whether it works."""
_OLDEST_DELTA: Final = (((4, 1), (4, 1)), ((4, 0), (4, 0)), ((3, 5), (3, 2)))
"""The oldest Delta for each Spark, newest first: 4.0 asks for a Spark below 4.1."""
_SUPPORTED_TEXT: Final = "sparkassets works with Spark 3.5 to 4.2"
_BOUND: Final = re.compile(r"(<=|>=|==|!=|<|>)\s*(\d+(?:\.\d+)*)")


def check_spark(spark: str) -> None:
    """Refuses a Spark that is too old, and warns of one newer than any tested.

    Args:
        spark: The version of a session, such as ``4.2.0``.

    Raises:
        SparkUnavailableError: It is too old.
    """
    release = version_numbers(spark)[:2]
    if release and release < OLDEST:
        hint = "pip install 'sparkassets[spark]' brings one; on Databricks choose runtime 15.4 LTS or later"
        raise SparkUnavailableError(f"Spark {spark} is too old: {_SUPPORTED_TEXT}", hint=hint)
    if release > NEWEST:
        text = f"Spark {spark} is too new and untested: {_SUPPORTED_TEXT}"
        warnings.warn(text, RuntimeWarning, stacklevel=2)


def check_delta(delta: str, *, spark: str) -> None:
    """Refuses Delta jars that were made for an older Spark than the session's.

    Args:
        delta: Their version, such as ``4.4.0``; empty if unknown.
        spark: The session's version.

    Raises:
        SparkUnavailableError: They are too old.
    """
    release = version_numbers(delta)[:2]
    oldest = next(
        (oldest_delta for version, oldest_delta in _OLDEST_DELTA if version <= version_numbers(spark)[:2]), ()
    )
    if release and release < oldest:
        wanted = ".".join(map(str, oldest))
        raise SparkUnavailableError(
            f"Delta {delta} in the session is too old: Spark {spark} needs Delta {wanted} or later",
            hint="start the session with newer jars, or stop it and let sparkassets start one",
        )


def check_installed() -> None:
    """Refuses packages of Spark and Delta that do not fit each other or are not supported.

    Raises:
        SparkUnavailableError: With what is installed, and what is expected.
    """
    hint = "pip install 'sparkassets[spark]' installs matching versions"
    try:
        spark, delta = version("pyspark"), version("delta-spark")
    except PackageNotFoundError:
        return  # an installation of its own, or Delta among its jars: the session tells
    _refuse_other_age(f"pyspark {spark}", spark, hint=hint)
    wanted = next((each for each in requires("delta-spark") or () if re.match(r"pyspark\b", each)), "")
    if not _is_within(spark, wanted):
        made_for = wanted.removeprefix("pyspark").strip().strip("()")
        raise SparkUnavailableError(
            f"delta-spark {delta} does not match pyspark {spark}: it needs pyspark {made_for}", hint=hint
        )


def check_distribution(home: Path, *, pyspark: str) -> None:
    """Refuses a Spark distribution, such as that of ``$SPARK_HOME``, that is missing or not supported.

    Args:
        home: Its folder, which has ``jars``; where their names do not give Spark's version, it is taken.
        pyspark: The version of the package that is to start it.

    Raises:
        SparkUnavailableError: With what is there, and what is expected.
    """
    place = f"SPARK_HOME={home}" if os.environ.get("SPARK_HOME") else str(home)
    hint = "unset SPARK_HOME to use the Spark of the Python package, or set it to another installation"
    if not any((home / "jars").glob("*.jar")):
        raise SparkUnavailableError(f"there is no Spark at {place}", hint=hint)
    core = next((home / "jars").glob("spark-core_*.jar"), None)
    if core is None or not (spark := core.stem.rpartition("_")[2].partition("-")[2]):
        return
    _refuse_other_age(f"Spark {spark} at {place}", spark, hint=hint)
    if version_numbers(spark)[:2] != version_numbers(pyspark)[:2]:
        raise SparkUnavailableError(f"Spark {spark} at {place} does not match pyspark {pyspark}", hint=hint)


def _refuse_other_age(installation: str, spark: str, *, hint: str) -> None:
    """Refuses a version of Spark that is not supported.

    Raises:
        SparkUnavailableError: It is too old or too new.
    """
    if not OLDEST <= version_numbers(spark) < _TOO_NEW:
        age = "old" if version_numbers(spark) < OLDEST else "new"
        raise SparkUnavailableError(f"{installation} is too {age}: {_SUPPORTED_TEXT}", hint=hint)


def version_numbers(text: str) -> tuple[int, ...]:
    """The numbers that a version begins with.

    >>> version_numbers("4.2.0.dev1"), version_numbers("client-5"), version_numbers("4.0")
    ((4, 2, 0), (), (4, 0))
    """
    leading = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(map(int, leading[0].split("."))) if leading else ()


def _is_within(text: str, requirement: str) -> bool:
    """Whether a requirement such as ``pyspark<=4.2.0,>=4.0.1`` allows a version."""
    for sign, bound in _BOUND.findall(requirement):
        own, limit = version_numbers(text), version_numbers(bound)
        own, limit = (each + (0,) * (4 - len(each)) for each in (own, limit))
        if not {"<=": own <= limit, ">=": own >= limit, "==": own == limit, "!=": own != limit}.get(
            sign, own < limit if sign == "<" else own > limit
        ):
            return False
    return True


_JAVAS: Final = (((4, 2), (17, 21, 25)), ((4, 0), (17, 21)), ((3, 5), (11, 17)))
"""The versions of Java that each Spark runs on, newest first."""


@frozen
class JavaRuntime:
    """A Java that Spark can run on.

    Attributes:
        command: The program, with links resolved.
        build: Text that differs between builds of the JVM; a class data archive fits one build.
    """

    command: Path
    build: str


def find_java() -> JavaRuntime:
    """The Java that Spark's own start script would take: ``$JAVA_HOME/bin/java``, else the first on the path.

    Raises:
        SparkUnavailableError: There is none, or the installed Spark does not run on it.
    """
    spark, supported = _find_supported_javas()
    needed = f"{spark} needs Java {listing(map(str, supported))}"
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(str(Path(home, "bin", "java")) if home else "java")
    if found is None:
        place = f"at JAVA_HOME={home}" if home else "on the PATH"
        raise SparkUnavailableError(f"{needed}, but there is no Java {place}", hint=_java_hint())
    command = Path(found).resolve()
    build = _read_build_text(command)
    version = _parse_major_version(build)
    if version not in supported:
        described = f"Java {version}" if version else "of an unknown version"
        raise SparkUnavailableError(f"{needed}, but {found} is {described}", hint=_java_hint())
    return JavaRuntime(command, build)


def is_sail_installed() -> bool:
    """Whether Sail can be started here; imports nothing of it."""
    return all(find_spec(name) is not None for name in ("pysail", "pyspark", "grpc"))


def _java_hint() -> str:
    """What to do without a Java that Spark runs on."""
    hint = "install Java 17, such as openjdk-17-jre-headless, or set JAVA_HOME to it"
    return f"{hint}; Sail needs no Java: --engine sail" if is_sail_installed() else hint


def _find_supported_javas() -> tuple[str, tuple[int, ...]]:
    """The installed Spark in words, and the versions of Java that it runs on; where it is no package, of any Spark."""
    try:
        spark = package_version("pyspark")
    except PackageNotFoundError:
        return "Spark", tuple(sorted({java for _, javas in _JAVAS for java in javas}))
    release = version_numbers(spark)[:2]
    return f"Spark {spark}", next((javas for oldest, javas in _JAVAS if oldest <= release), _JAVAS[-1][1])


def _read_build_text(command: Path) -> str:
    """What the Java says of itself: its ``release`` file, or (tens of milliseconds slower) its ``-version``."""
    try:
        return (command.parent.parent / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        pass
    try:
        answer = subprocess.run(  # noqa: S603 - the very program that Spark is about to start
            [str(command), "-version"], capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stderr + answer.stdout


def _parse_major_version(build: str) -> int | None:
    """The major version in ``JAVA_VERSION="17.0.15"`` or ``openjdk version "17.0.15"``.

    >>> _parse_major_version('openjdk version "1.8.0_402"'), _parse_major_version('JAVA_VERSION="21"')
    (8, 21)
    """
    match = re.search(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)', build)
    return int(match.group(1)) if match else None


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
    fetch = JarFetch(f"Delta's jars ({wanted})", wanted.name, _make_delta_module(wanted), folder)
    return fetch.jars(spark_home, java)


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
            _fetch_jars(self, spark_home=spark_home, java=java)
            found = sorted(self.folder.glob("*.jar"))
        return found


def _fetch_jars(wanted: JarFetch, *, spark_home: Path, java: JavaRuntime) -> None:
    """Fills the folder by one atomic rename; of two processes that fetch at once, the later one drops its copy."""
    folder = wanted.folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SparkUnavailableError(
            f"cannot create the cache folder {folder.parent}: {error.strerror}",
            hint="set SPARKASSETS_CACHE to another one",
        ) from error
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetch-", ignore_cleanup_errors=True) as scratch:
        jars = Path(scratch) / "jars"
        _run_ivy(wanted, scratch=Path(scratch), target=jars, spark_home=spark_home, java=java)
        try:
            jars.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
            shutil.rmtree(jars, ignore_errors=True)


def _run_ivy(wanted: JarFetch, *, scratch: Path, target: Path, spark_home: Path, java: JavaRuntime) -> None:
    """Fetches the jars into a folder with the Ivy that Spark ships, from the mirror if the environment names one.

    Judges success by the main jar, and not by Ivy's exit code.

    Raises:
        SparkUnavailableError: The main jar is not there afterwards.
    """
    repository = os.environ.get("DEFAULT_ARTIFACT_REPOSITORY", _CENTRAL)
    (scratch / "ivy.xml").write_text(wanted.module, encoding="utf-8")
    (scratch / "settings.xml").write_text(_make_ivy_settings(repository), encoding="utf-8")
    command: Sequence[str] = [
        *(str(java.command), "-cp", str(spark_home / "jars" / "*"), "org.apache.ivy.Main", "-warn"),
        *(
            "-settings",
            str(scratch / "settings.xml"),
            "-ivy",
            str(scratch / "ivy.xml"),
            "-cache",
            str(scratch / "cache"),
        ),
        *("-types", "jar", "-retrieve", f"{target}/[artifact]-[revision].[ext]"),
    ]
    output = ""
    try:
        ended = subprocess.run(  # noqa: S603 - Spark's own Ivy, with a fixed list of arguments
            command, capture_output=True, text=True, check=False, timeout=_FETCH_TIMEOUT_SECONDS
        )
        output = ended.stdout + ended.stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        output = str(error)
    if not any(jar.name.startswith(f"{wanted.main}-") for jar in target.glob("*.jar")):
        raise SparkUnavailableError(
            f"cannot fetch {wanted.what} from {repository}: {_find_ivy_reason(output)}",
            hint="connect to the network for this one download, or set DEFAULT_ARTIFACT_REPOSITORY to a mirror",
        )


def _find_ivy_reason(output: str) -> str:
    """The one line of Ivy's output that a person needs."""
    lines = [line.strip(" :\t") for line in output.splitlines()]
    if connection_line := next((line for line in lines if line.startswith("HttpClientHandler: ")), None):
        return f"no connection ({connection_line.removeprefix('HttpClientHandler: ').partition(' url=')[0]})"
    return next((line for line in lines if line.endswith("not found")), lines[0] if lines else "it printed nothing")


def _make_delta_module(wanted: MavenCoordinates) -> str:
    """An Ivy module of Delta and the file system; other organisations' artifacts are in Spark's ``jars`` folder."""
    from xml.sax.saxutils import quoteattr  # loads Python's client of HTTP, which no start with the jars needs

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


def _make_ivy_settings(repository: str) -> str:
    from xml.sax.saxutils import quoteattr

    return f"""<ivysettings>
  <settings defaultResolver="maven"/>
  <resolvers><ibiblio name="maven" m2compatible="true" root={quoteattr(repository)}/></resolvers>
</ivysettings>
"""


HADOOP: Final = "3.5.0"
_SPARK_CLOUD, _AMAZON, _ANALYTICS = "4.1.2", "2.35.4", "1.3.1"
"""Versions that fit each other; Spark's module is not published for 4.2.0, and has not changed."""
_HADOOP_CLIENT = "hadoop-client-api-"
_S3_MODULE = f"""<ivy-module version="2.0">
  <info organisation="sparkassets" module="s3"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
    <dependency org="org.apache.hadoop" name="hadoop-aws" rev="{HADOOP}" conf="default->master"/>
    <dependency org="org.apache.spark" name="spark-hadoop-cloud_2.13" rev="{_SPARK_CLOUD}" conf="default->master"/>
    <dependency org="software.amazon.s3.analyticsaccelerator" name="analyticsaccelerator-s3" rev="{_ANALYTICS}"
      conf="default->master"/>
    <dependency org="software.amazon.awssdk" name="s3" rev="{_AMAZON}" conf="default->default"/>
    <dependency org="software.amazon.awssdk" name="s3-transfer-manager" rev="{_AMAZON}" conf="default->default"/>
    <dependency org="software.amazon.awssdk" name="sts" rev="{_AMAZON}" conf="default->default"/>
    <exclude org="^(org.slf4j|io.netty|commons-codec|commons-logging)$" matcher="regexp"/>
  </dependencies>
</ivy-module>
"""


def s3_jars(spark_home: Path, java: JavaRuntime) -> list[Path]:
    """The jars, sorted; none for a Hadoop version whose jars are not known.

    Raises:
        SparkUnavailableError: They cannot be fetched.
    """
    if hadoop_version(spark_home) != HADOOP:
        return []
    folder = cache_folder() / "jars" / f"s3-{HADOOP}-{_SPARK_CLOUD}-{_AMAZON}"
    return JarFetch(f"the jars for S3 (hadoop-aws {HADOOP})", "hadoop-aws", _S3_MODULE, folder).jars(spark_home, java)


def hadoop_version(spark_home: Path) -> str | None:
    """The version of the Hadoop that Spark ships; None where its jars do not say."""
    found = next((spark_home / "jars").glob(f"{_HADOOP_CLIENT}*.jar"), None)
    return None if found is None else found.stem.removeprefix(_HADOOP_CLIENT)

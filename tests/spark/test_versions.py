"""A Spark or a Delta of another age is named at the start, with what is supported."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from sparkassets.errors import SparkUnavailableError
from sparkassets.spark import installation
from sparkassets.spark.installation import check_delta, check_distribution, check_installed, check_spark


@pytest.fixture
def installed(monkeypatch):
    """Makes these versions the installed ones."""

    def make(spark, delta="4.4.0", wanted="pyspark<=4.2.0,>=4.0.1"):
        def version(name):
            if (found := {"pyspark": spark, "delta-spark": delta}[name]) is None:
                raise PackageNotFoundError(name)
            return found

        monkeypatch.setattr(installation, "version", version)
        monkeypatch.setattr(installation, "requires", lambda _: ["importlib_metadata>=1", wanted])

    return make


def test_a_session_that_is_too_old_is_refused():
    with pytest.raises(SparkUnavailableError, match=r"^Spark 3\.4\.1 is too old: sparkassets works with Spark 3\.5 to"):
        check_spark("3.4.1")


@pytest.mark.parametrize("version", ["3.5.1", "4.0.0", "4.1.2", "4.2.0.dev1", "client"])
def test_one_that_is_supported_or_says_nothing_is_taken(version):
    check_spark(version)


def test_one_that_is_newer_is_taken_with_a_warning():
    with pytest.warns(RuntimeWarning, match=r"Spark 4\.3\.0 is too new and untested: sparkassets works with"):
        check_spark("4.3.0")


@pytest.mark.parametrize(
    ("delta", "spark", "oldest"),
    [("3.1.0", "3.5.1", "3.2"), ("3.3.2", "4.0.1", "4.0"), ("4.0.0", "4.1.0", "4.1"), ("4.0.1", "4.2.0", "4.1")],
)
def test_delta_that_is_too_old_for_the_spark_of_a_session_is_refused(delta, spark, oldest):
    told = f"Delta {delta} in the session is too old: Spark {spark} needs Delta {oldest} or later"
    with pytest.raises(SparkUnavailableError, match=f"^{re.escape(told)}"):
        check_delta(delta, spark=spark)


@pytest.mark.parametrize(
    ("delta", "spark"), [("3.2.0", "3.5.0"), ("4.0.0", "4.0.2"), ("4.4.0", "4.2.0"), ("5.0", "4.2.0"), ("", "4.2.0")]
)
def test_other_delta_is_taken(delta, spark):
    check_delta(delta, spark=spark)


@pytest.mark.parametrize(
    ("spark", "delta", "wanted", "told"),
    [
        ("3.4.4", "2.4.0", "pyspark<3.5.0,>=3.4.0", "pyspark 3.4.4 is too old: sparkassets works with"),
        ("5.0.0", "4.4.0", "pyspark<=4.2.0,>=4.0.1", "pyspark 5.0.0 is too new"),
        ("4.2.0", "4.0.0", "pyspark (<4.1.0,>=4.0.0)", "delta-spark 4.0.0 does not match pyspark 4.2.0"),
        ("4.0.0", "4.4.0", "pyspark<=4.2.0,>=4.0.1", "it needs pyspark <=4.2.0,>=4.0.1"),
    ],
)  # fmt: skip
def test_packages_that_do_not_belong_together_are_refused(installed, spark, delta, wanted, told):
    installed(spark, delta, wanted)
    with pytest.raises(SparkUnavailableError) as error:
        check_installed()
    assert told in str(error.value)
    assert "pip install 'sparkassets[spark]'" in error.value.hint


@pytest.mark.parametrize(
    "given",
    [
        ("4.2.0",),
        ("3.5.9", "3.3.3", "pyspark<3.6.0,>=3.5.3"),
        ("4.3.0", "4.5.0", "pyspark<=4.3.0"),
        (None,),
        ("4.2.0", None),
    ],
)
def test_others_are_taken(installed, given):
    installed(*given)
    check_installed()


@pytest.mark.parametrize(
    ("jar", "message"),
    [
        (None, "there is no Spark at SPARK_HOME={home}"),
        ("spark-core_2.12-3.4.1.jar", "Spark 3.4.1 at SPARK_HOME={home} is too old: sparkassets works with"),
        ("spark-core_2.12-3.5.1.jar", "Spark 3.5.1 at SPARK_HOME={home} does not match pyspark 4.2.0"),
        ("spark-core_2.13-5.0.0.jar", "Spark 5.0.0 at SPARK_HOME={home} is too new"),
        ("spark-core_2.13-4.0.1.jar", "Spark 4.0.1 at SPARK_HOME={home} does not match pyspark 4.2.0"),
    ],
)
def test_another_spark_home_is_refused(tmp_path, monkeypatch, jar, message):
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    (tmp_path / "jars").mkdir()
    if jar:
        (tmp_path / "jars" / jar).touch()
    with pytest.raises(SparkUnavailableError, match=re.escape(message.format(home=tmp_path))) as error:
        check_distribution(tmp_path, pyspark="4.2.0")
    assert error.value.hint.startswith("unset SPARK_HOME")


@pytest.mark.parametrize("jar", ["spark-core_2.13-4.2.1-amzn-0.jar", "spark--core.jar"])
def test_a_spark_home_that_fits_or_does_not_say_is_taken(tmp_path, jar):
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / jar).touch()
    check_distribution(tmp_path, pyspark="4.2.0")


def test_what_is_said_is_what_is_installed_by_the_extra():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["optional-dependencies"]["spark"][0] == "pyspark>=3.5,<5"
    assert (installation.OLDEST, installation.NEWEST) == ((3, 5), (4, 2))

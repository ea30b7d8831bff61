"""How a project's package gets to the workers of Spark Connect; no server is started."""

import sys

import pytest

from sparkassets.authoring.packages import forget_changed_packages, import_from
from sparkassets.spark.functions import ship_package

pytestmark = pytest.mark.spark  # reads pyspark's errors


class Session:
    """Of Spark Connect: it has no context."""

    def __init__(self, name, *, error=None):
        self.session_id = name
        self.error = error
        self.sent = []

    def addArtifacts(self, *paths, pyfile):  # noqa: N802  pyspark's name
        if self.error is not None:
            raise self.error
        assert pyfile
        self.sent += paths


@pytest.fixture
def folder(tmp_path):
    """Of a package `given`, which is imported."""
    (tmp_path / "given").mkdir()
    edit(tmp_path, "")
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "given"]:
        del sys.modules[name]


def edit(folder, text):
    """Changes a module of the package, as somebody does who then loads the project again."""
    (folder / "given/work.py").write_text(text)
    forget_changed_packages()
    import_from("given.work", str(folder))


def test_each_state_of_the_files_is_sent_once_to_each_session(folder):
    first, second = Session("a"), Session("b")
    for session in (first, first, second):
        ship_package(session, "given", folder=str(folder))
    assert len(first.sent) == len(second.sent) == 1
    edit(folder, "more = 1\n")
    ship_package(first, "given", folder=str(folder))
    assert len(set(first.sent)) == 2


def test_files_that_change_beneath_a_loop_are_not_sent(folder):
    session = Session("e")
    ship_package(session, "given", folder=str(folder))
    (folder / "given/work.py").write_text("more = 1\n")
    ship_package(session, "given", folder=str(folder))
    assert len(session.sent) == 1


def test_who_goes_through_what_workers_are_given_is_not_disturbed(spark, folder):
    """Pyspark does so, one by one, in every thread that makes a frame."""
    context = spark.sparkContext
    environment, includes = context.environment, context._python_includes
    going = iter(environment.items())
    found = dict([next(going)])
    ship_package(spark, "given", folder=str(folder))
    found.update(going)
    assert found == environment
    assert context.environment == {**environment, "SPARKASSETS_GIVEN": context._python_includes[-1]}
    assert not [each for each in includes[:-1] if each.startswith("given-")]
    edit(folder, "more = 1\n")
    ship_package(spark, "given", folder=str(folder))
    assert len([each for each in context._python_includes if each.startswith("given-")]) == 1


def test_a_session_that_takes_no_artifacts_computes_without(folder):
    """Functions are sent by value; what they import where they run is not there, as they say themselves."""
    refused = NotImplementedError("[UNSUPPORTED_OPERATION] addArtifacts")
    ship_package(Session("c", error=refused), "given", folder=str(folder))
    with pytest.raises(ConnectionError):
        ship_package(Session("d", error=ConnectionError("gone")), "given", folder=str(folder))

"""How a project's package gets to the workers of Spark Connect; no server is started."""

import pytest

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
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs/work.py").touch()
    return tmp_path


def test_each_state_of_the_files_is_sent_once_to_each_session(folder):
    first, second = Session("a"), Session("b")
    for session in (first, first, second):
        ship_package(session, "jobs", folder=str(folder))
    assert len(first.sent) == len(second.sent) == 1
    (folder / "jobs/work.py").write_text("more = 1\n")
    ship_package(first, "jobs", folder=str(folder))
    assert len(set(first.sent)) == 2


def test_who_goes_through_what_workers_are_given_is_not_disturbed(spark, folder):
    """Pyspark does so, one by one, in every thread that makes a frame."""
    (folder / "given").mkdir()
    (folder / "given/work.py").touch()
    context = spark.sparkContext
    environment, includes = context.environment, context._python_includes
    going = iter(environment.items())
    found = dict([next(going)])
    ship_package(spark, "given", folder=str(folder))
    found.update(going)
    assert found == environment
    assert context.environment == {**environment, "SPARKASSETS_GIVEN": context._python_includes[-1]}
    assert not [each for each in includes[:-1] if each.startswith("given-")]
    (folder / "given/work.py").write_text("more = 1\n")
    ship_package(spark, "given", folder=str(folder))
    assert len([each for each in context._python_includes if each.startswith("given-")]) == 1


def test_a_session_that_takes_no_artifacts_computes_without(folder):
    """Functions are sent by value; what they import where they run is not there, as they say themselves."""
    refused = NotImplementedError("[UNSUPPORTED_OPERATION] addArtifacts")
    ship_package(Session("c", error=refused), "jobs", folder=str(folder))
    with pytest.raises(ConnectionError):
        ship_package(Session("d", error=ConnectionError("gone")), "jobs", folder=str(folder))

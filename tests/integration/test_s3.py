"""Runs on S3, tried against a real S3 API on loopback: nothing is renamed, and what failed is nowhere to be seen."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from sparkassets.errors import SparkUnavailableError
from sparkassets.spark.installation import find_java, s3_jars

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def printed_document(tmp_path_factory):
    """What `tests.integration.on_s3` prints."""
    try:
        jars = s3_jars(Path(pyspark.__file__).parent, find_java())
    except SparkUnavailableError as error:
        pytest.skip(str(error))
    if not jars:
        pytest.skip("the jars for S3 are not known for this Spark's Hadoop")
    command = [sys.executable, "-m", "tests.integration.on_s3", str(tmp_path_factory.mktemp("s3"))]
    done = subprocess.run(
        command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False, timeout=500
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_the_driver_commits_what_the_s3_committer_published(printed_document):
    assert printed_document["writers"] == ["delta-rs", "delta-rs", "delta-rs"]
    expected = [[f"2013-01-0{1 + n % 2}", f"a b/{n % 2}", n] for n in range(6)]
    assert printed_document["daily"] == printed_document["local"] == sorted(expected)


def test_tasks_that_failed_and_were_tried_again_leave_nothing(printed_document):
    assert printed_document["unsteady"] == [[4000, 4000, 7998000]]
    assert (printed_document["strays"], printed_document["pending"]) == ([], 0)


def test_no_file_was_renamed(printed_document):
    """An object that is made by completing an upload of parts has an ETag of its own form."""
    assert printed_document["copied"] == []


def test_of_fences_at_once_each_is_a_version_or_a_conflict(printed_document):
    assert set(printed_document["fences"]) <= {"done", "conflict"}
    assert 1 <= printed_document["fenced"] - 2 <= printed_document["fences"].count("done")

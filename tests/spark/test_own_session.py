"""What functions may not do to what all runs share; tested without Spark."""

import atexit
import gc
import weakref

import pytest

from sparkassets.authoring import set_current_context
from sparkassets.errors import SparkUnavailableError
from sparkassets.spark.own_session import (
    ask_once,
    keep_running,
    leave_session,
    list_interruptible,
    open_brief_session,
    open_own_session,
)

ZONE = "spark.sql.session.timeZone"


class Shared:
    def __init__(self):
        self.stopped = 0

    def stop(self):
        self.stopped += 1


def test_only_a_function_cannot_stop_it():
    shared = Shared()
    for _ in range(2):
        keep_running(shared)
    with (
        set_current_context(object()),
        pytest.raises(RuntimeError, match=r"^spark\.stop\(\) would end other runs; "),
    ):
        shared.stop()
    assert shared.stopped == 0
    shared.stop()
    assert shared.stopped == 1


class Client:
    """What a session of Spark Connect does of its connection."""

    def __init__(self, calls, *, is_gone=False):
        self.calls = calls
        self.is_gone = is_gone
        self.policies = ["often"]
        atexit.register(self._on_exit)

    def set_retry_policies(self, policies):
        self.policies = policies

    def get_retry_policies(self):
        return self.policies

    def release_session(self):
        self.calls.append("release")
        if self.is_gone:
            raise ConnectionError("gone")

    def close(self):
        self.calls.append("close")

    def _on_exit(self):
        self.calls.append("exit")


class Settings(dict):
    getAll = property(dict)  # noqa: N815  Spark's name
    set = dict.__setitem__


class Connect:
    """A session of Spark Connect, without one."""

    version = "4.2.0"

    def __init__(self, *, zone="UTC", copies=True, is_gone=False):
        self.conf = Settings({ZONE: zone})
        self.calls = []
        self.client = Client(self.calls, is_gone=is_gone)
        self.tags = set()
        self.copies = copies

    def cloneSession(self):  # noqa: N802  pyspark's name
        if not self.copies:
            raise NotImplementedError("the server knows no CloneSession")
        return Connect(zone=self.conf[ZONE], is_gone=self.client.is_gone)

    def getTags(self):  # noqa: N802  pyspark's name
        return self.tags

    def addTag(self, tag):  # noqa: N802  pyspark's name
        self.tags.add(tag)


def test_a_copy_by_spark_connect_is_as_its_session_but_of_utc_and_is_interrupted_with_it():
    theirs = Connect(zone="Asia/Tokyo")
    theirs.addTag("a run")
    theirs.client.set_retry_policies(["seldom"])
    own = open_own_session(theirs)
    with open_brief_session(own) as brief:
        assert (own.conf[ZONE], own.tags, brief.tags) == ("UTC", {"a run"}, {"a run"})
        assert brief.client.policies == ["seldom"]
        assert list(list_interruptible(theirs)) == [theirs, own, brief]
    assert brief.client.policies == []
    assert (theirs.conf[ZONE], brief.calls) == ("Asia/Tokyo", ["release", "close"])
    assert list(list_interruptible(theirs)) == [theirs, own]
    leave_session(own)
    assert list(list_interruptible(theirs)) == [theirs]


def test_a_copy_that_nobody_left_is_no_garbage_and_one_that_was_left_is():
    """The first would be closed by the collector, in whatever thread; the second is held by nothing."""
    own = weakref.ref(open_own_session(Connect()))
    gc.collect()
    assert own() is not None
    leave_session(own())
    gc.collect()
    assert own() is None


def test_a_server_that_is_gone_is_asked_once():
    own = open_own_session(Connect(is_gone=True))
    leave_session(own)
    leave_session(own)
    assert own.calls == ["release", "close"]


def test_a_session_that_cannot_be_copied_is_used_as_it_is_where_it_is_in_utc():
    alone = Connect(copies=False)
    with open_brief_session(alone) as own:
        assert own is alone
    assert alone.calls == []
    with pytest.raises(
        SparkUnavailableError, match=r"time zone is Asia/Tokyo, and the session cannot be copied to one in UTC"
    ):
        open_own_session(Connect(zone="Asia/Tokyo", copies=False))


def test_a_server_that_did_not_answer_is_asked_once_by_all_that_is_beside_a_session():
    own = open_own_session(Connect())
    with open_brief_session(own) as brief:
        ask_once(own)
        assert (own.client.policies, brief.client.policies) == ([], [])
    leave_session(own)

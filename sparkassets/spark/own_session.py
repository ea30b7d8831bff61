"""The runs' own session beside the user's, in UTC and with settings for small tables."""

from __future__ import annotations

import atexit
import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, cast
from weakref import WeakKeyDictionary

from sparkassets.authoring import is_in_function
from sparkassets.errors import RunError, SparkUnavailableError
from sparkassets.spark.failures import first_line, ignore_lacking, is_lacking, is_out_of_reach
from sparkassets.spark.session_settings import OF_RUNS, TIME_ZONE, is_local, small_table_settings
from sparkassets.spark.versions import ANSI, lacks_ansi, list_settings

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_UTC = frozenset({"UTC", "Etc/UTC", "GMT", "Z", "+00:00"})
_CHANGED_SETTINGS: WeakKeyDictionary[SparkSession, dict[str, str]] = WeakKeyDictionary()
"""For each session: what it has set and a new session of its application has not."""
_COPIES: dict[SparkSession, SparkSession] = {}
"""Copies of Spark Connect sessions that are still open, with the session that each was copied from.

They are held here because pyspark closes a session that is collected as garbage. The collector may run within any call
of gRPC's, in whatever thread, and closing there has ended in waiting for ever (SPARK-55020, SPARK-58268: pyspark keeps
the collector out of some of its calls). What was left is closed already.
"""


def setting(session: SparkSession, key: str) -> str | None:
    """The value of a setting that every Spark has; None if the session does not reveal it, as on serverless compute."""
    from pyspark.errors import PySparkException

    try:
        return str(session.conf.get(key))
    except PySparkException as error:
        if is_out_of_reach(error):
            raise
        return None


def given_setting(session: SparkSession, key: str) -> str | None:
    """The value of a setting that somebody has set; None if nobody has, or the session does not reveal it."""
    from pyspark.errors import PySparkException

    try:
        value: str | None = session.conf.get(key, None)
    except PySparkException as error:
        if is_out_of_reach(error):
            raise
        return None
    return value


def settings_of(session: SparkSession) -> Mapping[str, str]:
    """The settings of a session, as far as it reveals them."""
    from pyspark.errors import PySparkException

    try:
        return list_settings(session)
    except PySparkException as error:
        if is_out_of_reach(error):
            raise
        return {}


def context_of(session: SparkSession) -> SparkContext | None:
    """The context of a classic session, which leads to its JVM; None on Spark Connect."""
    try:
        return session.sparkContext
    except (AttributeError, NotImplementedError):  # the second from clients of Spark Connect 3.5
        return None


def is_remote(session: SparkSession) -> bool:
    """Whether the session is one of Spark Connect."""
    return context_of(session) is None


def open_own_session(session: SparkSession) -> SparkSession:
    """A session of the same application with the user's settings, except those that runs rely on, such as UTC.

    Returns the given session where it cannot be copied.

    Raises:
        SparkUnavailableError: The session cannot be copied, and is not in UTC, so dates would shift.
    """
    from pyspark.errors import PySparkException

    copy = _copy_session(session)
    if copy is None:
        if not is_utc(session):
            zone = setting(session, TIME_ZONE)
            raise SparkUnavailableError(
                f"the Spark session's time zone is {zone}, and the session cannot be copied to one in UTC",
                hint=f'spark.conf.set("{TIME_ZONE}", "UTC")',
            )
        return session
    settings = settings_of(copy)
    defaults = small_table_settings(settings) if "spark.master" in settings and is_local(settings) else {}
    for key, value in defaults.items():
        if key not in settings:
            copy.conf.set(key, value)
    copy.conf.set(TIME_ZONE, "UTC")
    turn_ansi_on(copy, given=session)
    for key, value in OF_RUNS.items():
        with contextlib.suppress(PySparkException):  # a serverless session takes few settings
            copy.conf.set(key, value)
    return copy


def turn_ansi_on(session: SparkSession, *, given: SparkSession) -> None:
    """Makes a cast that does not fit an error in any version, unless somebody has said otherwise in ``given``."""
    from pyspark.errors import PySparkException

    if lacks_ansi(session) and given_setting(given, ANSI) is None:
        with contextlib.suppress(PySparkException):  # a session may refuse
            session.conf.set(ANSI, "true")


@contextlib.contextmanager
def open_brief_session(session: SparkSession) -> Iterator[SparkSession]:
    """A session as of `open_own_session`, closed at the end: a Connect server would keep it for an hour."""
    brief = open_own_session(session)
    try:
        yield brief
    finally:
        if brief is not session:
            leave_session(brief)


def leave_session(copy: SparkSession) -> None:
    """Closes a copy from `open_own_session` on Spark Connect, on its server, too; does nothing for another session."""
    if copy not in _COPIES:
        return
    client = copy.client
    with contextlib.suppress(Exception):  # the server may be gone, or forgets it by itself
        client.set_retry_policies([])  # they would ask a server that is gone for ten minutes
        client.release_session()
    with contextlib.suppress(Exception):
        client.close()
    at_exit = getattr(client, "_on_exit", None)
    if at_exit is not None:  # it would hold every session that there ever was, as a process runs on
        atexit.unregister(at_exit)
    del _COPIES[copy]


def ask_once(session: SparkSession) -> None:
    """Makes the session and its copies give up at once on a silent server, instead of trying for ten minutes."""
    for each in list_interruptible(session):
        if is_remote(each):
            with ignore_lacking():
                each.client.set_retry_policies([])


def list_interruptible(session: SparkSession) -> Iterator[SparkSession]:
    """The session and, on Spark Connect, all copies of it: each must be interrupted on its own there."""
    yield session
    for copy, original in list(_COPIES.items()):
        if original is session:
            yield from list_interruptible(copy)


def copy_for_run(session: SparkSession) -> SparkSession:
    """A copy of the session for a function, which may change its settings, views and current schema.

    On Spark Connect it is the same session, because the server would keep each copy.
    """
    from pyspark.errors import PySparkException

    if is_remote(session):
        keep_running(session)
        return session
    copy = session.newSession()
    if session not in _CHANGED_SETTINGS:  # nobody changes it
        _CHANGED_SETTINGS[session] = _find_changed_settings(session, copy)
    for key, value in _CHANGED_SETTINGS[session].items():
        with contextlib.suppress(PySparkException):  # what no session may change is the same in all of them
            copy.conf.set(key, value)
    _set_current_schema(session, copy)
    keep_running(copy.sparkContext)
    make_active(copy)
    return copy


def set_for_run(session: SparkSession, settings: Mapping[str, str]) -> None:
    """Changes settings of a run's own session.

    Raises:
        RunError: Spark does not let a session change one; on Spark Connect, where all runs share one, for any.
    """
    from pyspark.errors import PySparkException

    if settings and is_remote(session):
        raise RunError(
            "'spark_conf' cannot be used with Spark Connect, where all runs share one session",
            hint="write the settings to 'spark' in project.yml, or set them on the server",
        )
    for name, value in settings.items():
        try:
            session.conf.set(name, value)
        except PySparkException as error:
            message = f"the setting {name!r} of 'spark_conf' cannot be changed for a run: {first_line(error)}"
            raise RunError(message, hint="write it to 'spark' in project.yml, for the whole session") from error


def make_active(session: SparkSession) -> None:
    """Makes a classic session the active one of this thread, for code that asks for the active session.

    `createDataFrame` is the one public way to it, and takes 35 calls of the JVM for what these two lines do.
    """
    from pyspark.sql import SparkSession

    if is_remote(session):
        return
    SparkSession._activeSession = session  # noqa: SLF001
    session._jsparkSession.setActiveSession(session._jsparkSession)  # noqa: SLF001


def keep_running(shared: SparkContext | SparkSession) -> None:
    """Prevents functions from stopping the context that all runs share."""
    if "stop" in vars(shared):
        return
    stop = shared.stop

    def stop_outside_functions() -> None:
        if is_in_function():
            raise RuntimeError("spark.stop() would end other runs; do not stop the session")
        stop()

    vars(shared)["stop"] = stop_outside_functions


@contextlib.contextmanager
def keep_active(user_session: SparkSession | None) -> Iterator[None]:
    """Keeps the user's session the process's active one, whatever frames are created meanwhile."""
    try:
        yield
    finally:
        if user_session is not None:
            with contextlib.suppress(Exception):  # its JVM may be gone; who works with it next is told so
                make_active(user_session)


def _copy_session(session: SparkSession) -> SparkSession | None:
    """A new session with the same settings and current schema; None where Spark has no such thing."""
    if is_remote(session):
        return _clone_session(session)
    from pyspark.errors import PySparkException

    copy = session.newSession()
    for key, value in _find_changed_settings(session, copy).items():
        with contextlib.suppress(PySparkException):  # what no session may change is the same in all of them
            copy.conf.set(key, value)
    _set_current_schema(session, copy)
    return copy


def _find_changed_settings(session: SparkSession, new: SparkSession) -> dict[str, str]:
    """The settings of a session that a new session of its application has not, or has with another value."""
    defaults = settings_of(new)
    return {key: value for key, value in settings_of(session).items() if defaults.get(key) != value}


def _clone_session(session: SparkSession) -> SparkSession | None:
    """A copy on the Spark Connect server; None where client or server cannot do it."""
    setting(session, TIME_ZONE)  # the server knows a session from its first request on, and copies no other
    try:
        clone = cast("SparkSession", session.cloneSession())
    except Exception as error:
        if is_lacking(error):
            return None
        raise
    _COPIES[clone] = session
    with ignore_lacking():
        clone.client.set_retry_policies(session.client.get_retry_policies())
        for tag in session.getTags():
            clone.addTag(tag)
    return clone


def _set_current_schema(session: SparkSession, copy: SparkSession) -> None:
    """Sets the current catalog and schema as in the user's session, for names in the author's code."""
    for get, use in (("currentCatalog", "setCurrentCatalog"), ("currentDatabase", "setCurrentDatabase")):
        wanted = getattr(session.catalog, get)()
        if getattr(copy.catalog, get)() != wanted:
            getattr(copy.catalog, use)(wanted)


def is_utc(session: SparkSession) -> bool:
    """Whether the session's dates are in UTC."""
    return setting(session, TIME_ZONE) in _UTC


def require_utc(session: SparkSession, *, asset: str) -> None:
    """Refuses rows of a session that is not in UTC: it would shift every date that Spark derives from an instant.

    Raises:
        RunError: With what to do about it.
    """
    if not is_utc(session):
        raise RunError(
            f"{asset}: the rows come from a Spark session in the time zone {setting(session, TIME_ZONE)}; expected UTC",
            hint="use the session of the function's argument `spark`, and do not change its time zone",
        )

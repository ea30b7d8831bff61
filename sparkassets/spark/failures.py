"""What Spark's errors mean: conditions, messages, retries, and features that a server lacks."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import Final

from sparkassets.core.http_answers import quote_http_answers
from sparkassets.errors import FileLocation, RunError, SparkAssetsError

_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)?)\]")
_STATE = re.compile(r"SQLSTATE: ([0-9A-Z]{5})")
_PARQUET_REFUSAL: Final = re.compile(r"\.parquet\.schema\.InvalidSchemaException\b")
_UNSTATED: Final = {
    "22": re.compile(
        r"\.Spark(?:Arithmetic|ArrayIndexOutOfBounds|DateTime|NumberFormat)Exception\b"
        r"|\[CAST_INVALID_INPUT|^(?:Division by zero|invalid timestamp: )"
    ),
    "KD": re.compile(r"\[FAILED_READ_FILE"),
    "42": _PARQUET_REFUSAL,
}
"""SQLSTATE classes of errors that do not state one: in values and files, of Spark 3.5 and Sail; in Parquet's schema."""
_VALUE_ERRORS: Final = {
    "ArithmeticException",
    "ArrayIndexOutOfBoundsException",
    "DateTimeException",
    "NumberFormatException",
    "SparkRuntimeException",
}
"""Classes of pyspark's errors in values; of those that state nothing, as Sail's do, the class alone says so."""
_LINE_NUMBER = re.compile(r"line (\d+),? pos(?:ition)? \d+")
_TAIL = re.compile(r"\s*SQLSTATE: [0-9A-Z]{5}.*$|; line \d+ pos \d+;?\s*$", re.DOTALL)
_CALLED = re.compile(r"^An error occurred while calling [^\n]*\n: ")
_CAUSE = re.compile(r"^Caused by: (.*)$", re.MULTILINE)
_LATER_LINE = re.compile(r"(Invalid column names: .*|The column .* is a struct .*)$", re.MULTILINE)
"""Delta's refusal of columns, whose first line names none of them."""
_OBJECT = re.compile(r"(?:[a-z]\w*\.)+([A-Z]\w*)@[0-9a-f]+")
_JAVA_CLASS = re.compile(r"^(?:[a-z]\w*\.)+[A-Z][\w$]*: ")
_STEPS = re.compile(r"^\tat [^\n]*\n?", re.MULTILINE)
_HEADER = re.compile(
    r"CSV header does not conform to the schema\.\s*\n\s*Header: (?P<found>[^\n]*)\n\s*Schema: (?P<wanted>[^\n]*)\n"
    r"(?:[^\n]*\n)*?\s*CSV file: (?P<file>[^\n]*)"
)
_UNREADABLE = re.compile(r"Encountered error while reading file (\S+?)\.?(?:\s|$)")
_WRAPPERS = ("[TASK_WRITE_FAILED", "Job aborted due to stage failure")
"""Messages that only say that something failed; their cause says what."""
_WORKER_TRACEBACK = "Traceback (most recent call last)"
"""How a Python worker's report of an error in a user's function begins."""
_HINTS = {
    "[MALFORMED_RECORD_IN_PARSING": "a value does not have the type that `columns` of the source declares: fix the "
    "file, or declare the column as string and use try_cast",
    "[FAILED_READ_FILE.FILE_NOT_EXIST]": "restore the file; if it belongs to an asset's table, `sparkassets "
    "backfill ASSET --rebuild` recomputes that",
}
"""What to do about a file that cannot be read, by text in the message or that of a cause."""
_NO_S3 = re.compile(r"S3AFileSystem not found|No FileSystem for scheme \"?s3")
_S3_HINT = (
    "Spark lacks the jar hadoop-aws: declare the bucket under `storage`, and a session that sparkassets starts "
    "loads it; or set spark.jars.packages: org.apache.hadoop:hadoop-aws:<version of its Hadoop>"
)
_LONGEST = 1000
_FRAME = re.compile(r'\s+File "([^"]+)", line (\d+)')
_TEMPORARY_VIEW = re.compile(r"`?_pyspark_\w+`?\.")
_FINAL_STATES = ("0A", "21", "22", "23", "2F", "38", "42", "46", "P0")
"""SQLSTATE classes that another attempt on the same data meets again: data, constraint, syntax, unsupported."""
_DATA_STATES = ("22", "23", "38", "KD")
"""SQLSTATE classes that other data might not meet: data, constraint, an error in a user's function, a file."""
_CONFLICTS = ("DELTA_CONCURRENT_", "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED")


def error_condition(error: BaseException) -> str:
    """The error condition of the outermost cause that has one, such as ``DELTA_CONCURRENT_APPEND``; else empty."""
    cause: BaseException | None = error
    while cause is not None:
        condition = getattr(cause, "getCondition", lambda: None)() or _find_condition(cause)
        if condition:
            return str(condition)
        cause = getattr(cause, "_cause", None) or cause.__cause__
    return ""


def is_conflict(error: BaseException) -> bool:
    """Whether another writer committed to the same table meanwhile."""
    return error_condition(error).startswith(_CONFLICTS)


def run_error(error: Exception, *, what: str = "", place: FileLocation | None = None) -> RunError:
    """The failure of a run because of an error from Spark.

    Args:
        error: As Spark raised it; it stays chained.
        what: What was tried, such as ``daily: the query failed``; left out where a place says it.
        place: Where the SQL begins; the line that Spark names is counted from there.
    """
    message = whole_message(error)
    prefix = _find_line(message, place) if place is not None else what
    failure = RunError(f"{prefix}: {first_line(error)}", hint=_find_hint(message))
    failure.retryable = not is_final(error)
    failure.is_data_error = is_of_data(error)
    failure.files = files_in(message)
    failure.__cause__ = error
    return failure


@contextlib.contextmanager
def explain_errors(*, what: str = "", place: FileLocation | None = None) -> Iterator[None]:
    """Turns what is raised inside, other than the package's own errors, into the failure of a run, as of `run_error`.

    Raises:
        RunError: Something else was raised.
    """
    try:
        yield
    except SparkAssetsError:
        raise
    except Exception as error:
        raise run_error(error, what=what, place=place) from error


def files_in(message: str) -> tuple[str, ...]:
    """The files that Spark says it cannot read, each once.

    >>> files_in("[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///in/a.csv. SQLSTATE: KD001")
    ('file:///in/a.csv',)
    """
    found = [*_UNREADABLE.findall(message), *(header["file"].strip() for header in _HEADER.finditer(message))]
    return tuple(dict.fromkeys(found))


def _find_hint(message: str) -> str | None:
    if _NO_S3.search(message):
        return _S3_HINT
    if "[FAILED_READ_FILE" not in message:
        return None
    return next((hint for mark, hint in _HINTS.items() if mark in message), None)


def first_line(error: BaseException) -> str:
    """The message's first line, without SQLSTATE, position and Java stack trace; a Python worker's own last line."""
    message = whole_message(error)
    if header := _HEADER.search(message):
        file, found, wanted = (header[each] for each in ("file", "found", "wanted"))
        difference = describe_header_difference(found.split(", "), wanted.split(", "))
        return f"the header of {file.removeprefix('file://')} {difference}"
    if _WORKER_TRACEBACK in message:
        return _describe_worker_error(message)
    text, *causes = (_strip_machine_parts(line) for line in [message.partition("\n")[0], *_CAUSE.findall(message)])
    while text.startswith(_WRAPPERS) and causes:
        text, *causes = causes
    if text.startswith("[FAILED_READ_FILE") and causes:
        text = f"{text} {causes[-1]}"
    if named := _LATER_LINE.search(message):
        text = f"{text} {_strip_machine_parts(named[1])}"
    return text[:_LONGEST] or type(error).__name__


def describe_header_difference(found: Sequence[str], wanted: Sequence[str]) -> str:
    """How a header differs from that of the first file, as the end of a sentence that quotes nothing from it.

    >>> describe_header_difference(["a", "b"], ["b", "a"])
    'differs from that of the first file in column 1 of 2'
    """
    if len(found) != len(wanted):
        return f"has {len(found)} columns, that of the first file {len(wanted)}"
    pairs = enumerate(zip(found, wanted, strict=True), 1)
    first = next((number for number, (one, other) in pairs if one != other), 1)
    return f"differs from that of the first file in column {first} of {len(wanted)}"


def _strip_machine_parts(line: str) -> str:
    """A line of a message without parts that only machines read."""
    text = _OBJECT.sub(r"\1", _TEMPORARY_VIEW.sub("", _TAIL.sub("", _JAVA_CLASS.sub("", line))))
    return quote_http_answers(text).strip()


def _describe_worker_error(message: str) -> str:
    """Where in the author's code a Python worker failed, and its message."""
    lines = [line for line in message.split("JVM stacktrace", maxsplit=1)[0].splitlines() if line.strip()]
    messages = [line for line in lines if re.match(r"[A-Za-z_][\w.]*(:|$)", line)]
    frames = [found.groups() for line in lines if (found := _FRAME.match(line)) and "pyspark" not in found[1]]
    prefix = ":".join(frames[-1]) + ": " if frames else ""
    return f"{prefix}{(messages or lines)[-1].strip()}"


def error_mentions(error: BaseException, mark: str) -> bool:
    """Whether the error or one of its causes contains a text."""
    return mark in whole_message(error)


def whole_message(error: BaseException) -> str:
    """The message and those of all causes, each after ``Caused by:``."""
    texts: list[str] = []
    cause: BaseException | None = error
    while cause is not None:
        texts += [_read_own_message(cause), *_iterate_server_causes(cause)]
        cause = getattr(cause, "_cause", None) or cause.__cause__
    return "\nCaused by: ".join(texts)


def _read_own_message(error: BaseException) -> str:
    text = getattr(error, "_desc", None) or getattr(error, "_message", None)
    return _CALLED.sub("", str(text or error).strip())


def _iterate_server_causes(error: BaseException) -> Iterator[str]:
    """Messages of a Spark Connect error's causes, which the client has only in the server's stack trace."""
    trace = getattr(error, "getStackTrace", lambda: None)() or ""
    for cause in re.split(r"^Caused by: ", trace, flags=re.MULTILINE)[1:]:
        yield _STEPS.sub("", cause).strip()


def _find_condition(error: BaseException) -> str | None:
    found = _CONDITION.search(_read_own_message(error)[:400])
    return found[1] if found else None


def is_final(error: BaseException) -> bool:
    """Whether a second attempt on the same data would meet the same error."""
    from pyspark.errors import AnalysisException

    return isinstance(error, AnalysisException) or _has_state(error, _FINAL_STATES)


def is_of_data(error: BaseException) -> bool:
    """Whether an attempt on other data might succeed."""
    return _WORKER_TRACEBACK in whole_message(error) or _has_state(error, _DATA_STATES)


def is_refused_by_parquet(error: BaseException) -> bool:
    """Whether Parquet refuses the columns: older versions of Delta leave a struct without fields to it."""
    return _PARQUET_REFUSAL.search(whole_message(error)) is not None


def _has_state(error: BaseException, classes: tuple[str, ...]) -> bool:
    """Whether the error or one of its causes has a SQLSTATE of these classes."""
    message = whole_message(error)
    states = [*_STATE.findall(message), *(state for state, errors in _UNSTATED.items() if errors.search(message))]
    if not states and type(error).__name__ in _VALUE_ERRORS:
        states = ["22"]
    return any(state.startswith(classes) for state in states)


def _find_line(message: str, place: FileLocation) -> str:
    """``file:line``; the query is wrapped in one more line before Spark sees it."""
    found = _LINE_NUMBER.search(message)
    if found is None:
        return str(place) if place.line else place.file
    return f"{place.file}:{max(place.line, 1) + max(int(found[1]) - 2, 0)}"


_LACKING_CONDITIONS: Final = (
    "CANNOT_MODIFY_CONFIG",
    "CANNOT_MODIFY_STATIC_CONFIG",
    "CONFIG_NOT_AVAILABLE",
    "JVM_ATTRIBUTE_NOT_SUPPORTED",
    "NOT_IMPLEMENTED",
    "NOT_SUPPORTED",
    "UNSUPPORTED",
)
"""Prefixes of error conditions by which Spark and platforms report a lacking feature."""
_UNSUPPORTED: Final = "UnsupportedOperationException"
"""The class of pyspark's errors for what a server does not have, which may come without a condition."""
_UNKNOWN_CALL: Final = "UNIMPLEMENTED"
"""gRPC statuses of calls that a server does not know."""
_UNREACHABLE: Final = "UNAVAILABLE"
"""gRPC statuses of an unreachable server."""


def is_lacking(error: BaseException) -> bool:
    """Whether the error says that the session lacks the feature for good, not that a call failed."""
    if isinstance(error, AttributeError | NotImplementedError) or type(error).__name__ == _UNSUPPORTED:
        return True
    return error_condition(error).startswith(_LACKING_CONDITIONS) or _find_grpc_status(error) == _UNKNOWN_CALL


def is_out_of_reach(error: BaseException | None) -> bool:
    """Whether the error is, or came from, a Spark Connect server that did not answer in time."""
    while error is not None:
        if _find_grpc_status(error) == _UNREACHABLE:
            return True
        error = error.__cause__ or error.__context__
    return False


@contextlib.contextmanager
def ignore_lacking() -> Iterator[None]:
    """Suppresses errors about lacking features; any other error is raised."""
    try:
        yield
    except Exception as error:
        if not is_lacking(error):
            raise


def _find_grpc_status(error: BaseException) -> str | None:
    """The gRPC status of a Spark Connect call, from pyspark's error or gRPC's own."""
    for method in ("getGrpcStatusCode", "code"):
        status = getattr(error, method, None)
        if callable(status):
            return getattr(status(), "name", None)
    return None

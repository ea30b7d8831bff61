"""The error tree: who must act, the process's exit code, and whether trying again can help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sparkassets.frozen import frozen


def describe_error(error: BaseException) -> str:
    """The kind of an error and the first line of what it says; of a group its first error besides.

    Never raises, whatever the author of the error's class wrote.

    >>> describe_error(ValueError("no such day")), describe_error(SystemExit(1)), describe_error(
    ...     ExceptionGroup("two", [OSError("full")]))
    ('ValueError: no such day', 'SystemExit: 1', 'ExceptionGroup: two (1 sub-exception): OSError: full')
    """
    kind = type(error).__name__
    try:
        lines = str(error).strip().splitlines()
    except BaseException:  # noqa: BLE001  the author's own `__str__`
        return f"{kind}, whose text is not available"
    text = f"{kind}: {lines[0]}" if lines else kind
    nested: object = getattr(error, "exceptions", ()) if issubclass(type(error), BaseExceptionGroup) else ()
    return f"{text}: {describe_error(nested[0])}" if isinstance(nested, tuple) and nested else text


TROUBLESHOOTING: Final = "docs/troubleshooting.md"
"""The page with a section for each `SparkAssetsError.topic`."""


class SparkAssetsError(Exception):
    """The root of every error that a person is shown.

    Attributes:
        hint: What to do about it, or None.
        exit_code: The exit code of the command line: 1 a run failed, 2 invalid input, 3 unusable state.
        topic: The section of docs/troubleshooting.md about it.
        retryable: Whether the same attempt may succeed when it is made again.
    """

    exit_code = 1
    retryable = False
    topic = "unexpected-error"

    def __init__(self, message: str, *, hint: str | None = None, topic: str = "") -> None:
        super().__init__(message)
        self.hint = hint
        self.topic = topic or self.topic

    @property
    def help(self) -> str:
        """The page and section about it, such as docs/troubleshooting.md#no-state."""
        return f"{TROUBLESHOOTING}#{self.topic}"

    def __str__(self) -> str:
        text = super().__str__()
        return f"{text}\n  hint: {self.hint}" if self.hint else text


class InputError(SparkAssetsError):
    """An argument of a call or of the command line is wrong: whoever typed it must act."""

    exit_code = 2
    topic = "invalid-argument"


@frozen
class FileLocation:
    """A place in a file; line and column count from 1, 0 means the whole file.

    Attributes:
        file: The path as people know it, relative to where they stand when that is shorter.
    """

    file: str
    line: int = 0
    column: int = 0

    def __lt__(self, other: FileLocation) -> bool:
        return (self.file, self.line, self.column) < (other.file, other.line, other.column)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@frozen
class TextFault:
    """One thing that is wrong with a text, such as a template, a query or YAML, before its file is known.

    Attributes:
        line, column: Counted from 1.
        width: How many characters are at fault.
    """

    line: int
    column: int
    width: int
    message: str
    hint: str | None = None

    def __lt__(self, other: TextFault) -> bool:
        return self._order() < other._order()

    def _order(self) -> tuple[int, int, int, str, str]:
        return self.line, self.column, self.width, self.message, self.hint or ""


@frozen
class SpecProblem:
    """One thing that is wrong with a project.

    Attributes:
        location: Where.
        message: What is wrong and what is expected; a lowercase sentence holding the offending value.
        hint: What to do, such as ``did you mean 'schedule'?``.
        excerpt: The offending line of the file, without its line end.
        width: How many characters of the excerpt are underlined, from ``location.column``.
        cut: How many characters of the line stand before the excerpt.
    """

    location: FileLocation
    message: str
    hint: str | None = None
    excerpt: str | None = None
    width: int = 1
    cut: int = 0

    def __str__(self) -> str:
        """The place and message, the line of the file with a mark below what is wrong, and the hint."""
        lines = [f"{self.location}: {self.message}"]
        if self.excerpt is not None and self.location.column:
            begin = "…" if self.cut else ""
            before = " " * (len(begin) + self.location.column - 1 - self.cut)
            lines += [f"    {begin}{self.excerpt}", f"    {before}{'^' * max(1, self.width)}"]
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


MOST_PROBLEMS: Final = 1_000
"""Problems that are listed."""

TOPIC_BY_SUFFIX: Final = {"sql": "invalid-sql", "py": "invalid-python"}
"""By the end of a file's name, the topic of its problems where that is not `SpecError.topic`."""


class SpecError(InputError):
    """The author of the project's files must act; holds the problems that were found, in order of place.

    Of more than `MOST_PROBLEMS` the last one counts the rest.
    """

    topic = "invalid-project"

    def __init__(self, problems: Sequence[SpecProblem]) -> None:
        self.problems = tuple(problems[:MOST_PROBLEMS])
        if more := problems[MOST_PROBLEMS:]:
            count = f"{len(more):,} more problem{'' if len(more) == 1 else 's'}, the first of them here"
            self.problems = (*self.problems, SpecProblem(more[0].location, count))
        topics = {TOPIC_BY_SUFFIX.get(each.location.file.rpartition(".")[2], self.topic) for each in self.problems}
        super().__init__("\n".join(map(str, self.problems)), topic=topics.pop() if len(topics) == 1 else "")


class StateError(SparkAssetsError):
    """The state cannot be used: unreachable, read-only, damaged, newer, or another project's."""

    exit_code = 3
    topic = "state-damaged"


class JournalConflictError(SparkAssetsError):
    """Another driver committed to the journal first; refresh, fold what is new, decide again."""

    retryable = True
    topic = "conflicting-commit"


class SourceError(SparkAssetsError):
    """What others write cannot be read: it vanished, changed under the reader, or does not fit its declaration."""

    topic = "source-cannot-be-read"


class UnknownRunError(SourceError):
    """A table holds a run of its asset that nobody has claimed, as far as it is known.

    Attributes:
        run: Its name.
        token: The number of its claim in the journal.
    """

    topic = "state-older-than-its-tables"

    def __init__(self, message: str, *, run: str, token: int) -> None:
        super().__init__(message)
        self.run = run
        self.token = token


class NoTableError(SourceError):
    """There is no Delta table by that name, or in that folder; maybe there is something else."""


class SessionNeededError(SourceError):
    """A table can only be read in a Spark session.

    Attributes:
        why: The reason, as the end of a sentence.
    """

    topic = "a-session-is-needed"

    def __init__(self, message: str, *, why: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.why = why


class SourceChangedError(SourceError):
    """A source is no longer what the run was planned with: only a new plan can succeed, no attempt with these pins.

    Attributes:
        source: The asset.
    """

    topic = "source-changed"

    def __init__(self, message: str, *, source: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.source = source


class RunError(SparkAssetsError):
    """One run failed because of its code, its data or its target.

    Attributes:
        is_data_error: Whether a run of fewer of the same partitions may succeed.
        files: Paths of the files that it is about, as the reader of the files names them; empty if unknown.
        wrote_nothing: Whether a write that raises it has certainly committed nothing, and will not.
    """

    topic = "run-failed"
    is_data_error = False
    files: tuple[str, ...] = ()
    wrote_nothing = False


class RunSkipped(SparkAssetsError):  # noqa: N818  no error: the run ends well, with nothing to do
    """A function raises it to end its run as skipped: nothing is written, and the run's trigger is used up.

    >>> raise RunSkipped("the bureau published no rates today")
    Traceback (most recent call last):
    sparkassets.errors.RunSkipped: the bureau published no rates today
    """

    topic = "run-failed"


class SparkUnavailableError(SparkAssetsError):
    """Spark cannot be started here: no Java, a wrong one, no pyspark, or no Delta jars."""

    topic = "spark-cannot-start"

"""Commands that a page asks for: as arguments of the command line, and as processes of it."""

from __future__ import annotations

import itertools
import shlex
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, Literal

import msgspec

from sparkassets.errors import InputError
from sparkassets.frozen import frozen

Verb = Literal["explain", "render", "price", "backfill", "retry", "mark", "accept", "pause", "resume"]

QUESTIONS: Final = frozenset({"explain", "render", "price"})
"""What changes nothing."""
LONG: Final = frozenset({"backfill", "retry"})
"""What computes, so that nobody waits for its answer; one at a time."""
KEPT: Final = 20
"""Ended commands that can still be asked for."""
MOST_LINES: Final = 40
PATIENCE_SECONDS: Final = 60.0
"""How long commands may take to end when the page is no longer served."""


@frozen
class CommandRequest:
    """A command for one asset, by the names of its options.

    Attributes:
        verb: ``price`` is a dry run of a backfill, ``retry`` runs what is due of the asset.
        partition, interval, run: What they are for the command.
        kind: What a mark says.
        whole: ``backfill --all``.
        reason: Why; required of what changes something.
    """

    verb: Verb
    asset: str
    partition: str = ""
    interval: str = ""
    run: str = ""
    kind: Literal["done", "missing", "skip"] = "missing"
    whole: bool = False
    force: bool = False
    downstream: bool = False
    reason: str = ""

    def arguments(self) -> list[str]:
        """The arguments as a person types them; each value is in one word with its option, so it cannot be another.

        Raises:
            InputError: The reason is missing, or the name is an option.
        """
        if self.verb not in QUESTIONS and not self.reason.strip():
            raise InputError("the reason is missing", hint="say in a few words why, for plans and the history")
        command = {"price": "backfill", "retry": "run"}.get(self.verb, self.verb)
        if self.asset.startswith("-"):
            raise InputError(f"{self.asset!r} is not the name of an asset")
        names = [f"--select={self.asset}"] if self.verb == "retry" else [self.asset]
        return [command, *names, *self._options()]

    def _options(self) -> Iterator[str]:
        """Yields the options that the command of this verb takes; what the request gives besides is left out."""
        values = {"partition": self.partition, "interval": self.interval, "run": self.run}
        allowed = _VALUES[self.verb]
        yield from (f"--{name}={value}" for name, value in values.items() if value and name in allowed)
        if self.verb in ("price", "backfill"):
            flags = {"--all": self.whole, "--force": self.force, "--downstream": self.downstream}
            yield from (flag for flag, is_set in flags.items() if is_set)
        if self.verb == "mark":
            yield f"--{self.kind}"
        if self.verb == "price":
            yield "--dry-run"
        if self.verb not in QUESTIONS:
            yield f"--reason={self.reason.strip()}"


_VALUES: Final[Mapping[Verb, frozenset[str]]] = {
    "explain": frozenset({"partition"}),
    "render": frozenset({"partition"}),
    "price": frozenset({"partition", "interval"}),
    "backfill": frozenset({"partition", "interval"}),
    "retry": frozenset(),
    "mark": frozenset({"partition", "interval"}),
    "accept": frozenset({"partition", "interval", "run"}),
    "pause": frozenset(),
    "resume": frozenset(),
}
"""Verb to the options with values that its command takes."""


@frozen
class CommandLine:
    """How the command line is started for a project.

    Attributes:
        words: The program.
        options: Options of every command, such as the project's folder.
        environment: Its variables.
    """

    words: tuple[str, ...]
    options: tuple[str, ...]
    environment: Mapping[str, str]


class StartedCommand:
    """A process of the command line, with what it has written so far."""

    def __init__(self, number: int, request: CommandRequest, program: CommandLine) -> None:
        arguments = request.arguments()
        self.number, self.request = number, request
        self.text = shlex.join(["sparkassets", *arguments])
        self._out, self._err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115  as long as it is kept
        self._began = time.time()
        self._process = subprocess.Popen(  # noqa: S603  the command line, with words that `CommandRequest` has made
            [*program.words, *arguments, *program.options, "--json"],
            env=dict(program.environment),
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=self._err,
            start_new_session=True,  # a terminal interrupts the server alone, which then asks its commands to end
        )

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def wait(self, seconds: float | None = None) -> None:
        """Waits for the end, at most that long."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def stop(self) -> None:
        """Asks the process to cancel its runs, record that, and end."""
        if self.is_running:
            self._process.terminate()

    def document(self) -> dict[str, Any]:
        """``{id, command, verb, asset, began, exit, lines, answer}``; ``exit`` is null while it runs.

        ``answer`` is what ``--json`` prints: the command's document, or ``{"error": {"message", "hint"}}``.
        """
        code = self._process.poll()
        lines = _read_all(self._err).decode(errors="replace").splitlines()
        answer = _read_all(self._out).strip() if code is not None else b""
        return {
            "id": self.number,
            "command": self.text,
            "verb": self.request.verb,
            "asset": self.request.asset,
            "began": int(self._began),
            "exit": code,
            "lines": lines[-MOST_LINES:],
            "answer": msgspec.Raw(answer) if answer else None,
        }

    def close(self) -> None:
        """Removes what it has written."""
        self._out.close()
        self._err.close()


def _read_all(file: Any) -> bytes:  # noqa: ANN401  the standard library's own type is private
    file.seek(0)
    return bytes(file.read())


class CommandRunner:
    """Starts commands, and keeps the newest of them.

    Args:
        program: The command line that they are of.
        allows_changes: Whether commands that change something may be started.
    """

    def __init__(self, program: CommandLine, *, allows_changes: bool) -> None:
        self._program = program
        self.allows_changes = allows_changes
        self._numbers = itertools.count(1)
        self._started: dict[int, StartedCommand] = {}
        self._lock = threading.Lock()

    def start(self, request: CommandRequest) -> StartedCommand:
        """Starts a command; waits for its end unless it computes.

        Raises:
            InputError: Changes are not allowed, the reason is missing, or one that computes has not ended.
        """
        if request.verb not in QUESTIONS and not self.allows_changes:
            hint = "start it by `sparkassets ui --allow-actions`, or type the command"
            raise InputError("this page is read-only", hint=hint)
        with self._lock:
            if request.verb in LONG:
                self._refuse_second()
            command = StartedCommand(next(self._numbers), request, self._program)
            self._started[command.number] = command
            self._drop_ended()
        if request.verb not in LONG:
            command.wait()
        return command

    def get(self, number: int) -> StartedCommand | None:
        """The command of that number, if it is kept."""
        return self._started.get(number)

    def running(self) -> list[StartedCommand]:
        """The commands that have not ended."""
        return [each for each in list(self._started.values()) if each.is_running]

    def close(self) -> None:
        """Asks all commands to end, and waits for them."""
        for command in self.running():
            command.stop()
        deadline = time.monotonic() + PATIENCE_SECONDS
        for command in self.running():
            command.wait(max(0.0, deadline - time.monotonic()))
        for command in self._started.values():
            command.close()

    def _refuse_second(self) -> None:
        """Raises `InputError` if a command that computes has not ended."""
        for other in self.running():
            if other.request.verb in LONG:
                raise InputError(f"`{other.text}` has not ended", hint="stop it, or wait for its end")

    def _drop_ended(self) -> None:
        """Forgets the oldest ended commands beyond `KEPT`."""
        ended = [number for number, each in self._started.items() if not each.is_running]
        for number in ended[: max(0, len(ended) - KEPT)]:
            self._started.pop(number).close()

"""The entry point: finds the command, runs it, and turns an error into a message and an exit code."""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from errno import ENOSPC
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Final

import click

from sparkassets.cli.failures import INTERRUPTED, no_such_command, refuse_placeholders, report_error, to_known_error
from sparkassets.errors import SparkAssetsError

COMMANDS = {
    "init": "Create a small project that runs.",
    "import": "Make a project of a dbt project.",
    "validate": "Check the whole project and print every problem.",
    "schema": "Print the JSON Schema of a project's files.",
    "test": "Run the tests in the project's `tests` folder.",
    "graph": "Show assets, what they read, and what triggers them.",
    "preview": "Show the next scheduled runs.",
    "align": "Show which run of one schedule matches a run of another.",
    "plan": "Show what would run now, and why everything else would not.",
    "explain": "Explain why one asset would or would not run.",
    "render": "Print the SQL that a run of an asset would execute now.",
    "show": "Print some rows of an asset's table, or of its query.",
    "run": "Run everything that is due.",
    "backfill": "Compute missing or stale partitions of an asset.",
    "diff": "Compare a branch's tables with the base's.",
    "ci": "Check a change on real data, and print a summary in Markdown.",
    "promote": "Promote a branch's results to the base without recomputing them.",
    "drop": "Delete a branch and its tables.",
    "impact": "Show everything downstream that a change of partitions affects.",
    "lineage": "Trace partitions or columns back to their sources.",
    "mark": "Mark partitions as done, missing, or skipped without running them.",
    "accept": "Publish withheld partitions despite failed validations.",
    "pause": "Pause assets; updates for them are kept.",
    "resume": "Resume paused assets.",
    "status": "Show the status of every asset.",
    "notify": "Test who is notified, or silence assets for a while.",
    "partitions": "Show the partitions of an asset, or manage its segments.",
    "iterations": "List the published iterations of an asset, or roll back to one.",
    "runs": "List runs.",
    "events": "List or add dataset events.",
    "replay": "Compute a run again and compare the rows with what it published.",
    "state": "Maintain the state: compact, verify, export, migrate.",
    "report": "Write an HTML report of the project.",
    "ui": "Serve the report as a live page, and start commands from it.",
    "deploy": "Generate deployment files for a scheduler.",
    "completion": "Print a shell completion script.",
}
"""Verb to its one line of help, which stands here so that ``--help`` loads no command."""

_PACKAGE = Path(__file__).parents[1]

BROKEN_PIPE = 141
"""The exit code that a shell reports when the reader of the output has gone (128 + SIGPIPE)."""


class LazyGroup(click.Group):
    """A group whose commands are modules of ``sparkassets.cli.commands``, each imported only when it is invoked."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        """The verbs, in the order of a project's life."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  click's signature
        """The command of that verb, loaded now."""
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"sparkassets.cli.commands.{cmd_name}").command
        if not isinstance(command, click.Command):
            raise TypeError(f"unknown command {cmd_name}")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that ``args`` begin with, or a usage error that suggests one."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise no_such_command(args[0], COMMANDS, "sparkassets")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  click's signature
        """Lists the verbs without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=(
        "Exit codes: 0 success, 1 a run failed, 2 invalid input or project, 3 unusable state, 129, 130 or "
        "143 interrupted."
    ),
)
@click.version_option(package_name="sparkassets", message="%(prog)s %(version)s")
def cli() -> None:
    """Data-aware, incremental, partition-aware Spark pipelines without an orchestrator.

    Options come after the command; `sparkassets COMMAND --help` shows them.
    """


def run_command(args: Sequence[str]) -> int:
    """Runs one command and returns its exit code; never raises. ``args`` follow the program's name."""
    _make_streams_safe()
    os.environ.setdefault("RUST_LOG", "error")  # deltalake logs each place where it looks for credentials
    arguments = without_separator(args)
    try:
        with _plain_warnings():
            code = _invoke(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001  the outermost boundary: a person sees a sentence, never a traceback
        known = to_known_error(_translate_error(error))
        code = known.exit_code
        with suppress(OSError):  # where stderr is closed as well
            report_error(known, as_json="--json" in arguments)
    return code


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Shows the package's own warnings as one line, without file and line of its code."""
    format_usually = warnings.formatwarning

    def format_plainly(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
    ) -> str:
        is_own = category is RuntimeWarning and Path(filename).is_relative_to(_PACKAGE)  # others keep Python's form
        return f"warning: {message}\n" if is_own else format_usually(message, category, filename, lineno, line)

    warnings.formatwarning = format_plainly
    try:
        yield
    finally:
        warnings.formatwarning = format_usually


def _make_streams_safe() -> None:
    """Replaces closed streams, and keeps text in other encodings from raising errors."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115  for the process's life
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a file name in another encoding must not end the program


def _translate_error(error: Exception) -> Exception:
    """The error itself, or for output on a full disk one that says so."""
    if isinstance(error, OSError) and error.errno == ENOSPC and error.filename is None:
        _drop_output()
        return SparkAssetsError(f"the output cannot be written: {error.strerror}", topic="output-not-writable")
    return error


def _drop_output() -> None:
    """Redirects stdout to the null device, so that Python does not flush it again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _invoke(arguments: list[str]) -> int:
    """Finds and runs the command; answers the shell instead if it asks for completions. Returns the exit code."""
    if instruction := os.environ.get("_SPARKASSETS_COMPLETE"):
        return print_completions(cli, instruction)
    refuse_placeholders(arguments)
    if not arguments:
        click.echo(cli.get_help(click.Context(cli, info_name="sparkassets")), err=True)
        return 2
    try:
        with cli.make_context("sparkassets", arguments) as context:
            code = cli.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    return code if isinstance(code, int) else 0


def without_separator(args: Sequence[str]) -> list[str]:
    """The arguments without a ``--`` before or after the verb, which ``spark-submit jobs/run.py -- …`` leaves there.

    >>> without_separator(["run", "--", "--project", "conf"])
    ['run', '--project', 'conf']
    """
    rest = list(args[1:] if args[:1] == ["--"] else args)
    if rest[1:2] == ["--"]:
        del rest[1]
    return rest


PROGRAM = "sparkassets"
VARIABLE = "_SPARKASSETS_COMPLETE"
"""The environment variable that a shell sets when it asks for completions."""
SHELLS = ("bash", "zsh", "fish")


def script(shell: str, program: click.Command) -> str:
    """The script that a shell has to read for completion of the program."""
    from click.shell_completion import ShellComplete, get_completion_class

    kind = get_completion_class(shell)
    if kind is None:
        raise ValueError(f"no completion for the shell {shell!r}")
    # the method of the base class: its subclass for bash first runs this machine's bash to learn its version
    return ShellComplete.source(kind(program, {}, PROGRAM, VARIABLE))


def print_completions(program: click.Command, instruction: str) -> int:
    """Prints the completions of the words that the shell has put into the environment; returns the exit code."""
    from click.shell_completion import shell_complete

    return shell_complete(program, {}, PROGRAM, VARIABLE, instruction)


PATIENCE_SECONDS: Final = 5.0
"""How long remaining threads may take to end, after the main thread."""


def end_in_time(code: int, *, before: Collection[threading.Thread]) -> None:
    """Ends the process soon after its main thread, even if a user's function has left threads running; names them.

    In a process that goes on, such as a notebook, nothing happens: its main thread does not end.

    Args:
        code: Exit code of the command.
        before: The threads that existed before it.
    """
    remaining = [each for each in threading.enumerate() if not each.daemon and each not in before]
    if remaining:
        threading.Thread(target=_end_when_late, args=(code, remaining), name="sparkassets-leaving", daemon=True).start()


def _end_when_late(code: int, remaining: list[threading.Thread]) -> None:
    """Waits for the main thread, then a while for the ``remaining`` threads, then ends the process with ``code``."""
    threading.main_thread().join()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while remaining and time.monotonic() < deadline:
        remaining[0].join(max(0.0, deadline - time.monotonic()))
        remaining = [each for each in remaining if each.is_alive()]
    if not remaining:
        return
    names = ", ".join(repr(each.name) for each in remaining)
    with suppress(OSError, ValueError):
        sys.stderr.write(f"warning: the process ends without its threads {names}, which a function has left running\n")
        sys.stderr.flush()
    os._exit(code)

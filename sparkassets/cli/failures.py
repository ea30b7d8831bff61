"""Errors as people see them: a sentence, a hint and an exit code; tracebacks only go to files."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from sparkassets.cli.output import Terminal
from sparkassets.errors import InputError, SparkAssetsError, SpecError, SpecProblem

INTERRUPTED = 130
"""128 + SIGINT."""

MOST_CHARACTERS = 1_500
"""Longest line of a message, in characters."""


def refuse_placeholders(args: Sequence[str]) -> None:
    """Refuses placeholders such as ``{{job.start}}`` that a job system should have replaced, but passes on if misspelt.

    Raises:
        InputError: An argument holds ``{{``, or a character that no argument can hold.
    """
    for argument in args:
        if "\0" in argument:
            raise InputError(f"argument {argument!r} contains the character U+0000")
        if not _has_bytes(argument):
            raise InputError(f"argument {argument!r} contains half of a surrogate pair")
        if "{{" in argument:
            raise InputError(
                f"argument {argument!r} still contains '{{{{'",
                hint="the job's parameter reference was not replaced; check its name",
            )


def _has_bytes(argument: str) -> bool:
    """Whether a shell can have passed the argument; false for surrogates that stand for no byte of a file name."""
    try:
        os.fsencode(argument)
    except UnicodeEncodeError:
        return False
    return True


_HIDDEN_VARIABLES: dict[str, str] = {}
"""Variables of the environment that the project of this invocation uses."""


def hide_values(variables: Mapping[str, str]) -> None:
    """Replaces the values of these variables by their names in all later messages."""
    _HIDDEN_VARIABLES.update(variables)


def report_error(error: Exception, *, as_json: bool) -> int:
    """Reports an error on stderr, and with ``--json`` also as a document on stdout.

    Returns:
        The exit code.
    """
    known_error = to_known_error(error)
    terminal = Terminal.from_stream(sys.stderr)
    if isinstance(known_error, SpecError):
        terminal.print(*map(str, known_error.problems), "", message_of(known_error))
    else:
        terminal.print(f"{terminal.paint('error:', 'red', 'bold')} {message_of(known_error)}")
        if known_error.hint:
            terminal.print(f"  hint: {_redact_text(known_error.hint)}")
    terminal.print(f"  help: {known_error.help}")
    if as_json:
        from sparkassets.cli.output import print_json

        print_json(error_document(known_error))
    return known_error.exit_code


def to_known_error(error: Exception) -> SparkAssetsError:
    """The error as one of sparkassets' own classes, with a hint where click's message has none."""
    match error:
        case SparkAssetsError():
            return error
        case click.NoSuchOption():
            return InputError(f"no such option: {error.option_name}", hint=_option_hint(error))
        case click.UsageError() if unknown := _unknown_command(error):
            return unknown
        case click.UsageError():
            return InputError(_sentence(error), hint=_usage_hint(error))
        case click.ClickException():
            return InputError(_sentence(error))
        case _:
            return _wrap_unexpected(error)


def message_of(error: SparkAssetsError) -> str:
    """The message without the hint; for an invalid project, the number of its problems."""
    if isinstance(error, SpecError):
        return f"{len(error.problems)} problem{'' if len(error.problems) == 1 else 's'} in the project's files"
    return "\n".join(map(_shorten_line, _redact_text(str(error.args[0])).split("\n")))


def _shorten_line(line: str) -> str:
    """An overlong line with its middle left out; the end stays, as the reason is there."""
    half = MOST_CHARACTERS // 2
    return line if len(line) <= MOST_CHARACTERS else f"{line[:half]} … {line[-half:]}"


def _redact_text(text: str) -> str:
    """The text with credentials and values of the environment redacted."""
    from sparkassets.core.redaction import redact

    return redact(text, variables=_HIDDEN_VARIABLES)


def error_document(error: SparkAssetsError) -> dict[str, Any]:
    """``{"error": {"message", "hint", "help"}}``, and ``problems`` of a project that is not valid."""
    hint = error.hint and _redact_text(error.hint)
    document: dict[str, Any] = {"message": message_of(error), "hint": hint, "help": error.help}
    if isinstance(error, SpecError):
        from sparkassets.core.documents.document_values import problems_document

        document["problems"] = problems_document(error.problems)
    return {"error": document}


def print_warnings(warnings: Sequence[SpecProblem]) -> None:
    """Writes warnings to stderr: valid settings that are probably mistakes."""
    terminal = Terminal.from_stream(sys.stderr)
    for warning in warnings:
        terminal.print(f"{terminal.paint('warning:', 'yellow', 'bold')} {warning}")


def _sentence(error: click.ClickException) -> str:
    """Click's message in the product's form: ``Missing command.`` becomes ``missing command``."""
    text = error.format_message().rstrip(".").replace("is not a valid integer range", "is not a whole number")
    return text[:1].lower() + text[1:]


def _usage_hint(error: click.UsageError) -> str | None:
    """A hint for a wrong call: the close choice or asset name, else where help is; None without a context."""
    from sparkassets.core.suggestions import suggest_close

    parameter = error.param if isinstance(error, click.BadParameter) else None
    if parameter is not None and isinstance(parameter.type, click.Choice):
        value = re.match(r"'(.*)' is not one of", error.message)
        if value is not None and (meant := suggest_close(value[1], map(str, parameter.type.choices))):
            return meant
    if error.ctx is None:
        return None
    return _asset_hint(error.ctx, error.message) or f"`{error.ctx.command_path} --help` shows what it takes"


def _asset_hint(context: click.Context, message: str) -> str | None:
    """A hint to pass assets by an option, where a command takes no names as arguments; None for other messages.

    The extra arguments are read from click's message: its error does not hold them.
    """
    extra = re.fullmatch(r"Got unexpected extra arguments? \((\S+)( .*)?\)", message)
    option = next((each for each in ("--select", "--asset") if any(each in p.opts for p in context.command.params)), "")
    if extra is None or not option:
        return None
    names = ",".join(filter(None, [extra[1], *(extra[2] or "").split()])) if option == "--select" else extra[1]
    return f"name assets by {option}: {context.command_path} {option} {names}"


def _option_hint(error: click.NoSuchOption) -> str | None:
    """A hint for an unknown option: the nearest one, else the known ones.

    Before the command there is no parent context: then the option may be right, and stands at the wrong place.
    """
    from sparkassets.core.suggestions import find_nearest, list_known

    if error.ctx is None:
        return None
    if error.ctx.parent is None:
        return "options come after the command: sparkassets COMMAND --project DIR"
    options = [
        name for parameter in error.ctx.command.get_params(error.ctx) for name in parameter.opts if name[:2] == "--"
    ]
    nearest = find_nearest(error.option_name.lstrip("-"), [name[2:] for name in options], cutoff=0.65)
    if nearest:
        return f"did you mean '--{nearest}'?"
    return list_known(options) or f"`{error.ctx.command_path} --help` shows what it takes"


def _unknown_command(error: click.UsageError) -> InputError | None:
    """The error of an unknown command in a group, in the program's own words; None for any other error."""
    match = re.match(r"No such command '(.*?)'", error.message)
    if match is None or error.ctx is None or not isinstance(error.ctx.command, click.Group):
        return None
    return no_such_command(match[1], error.ctx.command.list_commands(error.ctx), error.ctx.command_path)


def no_such_command(name: str, known: Iterable[str], path: str) -> InputError:
    """The error for an unknown command after ``path``, such as ``sparkassets state``; suggests one of ``known``."""
    from sparkassets.core.suggestions import did_you_mean

    return InputError(
        f"no such command: {name!r}", hint=did_you_mean(name, known) or f"`{path} --help` shows all of them"
    )


def _wrap_unexpected(error: Exception) -> SparkAssetsError:
    """The error for a bug: its traceback goes to a temporary file, which the hint names."""
    from traceback import format_exception

    traceback_text = _redact_text("".join(format_exception(error)))
    first_line = _redact_text(f"{type(error).__name__}: {str(error).strip()}".splitlines()[0])
    try:
        from tempfile import NamedTemporaryFile

        with NamedTemporaryFile(
            "w", prefix="sparkassets-", suffix=".log", delete=False, encoding="utf-8", errors="backslashreplace"
        ) as file:
            file.write(traceback_text)
    except OSError:
        return SparkAssetsError(f"unexpected {first_line}", hint="this is a bug in sparkassets: please report it")
    return SparkAssetsError(
        f"unexpected {first_line}", hint=f"this is a bug in sparkassets: please report it with {file.name}"
    )

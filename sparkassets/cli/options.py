"""Options that several commands take, and the project and the assets that they name."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, cast

import click

from sparkassets.core.spec.project_spec import ENGINES
from sparkassets.errors import InputError
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from sparkassets.open_project import OpenProject
    from sparkassets.wiring import Project

F = TypeVar("F", bound=Callable[..., Any])
"""A function that is on its way to become a command."""

Style = Literal["", "json", "text", "progress"]
"""What goes to stderr: bars and lines for people (empty), logs as JSON or as text, or the progress as JSON objects."""

USUAL_FOLDERS = (Path("conf"), Path())
"""Where a project is without ``--project``: the first of these that holds one."""


def usual_folder() -> Path:
    """The project's folder where ``--project`` is not given."""
    return next((folder for folder in USUAL_FOLDERS if has_project(folder)), USUAL_FOLDERS[0])


def has_project(folder: Path) -> bool:
    """Whether the folder holds a project file."""
    return os.path.isfile(folder / "project.yml")  # noqa: PTH113  no path is so odd that asking is an error


_folder_option: Callable[[F], F] = click.option(
    "--project",
    "folder",
    default=usual_folder,
    show_default="conf, or the current folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder that contains project.yml.",
)
_PROFILE = "sparkassets.profile"
_SET_VARIABLES = "sparkassets.given"
_ENGINE = "sparkassets.engine"
_BRANCH = "sparkassets.branch"


def project_option(command: F) -> F:
    """Adds ``--project``, ``--profile`` and ``--set``; `open_project` finds the last two in click's context."""
    add_variables = click.option(
        "--set",
        expose_value=False,
        multiple=True,
        callback=_remember_variables,
        metavar="NAME=VALUE",
        help="Value of `${NAME}` in the project's files; overrides the profile and the environment. Repeatable.",
    )
    add_profile = click.option(
        "--profile",
        expose_value=False,
        callback=_remember_profile,
        metavar="NAME",
        help="Profile to use, one of the project's `profiles`; default: SPARKASSETS_PROFILE.",
    )
    return _folder_option(add_profile(add_variables(command)))


def engine_option(command: F) -> F:
    """Adds ``--engine``, which `open_project` finds in click's context."""
    add_engine = click.option(
        "--engine",
        expose_value=False,
        callback=_remember_engine,
        type=click.Choice(ENGINES),
        help="What computes: spark, or sail, which needs no Java; default: SPARKASSETS_ENGINE, else the project's.",
    )
    return add_engine(command)


def _remember_engine(context: click.Context, _: click.Parameter, engine: str | None) -> None:
    context.meta[_ENGINE] = engine


def _remember_profile(context: click.Context, _: click.Parameter, profile: str | None) -> None:
    context.meta[_PROFILE] = profile


def _remember_branch(context: click.Context, _: click.Parameter, branch: str | None) -> None:
    context.meta[_BRANCH] = branch


def _remember_variables(context: click.Context, _: click.Parameter, values: tuple[str, ...]) -> None:
    """Parses the values of ``--set`` and keeps them in click's context.

    Raises:
        InputError: One is not NAME=VALUE, or a name is given twice.
    """
    variables: dict[str, str] = {}
    for text in values:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier() or not name.isascii():
            raise InputError(f"--set {name}: expected NAME=VALUE, such as --set REGION=de")
        if name in variables:
            raise InputError(f"--set {name} is given twice")
        variables[name] = value
    context.meta[_SET_VARIABLES] = variables


def given_variables() -> Mapping[str, str]:
    """Variables given by ``--set`` of this command."""
    return click.get_current_context().meta.get(_SET_VARIABLES) or {}


def variables() -> dict[str, str]:
    """The environment, overlaid with ``--profile``, ``--set`` and ``--engine`` of this command."""
    from sparkassets.core.variables import merge_requested

    context = click.get_current_context(silent=True)
    meta = context.meta if context is not None else {}
    given = meta.get(_SET_VARIABLES) or {}
    return merge_requested(os.environ, profile=meta.get(_PROFILE), given=given, engine=meta.get(_ENGINE))


class AssetNameParam(click.ParamType):  # type: ignore[type-arg]  # that of older clicks takes no argument
    """The name of an asset; an unknown name is reported when the command looks it up."""

    name = "asset"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The assets of the project whose names begin with ``incomplete``."""
        from click.shell_completion import CompletionItem

        del param
        return [CompletionItem(name) for name in _asset_names(ctx) if name.startswith(incomplete)]


class SelectionParam(AssetNameParam):
    """``--select``: names with commas between them, each with an optional ``+`` before or after."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The whole value with its last name completed; what stands before that name is kept."""
        from click.shell_completion import CompletionItem

        head, comma, last = incomplete.rpartition(",")
        plus = "+" if last.startswith("+") else ""
        items = super().shell_complete(ctx, param, last.removeprefix("+"))
        return [CompletionItem(f"{head}{comma}{plus}{item.value}") for item in items]


json_option: Callable[[F], F] = click.option(
    "--json", "as_json", is_flag=True, help="Print a single JSON document to stdout."
)
samples_option: Callable[[F], F] = click.option(
    "--rows",
    "samples",
    type=click.IntRange(min=0, max=1000),
    default=5,
    show_default=True,
    metavar="N",
    help="Differing rows to show for each asset.",
)
at_option: Callable[[F], F] = click.option(
    "--at",
    metavar="TIME",
    help="Decide as if it were this time (ISO 8601; in the project's time zone unless it has an offset).",
)

as_of_option: Callable[[F], F] = click.option(
    "--as-of",
    metavar="TIME",
    help="Decide by the journal as it stood at this time; sources and tables are not checked.",
)


def select_option(command: F) -> F:
    """Adds ``--select`` and ``--exclude``; the command is given both as ``select``, what is excluded with a ``!``."""

    @wraps(command)
    def call_command(*args: Any, select: tuple[str, ...], exclude: tuple[str, ...], **options: Any) -> Any:  # noqa: ANN401
        excluded = (f"!{term.strip()}" for text in exclude for term in text.split(","))
        return command(*args, select=(*select, *excluded), **options)

    add_select = click.option(
        "--select",
        multiple=True,
        type=SelectionParam(),
        metavar="ASSET,…",
        help=(
            "Only these assets: NAME, a quoted pattern such as 'fl*', tag:WORD, owner:NAME, type:KIND, path:FOLDER or "
            "state:STATE. NAME+ adds everything downstream, +NAME everything upstream; NAME+2 two levels of it. "
            "Repeatable."
        ),
    )
    add_exclude = click.option(
        "--exclude",
        multiple=True,
        type=SelectionParam(),
        metavar="ASSET,…",
        help="Not these assets; terms as above.",
    )
    return cast("F", add_select(add_exclude(call_command)))


scope_option: Callable[[F], F] = click.option(
    "--branch",
    expose_value=False,
    callback=_remember_branch,
    metavar="NAME",
    help="Work in a branch: what differs from the base is computed in the branch, the rest is read from the base.",
)


def one_partition_option(help_text: str) -> Callable[[F], F]:
    """``--partition``, which may be given once: click would take the last of several without a word."""
    return click.option("--partition", multiple=True, metavar="A..B", callback=_refuse_several, help=help_text)


def _refuse_several(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> str | None:
    """The only value, if there is one.

    Raises:
        InputError: There are several.
    """
    if len(values) > 1:
        raise InputError(f"--partition is given {len(values)} times; expected once", hint="use a range: A..B")
    return values[0] if values else None


partitions_option: Callable[[F], F] = click.option(
    "--partition",
    "partitions",
    multiple=True,
    metavar="A..B",
    help="Partitions: KEY, a range A..B (inclusive), or KEY,SEGMENT for several dimensions. Repeatable.",
)


reason_option: Callable[[F], F] = click.option(
    "--reason", default="", metavar="TEXT", help="Reason, recorded with your name and shown in plans and history."
)


over_budget_option: Callable[[F], F] = click.option(
    "--over-budget", is_flag=True, help="Include runs that exceed the asset's `budget`."
)


@frozen
class ProgressOptions:
    """How an invocation reports to programs, besides the output for people.

    Attributes:
        style: What goes to stderr; empty for people.
        metrics: File that metrics are written to; None for none.
    """

    style: Style = ""
    metrics: Path | None = None


PLAINLY = ProgressOptions()
"""Output for people alone."""


def progress_options(command: Callable[..., int]) -> Callable[..., int]:
    """Adds the options on progress, which the command gets as one `ProgressOptions` named ``reporting``.

    Raises:
        InputError: Two formats of progress are requested.
    """

    @wraps(command)
    def call_command(*, log_format: str | None, json_progress: bool, metrics: Path | None, **rest: Any) -> int:  # noqa: ANN401
        if log_format and json_progress:
            raise InputError("--log-format and --json-progress both write to stderr; give one of them")
        style: Style = "progress" if json_progress else "json" if log_format == "json" else "text"
        return command(reporting=ProgressOptions(style if log_format or json_progress else "", metrics), **rest)

    for option in (
        click.option(
            "--metrics",
            metavar="FILE",
            type=click.Path(path_type=Path, dir_okay=False),
            help="Write metrics for Prometheus' textfile collector to this file after each tick.",
        ),
        click.option(
            "--json-progress",
            is_flag=True,
            help="Write progress to stderr as one JSON object per line instead of bars.",
        ),
        click.option(
            "--log-format",
            type=click.Choice(["json", "text"]),
            help="Write logs, including those of your code, to stderr instead of progress bars.",
        ),
    ):
        call_command = option(call_command)
    return call_command


def print_history_start(project: Project) -> None:
    """Writes to stderr where the history begins, if older entries have expired."""
    from sparkassets.cli.output import Terminal

    if text := project.history.cut_note():
        Terminal.from_stream(sys.stderr).print(text)


def last_option(default: int) -> Callable[[F], F]:
    """``--last N``."""
    return click.option(
        "--last",
        type=click.IntRange(min=1),
        default=default,
        show_default=True,
        metavar="N",
        help="Show only the newest N.",
    )


def open_scope(project: Project, *, existing: bool = False) -> OpenProject:
    """What a command with `scope_option` works on: the project, or the branch that is named.

    With ``existing`` the branch must have run before.

    Raises:
        InputError: There is no base to branch off, or ``existing`` is set and the branch does not exist.
    """
    branch = click.get_current_context().meta[_BRANCH]
    return project if branch is None else project.branches.open(branch, existing=existing)


def explain_no_runs(base: Project, otherwise: str) -> str:
    """The text for no runs: that the branch equals the base, or else ``otherwise``."""
    branch = click.get_current_context().meta[_BRANCH]
    equals_base = branch is not None and not base.branches.differs(branch)
    return "nothing differs from the base, so the branch computes nothing" if equals_base else otherwise


def open_project(folder: Path, *, tables: bool = False) -> Project:
    """The checked project in a folder; with ``tables`` also checked against the columns of its sources' tables.

    Raises:
        InputError: There is none.
        SpecError: Something is wrong with its files.
    """
    if folder in USUAL_FOLDERS and not any(map(has_project, USUAL_FOLDERS)):
        hint = "give the project's folder by --project, or create one: sparkassets init"
        message = "no project found: neither conf/project.yml nor ./project.yml exists"
        raise InputError(message, hint=hint, topic="no-project")
    from sparkassets.cli.failures import hide_values
    from sparkassets.wiring import Project

    project = Project.load(folder, env=variables(), tables=tables)
    hide_values(project.spec.variables)
    return project


def _asset_names(ctx: click.Context) -> Iterator[str]:
    """The project's asset names; none if it is invalid, as a shell that asks for completions expects nothing else."""
    try:
        project = open_project(Path(ctx.params.get("folder") or usual_folder()))
    except Exception:  # noqa: BLE001  the command itself reports the error
        return
    yield from project.spec.assets


_MOST_SUMMARY_CHARACTERS: Final = 1000
"""More characters than any first sentence has, so that click cuts none off."""


class WrappedGroup(click.Group):
    """A group whose help wraps the summaries of its commands, which click's own truncates."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, self.commands[name].get_short_help_str(_MOST_SUMMARY_CHARACTERS))
                    for name in self.list_commands(ctx)
                ]
            )


def select_assets(project: OpenProject, texts: Sequence[str]) -> tuple[str, ...] | None:
    """The assets that the values of ``--select`` mean, upstream first; None without values, which means all.

    Raises:
        InputError: A term is wrong, or nothing fits it.
    """
    with name_select_option():
        return project.assets.select(texts) if texts else None


@contextmanager
def name_select_option() -> Iterator[None]:
    """Adds the option to the message of an `InputError` that is raised inside."""
    try:
        yield
    except InputError as error:
        raise InputError(f"--select: {error.args[0]}", hint=error.hint) from None

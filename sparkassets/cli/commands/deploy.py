"""``sparkassets deploy``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sparkassets.cli.options import WrappedGroup, given_variables, json_option, project_option, select_option
from sparkassets.cli.output import Terminal, print_json

if TYPE_CHECKING:
    from sparkassets.deploy import Kind

F = TypeVar("F", bound=Callable[..., Any])
"""A function that is on its way to become a command."""


@click.group("deploy", cls=WrappedGroup, no_args_is_help=False)
def command() -> None:
    """Write files that start the project elsewhere: to be read, changed and owned.

    Nothing is sent anywhere: each command writes files and says what comes next. It writes anew what it wrote
    before, but never over a file that was changed by hand.
    """


def _options(own: F) -> F:
    """Adds the options that every kind of deployment takes."""
    for option in (
        json_option,
        click.option("--force", is_flag=True, help="Write also over files that were changed by hand."),
        click.option("--mail", default="", metavar="ADDRESS", help="Who is told of a start that failed."),
        click.option(
            "--timeout",
            default="1d",
            show_default=True,
            metavar="DURATION",
            help="Stop a start that has not ended by then.",
        ),
        click.option("--loop", metavar="DURATION", help="Do not end: look again after this pause, such as 60s."),
        click.option("--timezone", metavar="ZONE", help="Of --cron; the project's by default."),
        click.option(
            "--cron", default="0 * * * *", show_default=True, help="When it starts: a cron, or @daily and its like."
        ),
        select_option,
        click.option(
            "--out",
            required=True,
            metavar="DIR",
            type=click.Path(path_type=Path, file_okay=False),
            help="Where the files are written.",
        ),
        project_option,
    ):
        own = option(own)
    return own


_library_option = click.option(
    "--library",
    metavar="WHEEL",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="A wheel of sparkassets that goes with it, instead of the version of this machine from an index.",
)


@command.command("databricks")
@_options
@_library_option
@click.option(
    "--cluster",
    nargs=2,
    metavar="RUNTIME NODE_TYPE",
    help="A cluster of the job's own, such as 17.3.x-scala2.13 i3.xlarge; serverless without it.",
)
@click.option("--group", default="", metavar="NAME", help="Whose members may start the job and see what it did.")
def databricks(as_json: bool, **wanted: Any) -> int:  # noqa: ANN401  the options, as `Wanted` has them
    """Write an Asset Bundle: a job with one wheel task, a target for each profile.

    The project goes into a wheel whose version is a new one whenever its files changed.
    """
    return _deploy("databricks", as_json, wanted)


@command.command("airflow")
@_options
def airflow(as_json: bool, **wanted: Any) -> int:  # noqa: ANN401
    """Write a DAG of one task, for workers that reach the project's folder."""
    return _deploy("airflow", as_json, wanted)


@command.command("kubernetes")
@_options
@_library_option
def kubernetes(as_json: bool, **wanted: Any) -> int:  # noqa: ANN401
    """Write a CronJob and the Dockerfile of its image; with --loop a Deployment."""
    return _deploy("kubernetes", as_json, wanted)


@command.command("cron")
@_options
def cron(as_json: bool, **wanted: Any) -> int:  # noqa: ANN401
    """Write a line for the crontab of this machine, and the script that it starts."""
    return _deploy("cron", as_json, wanted)


@command.command("systemd")
@_options
def systemd(as_json: bool, **wanted: Any) -> int:  # noqa: ANN401
    """Write a service and its timer, for a user of this machine; with --loop the service alone."""
    return _deploy("systemd", as_json, wanted)


def _deploy(kind: Kind, as_json: bool, wanted: dict[str, Any]) -> int:
    """Writes the files of a deployment and prints what happened to each, and the commands to type next."""
    from sparkassets.cli.deployment import DeployRequest, next_commands, write_deployment

    asked = DeployRequest(set_variables=given_variables(), **wanted)
    deployment, written, left = write_deployment(kind, asked)
    steps = next_commands(kind, deployment, asked.out)
    if as_json:
        document = {"written": written.written, "unchanged": written.unchanged, "removed": written.removed}
        print_json({"folder": str(asked.out), **document, "left_out": left, "next": steps})
        return 0
    did = (("wrote", written.written), ("unchanged", written.unchanged), ("removed", written.removed))
    lines = [*left, *(f"{verb} {asked.out / name}" for verb, names in did for name in names)]
    Terminal.from_stream(sys.stdout).print(*lines, "", "next:", *(f"  {each}" for each in steps))
    return 0

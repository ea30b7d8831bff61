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
    from sparkassets.features.deploy import Kind

F = TypeVar("F", bound=Callable[..., Any])
"""A function that is on its way to become a command."""


@click.group("deploy", cls=WrappedGroup, no_args_is_help=False)
def command() -> None:
    """Generate deployment files, for you to review, edit and own.

    Each command only writes files and prints the next steps; nothing is sent anywhere. Files that it wrote before are
    replaced, unless they were edited by hand.
    """


def _options(command_function: F) -> F:
    """Adds the options that every kind of deployment takes."""
    for option in (
        json_option,
        click.option("--force", is_flag=True, help="Also replace files that were edited by hand."),
        click.option("--mail", default="", metavar="ADDRESS", help="Address to mail if an invocation fails."),
        click.option(
            "--timeout",
            default="1d",
            show_default=True,
            metavar="DURATION",
            help="Stop an invocation that takes longer.",
        ),
        click.option("--loop", metavar="DURATION", help="Keep running, and check again after this pause, such as 60s."),
        click.option("--timezone", metavar="ZONE", help="Time zone of --cron; default: the project's."),
        click.option(
            "--cron",
            default="0 * * * *",
            show_default=True,
            help="Schedule: a cron expression or a preset such as @daily.",
        ),
        select_option,
        click.option(
            "--out",
            required=True,
            metavar="DIR",
            type=click.Path(path_type=Path, file_okay=False),
            help="Folder to write to.",
        ),
        project_option,
    ):
        command_function = option(command_function)
    return command_function


_library_option = click.option(
    "--library",
    metavar="WHEEL",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Wheel of sparkassets to deploy, instead of the installed version from a package index.",
)


@command.command("databricks")
@_options
@_library_option
@click.option(
    "--cluster",
    nargs=2,
    metavar="RUNTIME NODE_TYPE",
    help="Job cluster, such as 17.3.x-scala2.13 i3.xlarge; default: serverless.",
)
@click.option(
    "--environment",
    type=int,
    default=4,
    show_default=True,
    metavar="VERSION",
    help="Version of the serverless environment.",
)
@click.option("--group", default="", metavar="NAME", help="Group that may run the job and view its runs.")
def databricks(as_json: bool, **wanted: Any) -> int:  # noqa: ANN401  the options, as `DeployRequest` has them
    """Generate a Databricks Asset Bundle: a job with one wheel task, and a target for each profile.

    The project is packaged as a wheel, with a new version whenever its files change. It requires the exact versions
    that are installed here, except of what the runtime brings.
    """
    return _deploy("databricks", as_json, wanted)


@command.command("airflow")
@_options
@click.option(
    "--tasks",
    type=click.Choice(["one", "assets", "folders", "due"]),
    default="one",
    show_default=True,
    help="One task for all assets, for each asset or folder of assets, or, mapped from a plan at each start, for each "
    "asset that is due. Each starts a Spark of its own.",
)
@click.option(
    "--on",
    multiple=True,
    metavar="ASSET_OR_URI",
    help="Also start when an event of Airflow's asset updates this dataset, and record the event. Repeatable.",
)
def airflow(as_json: bool, **wanted: Any) -> int:  # noqa: ANN401
    """Generate an Airflow DAG, for workers that can read the project's folder.

    Its last task emits an event of Airflow's assets for each update of an asset, with the partitions in `extra`.
    """
    return _deploy("airflow", as_json, wanted)


@command.command("kubernetes")
@_options
@_library_option
def kubernetes(as_json: bool, **wanted: Any) -> int:  # noqa: ANN401
    """Generate a Kubernetes CronJob, or a Deployment with --loop, and the Dockerfile of its image."""
    return _deploy("kubernetes", as_json, wanted)


@command.command("cron")
@_options
def cron(as_json: bool, **wanted: Any) -> int:  # noqa: ANN401
    """Generate a crontab entry for this machine and the script that it runs."""
    return _deploy("cron", as_json, wanted)


@command.command("systemd")
@_options
def systemd(as_json: bool, **wanted: Any) -> int:  # noqa: ANN401
    """Generate a systemd user service and its timer; with --loop, only the service."""
    return _deploy("systemd", as_json, wanted)


def _deploy(kind: Kind, as_json: bool, wanted: dict[str, Any]) -> int:
    """Writes the files of a deployment and prints what happened to each, and the commands to type next."""
    from sparkassets.cli.deployment import DeployRequest, next_commands, write_deployment

    request = DeployRequest(set_variables=given_variables(), **wanted)
    deployment, written, left_out_notes = write_deployment(kind, request)
    steps = next_commands(kind, deployment, request.out)
    if as_json:
        document = {"written": written.written, "unchanged": written.unchanged, "removed": written.removed}
        print_json({"folder": str(request.out), **document, "left_out": left_out_notes, "next": steps})
        return 0
    outcomes = (("wrote", written.written), ("unchanged", written.unchanged), ("removed", written.removed))
    lines = [*left_out_notes, *(f"{verb} {request.out / name}" for verb, names in outcomes for name in names)]
    Terminal.from_stream(sys.stdout).print(*lines, "", "next:", *(f"  {each}" for each in steps))
    return 0

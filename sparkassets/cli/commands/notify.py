"""``sparkassets notify``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sparkassets.cli.options import WrappedGroup, json_option, open_project, project_option
from sparkassets.cli.output import TableColumn, Terminal, print_json, print_table
from sparkassets.errors import InputError


@click.group("notify", cls=WrappedGroup, no_args_is_help=False)
def command() -> None:
    """Test who is notified, or silence assets for a while."""


@command.command("test")
@project_option
@click.option("--to", metavar="NAME", help="Only this receiver, by its name in `notify`; default: all.")
@json_option
def test_receivers(folder: Path, to: str | None, as_json: bool) -> int:
    """Send a message marked as a test to every receiver of `notify`.

    The exit code is 1 if one of them did not accept it. With --json: [{receiver, accepted, fault}].
    """
    answers = open_project(folder).notifications.test(to)
    if as_json:
        print_json([{"receiver": each.receiver, "accepted": not each.fault, "fault": each.fault} for each in answers])
    else:
        rows = [[each.receiver, each.fault or "accepted the message"] for each in answers]
        print_table(
            Terminal.from_stream(sys.stdout), [TableColumn("receiver"), TableColumn("answer", wraps=True)], rows
        )
    return int(any(each.fault for each in answers))


@command.command("silence")
@click.argument("select", metavar="SELECT")
@project_option
@click.option("--until", metavar="TIME", help="When notifications go on (ISO 8601; by default in the project's zone).")
@click.option("--end", is_flag=True, help="End their silence now.")
@click.option("--reason", metavar="TEXT", default="", help="Why; `status` shows it.")
@json_option
def silence(folder: Path, select: str, until: str | None, end: bool, reason: str, as_json: bool) -> None:
    """Notify nobody of the SELECTed assets until TIME; runs go on.

    SELECT is as in `--select`, such as tag:sales. Trouble that begins meanwhile and lasts is sent by the first run
    afterwards. With --json: {silenced: [ASSET], until}.
    """
    if end == (until is not None):
        raise InputError("expected --until TIME or --end")
    project = open_project(folder)
    names = project.notifications.silence(select, until=until, reason=reason or ("it is over" if end else ""))
    if as_json:
        print_json({"silenced": [] if end else names, "until": until})
        return
    done = "notifies again" if end else f"is silent until {until}"
    Terminal.from_stream(sys.stdout).print(*(f"{name}  {done}" for name in names))

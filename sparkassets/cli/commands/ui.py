"""``sparkassets ui``."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkassets.cli.options import engine_option, given_variables, open_project, project_option, variables
from sparkassets.core.variables import without_requested

if TYPE_CHECKING:
    from types import FrameType


PORT = 8350
LOOK_SECONDS = 2.0
"""How often the journal is asked whether it has grown."""


@click.command("ui")
@project_option
@engine_option
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=PORT,
    show_default=True,
    metavar="PORT",
    help="Port of 127.0.0.1; 0 takes a free one.",
)
@click.option(
    "--allow-actions",
    is_flag=True,
    help="Let the page start commands that change something: backfill, mark, accept, pause, resume, retry.",
)
def command(folder: Path, port: int, *, allow_actions: bool) -> int:
    """Serve the report as a live page on this machine, and start commands from it.

    The page follows the journal. It answers on 127.0.0.1 alone, and only the browser that opens the printed address,
    which holds a token. Without --allow-actions it is read-only: it explains, prices backfills and shows SQL. Every
    command asks for a reason, is shown as you would type it, and runs as that command under your name.
    """
    from functools import partial

    from sparkassets.features.ui.commands import CommandLine, CommandRunner
    from sparkassets.features.ui.live_report import LiveReport
    from sparkassets.features.ui.server import UiServer

    sets = tuple(f"--set={name}={value}" for name, value in given_variables().items())
    line = CommandLine(
        (sys.executable, "-m", "sparkassets"), (f"--project={folder}", *sets), without_requested(variables())
    )
    report = LiveReport(partial(open_project, folder))
    server = UiServer(report, CommandRunner(line, allows_changes=allow_actions), port=port)
    with _ends_by_terminate(), server:
        sys.stdout.write(f"{server.address}\n")
        sys.stdout.flush()
        while True:
            wait(LOOK_SECONDS)
            report.refresh()


def wait(seconds: float) -> None:
    """Sleeps; an interrupt raises `KeyboardInterrupt` here. A function of its own, so that tests can replace it."""
    time.sleep(seconds)


@contextmanager
def _ends_by_terminate() -> Iterator[None]:
    """Ends as by an interrupt where the process is asked to terminate, so that its commands end, too."""

    def interrupt(signum: int, frame: FrameType | None) -> None:
        del signum, frame
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # elsewhere Python allows no handlers
        yield
        return
    former = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)

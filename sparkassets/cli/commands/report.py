"""``sparkassets report``."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkassets.cli.options import at_option, json_option, open_project, project_option
from sparkassets.cli.output import print_json
from sparkassets.core.instants import Duration
from sparkassets.errors import InputError, SparkAssetsError

if TYPE_CHECKING:
    from sparkassets.report import WrittenSite
    from sparkassets.wiring import Project

EVERY = "10s"
"""How often the journal is checked for new entries."""
OLD = 300
"""Seconds after which a report is written again without new entries: time alone makes an asset due, or late."""


@click.command("report")
@project_option
@click.option("--out", metavar="DIR", required=True, help="Folder to write to: a path or an object store's URI.")
@click.option(
    "--watch",
    is_flag=False,
    flag_value=EVERY,
    metavar="DURATION",
    help=f"Rewrite the report whenever something happened; checks every {EVERY} by default, until interrupted.",
)
@at_option
@json_option
def command(folder: Path, out: str, watch: str | None, at: str | None, as_json: bool) -> None:
    """Write a static HTML report: failures and waits, the graph, and every asset, partition and run.

    Open index.html from disk; it needs no server and no network. A new report replaces an old one atomically. DIR may
    be new, empty, or an earlier report; any other folder is refused. With --json: {index, files, bytes}.
    """
    every_seconds = None if watch is None else _seconds(watch)
    project = open_project(folder)
    watched = _WatchedReport(project, out, at)
    written = _write(project, out, at)
    if as_json:
        print_json({"index": written.index, "files": written.files, "bytes": written.bytes})
    else:
        sys.stdout.write(f"{written.index}: {written.files} files, {written.bytes / 1e6:.1f} MB\n")
    sys.stdout.flush()
    while every_seconds is not None:
        wait(every_seconds)
        watched.write_if_changed()


def wait(seconds: float) -> None:
    """Sleeps; an interrupt raises `KeyboardInterrupt` here. A function of its own, so that tests can replace it."""
    time.sleep(seconds)


class _WatchedReport:
    """A written report that is written again when the journal has grown."""

    def __init__(self, project: Project, place: str, at: str | None) -> None:
        self._project, self._place, self._at = project, place, at
        self._seen, self._written = project.state.newest_entry(), time.monotonic()

    def write_if_changed(self) -> None:
        """Writes the report again if the journal has new entries or the report is old; prints an error and goes on."""
        try:
            newest = self._project.state.newest_entry()
            if newest == self._seen and time.monotonic() - self._written < OLD:
                return
            _write(self._project, self._place, self._at)
        except SparkAssetsError as error:
            sys.stderr.write(f"not rewritten: {error}\n")
            return
        sys.stderr.write(f"rewritten, with entry {newest} of the journal\n")
        self._seen, self._written = newest, time.monotonic()


def _write(project: Project, place: str, at: str | None) -> WrittenSite:
    from sparkassets.report import write_site

    return write_site(project.state.report(at=at), place)


def _seconds(text: str) -> float:
    seconds = Duration.parse(text).seconds_exactly()
    if seconds <= 0:
        raise InputError(f"--watch {text}: expected at least a second")
    return float(seconds)

"""``sparkassets mark``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkassets.cli.options import AssetNameParam, json_option, open_project, partitions_option, project_option
from sparkassets.cli.output import Terminal, print_json
from sparkassets.cli.plan_tables import interval_text, partitions_text
from sparkassets.core.documents.records import mark_document
from sparkassets.core.instants import from_unix
from sparkassets.core.phrases import listing
from sparkassets.errors import InputError

if TYPE_CHECKING:
    from sparkassets.core.journal.marks import MarkKind, MarkResult
    from sparkassets.core.partitions import PartitionSet
    from sparkassets.core.spec.project_spec import ProjectSpec

KINDS: tuple[MarkKind, ...] = ("done", "missing", "skip")


@click.command("mark")
@click.argument("asset", type=AssetNameParam())
@project_option
@partitions_option
@click.option(
    "--interval",
    metavar="A..B",
    help=(
        "A single instance of an asset with `strategy: every_instance` and no partitions: its data "
        "interval, or its start A (ISO 8601, as for `backfill`)."
    ),
)
@click.option("--done", "kinds", flag_value="done", multiple=True, help="Treat the partitions as computed.")
@click.option("--missing", "kinds", flag_value="missing", multiple=True, help="Recompute the partitions.")
@click.option(
    "--skip",
    "kinds",
    flag_value="skip",
    multiple=True,
    help="Do not compute the partitions, and do not wait for them.",
)
@click.option(
    "--forward-only",
    is_flag=True,
    help="Accept a change of code from now on: what other code computed counts as done.",
)
@click.option("--reason", required=True, metavar="TEXT", help="Reason, shown in plans and history.")
@json_option
def command(
    folder: Path,
    asset: str,
    partitions: tuple[str, ...],
    interval: str | None,
    kinds: tuple[MarkKind, ...],
    forward_only: bool,
    reason: str,
    as_json: bool,
) -> None:
    """Mark partitions of ASSET as done, missing, or skipped without running it.

    --done accepts partitions that failed or were loaded by hand: they count as computed, consumers continue, and they
    become stale as usual when their inlets change. --missing has partitions recomputed as soon as possible, even if
    nothing changed; their rows stay until then. --skip makes partitions neither expected nor waited for, until
    --missing reverts that or `backfill --force` computes them. For an asset without partitions, --skip drops what is
    due now; if each interval or event has its own run, --interval selects one. --forward-only marks as done what code
    before a change computed and is current otherwise: the change holds from now on.
    """
    if len(set(kinds)) + forward_only != 1:
        raise InputError("pass one of --done, --missing, --skip and --forward-only")
    if forward_only and (partitions or interval is not None):
        raise InputError("--forward-only finds the partitions itself", hint="--done marks those of --partition")
    project = open_project(folder)
    if forward_only:
        result = project.assets.accept_code(asset, reason=reason)
    else:
        result = project.assets.mark(asset, kinds[0], *partitions, interval=interval, reason=reason)
    if as_json:
        print_json(mark_document(result, project.spec))
    else:
        _print_marks(asset, result, project.spec)


def _print_marks(asset: str, result: MarkResult, project: ProjectSpec) -> None:
    """Prints what was marked, what was marked so already, and runs whose open question the mark answers."""
    terminal, word = Terminal.from_stream(sys.stdout), "skipped" if result.kind == "skip" else result.kind
    unchanged_text = f"was already {word}"
    if result.instance is None and result.kind == "skip" and not project.assets[asset].partitioning.is_partitioned:
        unchanged_text = "nothing is due that could be skipped"
    for marked, outcome in ((result.partitions, f"marked as {word}"), (result.unchanged, unchanged_text)):
        if marked:
            terminal.print("  ".join(filter(None, [asset, _marked_text(result, marked, project), outcome])))
    if result.settled:
        terminal.print(f"{asset}  this resolves {listing(result.settled, last='and')}")


def _marked_text(result: MarkResult, partitions: PartitionSet, project: ProjectSpec) -> str:
    """The partitions, or the one instance, for people."""
    if result.instance is None:
        return partitions_text(result.asset, partitions, project)
    start, end = map(from_unix, result.instance)
    return interval_text(start, end, timezone=project.timezone)

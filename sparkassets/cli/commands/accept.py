"""``sparkassets accept``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sparkassets.cli.options import AssetNameParam, json_option, open_project, partitions_option, project_option
from sparkassets.cli.output import Terminal, print_json
from sparkassets.cli.plan_tables import partitions_text
from sparkassets.core.documents.records import mark_document


@click.command("accept")
@click.argument("asset", type=AssetNameParam())
@project_option
@partitions_option
@click.option(
    "--interval",
    metavar="A..B",
    help="Data interval of the withheld run, for an asset without partitions (ISO 8601, as for `backfill`).",
)
@click.option("--run", "run", metavar="RUN", help="Withheld run, for an asset without partitions.")
@click.option("--reason", required=True, metavar="TEXT", help="Reason, shown in plans and history.")
@json_option
def command(
    folder: Path,
    asset: str,
    partitions: tuple[str, ...],
    interval: str | None,
    run: str | None,
    reason: str,
    as_json: bool,
) -> None:
    """Publish withheld partitions of ASSET despite failed validations.

    Without --partition, all withheld partitions are accepted. For an asset without partitions, --interval or --run
    selects the withheld run unless there is only one. The next `run` recomputes and publishes them regardless of the
    schedule, and consumers continue. Partitions stay accepted until new input arrives for them; then they are validated
    again.
    """
    project = open_project(folder)
    result = project.assets.accept(asset, *partitions, interval=interval, run=run, reason=reason)
    if as_json:
        print_json(mark_document(result, project.spec))
        return
    for accepted, outcome in (
        (result.partitions, "accepted: the next run publishes it"),
        (result.unchanged, "was already accepted"),
    ):
        if accepted:
            parts = [asset, partitions_text(asset, accepted, project.spec), outcome]
            Terminal.from_stream(sys.stdout).print("  ".join(filter(None, parts)))

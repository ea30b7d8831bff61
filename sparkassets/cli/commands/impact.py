"""``sparkassets impact``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkassets.cli.options import (
    AssetNameParam,
    at_option,
    json_option,
    open_project,
    partitions_option,
    project_option,
)
from sparkassets.cli.output import Terminal, print_json, render_tree
from sparkassets.core.documents.plan import impact_document
from sparkassets.core.planner.explain.explanation_nodes import ExplanationNode
from sparkassets.core.planner.wording import name_partitions, plural

if TYPE_CHECKING:
    from sparkassets.core.planner.explain.impact import ReachedPartitions, UpdateImpact
    from sparkassets.core.spec.project_spec import ProjectSpec


@click.command("impact")
@click.argument("asset", type=AssetNameParam())
@project_option
@partitions_option
@at_option
@json_option
def command(folder: Path, asset: str, partitions: tuple[str, ...], at: str | None, as_json: bool) -> None:
    """Show which partitions downstream are affected if partitions of ASSET change or are wrong.

    A cross marks what is not recomputed automatically or not affected, and why; nothing below it is shown. Each line
    says how much of it is computed so far. This command changes nothing; `sparkassets mark --missing` has partitions
    recomputed.
    """
    project = open_project(folder)
    impact = project.lineage.impact(asset, *partitions, at=at)
    if as_json:
        print_json(impact_document(impact, project.spec))
        return
    terminal = Terminal.from_stream(sys.stdout)
    terminal.print(*render_tree(_ImpactTree(impact, project.spec).root(), terminal))


class _ImpactTree:
    """Builds the tree of reached assets; what is below an asset is shown only where the asset comes first."""

    def __init__(self, impact: UpdateImpact, project: ProjectSpec) -> None:
        self._impact = impact
        self._project = project
        self._shown: set[str] = set()

    def root(self) -> ExplanationNode:
        impact = self._impact
        title = name_partitions(impact.asset, impact.partitions, self._project.assets[impact.asset].partitioning)
        empty_text = "nothing reads it" if impact.partitions else "no partition is wanted or present"
        return ExplanationNode(title, None, self._below(impact.asset) or (ExplanationNode(empty_text),))

    def _below(self, name: str) -> tuple[ExplanationNode, ...]:
        return tuple(self._node(reach) for reach in self._impact.reaches if name in reach.through)

    def _node(self, reach: ReachedPartitions) -> ExplanationNode:
        """The node of an asset that is reached: with a cross if it stays as it is, ``as above`` if shown already."""
        partitioning = self._project.assets[reach.asset].partitioning
        text = name_partitions(reach.asset, reach.partitions, partitioning)
        if reach.stays:
            return ExplanationNode(f"{text}: {reach.stays}", holds=False)
        if reach.asset in self._shown:
            return ExplanationNode(f"{text}: as above")
        self._shown.add(reach.asset)
        return ExplanationNode(f"{text}: {self._describe_count(reach)}", None, self._below(reach.asset))

    def _describe_count(self, reach: ReachedPartitions) -> str:
        """How many partitions are reached, and how many of them are computed."""
        partitioning = self._project.assets[reach.asset].partitioning
        if not partitioning.is_partitioned:
            return "computed" if reach.computed else "not computed yet"
        computed = partitioning.count(reach.computed)
        if reach.partitions.is_everything:
            return f"all of it, {plural(computed, 'partition')} computed"
        count = partitioning.count(reach.partitions)
        computed_note = "" if computed == count else f", {computed:,} of them computed"
        return f"{plural(count, 'partition')}{computed_note}"

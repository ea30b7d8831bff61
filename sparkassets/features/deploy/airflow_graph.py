"""What Airflow shows of a project: a task for each asset, and the datasets whose events the two exchange."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from sparkassets.core.journal.announcements import dataset_uri_of
from sparkassets.core.spec.asset_graph import upstream_edges
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.errors import InputError
from sparkassets.frozen import frozen


@frozen
class AirflowGraph:
    """The tasks of a DAG, and its datasets: from their URI in the journal to that of Airflow's asset.

    Attributes:
        upstream: From each asset with a task of its own to those whose tasks come before; empty for one task for all.
        written: Datasets whose events the DAG emits.
        awaited: Datasets whose events in Airflow start it, and are recorded.
    """

    upstream: Mapping[str, Sequence[str]] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)
    awaited: Mapping[str, str] = field(default_factory=dict)


def draw_airflow_graph(
    project: ProjectSpec, selected: Sequence[str], *, name: str, task_each: bool, on: Sequence[str]
) -> AirflowGraph:
    """The graph of a DAG that runs the selected assets.

    Args:
        project: All assets.
        selected: Names, upstream first.
        name: Of the deployment.
        task_each: Whether each asset has a task of its own.
        on: Assets or dataset URIs whose events start the DAG.

    Raises:
        InputError: The DAG would start itself, or ``on`` names what is not there.
    """
    written = {
        asset.uri: _airflow_uri(asset.uri, name, asset.name)
        for asset in (project.assets[each] for each in selected)
        if asset.source is None and not asset.outlets
    }
    awaited = {uri: _airflow_uri(uri, name, target) for target in on for uri in [dataset_uri_of(project, target)]}
    if itself := next((target for target in on if dataset_uri_of(project, target) in written), None):
        hint = "name a source, or a dataset that others write"
        raise InputError(f"--on {itself}: the DAG computes it, and would start itself", hint=hint)
    return AirflowGraph(_find_upstream_tasks(project, selected) if task_each else {}, written, awaited)


def _airflow_uri(uri: str, name: str, asset: str) -> str:
    """The URI of Airflow's asset: that of the dataset, unless it is a path that only this project can read."""
    return uri if "://" in uri else f"x-sparkassets://{name}/{asset}"


def _find_upstream_tasks(project: ProjectSpec, selected: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The assets with runs of their own, upstream first, each with those that it follows, also by way of others."""
    edges = upstream_edges(project.assets)
    runs = [each for each in selected if project.assets[each].source is None and not project.assets[each].maker]
    nearest: dict[str, dict[str, None]] = {}  # by asset, the nearest assets above it that have tasks
    for asset in project.assets:
        above: dict[str, None] = {}
        for each in edges[asset]:
            above |= {each: None} if each in runs else nearest[each]
        nearest[asset] = above
    return {name: tuple(nearest[name]) for name in runs}

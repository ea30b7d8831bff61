"""What Airflow shows of a project: tasks for assets, folders or stages, and the datasets whose events both exchange."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from graphlib import CycleError, TopologicalSorter
from pathlib import PurePosixPath
from typing import Literal

from sparkassets.core.journal.announcements import dataset_uri_of
from sparkassets.core.phrases import listing
from sparkassets.core.spec.asset_graph import upstream_edges
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.errors import InputError
from sparkassets.frozen import frozen

Tasks = Literal["one", "assets", "folders", "due"]
"""Which tasks a DAG has: one, one for each asset or folder of assets, or one for each asset that a plan finds due."""


@frozen
class AirflowGraph:
    """The tasks of a DAG, and its datasets: from their URI in the journal to that of Airflow's asset.

    Attributes:
        tasks: The assets that each task runs; empty for one task for all, and with stages.
        upstream: For each task those that come before it.
        stages: Assets that are planned together. Those of the first stage follow no others; those of a later stage
            follow some of the stage before it, and of earlier ones. Empty unless tasks are made of the plan.
        written: Datasets whose events the DAG emits.
        awaited: Datasets whose events in Airflow start it, and are recorded.
    """

    tasks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    upstream: Mapping[str, Sequence[str]] = field(default_factory=dict)
    stages: Sequence[Sequence[str]] = ()
    written: Mapping[str, str] = field(default_factory=dict)
    awaited: Mapping[str, str] = field(default_factory=dict)


def draw_airflow_graph(
    project: ProjectSpec, selected: Sequence[str], *, name: str, tasks: Tasks, on: Sequence[str]
) -> AirflowGraph:
    """The graph of a DAG that runs the selected assets.

    Args:
        project: All assets.
        selected: Names, upstream first.
        name: Of the deployment.
        tasks: Which tasks it has.
        on: Assets or dataset URIs whose events start the DAG.

    Raises:
        InputError: The DAG would start itself, ``on`` names what is not there, or two folders read each other.
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
    if tasks == "one":
        return AirflowGraph(written=written, awaited=awaited)
    above = _find_upstream_assets(project, selected)
    if tasks == "due":
        return AirflowGraph(stages=_list_stages(above), written=written, awaited=awaited)
    task_of = {each: each if tasks == "assets" else _folder_of(project, each) for each in above}
    members = {task: tuple(each for each in above if task_of[each] == task) for task in task_of.values()}
    upstream = {
        task: tuple(
            dict.fromkeys(task_of[each] for member in inside for each in above[member] if task_of[each] != task)
        )
        for task, inside in members.items()
    }
    try:
        order = tuple(TopologicalSorter(upstream).static_order())
    except CycleError as error:
        folders = listing(list(dict.fromkeys(error.args[1])), last="and")
        raise InputError(f"--tasks folders: {folders} read each other", hint="take --tasks assets") from None
    return AirflowGraph({task: members[task] for task in order}, upstream, written=written, awaited=awaited)


def _list_stages(above: Mapping[str, Sequence[str]]) -> list[Sequence[str]]:
    """The assets by the length of the longest chain of assets above them, shortest first.

    >>> _list_stages({"a": (), "b": ("a",), "c": (), "d": ("b", "c")})
    [('a', 'c'), ('b',), ('d',)]
    """
    sorter = TopologicalSorter(above)
    sorter.prepare()
    stages = list[Sequence[str]]()
    while ready := sorter.get_ready():
        stages.append(ready)
        sorter.done(*ready)
    return stages


def _folder_of(project: ProjectSpec, asset: str) -> str:
    """The folder of an asset's file, as the name of a task."""
    parts = PurePosixPath(project.assets[asset].file).parent.parts
    return re.sub(r"[^\w.-]", "_", ".".join(parts)) or project.name


def _airflow_uri(uri: str, name: str, asset: str) -> str:
    """The URI of Airflow's asset: that of the dataset, unless it is a path that only this project can read."""
    return uri if "://" in uri else f"x-sparkassets://{name}/{asset}"


def _find_upstream_assets(project: ProjectSpec, selected: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The assets with runs of their own, upstream first, each with those that it follows, also by way of others."""
    edges = upstream_edges(project.assets)
    runs = [each for each in selected if project.assets[each].source is None and not project.assets[each].written_by]
    nearest: dict[str, dict[str, None]] = {}  # by asset, the nearest assets above it that have tasks
    for asset in project.assets:
        above: dict[str, None] = {}
        for each in edges[asset]:
            above |= {each: None} if each in runs else nearest[each]
        nearest[asset] = above
    return {name: tuple(nearest[name]) for name in runs}

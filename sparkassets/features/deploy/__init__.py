"""Builds files that start a project elsewhere, for people to read and own; uses no network."""

from sparkassets.features.deploy.airflow_graph import AirflowGraph, Tasks, draw_airflow_graph
from sparkassets.features.deploy.deployment_kinds import DeploymentSpec, Kind, build_files
from sparkassets.features.deploy.owned_files import WrittenFiles, write_owned
from sparkassets.features.deploy.pins import pin_requirements, runtime_of
from sparkassets.features.deploy.wheel import ProjectWheel, build_wheel, requirements_of

__all__ = [
    "AirflowGraph",
    "DeploymentSpec",
    "Kind",
    "ProjectWheel",
    "Tasks",
    "WrittenFiles",
    "build_files",
    "build_wheel",
    "draw_airflow_graph",
    "pin_requirements",
    "requirements_of",
    "runtime_of",
    "write_owned",
]

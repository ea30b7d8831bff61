"""Data-aware, incremental, partition-aware Spark pipelines without an orchestrator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparkassets.app.backfills import BackfillRequest
    from sparkassets.authoring import (
        Asset,
        AssetFunction,
        AssetValidation,
        PartitionAtRuntime,
        PartitionByInterval,
        PartitionByProduct,
        PartitionBySequence,
        asset,
        multi_asset,
    )
    from sparkassets.core.documents.project_status import ProjectStatus
    from sparkassets.core.planner.plan import Plan, PlannedRun, Waiting
    from sparkassets.core.results import RunResult, Summary
    from sparkassets.core.timetables import Slot
    from sparkassets.core.timetables.registered import RegisteredTimetable
    from sparkassets.errors import (
        InputError,
        RunError,
        RunSkipped,
        SourceError,
        SparkAssetsError,
        SparkUnavailableError,
        SpecError,
        StateError,
    )
    from sparkassets.ports import JournalCommit, Sink
    from sparkassets.runtime.progress import Progress, RunFailedError
    from sparkassets.spark.context import Context
    from sparkassets.wiring import Project

    def get_current_context() -> Context:
        """As of `sparkassets.authoring`."""


__all__ = [
    "Asset",
    "AssetFunction",
    "AssetValidation",
    "BackfillRequest",
    "Context",
    "InputError",
    "JournalCommit",
    "PartitionAtRuntime",
    "PartitionByInterval",
    "PartitionByProduct",
    "PartitionBySequence",
    "Plan",
    "PlannedRun",
    "Progress",
    "Project",
    "ProjectStatus",
    "RegisteredTimetable",
    "RunError",
    "RunFailedError",
    "RunResult",
    "RunSkipped",
    "Sink",
    "Slot",
    "SourceError",
    "SparkAssetsError",
    "SparkUnavailableError",
    "SpecError",
    "StateError",
    "Summary",
    "Waiting",
    "asset",
    "get_current_context",
    "multi_asset",
]

_LAZY = {
    "Asset": "sparkassets.authoring.arguments",
    "AssetFunction": "sparkassets.authoring.declarations",
    "AssetValidation": "sparkassets.authoring.validation",
    "BackfillRequest": "sparkassets.app.backfills",
    "Context": "sparkassets.spark.context",
    "InputError": "sparkassets.errors",
    "JournalCommit": "sparkassets.ports",
    "PartitionAtRuntime": "sparkassets.authoring.arguments",
    "PartitionByInterval": "sparkassets.authoring.arguments",
    "PartitionByProduct": "sparkassets.authoring.arguments",
    "PartitionBySequence": "sparkassets.authoring.arguments",
    "Plan": "sparkassets.core.planner.plan",
    "PlannedRun": "sparkassets.core.planner.plan",
    "Progress": "sparkassets.runtime.progress",
    "Project": "sparkassets.wiring",
    "ProjectStatus": "sparkassets.core.documents.project_status",
    "RegisteredTimetable": "sparkassets.core.timetables.registered",
    "RunError": "sparkassets.errors",
    "RunFailedError": "sparkassets.runtime.progress",
    "RunResult": "sparkassets.core.results",
    "RunSkipped": "sparkassets.errors",
    "Sink": "sparkassets.ports",
    "Slot": "sparkassets.core.timetables.timetable",
    "SourceError": "sparkassets.errors",
    "SparkAssetsError": "sparkassets.errors",
    "SparkUnavailableError": "sparkassets.errors",
    "SpecError": "sparkassets.errors",
    "StateError": "sparkassets.errors",
    "Summary": "sparkassets.core.results",
    "Waiting": "sparkassets.core.planner.plan",
    "asset": "sparkassets.authoring.declarations",
    "get_current_context": "sparkassets.authoring.current_context",
    "multi_asset": "sparkassets.authoring.declarations",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401  what is loaded lazily has many types
    """Loads the public names on first use, so that ``import sparkassets`` stays light."""
    if name not in _LAZY:
        raise AttributeError(f"module 'sparkassets' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)

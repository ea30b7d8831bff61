"""Who watches the invocations of a project: what its files and the environment ask for."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sparkassets.core.spec.model import ProjectSpec
from sparkassets.emit.run_logs import RunLogs
from sparkassets.wiring.host import SystemClock
from sparkassets.wiring.logs import log_folder

if TYPE_CHECKING:
    from sparkassets.runtime.watchers import InvocationWatcher


def watchers(spec: ProjectSpec) -> Iterator[InvocationWatcher]:
    """Those of one invocation; nothing is imported for those that nobody asks for."""
    yield RunLogs(log_folder(spec), variables=spec.variables)
    if traces_are_asked_for():
        with suppress(ImportError):  # they are told where the SDK is installed
            from sparkassets.emit.traces import TraceWatcher

            yield TraceWatcher(spec)


def traces_are_asked_for() -> bool:
    """Whether spans go anywhere: the process has set up OpenTelemetry, or the environment says where they go."""
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    api = sys.modules.get("opentelemetry.trace")
    if api is not None and type(api.get_tracer_provider()).__name__ != "ProxyTracerProvider":
        return True
    asked = "OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
    told = [os.environ.get(name, "") for name in asked]
    return any(told) and told[0].strip().lower() != "none"


def metrics_to(spec: ProjectSpec, file: Path) -> InvocationWatcher:
    """Writes figures of each invocation to a file.

    Raises:
        InputError: What writes them is not installed, or there is no such folder.
    """
    from sparkassets.emit.metrics import MetricsWatcher

    return MetricsWatcher(spec, file, now=SystemClock().now)


def run_log(spec: ProjectSpec, run: str) -> Path:
    """Where the log of a run is, if it is on this host."""
    return log_folder(spec) / f"{run}.log"

"""Watchers of a project's invocations, the folder of run logs, and the log entry of a failure."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sparkassets.core.phrases import escape_unwritable
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.errors import RunError, SparkAssetsError, describe_error
from sparkassets.features.telemetry.run_logs import LOG_CHARACTERS, RunLogs, append
from sparkassets.runtime.progress import FailureExplanation
from sparkassets.wiring.host import SystemClock, find_cache_folder

if TYPE_CHECKING:
    from sparkassets.runtime.progress import InvocationWatcher


def log_folder(project: ProjectSpec) -> Path:
    """The folder for logs of the project's runs on this host.

    The configured one, else beside a ``state`` on a disk, else in the user's cache.
    """
    if project.logs is not None:
        return Path(project.logs)
    if "://" not in project.state:
        return Path(project.state) / "logs"
    from tempfile import gettempdir

    from sparkassets.digests import blake2b

    cache = find_cache_folder()
    name = f"{project.name}-{blake2b(project.state.encode(errors='surrogateescape'), digest_size=4).hexdigest()}"
    return cache / "logs" / name if cache is not None else Path(gettempdir()) / "sparkassets-logs"


def watchers(spec: ProjectSpec) -> Iterator[InvocationWatcher]:
    """The watchers of one invocation; imports nothing for those that are not set up."""
    yield RunLogs(log_folder(spec), variables=spec.variables)
    if has_trace_exporter():
        with suppress(ImportError):  # without the SDK there are no spans
            from sparkassets.features.telemetry.traces import TraceWatcher

            yield TraceWatcher(spec)


def has_trace_exporter() -> bool:
    """Whether spans would go anywhere: the process has set up OpenTelemetry, or the environment names an exporter."""
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    api = sys.modules.get("opentelemetry.trace")  # a process that has set it up has imported it
    if api is not None and type(api.get_tracer_provider()).__name__ != "ProxyTracerProvider":
        return True
    names = "OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
    values = [os.environ.get(name, "") for name in names]
    return any(values) and values[0].strip().lower() != "none"  # OTEL_TRACES_EXPORTER=none turns spans off


def metrics_to(spec: ProjectSpec, file: Path) -> InvocationWatcher:
    """A watcher that writes metrics of each invocation to a file.

    Raises:
        InputError: The client of Prometheus is not installed, or the file cannot be written there.
    """
    from sparkassets.features.telemetry.metrics import MetricsWatcher

    return MetricsWatcher(spec, file, now=SystemClock().now)


def run_log(spec: ProjectSpec, run: str) -> Path:
    """The path of a run's log on this host, whether or not the file exists."""
    return log_folder(spec) / f"{run}.log"


def explain_failure(project: ProjectSpec, run: str, error: BaseException) -> FailureExplanation:
    """Why a run failed, without credentials and values of variables. Never raises.

    The traceback is appended to the run's log, after the output of the run.
    """
    from sparkassets.core.redaction import redact  # here, as few runs fail

    if issubclass(type(error), SparkAssetsError) and isinstance(error, SparkAssetsError):
        text, hint = str(error.args[0]).strip().partition("\n")[0], error.hint or ""
        topic = error.topic
    else:
        text, hint, topic = describe_error(error), "", RunError.topic
    variables = project.variables
    text, hint = (escape_unwritable(redact(part, variables=variables)) for part in (text, hint))
    file = log_folder(project) / f"{run}.log"
    try:
        append(file, redact(_format_traceback(error), variables=variables))
    except OSError:
        return FailureExplanation(text, hint, topic=topic)
    return FailureExplanation(text, hint, str(file), topic)


def _format_traceback(error: BaseException) -> str:
    """The traceback as text, its middle left out if it is too long."""
    try:
        text = "".join(traceback.format_exception(error))
    except BaseException:  # noqa: BLE001  what an author's class does when it is looked at
        text = f"{describe_error(error)}\n{''.join(traceback.format_tb(error.__traceback__))}"
    half = LOG_CHARACTERS // 2
    return text if len(text) <= LOG_CHARACTERS else f"{text[:half]}\n[…]\n{text[-half:]}"

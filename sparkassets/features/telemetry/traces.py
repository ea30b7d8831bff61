"""Exports invocations as OpenTelemetry spans: one for an invocation, and one below it for each of its runs."""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final

from sparkassets.core.redaction import redact

if TYPE_CHECKING:
    from sparkassets.core.journal.state import State
    from sparkassets.core.planner.plan import PlannedRun
    from sparkassets.core.results import RunResult, Summary
    from sparkassets.core.spec.project_spec import ProjectSpec

TRACER: Final = "sparkassets"
FLUSH_MILLIS: Final = 2_000
"""How long the end of an invocation waits for its spans to be exported."""


class TraceWatcher:
    """Watches an invocation, and exports it as spans to the provider of the process or the environment.

    Attributes follow the semantic conventions where one exists (``error.type``, ``exception`` events), and else begin
    with ``sparkassets.``.
    """

    def __init__(self, project: ProjectSpec, *, provider: Any = None) -> None:  # noqa: ANN401  of the SDK
        from opentelemetry import trace

        self._api: Any = trace
        self._project = project
        self._provider = provider or _provider()
        self._tracer = self._provider.get_tracer(TRACER, _version())
        self._invocation_span: Any = None
        self._runs: dict[str, Any] = {}

    def began(self) -> None:
        """Starts the span of the invocation."""
        self._invocation_span = self._tracer.start_span("tick", attributes={"sparkassets.project": self._project.name})

    def planned(self, runs: int, waiting: int) -> None:
        """Adds an event with the number of planned runs."""
        del waiting
        self._invocation_span.add_event("planned", {"sparkassets.runs": runs})

    def starting(self, what: str) -> None:
        """Adds an event for a step that takes seconds."""
        self._invocation_span.add_event(f"starting {what}")

    def started(self, run: PlannedRun, run_id: str) -> None:
        """Starts the span of a run."""
        asset = self._project.assets[run.asset]
        attributes: dict[str, Any] = {
            "sparkassets.project": self._project.name,
            "sparkassets.asset": run.asset,
            "sparkassets.run.id": run_id,
            "sparkassets.run.kind": run.kind,
            "sparkassets.run.reason": redact(run.reason, variables=self._project.variables),
            "sparkassets.strategy": run.strategy,
            "sparkassets.write": run.write,
        }
        if asset.partitioning.is_partitioned and not run.partitions.is_everything:
            attributes["sparkassets.partitions"] = asset.partitioning.labels(run.partitions, most=10)
            attributes["sparkassets.partitions.count"] = asset.partitioning.count(run.partitions)
        context = self._api.set_span_in_context(self._invocation_span)
        self._runs[run_id] = self._tracer.start_span(f"run {run.asset}", context=context, attributes=attributes)

    def finished(self, result: RunResult) -> None:
        """Ends the span of a run, with its outcome."""
        span = self._runs.pop(result.run, None)
        if span is None:
            return
        span.set_attribute("sparkassets.run.status", result.status)
        span.set_attribute("sparkassets.run.attempts", result.attempts)
        for name, value in (("rows", result.rows), ("version", result.version)):
            if value is not None:
                span.set_attribute(f"sparkassets.run.{name}", value)
        if result.status == "failed":
            self._mark_failed(span, result.error)
        span.end()

    def ended(self, summary: Summary | None, state: State | None) -> None:
        """Ends the span of the invocation, and those of unfinished runs."""
        del state
        for span in self._runs.values():
            span.end()
        self._runs.clear()
        if self._invocation_span is None:
            return
        if summary is not None:
            self._invocation_span.set_attribute("sparkassets.runs", len(summary.runs))
            self._invocation_span.set_attribute("sparkassets.late", len(summary.late))
            if not summary.ok:
                self._invocation_span.set_status(self._api.StatusCode.ERROR, "some runs failed")
        else:
            self._mark_failed(self._invocation_span, "the invocation was interrupted")
        self._invocation_span.end()
        if hasattr(self._provider, "force_flush"):
            self._provider.force_flush(FLUSH_MILLIS)

    def _mark_failed(self, span: Any, error: str) -> None:  # noqa: ANN401
        """Gives a span the error's class and message, as OpenTelemetry expects them."""
        message = redact(error, variables=self._project.variables)
        kind = message.partition(":")[0]  # errors of Python begin with their class
        kind = kind if kind.isidentifier() else "run_failed"
        span.set_attribute("error.type", kind)
        span.add_event("exception", {"exception.type": kind, "exception.message": message})
        span.set_status(self._api.StatusCode.ERROR, message)


_OWN: Any = None


def _provider() -> Any:  # noqa: ANN401
    """The process's tracer provider; without one, one of our own, configured by OpenTelemetry's variables.

    OpenTelemetry returns a ``ProxyTracerProvider`` as long as the process has set none.
    """
    global _OWN  # noqa: PLW0603  a process has one
    from opentelemetry import trace

    current = trace.get_tracer_provider()
    if type(current).__name__ != "ProxyTracerProvider":
        return current
    if _OWN is None:
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter

        attributes = {} if os.environ.get("OTEL_SERVICE_NAME") else {SERVICE_NAME: TRACER}
        _OWN = TracerProvider(resource=Resource.create(attributes))
        if os.environ.get("OTEL_TRACES_EXPORTER", "").strip().lower() == "console":
            import sys

            _OWN.add_span_processor(BatchSpanProcessor(ConsoleSpanExporter(out=sys.stderr)))
        else:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

            _OWN.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(timeout=FLUSH_MILLIS / 1_000)))
    return _OWN


def _version() -> str:
    try:
        return version("sparkassets")
    except PackageNotFoundError:
        return ""

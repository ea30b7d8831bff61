"""Metrics of a project for Prometheus, in a file for its textfile collector that is replaced after each invocation.

Gauges show the present state of the journal. Counters continue from the values in the file, as a driver may live no
longer than an invocation. Where two drivers write the same file at once, the counts of one are lost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sparkassets.errors import InputError

if TYPE_CHECKING:
    from sparkassets.core.journal.state import AssetState, State
    from sparkassets.core.planner.plan import PlannedRun
    from sparkassets.core.results import RunResult, Summary
    from sparkassets.core.spec.project_spec import ProjectSpec

RUNS: Final = "sparkassets_runs"
SECONDS: Final = "sparkassets_run_seconds"
TICKS: Final = "sparkassets_ticks"
_HEAD: Final = b"# HELP sparkassets_"
"""The first bytes of every metrics file of this package."""


class MetricsWatcher:
    """Watches invocations, and writes their metrics to a file.

    Args:
        file: The file to write; a collector reads only names that end with ``.prom``.

    Raises:
        InputError: The client of Prometheus is not installed, the folder does not exist, or the file holds no metrics.
    """

    def __init__(self, project: ProjectSpec, file: Path, *, now: Callable[[], datetime]) -> None:
        try:
            import prometheus_client
        except ImportError as error:
            hint = "pip install 'sparkassets[metrics]'"
            raise InputError(
                "metrics need the Prometheus client, which is not installed", hint=hint, topic="missing-package"
            ) from error
        if not file.absolute().parent.is_dir():
            raise InputError(f"the folder {str(file.absolute().parent)!r} for metrics does not exist")
        if not _may_replace(file):
            hint = "name a new file, such as sparkassets.prom"
            raise InputError(f"{str(file)!r} is not a metrics file and is not overwritten", hint=hint)
        self._client: Any = prometheus_client
        self._project = project
        self._file = file
        self._now = now
        self._began = 0.0

    def began(self) -> None:
        """Starts the clock of the invocation."""
        self._began = time.monotonic()

    def planned(self, runs: int, waiting: int) -> None:
        """Does nothing."""

    def starting(self, what: str) -> None:
        """Does nothing."""

    def started(self, run: PlannedRun, run_id: str) -> None:
        """Does nothing."""

    def finished(self, result: RunResult) -> None:
        """Does nothing: the summary has all runs."""

    def ended(self, summary: Summary | None, state: State | None) -> None:
        """Replaces the file; an invocation that was broken off leaves it unchanged."""
        if summary is None or state is None:
            return
        registry = self._client.CollectorRegistry()
        self._register_counters(registry, summary)
        self._register_gauges(registry, summary, state)
        self._client.write_to_textfile(str(self._file), registry)

    def _register_counters(self, registry: Any, summary: Summary) -> None:  # noqa: ANN401  of the client, which tells no types
        """Registers the counters: those in the file plus the invocation's runs; assets that left are left out."""
        from prometheus_client.core import CounterMetricFamily

        runs: dict[tuple[str, str], float] = {}
        seconds: dict[tuple[str, str], float] = {}
        for run in summary.runs:
            key = run.asset, run.status
            runs[key], seconds[key] = runs.get(key, 0) + 1, seconds.get(key, 0.0) + run.seconds
        previous, families = _read_counters(self._file), []
        for name, description, counts in (
            (RUNS, "Ended runs, by outcome.", runs),
            (SECONDS, "Total duration of ended runs, in seconds.", seconds),
        ):
            previous_counts = {key: value for (metric, key), value in previous.items() if metric == f"{name}_total"}
            family = CounterMetricFamily(name, description, labels=("project", "asset", "status"))
            for asset, status in sorted({*previous_counts, *counts}):
                if asset in self._project.assets:
                    total = previous_counts.get((asset, status), 0.0) + counts.get((asset, status), 0)
                    family.add_metric((self._project.name, asset, status), total)
            families.append(family)
        ticks = CounterMetricFamily(TICKS, "Number of ticks of the driver.", labels=("project",))
        ticks.add_metric((self._project.name,), previous.get((f"{TICKS}_total", ("", "")), 0.0) + 1)
        registry.register(_MetricFamilies([*families, ticks]))

    def _register_gauges(self, registry: Any, summary: Summary, state: State) -> None:  # noqa: ANN401
        """Registers the gauges for the present state of each asset."""

        def make_gauge(name: str, description: str, *labels: str) -> Any:  # noqa: ANN401
            return self._client.Gauge(f"sparkassets_{name}", description, ("project", *labels), registry=registry)

        project = self._project.name
        assets = {name: asset for name, asset in self._project.assets.items() if not asset.written_by}
        make_gauge("tick_seconds", "Duration of the last tick, in seconds.").labels(project).set(
            time.monotonic() - self._began
        )
        make_gauge("tick_timestamp_seconds", "Time at which the last tick ended.").labels(project).set(
            self._now().timestamp()
        )
        last = make_gauge("last_success_timestamp_seconds", "Time of the asset's last successful run.", "asset")
        partitions = make_gauge("partitions", "Number of partitions, by problem.", "asset", "state")
        computed = [name for name, asset in assets.items() if asset.source is None]
        for name in filter(state.assets.__contains__, computed):
            asset_state = state.assets[name]
            if asset_state.last is not None:
                last.labels(project, name).set(asset_state.last.at)
            for problem, count in self._count_wrong(name, asset_state).items():
                partitions.labels(project, name, problem).set(count)
        waiting = {item.asset for item in summary.waiting if not item.quiet}
        waiting_gauge = make_gauge("waiting", "Whether the asset is due and waiting.", "asset")
        for name in computed:
            waiting_gauge.labels(project, name).set(int(name in waiting))
        late = {lateness.asset for lateness in summary.late}
        late_gauge = make_gauge("late", "Whether the asset is late.", "asset")
        for name in (name for name, asset in assets.items() if asset.deadlines is not None):
            late_gauge.labels(project, name).set(int(name in late))

    def _count_wrong(self, name: str, asset_state: AssetState) -> Mapping[str, int]:
        """How many partitions failed or are withheld; an asset without partitions counts as one."""
        partitioning = self._project.assets[name].partitioning

        def count(each: Any) -> int:  # noqa: ANN401  what failed or is withheld
            return 1 if each.partitions.is_everything else partitioning.count(each.partitions)

        return {"failed": sum(map(count, asset_state.failed)), "withheld": sum(map(count, asset_state.withheld))}


class _MetricFamilies:
    """A collector of ready metric families: the client's own counters would add a wrong time of creation."""

    def __init__(self, families: Sequence[Any]) -> None:
        self._families = families

    def collect(self) -> Sequence[Any]:
        """All families."""
        return self._families


def _may_replace(file: Path) -> bool:
    """Whether the file may be replaced: it does not exist, is empty, or holds earlier metrics.

    Not a device or a pipe: writing would put a regular file in its place.
    """
    try:
        if not file.exists():
            return True
        return file.is_file() and file.read_bytes()[: len(_HEAD)] in (b"", _HEAD)
    except (OSError, ValueError):
        return False


def _read_counters(file: Path) -> dict[tuple[str, tuple[str, str]], float]:
    """(Metric, (asset, status)) to value, from an earlier file; empty if it cannot be read."""
    from prometheus_client.parser import text_string_to_metric_families

    counters: dict[tuple[str, tuple[str, str]], float] = {}
    with suppress(OSError, ValueError):
        for family in text_string_to_metric_families(file.read_text(encoding="utf-8")):
            for sample in family.samples if family.type == "counter" else ():
                key = sample.labels.get("asset", ""), sample.labels.get("status", "")
                counters[sample.name, key] = sample.value
    return counters

"""Runs the benchmarks, one after the other, and writes docs/performance.md from what they recorded.

``python -m tests.benchmark`` runs all, in at most 20 minutes on two cores; names of modules, such as ``bench_waves``,
choose some and only print. One in other sizes is run by itself: ``python -m tests.benchmark.bench_upsert 50``.
"""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

from tests.benchmark.figures import RECORDED_IN, read_figures, render_page

HERE = Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "performance.md"
PEERS = HERE / "peers.md"
SECTIONS: Final = {
    "Writes": (
        "bench_runs",
        "bench_writes",
        "bench_segments",
        "bench_large",
        "bench_upsert",
        "bench_publish",
    ),
    "Reads": ("bench_reads", "bench_changes"),
    "Starts and loops": ("bench_cli", "bench_start", "bench_tests", "bench_warm", "bench_s3"),
    "Planning and driving": ("bench_waves", "bench_planner", "bench_keys", "bench_timetables", "bench_drivers"),
    "Compiling": ("bench_compile",),
    "Looking at sources": ("bench_sources",),
    "The journal": ("bench_journal", "bench_events"),
    "Memory": (),
    "Growth": ("bench_growth",),
    "Reporting": ("bench_report",),
    "Rules, comparisons and outlets": ("bench_outlets", "bench_validations", "bench_unchanged"),
}
"""The benchmarks by the section of the page that their figures are in, unless a figure names another."""
BY_HAND: Final = ("bench_fragments", "bench_openlineage", "bench_ui")
"""Benchmarks that only print, for somebody who changes what they measure."""

ALL_SECONDS: Final = 20 * 60
"""When these are over no further benchmark is begun."""
ONE_SECONDS: Final = 240
"""What one benchmark may take."""


def main(*names: str) -> int:
    """Runs the benchmarks of these names, or all; 1 if one has no figures."""
    load = os.getloadavg()[0]
    missing, started = {}, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        recorded = Path(folder, "figures.jsonl")
        recorded.touch()
        for name in names or [name for section in SECTIONS.values() for name in section]:
            began = time.monotonic()
            print(f"== {name}", flush=True)
            if not names and began - started > ALL_SECONDS:
                problem = "no time was left"
            else:
                limit = None if names else ONE_SECONDS
                problem = run_benchmark([sys.executable, "-m", f"tests.benchmark.{name}"], recorded, limit=limit)
            if problem:
                missing[name] = problem
            print(f"   {name} {problem or 'ended'} after {time.monotonic() - began:.0f} s", flush=True)
        if not names:
            minutes = (time.monotonic() - started) / 60
            conditions = {**machine(), "load before": f"{load:.1f}", "minutes": f"{minutes:.0f}"}
            peers = PEERS.read_text("utf-8") if PEERS.exists() else ""
            PAGE.write_text(
                render_page(read_figures(recorded), SECTIONS, conditions, missing=missing, peers=peers), "utf-8"
            )
    for name, problem in missing.items():
        print(f"{name}: {problem}")
    return int(bool(missing))


def run_benchmark(command: Sequence[str], recorded: Path, *, limit: float | None) -> str:
    """Runs a command that records its figures in a file; returns why it did not end well, or nothing.

    Its processes are killed, those of Spark as well, when the limit in seconds is over.
    """
    env = {**os.environ, RECORDED_IN: str(recorded)}
    process = subprocess.Popen(command, env=env, start_new_session=True)
    try:
        code = process.wait(limit)
    except subprocess.TimeoutExpired:
        return f"stopped after {limit:g} s"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return f"failed with exit code {code}" if code else ""


def machine() -> dict[str, str]:
    """What the figures depend on besides the code."""
    packages = {name: version(name) for name in ("pyspark", "delta-spark", "deltalake")}
    return {"Python": platform.python_version(), **packages, "CPU cores": str(os.cpu_count())}


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

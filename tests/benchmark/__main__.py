"""Runs the benchmarks, one after the other, and writes a page of their figures.

``python -m tests.benchmark`` runs all; names of modules, such as ``bench_waves``, choose some and only print.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

from tests.benchmark.figures import RECORDED_IN, read_figures, render_page

HERE = Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "performance.md"


def main(*names: str) -> int:
    """Runs the benchmarks of these names, or all; 1 if one failed."""
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        recorded = Path(folder, "figures.jsonl")
        recorded.touch()
        for name in names or sorted(path.stem for path in HERE.glob("bench_*.py")):
            began = time.monotonic()
            print(f"== {name}", flush=True)
            env = {**os.environ, RECORDED_IN: str(recorded)}
            if subprocess.run([sys.executable, "-m", f"tests.benchmark.{name}"], env=env, check=False).returncode:
                failed.append(name)
            print(f"   {time.monotonic() - began:.0f} s", flush=True)
        if not names and not failed:
            PAGE.write_text(render_page(read_figures(recorded), machine()), encoding="utf-8")
    if failed:
        print(f"failed: {', '.join(failed)}")
    return int(bool(failed))


def machine() -> dict[str, str]:
    """What the figures depend on besides the code."""
    packages = {name: version(name) for name in ("pyspark", "delta-spark", "deltalake")}
    return {"Python": platform.python_version(), **packages, "CPU cores:": str(os.cpu_count())}


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

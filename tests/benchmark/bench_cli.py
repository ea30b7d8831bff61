"""Cold starts of commands that need no Spark, at 100 assets, beside a bare Python."""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

import sparkassets.spark.engine
from sparkassets import Project
from sparkassets.core.results import Summary
from sparkassets.core.spec.model import AssetSpec
from sparkassets.ports import CommitStamp, Enlist, RunOrder
from tests.benchmark.figures import record
from tests.runtime.fakes import FakeEngine, FakeOutlets, FakeTarget

ASSETS, SOURCES, DAYS, REPEATS = 100, 10, 28, 7
UNCOMPILED = "plan, project unseen"
_IMPORTS = "Python, click and msgspec"
GOALS = {
    "import sparkassets": (200, "Python's own start"),
    "validate": (500, "pydantic, sqlglot and jinja2 are loaded, every query is rendered and parsed"),
    "plan": (500, _IMPORTS),
    UNCOMPILED: (500, "pydantic, yaml and jinja2 are loaded, every file is compiled"),
    "status": (500, _IMPORTS),
    "run, nothing due": (500, _IMPORTS),
}
"""Milliseconds, and what bounds them."""

BESIDE = ("plan", "status", "run, nothing due")
RATIO = 2.0
"""Goal of the CPU of these to that of importing deltalake alone, which they do without: pairs measured in turn."""
RATIO_LIMIT = "0.9 x: Python, click and msgspec; 1 x is our planner being loaded, 0.4 x planning 100 assets"
MOST_PACKAGES = 35


def write_project(folder: Path) -> None:
    """Ten sources of 28 daily files, and ninety daily assets in three layers above them."""
    (folder / "assets").mkdir(parents=True)
    (folder / "project.yml").write_text(
        "project: hundred\nstate: ./state\nwarehouse: ${LAKE:-.}/warehouse\nassets: [assets/]\n"
    )
    for number in range(SOURCES):
        (folder / "landing" / f"s{number}").mkdir(parents=True)
        for day in range(1, DAYS + 1):
            (folder / "landing" / f"s{number}" / f"2025-01-{day:02}.csv").write_text("id,amount\n1,2\n")
        (folder / "assets" / f"s{number}.yml").write_text(
            f"asset: s{number}\nsource: csv\npath: landing/s{number}/{{day}}.csv\n"
            "columns: {id: bigint, amount: double}\npartition: {by: day, column: day}\n"
        )
    for number in range(ASSETS - SOURCES):
        inlet = f"s{number % SOURCES}" if number < 30 else f"a{number - 30}"
        (folder / "assets" / f"a{number}.yml").write_text(f"asset: a{number}\npartition: {{by: day, column: day}}\n")
        (folder / "assets" / f"a{number}.sql").write_text(
            "SELECT day, id, sum(amount) AS amount FROM {{ inlets.INLET }} GROUP BY ALL\n".replace("INLET", inlet)
        )


class LoggingTarget(FakeTarget):
    """Writes the log of its table, by which it is known when it is looked at, but no rows."""

    def commit(self, stamp: CommitStamp, order: RunOrder | None) -> None:
        super().commit(stamp, order)
        assert order is not None
        assert order.asset.storage is not None
        log = Path(order.asset.storage.path, "_delta_log")
        log.mkdir(parents=True, exist_ok=True)
        version = len(self.engine.tables[self.name]) - 1
        actions = [{"commitInfo": {"operation": "WRITE"}}, {"txn": {"appId": stamp.app_id, "version": stamp.version}}]
        (log / f"{version:020}.json").write_text("\n".join(json.dumps(action) for action in actions))


class LoggingOutlets(FakeOutlets):
    """Those tables."""

    def open_target(self, asset: AssetSpec, *, app_id: str, enlist: Enlist) -> FakeTarget:
        return LoggingTarget(self.engine, asset.name, app_id, enlist)


def fill_state(folder: Path) -> Summary:
    """Runs everything with an engine that only pretends, so that the journal is that of a project in use."""
    engine = FakeEngine()
    sparkassets.spark.engine.SparkEngine = lambda *_: engine  # type: ignore[assignment, misc]
    sparkassets.spark.engine.SparkTargetFactory = LoggingOutlets  # type: ignore[assignment, misc]
    return Project.load(folder).run()


def environment(folder: Path) -> dict[str, str]:
    """That of a person with compiled packages, whose java would leave a trace."""
    java = folder / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\ntouch {folder}/java-was-started\nexit 1\n")
    java.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    path = f"{java.parent}{os.pathsep}{os.environ['PATH']}"
    own = {"PYTHONPYCACHEPREFIX": str(folder / "pyc"), "SPARKASSETS_CACHE": str(folder / "cache")}
    return {**kept, **own, "JAVA_HOME": str(java.parents[1]), "PATH": path}


def cold(command: list[str], *, env: dict[str, str], forget: bool) -> tuple[list[float], float]:
    """(Milliseconds of each process after one that only fills caches, median milliseconds of CPU).

    Args:
        command: The process.
        env: Its environment.
        forget: Drops the compiled project before each.
    """
    times, busy = [], []
    for _ in range(REPEATS + 1):
        if forget:
            for kind in ("projects", "outlines"):
                shutil.rmtree(Path(env["SPARKASSETS_CACHE"]) / kind, ignore_errors=True)
        before, begin = cpu_seconds(), time.perf_counter()
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        times.append((time.perf_counter() - begin) * 1000)
        busy.append((cpu_seconds() - before) * 1000)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    return times[1:], statistics.median(busy[1:])


def beside(commands: dict[str, list[str]], other: list[str], *, env: dict[str, str]) -> dict[str, list[float]]:
    """By name the ratios of CPU to the ``other`` process that ran just before."""
    ratios: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(REPEATS):
        for name, command in commands.items():
            base = timed(other, env=env)
            ratios[name].append(timed(command, env=env) / base)
    return ratios


def timed(command: list[str], *, env: dict[str, str]) -> float:
    """Seconds of CPU of one process."""
    before = cpu_seconds()
    subprocess.run(command, env=env, capture_output=True, check=True)
    return cpu_seconds() - before


def cpu_seconds() -> float:
    """What ended children have used: on a busy machine it tells more than the clock."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def requirements(name: str, found: dict[str, int]) -> dict[str, int]:
    """The packages that installing ``name`` without extras brings, with their sizes in bytes."""
    try:
        package = distribution(name)
    except PackageNotFoundError:
        return found
    files = [Path(str(file.locate())) for file in package.files or ()]
    found[normal(package.name)] = sum(file.stat().st_size for file in files if file.is_file())
    for line in package.requires or ():
        needed = Requirement(line)
        wanted = needed.marker is None or needed.marker.evaluate({"extra": ""})
        if wanted and normal(needed.name) not in found:
            requirements(needed.name, found)
    return found


def normal(name: str) -> str:
    """A package's name as the index compares it."""
    return name.lower().replace("_", "-").replace(".", "-")


def main() -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_project(folder / "conf")
        summary = fill_state(folder / "conf")
        env = environment(folder)
        program = str(Path(sys.executable).parent / "sparkassets")
        project = ["--project", str(folder / "conf")]
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "import sparkassets": [sys.executable, "-c", "import sparkassets"],
            "--help": [program, "--help"],
            "validate": [program, "validate", *project],
            "plan": [program, "plan", *project],
            UNCOMPILED: [program, "plan", *project],
            "plan --json": [program, "plan", "--json", *project],
            "status": [program, "status", *project],
            "runs": [program, "runs", *project],
            "run, nothing due": [program, "run", *project],
        }
        print(f"cold starts at {ASSETS} assets, {len(summary.runs)} runs in the journal; medians of {REPEATS}")
        print(f"{'':20} {'ms':>6} {'spread':>12} {'CPU ms':>7} {'bare Pythons':>13}")
        bare = 0.0
        for name, command in commands.items():
            times, busy = cold(command, env=env, forget=name == UNCOMPILED)
            middle = statistics.median(times)
            bare = bare or middle
            spread = f"{min(times):.0f}-{max(times):.0f}"
            print(f"{name:20} {middle:>6.0f} {spread:>12} {busy:>7.0f} {middle / bare:>13.1f}")
            if name in GOALS:
                goal, limit = GOALS[name]
                record(f"cold `{name}`", middle, "ms", spread=times, goal=goal, limit=limit)
        other = [sys.executable, "-c", "import deltalake"]
        for name, ratios in beside({name: commands[name] for name in BESIDE}, other, env=env).items():
            what, against = f"cold `{name}`: CPU", "`import deltalake`"
            record(what, statistics.median(ratios), "x", against=against, spread=ratios, goal=RATIO, limit=RATIO_LIMIT)
        assert not (folder / "java-was-started").exists()
    packages = requirements("sparkassets", {})
    megabytes = sum(packages.values()) / 1e6
    heaviest = max(packages, key=packages.__getitem__)
    print(f"{megabytes:.0f} MB, of which {heaviest} {packages[heaviest] / 1e6:.0f} MB")
    limit = "six come with detect-secrets, four with rich"
    record("installed without Spark", len(packages), "packages", goal=MOST_PACKAGES, limit=limit)


if __name__ == "__main__":
    main()

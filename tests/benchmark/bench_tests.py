"""Tests of assets with Sail, each suite in a process of its own, beside the least that any such test needs.

That is pyspark's client of Spark Connect with a server of Sail and one query, without sparkassets.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

from tests.benchmark.bench_cli import beside, cold, environment
from tests.benchmark.figures import record

SUITES = {1: 1000, 50: 10_000}
"""Milliseconds that are wanted, by the number of tests."""
RATIO = 1.25
"""Goal of the CPU of one test to that of the least, measured by turns."""

LEAST = """
from pysail.spark import SparkConnectServer
from pyspark.sql import SparkSession
server = SparkConnectServer()
server.start(background=True)
host, port = server.listening_address
session = SparkSession.builder.remote(f"sc://{host}:{port}").getOrCreate()
assert session.sql("SELECT shop, sum(amount) FROM VALUES ('a', 1), ('a', 2) AS t (shop, amount) GROUP BY 1").collect()
"""
FILES = {
    "project.yml": "project: tested\nassets: [assets/]\n",
    "assets/orders.yml": (
        "asset: orders\nsource: csv\npath: landing/{day}.csv\npartition: {by: day, column: day}\n"
        "columns: {shop: string, amount: double}\n"
    ),
    "assets/revenue.yml": "asset: revenue\npartition: {by: day, column: day}\n",
    "assets/revenue.sql": "SELECT day, shop, sum(amount) AS revenue FROM {{ inlets.orders }} GROUP BY ALL\n",
}
TEST = """test: revenue {number}
asset: revenue
partition: 2025-01-02
given:
  orders:
    - {{day: 2025-01-02, shop: a, amount: 10}}
    - {{day: 2025-01-02, shop: a, amount: {number}}}
    - {{day: 2025-01-03, shop: a, amount: 99}}
expect:
  - {{day: 2025-01-02, shop: a, revenue: {total}}}
"""


def write_project(folder: Path, *, tests: int) -> None:
    """One source, one asset above it, and a file for each test."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for number in range(tests):
        (folder / "tests").mkdir(exist_ok=True)
        (folder / "tests" / f"t{number}.yml").write_text(TEST.format(number=number, total=10 + number))


def main() -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        env = {**environment(folder), "SPARKASSETS_ENGINE": "sail", "RUST_LOG": "error"}
        least = [sys.executable, "-W", "ignore", "-c", LEAST]
        middle = statistics.median(cold(least, env=env, forget=False)[0])
        limit = f"pyspark's client, which loads pandas, and Sail with one query: {middle:.0f} ms"
        commands = {}
        for tests, goal in SUITES.items():
            write_project(folder / f"p{tests}", tests=tests)
            program = str(Path(sys.executable).parent / "sparkassets")
            commands[tests] = [program, "test", "--project", str(folder / f"p{tests}")]
            times, busy = cold(commands[tests], env=env, forget=False)
            print(f"{tests:>2} tests: {statistics.median(times):.0f} ms, {busy:.0f} ms of CPU")
            what = f"cold `test` with {tests} test{'s' if tests > 1 else ''} of rows, on Sail"
            record(what, statistics.median(times), "ms", spread=times, goal=goal, limit=limit)
        (ratios,) = beside({"one": commands[1]}, least, env=env).values()
        what, against = "cold `test` with 1 test of rows, on Sail: CPU", "pyspark and Sail with one query"
        limit = "sqlglot for `GROUP BY ALL`, Jinja, msgspec and our modules"
        record(what, statistics.median(ratios), "x", against=against, spread=ratios, goal=RATIO, limit=limit)
        assert not (folder / "java-was-started").exists()


if __name__ == "__main__":
    main()

"""Compiling a project of n assets: CPU against n, and again unchanged and with one edited file.

Each compilation has a process of its own; the import of the code is not in the figures.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmark.figures import record, record_growth

COUNTS, LARGE = (500, 1_000, 4_000, 10_000), 10_000
AGAIN = 1_000
"""Assets of the project that is loaded again."""
REPEATS, TEAM, FAN = 2, 10, 10
GOALS = {1_000: 1.2, 4_000: 4.0, 10_000: 10.0}
EDITED_GOAL = 0.4
"""Seconds of CPU, from nothing and after an edit."""

WORK = """
import gc, resource, sys
from pathlib import Path
from sparkassets.cli import OBJECTS_BETWEEN_LOOKS
from sparkassets.project.project_loader import load_project
import sparkassets.project.project_folder
gc.set_threshold(OBJECTS_BETWEEN_LOOKS)  # as the command does
folder, cache = Path(sys.argv[1]), Path(sys.argv[2])
before = resource.getrusage(resource.RUSAGE_SELF)
project = load_project(folder, {}, cache=cache)
after = resource.getrusage(resource.RUSAGE_SELF)
assert len(project.assets) == int(sys.argv[3]), len(project.assets)
print(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, after.ru_maxrss)
"""
"""Prints the seconds of CPU of one compilation, and the largest resident size in KiB."""


def write_project(folder: Path, count: int) -> None:
    """A project of teams with ten assets each: chains in each team, and fans across them.

    A team has two sources and eight tables: by day, week and month, without partitions, by segments, with validations,
    with declared columns, with SQL in files and in the YAML, one of them over the tables of the ten teams before it.
    """
    folder.mkdir(parents=True)
    (folder / "project.yml").write_text(
        "project: large\nstate: ./state\nwarehouse: ${LAKE:-.}/warehouse\nassets: [assets/]\n"
    )
    for team in range(count // TEAM):
        write_team(folder / "assets" / f"area{team // 10}" / f"team{team}", team)


def write_team(folder: Path, team: int) -> None:
    """The files of one team."""
    folder.mkdir(parents=True)
    b, before = team, max(0, team - 1)
    daily = "partition: {by: day, column: day}\n"
    files = {
        f"orders_{b}.yml": f"asset: orders_{b}\ndescription: As the shops of team {b} wrote them.\nsource: csv\n"
        f"path: landing/orders_{b}/{{day}}.csv\n"
        f"columns: {{id: bigint, customer: bigint, amount: 'decimal(10,2)', shop: string}}\n{daily}",
        f"customers_{b}.yml": f"asset: customers_{b}\nsource: parquet\npath: landing/customers_{b}.parquet\n"
        "columns: {id: bigint, name: string, country: string}\n",
        f"sales_{b}.yml": f"asset: sales_{b}\nowner: team{b}\n{daily}validations:\n"
        "  - not_null: [id, customer]\n  - unique: [day, id]\n  - row_count: {min: 1}\n",
        f"sales_{b}.sql": "SELECT day, id, customer, amount, shop\nFROM {{ inlets.orders_B }}\nWHERE amount <> 0\n",
        f"enriched_{b}.yml": f"asset: enriched_{b}\n{daily}start: 2025-01-01\ninlets:\n  customers_{b}:\n",
        f"enriched_{b}.sql": "SELECT s.day, s.id, s.amount, c.country\nFROM {{ inlets.sales_B }} AS s\n"
        "LEFT JOIN {{ inlets.customers_B }} AS c ON c.id = s.customer\n",
        f"rolled_up_{b}.yml": f"asset: weekly_{b}\npartition: {{by: week, column: week}}\nsql: |\n"
        "  SELECT date_trunc('week', day) AS week, country, sum(amount) AS amount\n"
        f"  FROM {{{{ inlets.enriched_{b} }}}}\n  GROUP BY ALL\n---\n"
        f"asset: rolling_{b}\n{daily}inlets: {{enriched_{b}: {{window: 7d}}}}\nsql: |\n"
        f"  SELECT day, sum(amount) AS amount FROM {{{{ inlets.enriched_{b} }}}} GROUP BY day\n",
        f"monthly_{b}.yml": f"asset: monthly_{b}\nschedule: '0 6 2 * *'\n"
        "partition: {by: month, column: month}\nretries: 3\ntimeout: 2h\n"
        f"extra: {{tier: gold, team: {b}}}\n",
        f"monthly_{b}.sql": "SELECT date_trunc('month', day) AS month, count(*) AS orders\n"
        "FROM {{ inlets.sales_B }}\nGROUP BY 1\n",
        f"by_shop_{b}.yml": f"asset: by_shop_{b}\npartition: [{{by: day, column: day}}, {{segments: [north, south], "
        "column: shop}]\n",
        f"by_shop_{b}.sql": "SELECT day, shop, sum(amount) AS amount FROM {{ inlets.sales_B }} GROUP BY ALL\n",
        f"report_{b}.yml": f"asset: report_{b}\ntype: report\nunchanged: skip\nschedule: {{any: [weekly_{b}, "
        f"rolling_{b}]}}\n",
        f"report_{b}.sql": "SELECT w.week, w.amount, r.amount AS rolling\nFROM {{ inlets.weekly_B }} AS w\n"
        "CROSS JOIN {{ inlets.rolling_B }} AS r\n",
        f"total_{b}.yml": f"asset: total_{b}\n",
        f"total_{b}.sql": "\nUNION ALL\n".join(
            f"SELECT month, orders FROM {{{{ inlets.monthly_{each} }}}}" for each in range(max(0, b - FAN + 1), b + 1)
        )
        + (f"\nUNION ALL\nSELECT month, orders FROM {{{{ inlets.total_{before} }}}}\n" if b else "\n"),
    }
    for name, text in files.items():
        (folder / name).write_text(text.replace("_B }}", f"_{b} }}}}"))


def compile_seconds(folder: Path, cache: Path, count: int) -> tuple[float, float]:
    """(Seconds of CPU, MB at most) of one process that compiles the project."""
    done = subprocess.run(
        [sys.executable, "-c", WORK, str(folder), str(cache), str(count)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    seconds, kilobytes = done.stdout.split()
    return float(seconds), int(kilobytes) / 1024


def main() -> None:
    """Prints the tables."""
    with tempfile.TemporaryDirectory() as temporary:
        os.chdir(temporary)
        print(f"{'assets':>8} {'CPU s':>8} {'spread':>12} {'MB':>6} {'ms an asset':>12}")
        points = {}
        for count in COUNTS:
            folder = Path(temporary, f"n{count}")
            write_project(folder, count)
            repeats = REPEATS if count < LARGE else 1
            runs = [compile_seconds(folder, folder / f"cache{turn}", count) for turn in range(repeats)]
            times = [seconds for seconds, _ in runs]
            middle = statistics.median(times)
            points[count] = middle
            spread = f"{min(times):.2f}-{max(times):.2f}"
            print(f"{count:>8} {middle:>8.2f} {spread:>12} {runs[0][1]:>6.0f} {middle / count * 1000:>12.2f}")
            if count in GOALS:
                what, limit = f"{count:,} assets compiled from nothing: CPU", "every file is read, checked and digested"
                record(what, middle, "s", spread=times, goal=GOALS[count], limit=limit)
        record_growth("CPU of compiling n assets", points)
        load_again(Path(temporary, f"n{AGAIN}"))


def load_again(folder: Path) -> None:
    """Records what loading costs beside compiling from nothing: nothing has changed, or one file."""
    edits = {
        "unchanged": None,
        "one YAML file edited": ("sales_7.yml", "#"),
        "one SQL file edited": ("sales_7.sql", "--"),
    }
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in edits}
    for turn in range(REPEATS):
        cache = folder / f"again{turn}"
        cold, _ = compile_seconds(folder, cache, AGAIN)
        for name, edit in edits.items():
            if edit is not None:
                with next(folder.rglob(edit[0])).open("a") as file:
                    file.write(f"{edit[1]} {turn}\n")
            again, _ = compile_seconds(folder, cache, AGAIN)
            found[name].append((again, again / cold))
    for name, each in found.items():
        seconds, ratios = [seconds for seconds, _ in each], [ratio for _, ratio in each]
        print(f"  {statistics.median(ratios):.2f} of compiling them ({min(ratios):.2f}-{max(ratios):.2f})")
        what = f"{AGAIN:,} assets loaded, {name}: CPU"
        limit = "a `stat` of each file, and reading the compiled assets"
        record(what, statistics.median(seconds), "s", spread=seconds, goal=EDITED_GOAL, limit=limit)


if __name__ == "__main__":
    main()

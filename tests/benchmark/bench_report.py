"""The report of 1,000 assets and 100,000 slices: how long it takes, how large it is, and how soon a browser shows it.

Budget: made and written in 5 s and 15 MB; shown in 2 s. "work" is CPU; the browser is asked where there is one.
"""

from __future__ import annotations

import gc
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from sparkassets.cli import OBJECTS_BETWEEN_LOOKS
from sparkassets.core.documents.report import KINDS, MOST_ENTRIES, ReportHistory, build_report
from sparkassets.core.journal.codec import from_row
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.planner.incremental_planner import IncrementalPlanner
from sparkassets.core.planner.planner import make_plan
from sparkassets.core.spec.code_bodies import SqlBody
from sparkassets.report import write_site
from tests.benchmark import bench_planner
from tests.benchmark.figures import record
from tests.builders import HERE, Story, asset, project, source
from tests.report.browser import browsing, chromium

SECONDS, MEGABYTES, SHOWN = 5, 15, 2
SQL = (
    "SELECT day, origin, avg(dep_delay) AS mean_delay\nFROM {{ inlets.a }}\nWHERE dep_delay IS NOT NULL\nGROUP BY ALL\n"
)


def broad() -> Story:
    """1,000 assets of 100 days, most of them computed at once, the last ten day by day, with a failure now and then."""
    bench_planner.DAYS = "2024-09-23..2024-12-21"
    story = bench_planner.layered(1000)
    known, body = story.project.assets.values(), SqlBody(SQL, HERE)
    assets = [replace(each, body=body, description=f"What {each.name} is for") for each in known]
    story.project = project(*assets)
    planner = IncrementalPlanner(story.project)
    for day in range(22, 32):
        for each in assets:
            if each.source is not None:
                story.observed(each.name, f"2024-12-{day}")
        failing = day % 3 == 0
        while runs := planner.plan(story.context(invocation="i")).runs:
            for run in runs:
                claim = story.claim(run)
                if failing and claim % 97 == 0:
                    story.fail(run.asset, claim, error="[DIVIDE_BY_ZERO] Division by zero")
                else:
                    story.succeed(run.asset, claim, version=claim, seconds=12.5, extra={"rows": 1000})
    return story


def deep() -> Story:
    """One product of 365 days and 274 segments, a tenth of which is behind, each for a reason of its own."""
    segments = {"customer": [f"c{n:03}" for n in range(274)]}
    story = Story(project(source("orders", segments=segments), asset("bills", "orders", segments=segments)))
    story.now = "2025-02-01"
    story.observed("orders", "2024-01-01..2024-12-30,*")
    story.run("bills")
    changed = story.project.assets["orders"].partitioning
    parts = [changed.parse(f"2024-{1 + n % 12:02}-{1 + n % 28:02},c{n * 7 % 274:03}") for n in range(9000)]
    story.observed("orders", *changed.labels(PartitionSet.union(parts)))
    return story


def measure(name: str, story: Story, page: str) -> None:
    rows = [row for row in story.rows if row.kind in KINDS][-MOST_ENTRIES:]
    begun, work = time.perf_counter(), time.process_time()
    context = story.context()
    found = make_plan(context)
    past = ReportHistory.from_entries([from_row(row) for row in rows], whole=len(rows) == len(story.rows))
    report = build_report(context, found, past)
    made = time.process_time() - work
    covered = [(each.partitioning, context.state.dataset(each.uri)) for each in context.project.assets.values()]
    slices = sum(partitioning.count(dataset.coverage) for partitioning, dataset in covered)
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        written = write_site(report, f"{folder}/site")
        took, work = time.perf_counter() - begun, time.process_time() - work
        print(f"{name}: {len(report.assets):,} assets, {slices:,} slices, {len(past.runs):,} runs")
        print(f"  {made:5.2f} s of work to make, {work - made:.2f} to write; {written.files} files")
        what = f"the report of a {name} project, {len(report.assets):,} assets"
        record(what, took, "s", goal=SECONDS, limit="every partition's state and every run is written")
        record(f"{what}: its size", written.bytes / 1e6, "MB", goal=MEGABYTES, limit="the same, without compression")
        if chromium() is not None:
            show(Path(folder), page)


def show(folder: Path, page: str) -> None:
    with browsing(folder / "profile") as browser:
        browser.size(1280, 900)
        for place in ("#/", "#/assets", "#/graph", "#/runs", page):
            browser.leave()
            begun = time.perf_counter()
            browser.open((folder / "site" / "index.html").as_uri() + place)
            took = time.perf_counter() - begun
            slow = browser.ask(FRAMES)
            print(f"  {place:22} shown in {took:.2f} s (budget {SHOWN} s), slowest frame of scrolling {slow:.0f} ms")
        assert browser.problems == []


FRAMES = """new Promise((done) => {
  const box = document.querySelector('.grid') || document.scrollingElement;
  let [worst, last, left] = [0, performance.now(), 60];
  const step = () => {
    const now = performance.now();
    worst = Math.max(worst, now - last);
    last = now;
    box.scrollTop += 40;
    box.scrollLeft -= 40;
    if ((left -= 1)) requestAnimationFrame(step);
    else done(worst);
  };
  requestAnimationFrame(step);
})"""


if __name__ == "__main__":
    gc.set_threshold(OBJECTS_BETWEEN_LOOKS)  # as the command does
    measure("broad", broad(), "#/asset/a9_1/partitions")
    measure("deep", deep(), "#/asset/bills/partitions")

"""The live page of 10,000 assets: what the server takes for it, what it sends, and how soon a browser shows and finds.

"work" is CPU of the server; the browser is asked where there is one.
"""

from __future__ import annotations

import gc
import gzip
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from sparkassets.cli import OBJECTS_BETWEEN_LOOKS
from sparkassets.features.ui.commands import CommandLine, CommandRunner
from sparkassets.features.ui.live_report import LiveReport
from sparkassets.features.ui.server import UiServer
from sparkassets.wiring import Project
from tests.benchmark.bench_compile import write_project
from tests.report.browser import Browser, browsing, chromium

COUNT = 10_000
ASSET = "total_500"


@contextmanager
def work(what: str) -> Iterator[None]:
    begun = time.process_time()
    yield
    print(f"{what:48} {time.process_time() - begun:8.3f} s of work")


def measure(folder: Path) -> None:
    write_project(folder / "conf", COUNT)
    project = Project.load(folder / "conf")
    with work("the first report"):
        report = LiveReport(lambda: project, clock=lambda: 0.0)
    version, whole = report.index("")
    assert whole is not None
    print(f"{'sent once':48} {len(whole) / 1e6:8.2f} MB, {len(gzip.compress(whole, 1)) / 1e3:.0f} kB compressed")
    with work("a look at the journal and at all files"):
        report.refresh()
    with work("the page of one asset"):
        page = report.page(ASSET) or b""
    print(f"{'its size':48} {len(page) / 1e3:8.1f} kB")
    project.assets.pause("total_1")
    report.refresh()  # the first entry of a journal comes with one for each asset
    version, _ = report.index("")
    project.assets.pause(ASSET)
    with work("the report once one asset has changed"):
        report.refresh()
    _, differences = report.index(version)
    print(f"{'sent for it':48} {len(differences or b'') / 1e3:8.1f} kB")
    if chromium() is not None:
        commands = CommandRunner(CommandLine((sys.executable,), (), os.environ), allows_changes=False)
        with UiServer(report, commands, port=0) as server, browsing(folder / "profile") as browser:
            show(browser, server.address)


def show(browser: Browser, address: str) -> None:
    browser.size(1280, 900)
    begun = time.perf_counter()
    browser.open(address)
    print(f"{'opened':48} {time.perf_counter() - begun:8.2f} s")
    for place in ("#/assets", "#/graph", "#/datasets", f"#/asset/{ASSET}", "#/"):
        begun = time.perf_counter()
        browser.ask(f"location.hash = {place!r}")
        browser.until(f"document.getElementById('main').dataset.ready === {place!r}")
        print(f"{place:48} {time.perf_counter() - begun:8.2f} s")
    browser.ask("document.getElementById('search').focus()")
    for key in "tot":
        found = browser.ask(TYPED.format(key))
        print(f"{'search, one key':48} {found:8.0f} ms")
    print(f"{'the whole index, read':48} {browser.ask(RENEWED):8.0f} ms")
    assert browser.problems == []


TYPED = """(() => {{
  const field = document.getElementById('search');
  field.value += '{}';
  const begun = performance.now();
  field.dispatchEvent(new Event('input'));
  return performance.now() - begun;
}})()"""
RENEWED = """(async () => {
  const begun = performance.now();
  const answer = await fetch('data/index');
  await answer.json();
  return performance.now() - begun;
})()"""


if __name__ == "__main__":
    gc.set_threshold(OBJECTS_BETWEEN_LOOKS)  # as the command does
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        measure(Path(folder))

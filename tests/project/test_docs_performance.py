"""docs/performance.md is what `make bench` makes of the figures that benchmarks record, also of those that fail."""

import json
import sys
import time
from itertools import chain

from tests.benchmark import figures
from tests.benchmark.__main__ import BY_HAND, HERE, PEERS, SECTIONS, run_benchmark
from tests.documents import page

SOME = {"Writes": ["bench_a"], "Memory": [], "Growth": ["bench_b"]}


def rendered(*rows, missing=None, peers=""):
    return figures.render_page(rows, SOME, {"Python": "3.11"}, missing=missing or {}, peers=peers)


def test_every_benchmark_is_in_one_section():
    named = [*chain.from_iterable(SECTIONS.values()), *BY_HAND]
    assert sorted(named) == sorted(path.stem for path in HERE.glob("bench_*.py"))


def test_the_page_has_the_sections_of_the_benchmarks_in_order():
    headings = [line.removeprefix("## ") for line in page("docs/performance.md").splitlines() if line.startswith("## ")]
    assert headings == [each for each in [*SECTIONS, "Other tools"] if each in headings]
    assert not PEERS.exists() or PEERS.read_text("utf-8").rstrip() in page("docs/performance.md")


def test_a_figure_is_under_the_heading_of_its_benchmark_or_its_own():
    text = rendered(
        figures.Figure("appends", 0.25, "x", "by hand", (0.2, 0.312), 0.3, "two files", "bench_a"),
        figures.Figure("a wave", 512.0, "MB", goal=400, benchmark="bench_b", section="Memory"),
    )
    assert "**1 of 2 goals are met.**" in text
    writes, memory = text.partition("## Writes")[2].split("## Memory")
    assert "| appends | 0.25 x | by hand | 0.2 to 0.312 | 0.3 x | yes | two files | `bench_a` |" in writes
    assert "| a wave | 512 MB |  |  | 400 MB | **no** |  | `bench_b` |" in memory
    assert "Growth" not in text


def test_a_rate_is_met_when_it_is_as_large():
    assert figures.Figure("runs", 200.0, "runs/s", goal=150).meets_goal
    assert not figures.Figure("runs", 100.0, "runs/s", goal=150).meets_goal


def test_the_page_says_which_benchmarks_are_missing_and_how_other_tools_compare():
    text = rendered(missing={"bench_b": "stopped after 150 s"}, peers="| tool |\n")
    assert "Without all figures of: `bench_b` stopped after 150 s." in text
    assert "## Other tools\n\n| tool |\n" in text


def test_a_cost_that_grows_with_the_square_has_the_exponent_two(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv(figures.RECORDED_IN, str(tmp_path / "figures"))
    figures.record_growth("sorting", {10: 1.0, 100: 100.0}, limit="each pair is compared")
    (found,) = figures.read_figures(tmp_path / "figures")
    assert (found.what, round(found.value, 6), found.section) == ("sorting, 10 to 100", 2, "Growth")
    assert not found.meets_goal
    assert "MISSED" in capsys.readouterr().out


def test_a_benchmark_that_fails_or_takes_too_long_is_named_and_what_it_recorded_is_there(tmp_path):
    recorded = tmp_path / "figures"
    row = dict.fromkeys(figures.Figure.__annotations__)
    code = f"import os, sys; open(os.environ[{figures.RECORDED_IN!r}], 'a').write({json.dumps(row)!r}); "
    failing, endless = (
        [sys.executable, "-c", code + "sys.exit(3)"],
        "import subprocess; subprocess.run(['sleep', '99'])",
    )
    assert run_benchmark(failing, recorded, limit=60) == "failed with exit code 3"
    assert len(figures.read_figures(recorded)) == 1
    begun = time.monotonic()
    assert run_benchmark([sys.executable, "-c", endless], recorded, limit=0.5) == "stopped after 0.5 s"
    assert time.monotonic() - begun < 60

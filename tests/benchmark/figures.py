"""The figures that benchmarks record, and the page that `make bench` makes of them.

A benchmark prints its tables itself, and calls `record()` for each figure that has a goal. `make bench` runs all
benchmarks, each in a process of its own, and writes the page from what they recorded.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import sys
from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Final

from sparkassets.frozen import frozen

RECORDED_IN: Final = "BENCHMARK_FIGURES"
"""The environment variable with the path of the file to record in; without it, figures are only printed."""
_INTRODUCTION: Final = """\
# Performance

What sparkassets costs beside the same work by hand, or beside the one call that the work cannot do without.
`make bench` measures both sides by turns in one run and writes this page; no test measures time. By hand means what a
good engineer writes: one warm session, `replaceWhere` or dynamic overwrite, `MERGE` by key, sensible shuffle settings.
"""
_GROWTH: Final = "Growth"
_GROWTH_GOAL: Final = 1.1
_LINEAR: Final = "1; memory that outgrows the processor's caches adds to it"


@frozen
class Figure:
    """What one measurement found.

    Attributes:
        what: What was measured.
        value: The median, in ``unit``.
        unit: What the value counts; ``x`` for a ratio.
        against: What a ratio compares with, measured by turns in the same run.
        spread: The smallest and the largest value.
        goal: The largest value that meets the goal, for a rate the smallest; None without a goal.
        limit: What bounds it in principle, for people; whatever has a goal says it.
        benchmark: The module that measured it.
        section: The heading it belongs under, if that is not its benchmark's.
    """

    what: str
    value: float
    unit: str
    against: str = ""
    spread: tuple[float, float] | None = None
    goal: float | None = None
    limit: str = ""
    benchmark: str = ""
    section: str = ""

    @property
    def meets_goal(self) -> bool:
        """Whether the value is as small as its goal; a rate must be as large."""
        if self.goal is None:
            return True
        return self.value >= self.goal if self.unit.endswith("/s") else self.value <= self.goal


def record(
    what: str,
    value: float,
    unit: str,
    *,
    against: str = "",
    spread: Iterable[float] = (),
    goal: float | None = None,
    limit: str = "",
    section: str = "",
) -> None:
    """Prints a figure beside its goal, and appends it to the file that `make bench` makes the page of."""
    if goal is not None and not limit:
        raise ValueError(f"{what}: a figure with a goal says what bounds it")
    values = sorted(spread)
    module = Path(sys.argv[0]).stem
    figure = Figure(
        what, value, unit, against, (values[0], values[-1]) if values else None, goal, limit, module, section
    )
    verdict = "" if goal is None else f"   goal {_number(goal)} {unit} {'ok' if figure.meets_goal else 'MISSED'}"
    print(f"{what}: {_value(figure)}{f' beside {against}' if against else ''}{verdict}")
    if path := os.environ.get(RECORDED_IN):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps({name: getattr(figure, name) for name in Figure.__annotations__}) + "\n")


def record_growth(what: str, points: Mapping[int, float], *, limit: str = _LINEAR) -> None:
    """Records the exponent of a cost that grows with n: the slope of their logarithms.

    Args:
        what: What grows with what.
        points: The cost by n.
        limit: What bounds the exponent.
    """
    for count, cost in points.items():
        print(f"  {count:>10,}  {cost:.4g}")
    slope, _ = statistics.linear_regression([math.log(n) for n in points], [math.log(cost) for cost in points.values()])
    sizes = f"{min(points):,} to {max(points):,}"
    record(f"{what}, {sizes}", slope, "exponent", goal=_GROWTH_GOAL, limit=limit, section=_GROWTH)


def read_figures(path: Path) -> list[Figure]:
    """The figures in a file that `record()` wrote."""
    lines = path.read_text("utf-8").splitlines()
    return [Figure(**{**row, "spread": row["spread"] and tuple(row["spread"])}) for row in map(json.loads, lines)]


def render_page(
    figures: Iterable[Figure],
    sections: Mapping[str, Collection[str]],
    machine: Mapping[str, str],
    *,
    missing: Mapping[str, str],
    peers: str,
) -> str:
    """The page on performance, in Markdown.

    Args:
        figures: Its rows, in order.
        sections: By heading the benchmarks whose figures are under it.
        machine: By name what the figures depend on besides the code.
        missing: Why benchmarks have no figures or not all, by name.
        peers: The comparison with other tools, in Markdown; empty without one.
    """
    headings = {name: heading for heading, names in sections.items() for name in names}
    rows: dict[str, list[Figure]] = {heading: [] for heading in sections}
    for each in figures:
        rows[each.section or headings[each.benchmark]].append(each)
    wanted = [each.meets_goal for each in chain.from_iterable(rows.values()) if each.goal is not None]
    lines = [
        _INTRODUCTION,
        f"On {', '.join(f'{name} {value}' for name, value in machine.items())}.",
        f"**{sum(wanted)} of {len(wanted)} goals are met.** Measured values are medians; the spread is from the",
        "smallest to the largest.",
        "",
    ]
    if missing:
        problems = "; ".join(f"`{name}` {problem}" for name, problem in missing.items())
        lines += [f"Without all figures of: {problems}.", ""]
    for heading, found in rows.items():
        if found:
            lines += [f"## {heading}", "", *_TABLE_HEAD, *map(_row, found), ""]
    if peers:
        lines += ["## Other tools", "", peers.rstrip(), ""]
    lines += ["One benchmark alone, which prints more: `python -m tests.benchmark.bench_waves`.", ""]
    return "\n".join(lines)


_TABLE_HEAD: Final = (
    "| what | measured | beside | spread | goal | met | what bounds it | benchmark |",
    "|---|---|---|---|---|---|---|---|",
)


def _row(figure: Figure) -> str:
    measured = f"{_number(figure.value)} {figure.unit}"
    spread = " to ".join(map(_number, figure.spread)) if figure.spread else ""
    goal = "" if figure.goal is None else f"{_number(figure.goal)} {figure.unit}"
    met = "" if figure.goal is None else "yes" if figure.meets_goal else "**no**"
    cells = (figure.what, measured, figure.against, spread, goal, met, figure.limit, f"`{figure.benchmark}`")
    return f"| {' | '.join(cells)} |"


def _value(figure: Figure) -> str:
    """The value with its unit and, if it was measured more than once, its range."""
    spread = f" ({' to '.join(map(_number, figure.spread))})" if figure.spread else ""
    return f"{_number(figure.value)} {figure.unit}{spread}"


def _number(value: float) -> str:
    """Three significant digits, with separators of thousands.

    >>> [_number(each) for each in (0.1234, 5.0, 12345.6)]
    ['0.123', '5', '12,346']
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"

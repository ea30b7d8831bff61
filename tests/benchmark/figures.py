"""The figures that benchmarks record, and the page that `make bench` makes of them.

A benchmark prints its tables itself, and calls `record()` for each figure that has a goal. `make bench` runs all
benchmarks, each in a process of its own, and writes the page from what they recorded.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from sparkassets.frozen import frozen

RECORDED_IN: Final = "BENCHMARK_FIGURES"
"""The environment variable with the path of the file to record in; without it, figures are only printed."""
_INTRODUCTION: Final = """\
# Performance

What sparkassets costs beside the same work by hand, or beside the one call that the work cannot do without.
`make bench` measures both sides by turns in one run and writes this page. A ratio is that of two medians; brackets
hold the smallest and the largest value. By hand means what a good engineer writes: one warm session, `replaceWhere` or
dynamic overwrite, `MERGE` by key, sensible shuffle settings.
"""


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
        limit: What bounds it in principle, for people.
        benchmark: The module that measured it.
    """

    what: str
    value: float
    unit: str
    against: str = ""
    spread: tuple[float, float] | None = None
    goal: float | None = None
    limit: str = ""
    benchmark: str = ""

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
) -> None:
    """Prints a figure beside its goal, and appends it to the file that `make bench` makes the page of."""
    values = sorted(spread)
    module = Path(sys.argv[0]).stem
    figure = Figure(what, value, unit, against, (values[0], values[-1]) if values else None, goal, limit, module)
    verdict = "" if goal is None else f"   goal {_number(goal)} {unit} {'ok' if figure.meets_goal else 'MISSED'}"
    print(f"{what}: {_value(figure)}{f' of {against}' if against else ''}{verdict}")
    if path := os.environ.get(RECORDED_IN):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps({name: getattr(figure, name) for name in Figure.__annotations__}) + "\n")


def read_figures(path: Path) -> list[Figure]:
    """The figures in a file that `record()` wrote."""
    lines = path.read_text("utf-8").splitlines()
    return [Figure(**{**row, "spread": row["spread"] and tuple(row["spread"])}) for row in map(json.loads, lines)]


def render_page(figures: Iterable[Figure], machine: Mapping[str, str]) -> str:
    """The page on performance, in Markdown."""
    rows = list(figures)
    met = sum(each.meets_goal for each in rows if each.goal is not None)
    wanted = sum(each.goal is not None for each in rows)
    lines = [
        _INTRODUCTION,
        f"On {', '.join(f'{name} {value}' for name, value in machine.items())}. {met} of {wanted} goals are met.\n",
        "| what | measured | against | goal | what bounds it | benchmark |",
        "|---|---|---|---|---|---|",
    ]
    for each in rows:
        goal = "" if each.goal is None else f"{_number(each.goal)} {each.unit}{'' if each.meets_goal else ', missed'}"
        lines.append(f"| {each.what} | {_value(each)} | {each.against} | {goal} | {each.limit} | `{each.benchmark}` |")
    lines += ["", "One benchmark alone: `python -m tests.benchmark.bench_waves`. No test measures time.", ""]
    return "\n".join(lines)


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

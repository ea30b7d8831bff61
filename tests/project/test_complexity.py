"""How much one function decides, and how long it is: a rule for the rooms that decide, with what is above it named.

Counted as radon does: one for each branch, loop, comprehension, condition of an expression and handler.
"""

from pathlib import Path

from radon.complexity import cc_visit
from radon.visitors import Function

PACKAGE = Path(__file__).parents[2] / "sparkassets"
MOST = 10
LONGEST = 60

ABOVE = {
    "core/journal/fold/marks.py:fold_mark",
    "core/planner/due/condition_causes.py:condition_usage",
    "core/planner/due/condition_causes.py:find_causes",
    "core/planner/due/due_ticks.py:_continuous_ticks",
    "core/planner/due/due_ticks.py:find_due_ticks",
    "core/planner/gates/aligned_inlets.py:_aligned_inlet",
    "core/planner/gates/partition_gates.py:_runs",
    "core/planner/gates/upstream_waits.py:_wait_runs",
    "core/planner/incremental_planner.py:_decision_change_times",
    "core/planner/wording.py:_lacking",
}
"""Functions of the planner and the journal that are more complex than `MOST`; none may come to it."""


def functions(*folders: str) -> dict[str, Function]:
    """Every function and method below these folders of the package, by file and name."""
    found: dict[str, Function] = {}
    for folder in folders:
        for file in sorted((PACKAGE / folder).rglob("*.py")):
            name = file.relative_to(PACKAGE).as_posix()
            partitions = cc_visit(file.read_text())
            methods = [method for partition in partitions for method in getattr(partition, "methods", ())]
            found |= {f"{name}:{each.name}": each for each in (*partitions, *methods) if isinstance(each, Function)}
    return found


def test_the_rooms_that_decide_have_few_complex_functions():
    known = functions("core/planner", "core/journal")
    assert {name for name, each in known.items() if each.complexity > MOST} == ABOVE
    assert len(ABOVE) < 0.04 * len(known)


def test_no_function_is_long():
    long = {name: each.endline - each.lineno + 1 for name, each in functions(".").items()}
    assert {name: lines for name, lines in long.items() if lines > LONGEST} == {}

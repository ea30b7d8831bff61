"""How much one function decides, in the rooms that decide, with what is above the rule named; and how long each is.

Counted as radon does: one for each branch, loop, comprehension, condition of an expression and handler.
"""

import ast
from pathlib import Path

from radon.complexity import cc_visit
from radon.visitors import Function

PACKAGE = Path(__file__).parents[2] / "sparkassets"
MOST = 10
LONGEST = 60

ABOVE = {
    "core/journal/fold/marks.py:fold_mark",
    "core/planner/due/condition_causes.py:condition_usage",
    "core/planner/due/due_ticks.py:find_due_ticks",
    "core/planner/gates/partition_gates.py:_remove_failed_runs",
    "core/planner/gates/upstream_waits.py:_wait_runs",
    "core/planner/incremental_planner.py:_decision_change_times",
    "core/planner/wording.py:_join_unmet",
}
"""Functions of the planner and the journal that are more complex than `MOST`; none may come to it."""


def functions(*folders: str) -> dict[str, Function]:
    """Every function and method below these folders of the package, by file and name."""
    found: dict[str, Function] = {}
    for folder in folders:
        for file in sorted((PACKAGE / folder).rglob("*.py")):
            name = file.relative_to(PACKAGE).as_posix()
            blocks = cc_visit(file.read_text())
            methods = [method for block in blocks for method in getattr(block, "methods", ())]
            found |= {f"{name}:{each.name}": each for each in (*blocks, *methods) if isinstance(each, Function)}
    return found


def test_the_rooms_that_decide_have_few_complex_functions():
    known = functions("core/planner", "core/journal")
    assert {name for name, each in known.items() if each.complexity > MOST} == ABOVE
    assert len(ABOVE) < 0.04 * len(known)


def body_lines(node: ast.FunctionDef) -> int:
    """Lines of a function without its docstring."""
    first, last = node.body[0], node.end_lineno or node.lineno
    docstring = first.end_lineno - first.lineno + 1 if ast.get_docstring(node) and first.end_lineno else 0
    return last - node.lineno + 1 - docstring


def test_no_function_is_long():
    long = {
        f"{file.relative_to(PACKAGE).as_posix()}:{node.name}": body_lines(node)
        for file in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef)
    }
    assert {name: lines for name, lines in long.items() if lines > LONGEST} == {}

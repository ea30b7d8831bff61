"""``sparkassets test``."""

from __future__ import annotations

import sys
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkassets.cli.options import engine_option, json_option, open_project, project_option, variables
from sparkassets.cli.output import Terminal, print_json
from sparkassets.core.planner.wording import plural
from sparkassets.errors import InputError

if TYPE_CHECKING:
    from sparkassets.core.cases import Case
    from sparkassets.core.spec.project_spec import ProjectSpec
    from sparkassets.testing.results import CaseResult


@click.command("test")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@project_option
@engine_option
@json_option
def command(folder: Path, names: tuple[str, ...], as_json: bool) -> int:
    """Run the tests in the project's `tests` folder.

    NAME is a test or the asset under test, and may contain `*`; without a NAME, all tests run. Row tests compute the
    given rows in Spark and write nothing; step tests check when assets run and need no Spark. The exit code is 1 if a
    test fails. With --json: {"tests": [{test, asset, file, line, outcome, message, seconds}]}.
    """
    from sparkassets.project import load_cases
    from sparkassets.testing.case_runner import run_cases
    from sparkassets.wiring.host import find_cache_folder

    project = open_project(folder).spec
    cases = _select_cases(load_cases(project, variables(), cache=find_cache_folder()), names, project)
    results = []
    terminal = Terminal.from_stream(sys.stdout)
    for result in run_cases(project, cases):
        results.append(result)
        if not as_json:
            terminal.print(*_lines(result))
    failed = sum(not each.has_passed for each in results)
    if as_json:
        print_json({"tests": [_document(each) for each in results]})
    else:
        summary = f"{plural(len(results), 'test')}, {failed or 'none'} failed"
        terminal.print(summary if results else "no tests found: write one to tests/<name>.yml in the project's folder")
    return 1 if failed else 0


def _select_cases(cases: tuple[Case, ...], patterns: tuple[str, ...], project: ProjectSpec) -> list[Case]:
    """The tests whose name or asset matches a pattern; all if none is given.

    Raises:
        InputError: A pattern matches no test.
    """
    from sparkassets.core.suggestions import did_you_mean

    if not patterns:
        return [*cases]
    for pattern in patterns:
        if not any(_is_named(case, pattern) for case in cases):
            known_names = filter(None, chain.from_iterable(map(_names_of, cases)))
            raise InputError(
                f"unknown test {pattern!r} in project {project.name!r}", hint=did_you_mean(pattern, [*known_names])
            )
    return [case for case in cases if any(_is_named(case, pattern) for pattern in patterns)]


def _is_named(case: Case, pattern: str) -> bool:
    return any(fnmatchcase(name, pattern) for name in _names_of(case))


def _names_of(case: Case) -> tuple[str, str]:
    """The name of a test, and of the asset that it looks at."""
    return case.name, getattr(case, "asset", "")


def _lines(result: CaseResult) -> list[str]:
    """One line for a test that passed; below one that did not its place and why."""
    sign = "✓" if result.has_passed else "✗"
    about = f" ({result.about})" if result.about else ""
    head = f"{sign} {result.name}{about}  {result.seconds:.1f} s"
    if result.has_passed:
        return [head]
    return [head, f"  {result.location}", *(f"  {line}" for line in result.message.splitlines())]


def _document(result: CaseResult) -> dict[str, object]:
    """A result as JSON; ``asset`` is null for a test of steps, which looks at the whole project."""
    return {
        "test": result.name,
        "asset": result.about or None,
        "file": result.location.file,
        "line": result.location.line,
        "outcome": result.outcome,
        "message": result.message or None,
        "seconds": round(result.seconds, 3),
    }

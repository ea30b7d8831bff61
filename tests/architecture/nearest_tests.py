"""Runs lint and, until the time is up, the tests nearest to what changed; ``make check`` calls it.

Nearest are the changed test files, those named like a changed module, those that import one, then those that import a
module which imports one, and so on; the rest of the folder of the same name comes last. Imports within functions count.
Files of other kinds belong to the tests that name them.

As a plugin of pytest (``-p tests.architecture.nearest_tests``) it ends the session after the deadline.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest

SECONDS = 45
"""After which no further test begins."""
MOST_FILES = 40
"""Test files that are looked at; collecting more would take too much of the time."""
DEADLINE = "SPARKASSETS_CHECK_DEADLINE"
TIME_IS_UP = "the time is up; `make test-core` runs the rest"
PACKAGES = ("sparkassets", "tests", "jobs")

FARTHEST = 99
"""The distance of tests that are only in a folder of the same name."""

_IMPORT = re.compile(r"^\s*(?:from (\w[\w.]*) import (\([^)]*\)|.*)|import (\w[\w.]*))", re.MULTILINE)


def changed_files(since: str) -> list[str]:
    """Files that differ from the commit where this branch left ``since``, or are new; else those of the last commit."""
    base = _git("merge-base", since, "HEAD") or ["HEAD"]
    found = _git("diff", "--name-only", base[0]) + _git("ls-files", "--others", "--exclude-standard")
    return found or _git("diff", "--name-only", "HEAD~1")


def _git(*arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=False).stdout.split()


def module_of(path: str) -> str:
    """The dotted name of a Python file.

    >>> module_of("sparkassets/core/crons/__init__.py"), module_of("tests/work.py")
    ('sparkassets.core.crons', 'tests.work')
    """
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imported(text: str) -> set[str]:
    """The modules that a file may import, and members that may be modules.

    >>> sorted(imported("from sparkassets.core import crons, instants"))
    ['sparkassets.core', 'sparkassets.core.crons', 'sparkassets.core.instants']
    """
    found = set()
    for package, names, plain in _IMPORT.findall(text):
        members = re.findall(r"(\w+)(?:\s+as\s+\w+)?", names)
        found |= {package, *(f"{package}.{name}" for name in members)} if package else {plain}
    return found


def distances(changed: Iterable[str], files: Mapping[str, str]) -> dict[str, int]:
    """How many imports lie between each file and the nearest changed one; files that reach none are left out.

    Args:
        changed: Paths.
        files: Path to text of all Python files.
    """
    modules = {module_of(path): path for path in files}
    importers: dict[str, set[str]] = defaultdict(set)
    for path, text in files.items():
        for name in imported(text) & modules.keys():
            importers[modules[name]].add(path)
    found: dict[str, int] = {}
    nearest = {path for path in changed if path in files}
    distance = 0
    while nearest:
        found |= dict.fromkeys(nearest, distance)
        nearest = {path for each in nearest for path in importers[each]} - found.keys()
        distance += 1
    return found


def nearest_tests(changed: Sequence[str], files: Mapping[str, str], folders: Sequence[str]) -> list[str]:
    """The test files in ``folders`` that a change may touch, nearest first."""
    tests = [path for path in files if "/test_" in path and any(path.startswith(f"{folder}/") for folder in folders)]
    reached = distances(changed, files)
    others = [path for path in changed if path not in files]
    rooms = {room for path in changed if path in files for room in Path(path).parts[1:-1]}
    stems = tuple(f"/test_{Path(path).stem}" for path in changed if path in files)

    def distance(path: str) -> int | None:
        named = any(Path(each).name in files[path] for each in others)
        pages = "/test_docs_" in path and any(each.startswith("docs/") for each in others)
        if named or pages:
            return 0
        shared = bool(rooms & set(Path(path).parts))
        if shared and any(stem in path for stem in stems):
            return min(1, reached.get(path, 1))
        return reached.get(path, FARTHEST if shared else None)

    found = {path: far for path in tests if (far := distance(path)) is not None}
    return sorted(found, key=lambda path: (found[path], -len(rooms & set(Path(path).parts)), path))


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Ends the session after the deadline."""
    if time.time() > float(os.environ.get(DEADLINE, "inf")):
        item.session.shouldstop = TIME_IS_UP


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Takes a session that ended so for a good one if nothing failed."""
    if session.shouldstop == TIME_IS_UP and not session.testsfailed:
        session.exitstatus = pytest.ExitCode.OK


def main() -> int:
    folders = sys.argv[1:]
    files = {str(path): path.read_text() for package in PACKAGES for path in Path(package).rglob("*.py")}
    deadline = time.time() + SECONDS
    environment = {key: value for key, value in os.environ.items() if key not in {"MAKEFLAGS", "MFLAGS", "MAKELEVEL"}}
    lint = subprocess.Popen(
        ["make", "--silent", "lint"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    tests = nearest_tests(changed_files(os.environ.get("SINCE", "main")), files, folders)
    ran = 0
    if tests:
        print(f"== {min(len(tests), MOST_FILES)} of {len(tests)} test files that the change reaches", flush=True)
        plugins = ["-p", __spec__.name if __spec__ else "", "-p", "no:randomly", "-m", "not crash and not deep"]
        command = [sys.executable, "-m", "pytest", "-q", *plugins, *tests[:MOST_FILES]]
        ran = subprocess.run(command, env=environment | {DEADLINE: str(deadline)}, check=False).returncode
    said, _ = lint.communicate()
    print(said if lint.returncode else "== lint passes", flush=True)
    return ran or lint.returncode


if __name__ == "__main__":
    sys.exit(main())

"""All assets that the modules of the allowed packages declare: read where that is enough, else imported."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from sparkassets.core.spec.document import SourceFile
from sparkassets.errors import Problem
from sparkassets.frozen import frozen
from sparkassets.project.declared.imported import failed_import, of_import
from sparkassets.project.declared.importing import Imported
from sparkassets.project.declared.modules import OURS, PythonFile
from sparkassets.project.declared.reading import Declared, Reading
from sparkassets.project.functions import broken_in

_NAMED: Final = re.compile(r"\basset\(\s*['\"](\w+)|\bname\s*=\s*['\"](\w+)|\bdef\s+(\w+)")


@frozen
class DeclaredAssets:
    """All assets that modules declare.

    Attributes:
        problems: Of modules that could not be read.
        unreadable: Names that assets of these may have.
    """

    assets: tuple[Declared, ...]
    problems: tuple[Problem, ...] = ()
    unreadable: frozenset[str] = frozenset()


def declared_assets(
    files: Mapping[str, PythonFile],
    imported: Callable[[Sequence[PythonFile]], Imported],
    *,
    environment: Mapping[str, str],
) -> DeclaredAssets:
    """The assets, and what is wrong with modules.

    Args:
        files: The modules of the allowed packages, by their dotted names.
        imported: Imports modules whose source alone does not tell.
        environment: In which it does.
    """
    reading = Reading(files)
    problems: list[Problem] = []
    unreadable: set[str] = set()
    for each in files.values():
        if OURS in each.file.text and reading.module(each.name) is None:
            line, column, message = broken_in(each.file)
            problems.append(each.file.problem(line, column, f"this is not Python: {message}"))
            unreadable |= _names_in(each.file)
    assets, left = reading.read_all()
    if left:
        result = imported(left)
        assets += of_import(reading, left, result, environment)
        for failure in result.failures:
            problem, file = failed_import(reading, failure)
            problems.append(problem)
            unreadable |= _names_in(file)
    return DeclaredAssets(tuple(assets), tuple(problems), frozenset(unreadable))


def _names_in(file: SourceFile) -> set[str]:
    """What may be names of assets in a module that is not understood."""
    return {name for found in _NAMED.findall(file.text) for name in found if name}

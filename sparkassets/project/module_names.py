"""The names of a module's top level: the statements that bind them, and their imports; from its source alone."""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import Final

Part = tuple[str, str]
"""A module and a name in it; ``*`` is all of the module."""

WHOLE: Final = "*"
FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


class ModuleNames:
    """The names of a module's top level.

    Attributes:
        is_package: Whether names relative to it are its own.
    """

    def __init__(self, name: str, tree: ast.Module, *, is_package: bool) -> None:
        self.name = name
        self.tree = tree
        self.is_package = is_package

    @cached_property
    def bound(self) -> dict[str, list[ast.stmt]]:
        """The statements that bind each name, or use it at import time."""
        found: dict[str, list[ast.stmt]] = defaultdict(list)
        for node in self.tree.body:
            for name in dict.fromkeys(_find_bound_names(node)):
                found[name].append(node)
        return dict(found)

    @cached_property
    def imports(self) -> dict[str, Part]:
        """The parts that imported names refer to."""
        plain = [node for node in self.tree.body if not isinstance(node, (*FUNCTIONS, ast.ClassDef))]
        return {name: part for node in plain for name, part in imported_in(node, self)}

    @cached_property
    def stars(self) -> list[str]:
        """The modules of star imports."""
        found = (node for node in self.tree.body if isinstance(node, ast.ImportFrom))
        return [absolute(node, self) for node in found if any(each.name == WHOLE for each in node.names)]


def parse_names(name: str, text: str, *, is_package: bool) -> ModuleNames | None:
    """The names of a module; None for text that is not Python."""
    try:
        return ModuleNames(name, ast.parse(text), is_package=is_package)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _find_bound_names(node: ast.stmt) -> Iterator[str]:
    """The names that a statement of the top level makes or changes."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import() | ast.ImportFrom():
            return
        case ast.Expr(value=ast.Constant()):
            return
        case ast.Assign(targets=targets) if all(isinstance(each, ast.Name) for each in targets):
            yield from (each.id for each in targets if isinstance(each, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
            return
        case _:
            inner = list(ast.walk(node))
            yield from (each.id for each in inner if isinstance(each, ast.Name) and not hasattr(builtins, each.id))
            yield from (each.name for each in inner if isinstance(each, (*FUNCTIONS, ast.ClassDef)))
            yield from (
                alias.asname or alias.name.partition(".")[0]
                for each in inner
                if isinstance(each, ast.Import | ast.ImportFrom)
                for alias in each.names
            )


def imported_in(top: ast.AST, module: ModuleNames) -> Iterator[tuple[str, Part]]:
    """Names imported anywhere in a statement, each with the part that it refers to."""
    for node in ast.walk(top):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                yield (alias.asname, (alias.name, WHOLE)) if alias.asname else (first, (first, WHOLE))
        elif isinstance(node, ast.ImportFrom):
            owner = absolute(node, module)
            yield from ((alias.asname or alias.name, (owner, alias.name)) for alias in node.names if alias.name != "*")


def absolute(node: ast.ImportFrom, module: ModuleNames) -> str:
    """The dotted name of the module that is imported from."""
    if not node.level:
        return node.module or ""
    steps = module.name.split(".")
    base = steps[: len(steps) - node.level + module.is_package]
    return ".".join([*base, *filter(None, [node.module])])

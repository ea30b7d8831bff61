"""The modules of the allowed packages, each parsed once, and the names of sparkassets that they use."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Final

from sparkassets.core.spec.document import SourceFile
from sparkassets.frozen import frozen
from sparkassets.project.module_names import FUNCTIONS, WHOLE, ModuleNames, Part, absolute

OURS: Final = "sparkassets"
ASSET: Final[Part] = (OURS, "asset")
MULTI: Final[Part] = (OURS, "multi_asset")
_DECLARE: Final = frozenset({ASSET, MULTI})


@frozen
class PythonFile:
    """A module of an allowed package.

    Attributes:
        name: Dotted.
        search_path: Absolute folder that must be on ``sys.path`` to import it.
    """

    name: str
    file: SourceFile
    search_path: str
    is_package: bool


@frozen
class Found:
    """A place that declares an asset.

    Attributes:
        at: ``asset`` itself, or its call.
        function: That it stands above; None where the call declares the asset.
        variable: That the call's value is given to.
        several: Whether it declares several outlets.
    """

    at: ast.expr
    function: ast.FunctionDef | ast.AsyncFunctionDef | None = None
    variable: str = ""
    several: bool = False

    @property
    def arguments(self) -> list[ast.expr]:
        """Those without a name."""
        return self.at.args if isinstance(self.at, ast.Call) else []

    @property
    def keywords(self) -> list[ast.keyword]:
        """Those with one; of ``**`` it is None."""
        return self.at.keywords if isinstance(self.at, ast.Call) else []


class PythonModule:
    """A module that was parsed.

    Args:
        find: Another module of the packages, by its dotted name.
    """

    def __init__(self, file: PythonFile, tree: ast.Module, find: Callable[[str], PythonModule | None]) -> None:
        self.of = file
        self.tree = tree
        self.names = ModuleNames(file.name, tree, is_package=file.is_package)
        self._find = find

    @cached_property
    def found(self) -> list[Found]:
        """The declarations of its top level."""
        return [each for node in self.tree.body for each in self._found_in(node)]

    @cached_property
    def is_lending(self) -> bool:
        """Whether it has ``asset`` for other modules, or uses it where only an import tells what is declared."""
        known = {id(part) for each in self.found for part in ast.walk(_callee(each.at))}
        used = [node for node in ast.walk(self.tree) if self._is_asset(node)]
        inside = {id(node) for top in self.tree.body if _is_scope(top) for node in ast.walk(top)}
        hidden = any(id(node) in inside and _imports_ours(node) for node in ast.walk(self.tree))
        has = any(self.target_of(part) in _DECLARE for part in self.names.imports.values() if part[1] != WHOLE)
        return hidden or any(id(node) not in known for node in used) or (has and not used)

    def bound(self, name: str) -> list[ast.stmt]:
        """The statements that make or change what a name of its top level stands for."""
        return [node for node in self.names.bound.get(name, []) if not self._only_declares(node, name)]

    def target(self, node: ast.expr) -> Part | None:
        """The part that a name, or a name of a module, stands for."""
        match node:
            case ast.Name(id=name):
                if name in self.names.imports:
                    return self.target_of(self.names.imports[name])
                return (self.of.name, name) if name in self.names.bound else None
            case ast.Attribute(value=value, attr=attr):
                owner = self.target(value)
                return self.target_of((owner[0], attr)) if owner is not None and owner[1] == WHOLE else None
        return None

    def target_of(self, part: Part) -> Part:
        """The part that was imported: a module, a name of one, or what that one imported itself."""
        owner, name = part
        for _ in range(_LONGEST_CHAIN):
            inner = self._find(owner)
            if name == WHOLE or (inner is not None and name in inner.names.bound):
                break
            if inner is not None and name in inner.names.imports:
                owner, name = inner.names.imports[name]
            elif self._find(f"{owner}.{name}") is not None:
                return f"{owner}.{name}", WHOLE
            else:
                break
        return owner, name

    def imported(self) -> Iterator[str]:
        """The modules that it imports, anywhere."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                owner = absolute(node, self.names)
                yield owner
                yield from (f"{owner}.{alias.name}" for alias in node.names)

    def _found_in(self, node: ast.stmt) -> Iterator[Found]:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                for each in node.decorator_list:
                    if self._is_asset(_callee(each)):
                        yield Found(each, node, several=self.target(_callee(each)) == MULTI)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if self._declares(call):
                yield Found(call, variable=name)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Call() as call) if self._declares(call):
                yield Found(call, variable=name)
            case ast.Expr(value=ast.Call() as call) if self._declares(call):
                yield Found(call)

    def _declares(self, call: ast.Call) -> bool:
        from sparkassets.authoring.declarations import AT_ONCE

        return self.target(call.func) == ASSET and any(each.arg in AT_ONCE for each in call.keywords)

    def _only_declares(self, node: ast.stmt, name: str) -> bool:
        return isinstance(node, ast.Expr) and any(True for _ in self._found_in(node)) and bool(name)

    def _is_asset(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name | ast.Attribute) and self.target(node) in _DECLARE


_LONGEST_CHAIN: Final = 20
"""Modules that a name is imported through, one from the other."""


def _callee(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def _is_scope(node: ast.stmt) -> bool:
    return isinstance(node, (*FUNCTIONS, ast.ClassDef))


def _imports_ours(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == OURS and any(each.name in (ASSET[1], MULTI[1], WHOLE) for each in node.names)
    return isinstance(node, ast.Import) and any(each.name == OURS for each in node.names)

"""The modules of the allowed packages, each parsed once, and which of them can declare assets."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final

from sparkassets.core.spec.yaml_document import SourceFile
from sparkassets.frozen import frozen
from sparkassets.project.functions import parse
from sparkassets.project.module_names import FUNCTIONS, WHOLE, ModuleNames, absolute

OURS: Final = "sparkassets"
_DECORATORS: Final = ("asset", "multi_asset")
_MENTIONS: Final = re.compile(rf"\b{OURS}\b")


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


class PythonModule:
    """A module that was parsed."""

    def __init__(self, file: PythonFile, tree: ast.Module) -> None:
        self.of = file
        self.tree = tree
        self.names = ModuleNames(file.name, tree, is_package=file.is_package)

    @cached_property
    def declares_assets(self) -> bool:
        """Whether it has a decorator that declares assets under any name."""
        return bool(self._aliases or self._decorators_used(self.tree))

    @cached_property
    def lends_decorator(self) -> bool:
        """Whether its importers may declare assets by it: it has a decorator and does not use it, or does in a body."""
        scopes = (node for node in ast.walk(self.tree) if isinstance(node, (*FUNCTIONS, ast.ClassDef)))
        inside = (part for scope in scopes for statement in scope.body for part in self._decorators_used(statement))
        return self.declares_assets and (any(True for _ in inside) or not self._decorators_used(self.tree))

    def imported_modules(self) -> Iterator[str]:
        """The modules that it imports, anywhere."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                owner = absolute(node, self.names)
                yield owner
                yield from (f"{owner}.{alias.name}" for alias in node.names)

    @cached_property
    def _aliases(self) -> frozenset[str]:
        """The names that the decorators have here; those of a star import are their own."""
        found = set[str]()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and not node.level and _is_ours(node.module or ""):
                for alias in node.names:
                    if alias.name == WHOLE:
                        found.update(_DECORATORS)
                    elif alias.name in _DECORATORS:
                        found.add(alias.asname or alias.name)
        return frozenset(found)

    @cached_property
    def _packages(self) -> frozenset[str]:
        """The names that sparkassets itself has here."""
        imports = (node for node in ast.walk(self.tree) if isinstance(node, ast.Import))
        aliases = (alias for node in imports for alias in node.names if _is_ours(alias.name))
        return frozenset(alias.asname or OURS for alias in aliases)

    def _decorators_used(self, top: ast.AST) -> list[ast.expr]:
        """Where a part of the module names a decorator."""
        found: list[ast.expr] = []
        for node in ast.walk(top):
            match node:
                case ast.Name(id=name) if name in self._aliases:
                    found.append(node)
                case ast.Attribute(value=ast.Name(id=owner), attr=attr) if attr in _DECORATORS:
                    if owner in self._packages:
                        found.append(node)
        return found


class PythonModules:
    """The modules of the allowed packages.

    Args:
        files: By their dotted names.
    """

    def __init__(self, files: Mapping[str, PythonFile]) -> None:
        self.files = files
        self._modules: dict[str, PythonModule | None] = {}

    def find_module(self, name: str) -> PythonModule | None:
        """A module, parsed; None where there is none, or where it is no Python."""
        if name not in self._modules:
            file = self.files.get(name)
            tree = parse(file.file.text) if file is not None else None
            self._modules[name] = PythonModule(file, tree) if file and tree else None
        return self._modules[name]

    def find_broken(self) -> Iterator[PythonFile]:
        """Modules that mention sparkassets and are no Python."""
        yield from (each for each in self._mentioning() if self.find_module(each.name) is None)

    def find_declaring(self) -> list[PythonFile]:
        """Modules that can declare assets: they use a decorator, or import a module that lends them one."""
        modules = [module for each in self._mentioning() if (module := self.find_module(each.name)) is not None]
        found = {each.of.name for each in modules if _answer(each, "declares_assets")}
        lending = {each.of.name for each in modules if _answer(each, "lends_decorator")}
        while lending:
            others = (self.find_module(name) for name in self.files if name not in found)
            lending = {
                each.of.name for each in others if each is not None and not lending.isdisjoint(each.imported_modules())
            }
            found |= lending
        return [each for name, each in self.files.items() if name in found]

    def _mentioning(self) -> Iterator[PythonFile]:
        yield from (each for each in self.files.values() if _MENTIONS.search(each.file.text))


def _is_ours(module: str) -> bool:
    return module == OURS or module.startswith(f"{OURS}.")


def _answer(module: PythonModule, question: str) -> bool:
    """What a module answers; yes where its code is nested too deep to be read."""
    try:
        return bool(getattr(module, question))
    except RecursionError:
        return True

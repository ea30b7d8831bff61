"""The assets that modules declare, as far as their source alone tells them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sparkassets.authoring.declarations import AT_ONCE, OTHERWISE, AssetKeys, outlets_of
from sparkassets.authoring.plain import plain
from sparkassets.core.spec.bodies import Function
from sparkassets.core.spec.document import Document, SourceFile
from sparkassets.errors import Problem
from sparkassets.frozen import frozen
from sparkassets.project.declared.expressions import Expressions, NeedsImportError, WrongExpressionError
from sparkassets.project.declared.modules import OURS, Found, PythonFile, PythonModule
from sparkassets.project.declared.nodes import Nodes, Spot
from sparkassets.project.functions import function_at, parse
from sparkassets.project.module_names import Part

_NOT_HERE: Final = {
    "python": "the function below is what the asset runs: @asset takes no 'python'",
    "asset": "the name of an asset is 'name' here, or the first argument: @asset('orders')",
}
_KNOWN: Final = frozenset({*AssetKeys.__annotations__, "outlets"})
"""Arguments that may be None, which is not given; any other is unknown whatever its value."""


@frozen
class Declared:
    """An asset that a module declares.

    Attributes:
        document: With the places of the module's code.
        module: That declares it, when it is imported.
        function: What is known of its function; None for SQL and sources.
        code: What the function is made of.
    """

    document: Document
    module: PythonFile
    function: Function | None = None
    code: tuple[Part, ...] = ()


class Reading:
    """The modules while they are read."""

    def __init__(self, files: Mapping[str, PythonFile]) -> None:
        self.files = files
        self._modules: dict[str, PythonModule | None] = {}
        self._assets: dict[str, dict[str, str]] = {}
        self._expressions = Expressions(self.module, self._asset_of)

    def module(self, name: str) -> PythonModule | None:
        """A module of the packages, parsed; None where there is none, or where it is no Python."""
        if name not in self._modules:
            file = self.files.get(name)
            tree = parse(file.file.text) if file is not None else None
            self._modules[name] = PythonModule(file, tree, self.module) if file and tree else None
        return self._modules[name]

    def read_all(self) -> tuple[list[Declared], list[PythonFile]]:
        """What modules declare, and those that have to be imported to know."""
        named = [each.name for each in self.files.values() if OURS in each.file.text]
        modules = [module for name in named if (module := self.module(name)) is not None]
        left = self._lent({each.of.name for each in modules if _is_lending(each)})
        found: list[Declared] = []
        for module in modules:
            if module.of.name not in left:
                try:
                    found += [self._declared(module, each) for each in module.found]
                except (NeedsImportError, RecursionError):
                    left.add(module.of.name)
        return found, [each for name, each in self.files.items() if name in left]

    def _lent(self, lending: set[str]) -> set[str]:
        """Those modules, and all that import one of them, or one of these."""
        left, grown = set(lending), bool(lending)
        while grown:
            others = (self.module(name) for name in self.files if name not in left)
            more = {each.of.name for each in others if each is not None and not left.isdisjoint(each.imported())}
            left, grown = left | more, bool(more)
        return left

    def _declared(self, module: PythonModule, found: Found) -> Declared:
        nodes, problems = Nodes(module.of.file), list[Problem]()
        keys, failed = self._keys(module, found, nodes, problems)
        function = found.function
        problems += self._outlets_wrong(module, found, keys, nodes)
        name = keys.pop("asset", function.name if function else None)
        spot = nodes.spot(found.at)
        if not isinstance(name, str):
            message = "asset(sql=…) and asset(source=…) need a name: asset('orders', source='csv')"
            problems.append(_problem(module.of.file, spot, message))
            name = "unnamed" if name is None else name
        body = None
        if function is not None:
            body = (f"{module.of.name}:{function.name}", nodes.name_of(function))
        elif not AT_ONCE & keys.keys():
            raise NeedsImportError
        root = nodes.document(found, keys, name=name, code=body, spot=spot)
        document = Document(module.of.file, root, problems=problems, failed=failed)
        if function is None:
            return Declared(document, module.of)
        code = ((module.of.name, function.name),)
        return Declared(document, module.of, function_at(function, module.of.file, module.names), code)

    def _keys(
        self, module: PythonModule, found: Found, nodes: Nodes, problems: list[Problem]
    ) -> tuple[dict[str, Any], set[str]]:
        """The keys as YAML has them, without those that are None; and those that are wrong."""
        keys: dict[str, Any] = {}
        failed: set[str] = set()
        for key, at in _given(found):
            try:
                said = self._said(module, key, at)
            except WrongExpressionError as error:
                problems.append(_problem(module.of.file, nodes.spot(error.at), str(error), error.hint))
                failed.add(OTHERWISE.get(key or "", key or ""))
                continue
            for name, value in said.items():
                own = OTHERWISE.get(name, name)
                if name in _NOT_HERE or (own in keys and (value is not None or name == "name")):
                    message = _NOT_HERE.get(name) or f"asset() is given {own!r} twice"
                    problems.append(_problem(module.of.file, nodes.spot(at), message))
                elif value is not None or name not in _KNOWN:
                    keys[own] = value
        return keys, failed

    def _outlets_wrong(
        self, module: PythonModule, found: Found, keys: Mapping[str, Any], nodes: Nodes
    ) -> Iterator[Problem]:
        """What is wrong with how many outlets are declared."""
        at = next((each.value for each in found.keywords if each.arg == "outlets"), found.at)
        if "outlets" in keys and not found.several:
            yield _problem(module.of.file, nodes.spot(at), "several outlets are declared by @multi_asset")
        elif found.several and not any(each.arg in ("outlets", None) for each in found.keywords):
            yield _problem(module.of.file, nodes.spot(at), "@multi_asset has no 'outlets'; expected their names")

    def _said(self, module: PythonModule, key: str | None, at: ast.expr) -> dict[str, Any]:
        """What one argument says; ``**`` says several."""
        value = self._expressions.value(module, at)
        given = value if key is None else {key: value}
        if not isinstance(given, dict) or not all(isinstance(name, str) for name in given):
            raise NeedsImportError
        try:
            return {name: outlets_of(each) if name == "outlets" else plain(each) for name, each in given.items()}
        except (TypeError, ValueError) as error:
            raise WrongExpressionError(at, str(error)) from None

    def _asset_of(self, module: PythonModule, name: str) -> str | None:
        """The asset that a name of a module's top level stands for."""
        if module.of.name not in self._assets:
            self._assets[module.of.name] = {}  # a name that is made of itself is none
            self._assets[module.of.name] = {
                each.function.name if each.function else each.variable: self._name(module, each)
                for each in module.found
            }
        return self._assets[module.of.name].get(name)

    def _name(self, module: PythonModule, found: Found) -> str:
        given = dict(_given(found)).get("name")
        value = self._expressions.value(module, given) if given is not None else None
        if value is None and found.function is not None:
            return found.function.name
        return value if isinstance(value, str) else ""


def _is_lending(module: PythonModule) -> bool:
    try:
        return module.is_lending
    except RecursionError:  # code that is nested too deep to be read
        return True


def _given(found: Found) -> Iterator[tuple[str | None, ast.expr]]:
    """The arguments; None is the name of what ``**`` gives."""
    for index, each in enumerate(found.arguments):
        if index or isinstance(each, ast.Starred):
            raise NeedsImportError
        yield "name", each
    yield from ((each.arg, each.value) for each in found.keywords)


def _problem(file: SourceFile, spot: Spot, message: str, hint: str | None = None) -> Problem:
    width = spot.end_column - spot.column if spot.end_line == spot.line else 1
    return file.problem(spot.line + 1, spot.column + 1, message, hint=hint, width=width)

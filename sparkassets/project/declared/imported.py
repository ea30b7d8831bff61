"""The assets that modules declare when they are imported, with the places of the code that declares them."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sparkassets.core.spec.document import Document, SourceFile
from sparkassets.core.suggestions import lacks_module
from sparkassets.errors import Problem
from sparkassets.project.declared.importing import Imported
from sparkassets.project.declared.modules import Found, PythonFile, PythonModule
from sparkassets.project.declared.nodes import Nodes, Spot
from sparkassets.project.declared.reading import Declared, Reading
from sparkassets.project.functions import function_at
from sparkassets.project.module_names import WHOLE, Part

_HINT = "its assets are computed, so it is imported to know them; never in the driver before a run"


def of_import(
    reading: Reading, modules: Sequence[PythonFile], imported: Imported, env: Mapping[str, str]
) -> list[Declared]:
    """The assets of these modules, each once."""
    own = {_path(each): each for each in modules}
    files = {_path(each): each for each in reading.files.values()}
    variables = {name: env[name] for name in imported.variables if env.get(name)}
    found = []
    for told in imported.assets:
        file = own.get(os.path.realpath(told["file"]))
        if file is not None:
            found.append(_Told(reading, files, file, told).declared(variables))
    return found


def failed_import(reading: Reading, failure: Mapping[str, Any]) -> tuple[Problem, SourceFile]:
    """What is wrong with a module, at the line that raised, and the module."""
    module = reading.files[failure["module"]]
    files = {_path(each): each.file for each in reading.files.values()}
    place = failure["file"] and files.get(os.path.realpath(failure["file"]))
    file, line = (place, failure["line"]) if place else (module.file, 1)
    text = file.lines[line - 1] if line <= len(file.lines) else ""
    column = len(text) - len(text.lstrip()) + 1
    message = f"the module {module.name!r} cannot be imported: {failure['error']}"
    lacks = failure.get("lacks")
    hint = f"{lacks_module(lacks, module.name)}; {_HINT}" if lacks else _HINT
    return file.problem(line, column, message, hint=hint, width=len(text.strip())), module.file


def _path(file: PythonFile) -> str:
    relative = file.name.replace(".", "/")
    return os.path.realpath(f"{file.search_path}/{relative}{'/__init__.py' if file.is_package else '.py'}")


class _Told:
    """One asset as the import told it.

    Args:
        files: All modules, by their real paths.
        module: That declares it.
    """

    def __init__(
        self, reading: Reading, files: Mapping[str, PythonFile], module: PythonFile, told: Mapping[str, Any]
    ) -> None:
        self._reading = reading
        self._files = files
        self._module = module
        self._told = told

    def declared(self, variables: Mapping[str, str]) -> Declared:
        """The asset.

        Args:
            variables: Of the environment, those that modules read.
        """
        nodes, problems = Nodes(self._module.file), list[Problem]()
        at = self._expression()
        spot = nodes.spot(at) if at is not None else self._line_of()
        name, keys = self._told["name"], self._told["keys"]
        function = self._function()
        body = None
        if self._told["function"] is not None:
            if function is None:
                known = self._told["function"]["name"]
                what = f"asset {name!r} is made by {known}; expected a function by 'def' in the project's packages"
                problems.append(self._module.file.problem(spot.line + 1, spot.column + 1, what))
            own = function[1].name if function else "unknown"
            body = (f"{self._module.name}:{own}", spot)
        found = Found(at) if at is not None else None
        root = nodes.document(found, keys, name=name, code=body, spot=spot)
        document = Document(self._module.file, root, problems=problems, variables=dict(_used(variables, keys, name)))
        if function is None:
            return Declared(document, self._module)
        module, node = function
        known = function_at(node, module.of.file, module.names, elsewhere=True)
        return Declared(document, self._module, known, tuple(self._parts(module.of)))

    def _parts(self, file: PythonFile) -> Iterator[Part]:
        """What the function is made of; all of the module that declares it, where that is not one statement of it."""
        top, _, inner = self._told["function"]["name"].partition(".")
        yield file.name, top
        if inner or file.name != self._module.name:
            yield self._module.name, WHOLE

    def _expression(self) -> ast.expr | None:
        """What declares the asset."""
        module = self._reading.module(self._module.name)
        first, last, column, end = self._told["positions"] or (None, None, None, None)
        for node in ast.walk(module.tree) if module is not None else ():
            if isinstance(node, ast.Call | ast.Name | ast.Attribute):
                own = (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
                if own == (first, last, column, end):
                    return node
        return None

    def _line_of(self) -> Spot:
        line = (self._told["positions"] or [1])[0] or 1
        return Spot(line - 1, 0, line - 1, 1)

    def _function(self) -> tuple[PythonModule, ast.FunctionDef | ast.AsyncFunctionDef] | None:
        """The function's module and definition, whose code begins in the line that the import told."""
        told = self._told["function"]
        file = self._files.get(os.path.realpath(told["file"])) if told is not None and told["file"] else None
        module = self._reading.module(file.name) if file is not None else None
        if file is None or module is None:
            return None
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = min(each.lineno for each in [*node.decorator_list, node])
                if first == told["line"] and node.name == told["name"].rpartition(".")[2]:
                    return module, node
        return None


def _used(variables: Mapping[str, str], *said: object) -> Iterator[tuple[str, str]]:
    """Those of the environment whose values stand in what is said."""
    texts = list(_texts(said))
    yield from ((name, value) for name, value in variables.items() if any(value in text for text in texts))


def _texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for key, inner in value.items():
                yield from _texts(key)
                yield from _texts(inner)
        case list() | tuple():
            for inner in value:
                yield from _texts(inner)

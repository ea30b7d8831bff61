"""Assets that Python modules declare: a child process imports the modules and reports positions in the code."""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from sparkassets.authoring.declarations import OTHERWISE
from sparkassets.core.spec.module_source import ModuleFunction
from sparkassets.core.spec.yaml_document import SourceFile, YamlDocument
from sparkassets.core.suggestions import missing_module_hint
from sparkassets.errors import SpecProblem
from sparkassets.frozen import frozen
from sparkassets.project.python_modules import (
    WHOLE,
    Part,
    PythonFile,
    PythonModule,
    PythonModules,
    describe_function,
    find_syntax_fault,
)
from sparkassets.project.yaml_nodes import CodeSpan, NodeBuilder, keywords_of

_MOST_SECONDS: Final = 60
"""Seconds that the import of all modules together may take."""
_MOST_BYTES: Final = 32 * 1024 * 1024
"""The greatest size of all declarations as JSON."""
_NEEDS_SESSION: Final = "SESSION_OR_CONTEXT_NOT_EXISTS"
"""Part of pyspark's error if a name needs a session, such as ``pandas_udf("long")``, which parses its type by one."""
_IMPORT_CODE: Final = (
    "import json, sys; sys.path[:] = json.loads({path!r}); from sparkassets.authoring.discovery import main; main()"
)


@frozen
class ImportResult:
    """What the child process reports about the imported modules.

    Attributes:
        assets: As `sparkassets.authoring.discovery` reports them, in order.
        failures: Which modules could not be imported, where, and why; without a place it is about all of them.
        variables: Names of environment variables that they read.
        files: Absolute paths of the project's files that they read.
        folders: Absolute paths of the project's folders that they listed.
        modules: Files of modules from elsewhere that they import, absolute; not of installed packages.
        installed: Whether they import installed packages.
    """

    assets: Sequence[Mapping[str, Any]] = ()
    failures: Sequence[Mapping[str, Any]] = ()
    variables: Sequence[str] = ()
    files: Sequence[str] = ()
    folders: Sequence[str] = ()
    modules: Sequence[str] = ()
    installed: bool = False


def import_modules(modules: Iterable[PythonFile], env: Mapping[str, str]) -> ImportResult:
    """Imports the modules in a child process.

    If one needs a Spark session at import, all are imported again with placeholders for Spark's names.
    """
    wanted = [(each.name, each.search_path) for each in modules]
    result = _import_in_process(wanted, env, without_spark=False)
    if any(_NEEDS_SESSION in failure["error"] for failure in result.failures):
        return _import_in_process(wanted, env, without_spark=True)
    return result


def _import_in_process(
    wanted: Sequence[tuple[str, str]], env: Mapping[str, str], *, without_spark: bool
) -> ImportResult:
    """Imports the modules in one child process, which leaves its result in a temporary file.

    A process that leaves none, or too much, becomes a failure of the first module.
    """
    with TemporaryDirectory(prefix="sparkassets-") as folder:
        result = Path(folder, "result.json")
        request = {"modules": wanted, "result": str(result), "without_spark": without_spark}
        ending = _run_import(json.dumps(request), env)
        if not result.exists():
            return ImportResult(failures=[{"module": wanted[0][0], "file": None, "line": None, "error": ending}])
        if result.stat().st_size > _MOST_BYTES:
            problem = f"it declares more than {_MOST_BYTES // 1024**2} MiB"
            return ImportResult(failures=[{"module": wanted[0][0], "file": None, "line": None, "error": problem}])
        return ImportResult(**json.loads(result.read_text(encoding="utf-8")))


def _run_import(request: str, env: Mapping[str, str]) -> str:
    """Runs the importing process; returns a clause on how it ended. Output of the modules is discarded."""
    code = _IMPORT_CODE.format(path=json.dumps(sys.path))
    process = subprocess.Popen(  # noqa: S603  this very Python
        [sys.executable, "-B", "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **env},
        start_new_session=True,
    )
    try:
        process.communicate(request.encode(), timeout=_MOST_SECONDS)
    except subprocess.TimeoutExpired:
        return f"it did not end within {_MOST_SECONDS} s"
    finally:
        with suppress(OSError):  # of its session, also the processes that a module has started
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return f"the process that imported it ended with exit code {process.returncode}"


_IMPORT_HINT: Final = "modules that declare assets are imported in a separate process to find them"
_POSSIBLE_NAME: Final = re.compile(r"\basset\(\s*['\"](\w+)|\bname\s*=\s*['\"](\w+)|\bdef\s+(\w+)")


@frozen
class DeclaredAsset:
    """An asset that a module declares.

    Attributes:
        document: Its document, with positions in the module's code.
        module: The module that declares it when imported.
        function: Facts of its function; None for SQL and sources.
        code: The parts of code that it starts from, each (module, name); `find_code` follows them and adds digests.
        is_reference: Whether it is a source only where nothing else declares the asset: ``Asset("x", uri="…")``.
    """

    document: YamlDocument
    module: PythonFile
    function: ModuleFunction | None = None
    code: tuple[Part, ...] = ()
    is_reference: bool = False


@frozen
class DeclaredAssets:
    """All assets that modules declare.

    Attributes:
        problems: Problems of modules that could not be read or imported.
        unreadable: Names that assets of those modules may have.
    """

    assets: tuple[DeclaredAsset, ...] = ()
    problems: tuple[SpecProblem, ...] = ()
    unreadable: frozenset[str] = frozenset()


def declared_assets(
    files: Mapping[str, PythonFile],
    import_all: Callable[[Sequence[PythonFile]], ImportResult],
    *,
    environment: Mapping[str, str],
) -> DeclaredAssets:
    """The assets that modules declare, with the problems of modules that cannot be parsed or imported.

    Args:
        files: The modules of the allowed packages, by their dotted names.
        import_all: Imports modules and reports what they declare.
        environment: The environment of the import.
    """
    modules = PythonModules(files)
    problems: list[SpecProblem] = []
    unreadable: set[str] = set()
    for broken in modules.find_broken():
        line, column, message = find_syntax_fault(broken.file)
        problems.append(broken.file.problem(line, column, f"invalid Python: {message}"))
        unreadable |= _possible_names(broken.file)
    declaring = modules.find_declaring()
    result = import_all(declaring) if declaring else ImportResult()
    files_by_path = {_real_path(each): each for each in files.values()}
    for failure in result.failures:
        if modules.find_module(failure["module"]) is not None:
            problem, file = _failed_import(files, files_by_path, failure)
            problems.append(problem)
            unreadable |= _possible_names(file)
    variables = {name: environment[name] for name in result.variables if environment.get(name)}
    assets = [
        _ReportedDeclaration(modules, files_by_path, module, each).asset(variables)
        for each in result.assets
        if (module := files_by_path.get(os.path.realpath(each["file"]))) is not None
    ]
    return DeclaredAssets(tuple(assets), tuple(problems), frozenset(unreadable))


def _failed_import(
    files: Mapping[str, PythonFile], by_path: Mapping[str, PythonFile], failure: Mapping[str, Any]
) -> tuple[SpecProblem, SourceFile]:
    """The problem of a failed import, at the line that raised if that is in the project, and the failed module.

    Args:
        files: Modules by dotted name.
        by_path: The same modules by real path.
        failure: One of the `ImportResult.failures`.
    """
    module = files[failure["module"]]
    raising_module = by_path.get(os.path.realpath(failure["file"])) if failure["file"] else None
    file, line = (raising_module.file, failure["line"]) if raising_module is not None else (module.file, 1)
    text = file.lines[line - 1] if line <= len(file.lines) else ""
    column = len(text) - len(text.lstrip()) + 1
    message = f"the module {module.name!r} cannot be imported: {failure['error']}"
    missing_module = failure.get("lacks")
    hint = f"{missing_module_hint(missing_module, module.name)}; {_IMPORT_HINT}" if missing_module else _IMPORT_HINT
    return file.problem(line, column, message, hint=hint, width=len(text.strip())), module.file


def _possible_names(file: SourceFile) -> set[str]:
    """Possible names of assets in a module that cannot be parsed or imported."""
    return {name for match in _POSSIBLE_NAME.findall(file.text) for name in match if name}


def _real_path(file: PythonFile) -> str:
    relative = file.name.replace(".", "/")
    return os.path.realpath(f"{file.search_path}/{relative}{'/__init__.py' if file.is_package else '.py'}")


class _ReportedDeclaration:
    """Turns one reported asset into a document with positions in the Python code.

    Args:
        files: All modules, by their real paths.
        module: The module that declares it.
        reported: The asset as `sparkassets.authoring.discovery` writes it.
    """

    def __init__(
        self, modules: PythonModules, files: Mapping[str, PythonFile], module: PythonFile, reported: Mapping[str, Any]
    ) -> None:
        self._modules = modules
        self._files = files
        self._module = module
        self._reported = reported
        self._nodes = NodeBuilder(module.file)
        self._problems: list[SpecProblem] = []

    def asset(self, variables: Mapping[str, str]) -> DeclaredAsset:
        """The declared asset; ``variables`` are the environment variables that modules read, with their values."""
        call = self._find_expression()
        # without the expression, every problem points at the reported line
        spot = self._nodes.spot(call) if call is not None else self._reported_line()
        name, keys = self._reported["name"], self._reported["keys"]
        function = self._find_function()
        failed = set(self._refused_keys(call, spot))
        root = self._nodes.document(call, keys, name=name, code=self._body(function, spot), spot=spot)
        texts = dict(_find_used_variables(variables, keys, name))
        document = YamlDocument(self._module.file, root, problems=self._problems, failed=failed, variables=texts)
        if function is None:
            return DeclaredAsset(document, self._module, is_reference=self._reported["is_reference"])
        module, node = function
        description = describe_function(node, module.of.file, module.names, elsewhere=True)
        return DeclaredAsset(document, self._module, description, tuple(self._code_parts(module.of)))

    def _refused_keys(self, call: ast.expr | None, spot: CodeSpan) -> Iterator[str]:
        """Names of keys whose values the decorator refused; adds a problem for each."""
        places = keywords_of(call)
        for key, message in self._reported["problems"]:
            at = self._nodes.spot(places[key]) if key in places else spot
            self._add_problem(at, message)
            yield OTHERWISE.get(key, key)

    def _body(self, function: tuple[PythonModule, ast.stmt] | None, spot: CodeSpan) -> tuple[str, CodeSpan] | None:
        """The function as ``module:name`` and the position of its name; None for SQL and sources.

        A function without a ``def`` in the project, such as a lambda, becomes a problem and gets the name ``unknown``.
        """
        reported = self._reported["function"]
        if reported is None:
            return None
        if function is None:
            subject = f"asset {self._reported['name']!r} is computed by {reported['name']}"
            self._add_problem(
                spot, f"{subject}; expected a function that is defined by 'def' in the project's packages"
            )
            return f"{self._module.name}:unknown", spot
        module, node = function
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            # a name in another file has no position in this document
            at = self._nodes.name_of(node) if module.of is self._module else spot
            return f"{self._module.name}:{node.name}", at
        return None

    def _code_parts(self, file: PythonFile) -> Iterator[Part]:
        """The function as (module, name); also the whole declaring module if no statement of it is the declaration."""
        top, _, inner = self._reported["function"]["name"].partition(".")
        yield file.name, top
        if inner or file.name != self._module.name:
            yield self._module.name, WHOLE

    def _find_expression(self) -> ast.expr | None:
        """The decorator, call or name at the reported position in the declaring module; None if there is none.

        ``positions`` is (first line, last line, first column, end column), as in `DeclarationPlace`.
        """
        module = self._modules.find_module(self._module.name)
        first, last, column, end = self._reported["positions"] or (None, None, None, None)
        for node in ast.walk(module.tree) if module is not None else ():
            if isinstance(node, ast.Call | ast.Name | ast.Attribute):
                position = (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
                if position == (first, last, column, end):
                    return node
        return None

    def _reported_line(self) -> CodeSpan:
        """The first character of the reported line, for problems without an exact position."""
        line = (self._reported["positions"] or [1])[0] or 1
        return CodeSpan(line - 1, 0, line - 1, 1)

    def _find_function(self) -> tuple[PythonModule, ast.FunctionDef | ast.AsyncFunctionDef] | None:
        """Module and definition of the reported function, found by its first line and name; None if not found."""
        reported = self._reported["function"]
        file = self._files.get(os.path.realpath(reported["file"])) if reported and reported["file"] else None
        module = self._modules.find_module(file.name) if file is not None else None
        if module is None:
            return None
        name = reported["name"].rpartition(".")[2]
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
                # Python counts a function's first line from its first decorator on
                first = node.decorator_list[0] if node.decorator_list else node
                if first.lineno == reported["line"]:
                    return module, node
        return None

    def _add_problem(self, spot: CodeSpan, message: str) -> None:
        width = spot.end_column - spot.column if spot.end_line == spot.line else 1
        self._problems.append(self._module.file.problem(spot.line + 1, spot.column + 1, message, width=width))


def _find_used_variables(variables: Mapping[str, str], *values: object) -> Iterator[tuple[str, str]]:
    """(Name, value) of environment variables whose values occur in a text of the declaration."""
    texts = list(_texts(values))
    yield from ((name, value) for name, value in variables.items() if any(value in text for text in texts))


def _texts(value: object) -> Iterator[str]:
    """All texts in a nested value, keys of dictionaries included."""
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

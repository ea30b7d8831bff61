"""Python modules of a project, parsed and never run: names, imports, functions, and uses of the context."""

from __future__ import annotations

import ast
import builtins
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Final

from sparkassets.core.spec.bodies import CONTEXT
from sparkassets.core.spec.module_source import ContextAccess, FunctionArgument, ModuleFunction, ModuleSource
from sparkassets.core.spec.yaml_document import SourceFile
from sparkassets.frozen import frozen

Part = tuple[str, str]
"""A module and a name in it; ``*`` is all of the module."""

WHOLE: Final = "*"
FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


class ModuleNames:
    """The names that a module's top level binds and imports.

    Attributes:
        is_package: Whether it is an ``__init__.py``, from which relative imports start one level deeper.
    """

    def __init__(self, name: str, tree: ast.Module, *, is_package: bool) -> None:
        self.name = name
        self.tree = tree
        self.is_package = is_package

    @cached_property
    def bound(self) -> dict[str, list[ast.stmt]]:
        """Each name of the top level to the statements that bind it, or that change it at import time."""
        statements: dict[str, list[ast.stmt]] = defaultdict(list)
        for node in self.tree.body:
            for name in dict.fromkeys(_find_bound_names(node)):
                statements[name].append(node)
        return dict(statements)

    @cached_property
    def imports(self) -> dict[str, Part]:
        """Each imported name to the module and the name in it that it refers to."""
        plain = [node for node in self.tree.body if not isinstance(node, (*FUNCTIONS, ast.ClassDef))]
        return {name: part for node in plain for name, part in find_imports(node, self)}

    @cached_property
    def stars(self) -> list[str]:
        """The modules of star imports."""
        imports = (node for node in self.tree.body if isinstance(node, ast.ImportFrom))
        return [absolute_module_name(node, self) for node in imports if any(each.name == WHOLE for each in node.names)]


def parse_names(name: str, text: str, *, is_package: bool) -> ModuleNames | None:
    """The names of a module; None if the text is not Python."""
    try:
        return ModuleNames(name, ast.parse(text), is_package=is_package)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _find_bound_names(node: ast.stmt) -> Iterator[str]:
    """The names that a statement of the top level binds or may change.

    Nothing for imports, which are looked up apart, for docstrings, and for ``if __name__ == ...``, which imports skip.
    """
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
            yield from _names_within(node)


def _names_within(statement: ast.stmt) -> Iterator[str]:
    """Every name that a statement may bind or change."""
    for node in ast.walk(statement):
        match node:
            # also a name that is only read: the object behind it may be changed in place
            case ast.Name(id=name) if not hasattr(builtins, name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)


def find_imports(top: ast.AST, module: ModuleNames) -> Iterator[tuple[str, Part]]:
    """Names imported anywhere in a statement, each with the part that it refers to."""
    for node in ast.walk(top):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]  # `import a.b` binds a
                yield (alias.asname, (alias.name, WHOLE)) if alias.asname else (first, (first, WHOLE))
        elif isinstance(node, ast.ImportFrom):
            owner = absolute_module_name(node, module)
            yield from ((alias.asname or alias.name, (owner, alias.name)) for alias in node.names if alias.name != "*")


def absolute_module_name(node: ast.ImportFrom, module: ModuleNames) -> str:
    """The dotted name of the module that is imported from; a relative import counts from ``module``."""
    if not node.level:
        return node.module or ""
    steps = module.name.split(".")
    base = steps[: len(steps) - node.level + module.is_package]
    return ".".join([*base, *filter(None, [node.module])])


_LIBRARIES: Final = {
    ("pandas", "DataFrame"): "pandas",
    ("pyarrow", "Table"): "arrow",
    ("polars", "DataFrame"): "polars",
    ("polars", "LazyFrame"): "lazy polars",
}
"""(Module, class) of an argument's annotation to the library whose frame the argument receives."""


def read_module(file: SourceFile, *, search_path: str) -> ModuleSource:
    """The functions of the module's top level; the last one if several have the same name, as in Python.

    Args:
        file: The module's source.
        search_path: Absolute folder that must be on ``sys.path`` to import it.
    """
    tree = parse(file.text)
    if tree is None:
        return ModuleSource(file, search_path, syntax_fault=find_syntax_fault(file))
    names = ModuleNames("", tree, is_package=False)
    functions = {
        node.name: describe_function(node, file, names)
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    return ModuleSource(file, search_path, functions)


def parse(text: str) -> ast.Module | None:
    """The parsed module; None if the text is not Python."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def find_syntax_fault(file: SourceFile) -> tuple[int, int, str]:
    """Line, column and message of the error that keeps a file from being parsed."""
    try:
        ast.parse(file.text)
    except SyntaxError as error:
        return error.lineno or 1, error.offset or 1, error.msg
    except ValueError as error:
        return 1, 1, str(error)
    except (RecursionError, MemoryError):  # Python's parser says either of what overflows its stack
        pass
    return 1, 1, "it is nested too deeply"


def describe_function(
    node: ast.FunctionDef | ast.AsyncFunctionDef, file: SourceFile, names: ModuleNames, *, elsewhere: bool = False
) -> ModuleFunction:
    """What a compiled project knows of a function: position, arguments, and uses of the context.

    Args:
        node: Its definition.
        file: The file that holds the definition.
        names: The names of that file.
        elsewhere: Whether that file may differ from the module by which the asset names the function.
    """
    arguments = node.args
    named = [_argument(each, file, names) for each in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]]
    collecting = [_argument(each, file, names, collects=True) for each in (arguments.vararg, arguments.kwarg) if each]
    return ModuleFunction(
        line=node.lineno,
        column=_column(node, file),
        arguments=(*named, *collecting),
        context_accesses=tuple(_find_context_uses(node, file)) if any(each.name == CONTEXT for each in named) else (),
        is_async=isinstance(node, ast.AsyncFunctionDef),
        file=file if elsewhere else None,
    )


def _find_context_uses(function: ast.FunctionDef | ast.AsyncFunctionDef, file: SourceFile) -> Iterator[ContextAccess]:
    """Uses of ``context`` in a function; none if it rebinds that name, which then may mean anything."""
    nodes = [inner for statement in function.body for inner in ast.walk(statement)]
    if any(_binds_context(inner) for inner in nodes):
        return
    for node in nodes:
        match node:
            case ast.Attribute(ctx=ast.Load()) if _attribute_steps(node)[:1] == [CONTEXT]:
                line, end = node.end_lineno or node.lineno, (node.end_col_offset or 0) - len(node.attr.encode())
                yield ContextAccess(tuple(_attribute_steps(node)), line, _character_column(file, line, end))


def _binds_context(node: ast.AST) -> bool:
    """Whether a node gives the name of the context another meaning."""
    match node:
        case ast.arg(arg=name):
            return name == CONTEXT
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return name == CONTEXT
    return False


def _attribute_steps(node: ast.AST) -> list[str | None]:
    """The steps of an attribute chain: ``["a", "b", None]`` for ``a.b[0]``; empty if it does not begin with a name.

    None stands for an index that is not a literal text.
    """
    steps: list[str | None] = []
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Attribute):
            steps.append(node.attr)
        else:
            key = node.slice.value if isinstance(node.slice, ast.Constant) else None
            steps.append(key if isinstance(key, str) else None)
        node = node.value
    return [node.id, *reversed(steps)] if isinstance(node, ast.Name) else []


def _argument(node: ast.arg, file: SourceFile, names: ModuleNames, *, collects: bool = False) -> FunctionArgument:
    library = _LIBRARIES.get(_annotated_class(node.annotation, names))
    return FunctionArgument(node.arg, node.lineno, _column(node, file), collects=collects, row_library=library)


def _annotated_class(annotation: ast.expr | None, names: ModuleNames) -> Part:
    """(Library, class) that an annotation names, also in quotes; two empty texts for any other annotation."""
    match annotation:
        case ast.Constant(value=str(text)):
            with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
                return _annotated_class(ast.parse(text.strip(), mode="eval").body, names)
        case ast.Name(id=name):
            return names.imports.get(name, ("", ""))
        case ast.Attribute(value=ast.Name(id=name), attr=attr):
            owner, name_in_module = names.imports.get(name, ("", ""))
            return (owner, attr) if name_in_module == WHOLE else ("", "")
    return "", ""


def _column(node: ast.stmt | ast.arg, file: SourceFile) -> int:
    """The column in characters from 1."""
    return _character_column(file, node.lineno, node.col_offset)


def _character_column(file: SourceFile, line: int, offset: int) -> int:
    """A column in characters from 1; Python's own counts bytes."""
    text = file.lines[line - 1] if line <= len(file.lines) else ""
    return len(text.encode()[:offset].decode(errors="replace")) + 1


_PACKAGE_NAME: Final = "sparkassets"
_DECORATORS: Final = ("asset", "multi_asset")
_MENTIONS: Final = re.compile(rf"\b{_PACKAGE_NAME}\b")


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
    """A parsed module of an allowed package, and its use of sparkassets' decorators."""

    def __init__(self, file: PythonFile, tree: ast.Module) -> None:
        self.of = file
        self.tree = tree
        self.names = ModuleNames(file.name, tree, is_package=file.is_package)

    @cached_property
    def declares_assets(self) -> bool:
        """Whether it names a decorator that declares assets, also under an alias."""
        return bool(self._aliases or self._decorators_used(self.tree))

    @cached_property
    def lends_decorator(self) -> bool:
        """Whether modules that import it may declare assets through it, so that they must be imported as well.

        True if it imports a decorator without using it, which passes it on, or uses one in a function or class body.
        """
        scopes = (node for node in ast.walk(self.tree) if isinstance(node, (*FUNCTIONS, ast.ClassDef)))
        inside = (part for scope in scopes for statement in scope.body for part in self._decorators_used(statement))
        return self.declares_assets and (any(True for _ in inside) or not self._decorators_used(self.tree))

    def imported_modules(self) -> Iterator[str]:
        """Dotted names of modules that it imports anywhere; for ``from a import b`` both ``a`` and ``a.b``."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                owner = absolute_module_name(node, self.names)
                yield owner
                yield from (f"{owner}.{alias.name}" for alias in node.names)

    @cached_property
    def _aliases(self) -> frozenset[str]:
        """Local names of the imported decorators, in whatever scope; ``from sparkassets import *`` brings them all."""
        aliases = set[str]()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and not node.level and _is_of_package(node.module or ""):
                for alias in node.names:
                    if alias.name == WHOLE:
                        aliases.update(_DECORATORS)
                    elif alias.name in _DECORATORS:
                        aliases.add(alias.asname or alias.name)
        return frozenset(aliases)

    @cached_property
    def _packages(self) -> frozenset[str]:
        """Local names of the package sparkassets."""
        imports = (node for node in ast.walk(self.tree) if isinstance(node, ast.Import))
        aliases = (alias for node in imports for alias in node.names if _is_of_package(alias.name))
        return frozenset(alias.asname or _PACKAGE_NAME for alias in aliases)

    def _decorators_used(self, top: ast.AST) -> list[ast.expr]:
        """The nodes in ``top`` that name a decorator."""
        nodes: list[ast.expr] = []
        for node in ast.walk(top):
            match node:
                case ast.Name(id=name) if name in self._aliases:
                    nodes.append(node)
                case ast.Attribute(value=ast.Name(id=owner), attr=attr) if attr in _DECORATORS:
                    if owner in self._packages:
                        nodes.append(node)
        return nodes


class PythonModules:
    """The modules of the allowed packages.

    Args:
        files: By their dotted names.
    """

    def __init__(self, files: Mapping[str, PythonFile]) -> None:
        self.files = files
        self._modules: dict[str, PythonModule | None] = {}

    def find_module(self, name: str) -> PythonModule | None:
        """The parsed module; None if there is none of that name, or it is not Python."""
        if name not in self._modules:
            file = self.files.get(name)
            tree = parse(file.file.text) if file is not None else None
            self._modules[name] = PythonModule(file, tree) if file and tree else None
        return self._modules[name]

    def find_broken(self) -> Iterator[PythonFile]:
        """Modules that mention sparkassets and are not Python."""
        yield from (each for each in self._mentioning() if self.find_module(each.name) is None)

    def find_declaring(self) -> list[PythonFile]:
        """Modules that may declare assets: they use a decorator, or import, at any distance, one that lends it."""
        modules = self._parse_all(each.name for each in self._mentioning())
        names = {each.of.name for each in modules if _answer(each, "declares_assets")}
        lending = {each.of.name for each in modules if _answer(each, "lends_decorator")}
        while lending:  # each turn goes one import further from the modules that hold a decorator
            others = self._parse_all(self.files.keys() - names)
            lending = {each.of.name for each in others if not lending.isdisjoint(each.imported_modules())}
            names |= lending
        return [each for name, each in self.files.items() if name in names]

    def _parse_all(self, names: Iterable[str]) -> list[PythonModule]:
        """The modules of these names that are Python."""
        return [module for name in names if (module := self.find_module(name)) is not None]

    def _mentioning(self) -> Iterator[PythonFile]:
        """Modules whose text has the word sparkassets; the others are not parsed."""
        yield from (each for each in self.files.values() if _MENTIONS.search(each.file.text))


def _is_of_package(module: str) -> bool:
    return module == _PACKAGE_NAME or module.startswith(f"{_PACKAGE_NAME}.")


def _answer(module: PythonModule, question: str) -> bool:
    """The value of a yes-or-no property of the module; true if its code is nested too deep to find out."""
    try:
        return bool(getattr(module, question))
    except RecursionError:
        return True

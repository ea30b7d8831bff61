"""The functions of a Python module and their argument names, from its source alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from sparkassets.core.spec.bodies import CONTEXT, ContextAccess, FunctionArgument, ModuleFunction, ModuleSource
from sparkassets.core.spec.yaml_document import SourceFile
from sparkassets.project.module_names import WHOLE, ModuleNames, Part

_LIBRARIES: Final = {
    ("pandas", "DataFrame"): "pandas",
    ("pyarrow", "Table"): "arrow",
    ("polars", "DataFrame"): "polars",
    ("polars", "LazyFrame"): "lazy polars",
}
"""By the class of an argument's annotation."""


def read_module(file: SourceFile, *, search_path: str) -> ModuleSource:
    """The functions of the module's top level; of several with one name the last, as in Python.

    Args:
        file: The module's source.
        search_path: Absolute folder that must be on ``sys.path`` to import it.
    """
    tree = parse(file.text)
    if tree is None:
        return ModuleSource(file, search_path, syntax_fault=broken_in(file))
    names = ModuleNames("", tree, is_package=False)
    functions = {
        node.name: function_at(node, file, names)
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    return ModuleSource(file, search_path, functions)


def parse(text: str) -> ast.Module | None:
    """The parsed module; None for text that is not Python."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def broken_in(file: SourceFile) -> tuple[int, int, str]:
    """Line, column and message of the error that keeps a file from being parsed."""
    try:
        ast.parse(file.text)
    except SyntaxError as error:
        return error.lineno or 1, error.offset or 1, error.msg
    except ValueError as error:
        return 1, 1, str(error)
    except (RecursionError, MemoryError):  # Python's parser says either of what overflows its stack
        pass
    return 1, 1, "it is nested too deep"


def function_at(
    node: ast.FunctionDef | ast.AsyncFunctionDef, file: SourceFile, names: ModuleNames, *, elsewhere: bool = False
) -> ModuleFunction:
    """The facts of a function.

    Args:
        node: Its definition.
        file: That it stands in.
        names: Of that file.
        elsewhere: Whether it may be another than that of the module that the function is found by.
    """
    given = node.args
    plain = [_argument(each, file, names) for each in [*given.posonlyargs, *given.args, *given.kwonlyargs]]
    collecting = [_argument(each, file, names, collects=True) for each in (given.vararg, given.kwarg) if each]
    return ModuleFunction(
        line=node.lineno,
        column=_column(node, file),
        arguments=(*plain, *collecting),
        context_accesses=tuple(_find_context_uses(node, file)) if any(each.name == CONTEXT for each in plain) else (),
        is_async=isinstance(node, ast.AsyncFunctionDef),
        file=file if elsewhere else None,
    )


def _find_context_uses(function: ast.FunctionDef | ast.AsyncFunctionDef, file: SourceFile) -> Iterator[ContextAccess]:
    """Uses of ``context`` in a function, unless it rebinds that name."""
    inside = [each for statement in function.body for each in ast.walk(statement)]
    if any(_binds_context(each) for each in inside):
        return
    for node in inside:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and _path(node)[:1] == [CONTEXT]:
            line, end = node.end_lineno or node.lineno, (node.end_col_offset or 0) - len(node.attr.encode())
            yield ContextAccess(tuple(_path(node)), line, _characters(file, line, end))


def _binds_context(node: ast.AST) -> bool:
    match node:
        case ast.arg(arg=name):
            return name == CONTEXT
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return name == CONTEXT
    return False


def _path(node: ast.AST) -> list[str | None]:
    """``["a", "b", None]`` of ``a.b[0]``; empty of what does not begin with a name."""
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
    takes = _LIBRARIES.get(_class(node.annotation, names))
    return FunctionArgument(node.arg, node.lineno, _column(node, file), collects=collects, row_library=takes)


def _class(annotation: ast.expr | None, names: ModuleNames) -> Part:
    """Library and name of the class that an annotation is, which may stand in quotes."""
    match annotation:
        case ast.Constant(value=str(text)):
            with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
                return _class(ast.parse(text.strip(), mode="eval").body, names)
        case ast.Name(id=name):
            return names.imports.get(name, ("", ""))
        case ast.Attribute(value=ast.Name(id=name), attr=attr):
            owner, own = names.imports.get(name, ("", ""))
            return (owner, attr) if own == WHOLE else ("", "")
    return "", ""


def _column(node: ast.stmt | ast.arg, file: SourceFile) -> int:
    """The column in characters from 1."""
    return _characters(file, node.lineno, node.col_offset)


def _characters(file: SourceFile, line: int, offset: int) -> int:
    """A column in characters from 1; Python's own counts bytes."""
    text = file.lines[line - 1] if line <= len(file.lines) else ""
    return len(text.encode()[:offset].decode(errors="replace")) + 1

"""The functions of a Python module and their argument names, from its source alone."""

from __future__ import annotations

import ast

from sparkassets.core.spec.bodies import Argument, Function, Module
from sparkassets.core.spec.document import SourceFile


def read_module(file: SourceFile, *, search_path: str) -> Module:
    """The functions of the module's top level; of several with one name the last, as in Python.

    Args:
        file: The module's source.
        search_path: Absolute folder that must be on ``sys.path`` to import it.
    """
    try:
        tree = ast.parse(file.text)
    except SyntaxError as error:
        return Module(file, search_path, broken=(error.lineno or 1, error.offset or 1, error.msg))
    except ValueError as error:
        return Module(file, search_path, broken=(1, 1, str(error)))
    except (RecursionError, MemoryError):  # Python's parser says either of what overflows its stack
        return Module(file, search_path, broken=(1, 1, "it is nested too deep"))
    functions = {
        node.name: _function(node, file)
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    return Module(file, search_path, functions)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, file: SourceFile) -> Function:
    given = node.args
    plain = [_argument(each, file) for each in [*given.posonlyargs, *given.args, *given.kwonlyargs]]
    collecting = [_argument(each, file, collects=True) for each in (given.vararg, given.kwarg) if each]
    return Function(
        line=node.lineno,
        column=_column(node, file),
        arguments=(*plain, *collecting),
        is_async=isinstance(node, ast.AsyncFunctionDef),
    )


def _argument(node: ast.arg, file: SourceFile, *, collects: bool = False) -> Argument:
    return Argument(node.arg, node.lineno, _column(node, file), collects=collects)


def _column(node: ast.stmt | ast.arg, file: SourceFile) -> int:
    """The column in characters from 1; Python's own counts bytes."""
    line = file.lines[node.lineno - 1] if node.lineno <= len(file.lines) else ""
    return len(line.encode()[: node.col_offset].decode(errors="replace")) + 1

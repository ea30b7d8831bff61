"""Digests of a function's parts: itself and all that it names in the project's own packages, from source.

A part is a function, class or value of a module that can be reached by names. Comments, docstrings, layout and
unreached code do not count. Where code builds names at run time, the whole module is the part.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Final

from sparkassets.core.definitions.definition import digest
from sparkassets.project.python_modules import FUNCTIONS, WHOLE, ModuleNames, Part, find_imports, parse_names

DECLARING: Final = frozenset({("sparkassets", "asset"), ("sparkassets", "multi_asset")})
"""The decorators that declare assets."""
_DYNAMIC: Final = frozenset({"globals", "eval", "exec", "__import__", "vars", "import_module"})


class FunctionParts:
    """Computes the digests of functions' parts, and keeps the modules that it has parsed.

    Args:
        source: Takes a dotted name; returns the module's text and whether it is a package, None outside the project.
    """

    def __init__(self, source: Callable[[str], tuple[str, bool] | None]) -> None:
        self._source = source
        self._modules: dict[str, ModuleNames | None] = {}

    def digest_parts(self, module: str, function: str) -> dict[str, str]:
        """``module:name`` to digest, for the function and all code of the project that it reaches by names.

        A change of any of them is a change of the asset's code; code that it does not reach makes nothing stale.
        """
        parts: dict[str, str] = {}
        digested: set[Part] = set()
        remaining: list[Part] = [(module, function)]
        while remaining:
            part = remaining.pop()
            if part in digested:
                continue
            digested.add(part)
            try:
                part_digest, named_parts = self._digest_part(part)
            except (RecursionError, ValueError):  # nested too deep, or a huge number: the module's whole text counts
                part_digest, named_parts = digest((self._source(part[0]) or ("",))[0]), []
            remaining += named_parts
            if part_digest:
                parts[":".join(part)] = part_digest
        return parts

    def _digest_part(self, part: Part) -> tuple[str, list[Part]]:
        """One part's digest, empty for a name that is only imported, and the parts that its code names."""
        module_name, name_in_module = part
        module = self._find_module(module_name)
        if module is None:
            return "", []
        if name_in_module == WHOLE:
            return digest(_tree_text(module.tree)), [*self._find_named_parts(module, module.tree.body)]
        nodes = [_strip_declaration(each, module) for each in module.bound.get(name_in_module, [])]
        imported = [
            each for each in self._find_imported(module, name_in_module) if self._find_module(each[0]) is not None
        ]
        # of a name from outside the project only the import itself counts, not the code behind it
        outside = () if imported else module.imports.get(name_in_module, ())
        value = digest(*map(_tree_text, nodes), *outside) if nodes or outside else ""
        return value, [*imported, *self._find_named_parts(module, nodes)]

    def _find_imported(self, module: ModuleNames, name: str) -> Iterator[Part]:
        """The part that an imported name stands for; several with star imports, none if it is not imported."""
        if name in module.imports:
            yield self._resolve_import(module.imports[name])
            return
        for each in module.stars:
            inner = self._find_module(each)
            if inner is not None and (name in inner.bound or name in inner.imports or inner.stars):
                yield each, name

    def _resolve_import(self, part: Part) -> Part:
        """The part that an import refers to: a name of a module, or a whole module."""
        owner, name = part
        if name == WHOLE:
            return part
        inner = self._find_module(owner)
        if inner is not None and (name in inner.bound or name in inner.imports):
            return part
        return (f"{owner}.{name}", WHOLE) if self._find_module(f"{owner}.{name}") is not None else part

    def _find_named_parts(self, module: ModuleNames, nodes: list[ast.stmt]) -> Iterator[Part]:
        """The parts that the code of these statements names."""
        for top in nodes:
            local = dict(find_imports(top, module))
            taken = _argument_nodes(top)
            for node in ast.walk(top):
                if isinstance(node, ast.Attribute) and id(node) not in taken:
                    yield from self._find_member_parts(module, local, node, taken)
                elif isinstance(node, ast.Name) and id(node) not in taken:
                    yield from self._find_name_parts(module, local, node.id)

    def _find_member_parts(
        self, module: ModuleNames, local: dict[str, Part], node: ast.Attribute, taken: set[int]
    ) -> Iterator[Part]:
        """The part that ``a.b.c`` names, if ``a`` is a module of the project; none otherwise.

        The nodes of such a chain are added to ``taken``, so that its beginning is not taken for a name of its own.
        Access to a name that is built at run time makes the whole module a part.
        """
        chain, inner = [node], node.value
        while isinstance(inner, ast.Attribute):
            chain.append(inner)
            inner = inner.value
        if node.attr in _DYNAMIC:
            yield module.name, WHOLE
        imported = (local.get(inner.id) or module.imports.get(inner.id)) if isinstance(inner, ast.Name) else None
        owner, name_in_module = self._resolve_import(imported) if imported is not None else ("", "")
        if name_in_module != WHOLE or self._find_module(owner) is None:
            return
        taken.update(map(id, [*chain, inner]))
        for each in reversed(chain):
            if self._find_module(f"{owner}.{each.attr}") is None:
                yield owner, each.attr
                return
            owner = f"{owner}.{each.attr}"
        yield owner, WHOLE

    def _find_name_parts(self, module: ModuleNames, local: dict[str, Part], name: str) -> Iterator[Part]:
        """The (module, name) of a plain name, imports followed; the whole module for ``eval`` and its like."""
        if name in _DYNAMIC:
            yield module.name, WHOLE
        elif name in local:
            yield self._resolve_import(local[name])
        elif name in module.bound or name in module.imports:
            yield module.name, name
        else:
            yield from self._find_imported(module, name)

    def _find_module(self, name: str) -> ModuleNames | None:
        """The names of a module of the project; None outside the project, or for text that is not Python."""
        if name not in self._modules:
            source = self._source(name)
            self._modules[name] = parse_names(name, source[0], is_package=source[1]) if source is not None else None
        return self._modules[name]


def _strip_declaration(node: ast.stmt, module: ModuleNames) -> ast.stmt:
    """The function without the decorators that declare it as an asset: its options are no part of its code."""
    if not isinstance(node, FUNCTIONS):
        return node
    code = [each for each in node.decorator_list if not _declares(each, module)]
    if len(code) == len(node.decorator_list):
        return node
    return type(node)(**{**dict(ast.iter_fields(node)), "decorator_list": code})


def _declares(node: ast.expr, module: ModuleNames) -> bool:
    """Whether a decorator is one of sparkassets' own that declare assets."""
    match node.func if isinstance(node, ast.Call) else node:
        case ast.Name(id=name):
            starred = (("sparkassets", name),) if "sparkassets" in module.stars else ()
            return not DECLARING.isdisjoint((module.imports.get(name, ("", "")), *starred))
        case ast.Attribute(value=ast.Name(id=name), attr=attr):
            owner, name_in_module = module.imports.get(name, ("", ""))
            return name_in_module == WHOLE and (owner, attr) in DECLARING
    return False


def _argument_nodes(top: ast.stmt) -> set[int]:
    """Ids of the nodes in a function's body that name its own arguments, which hide the module's names."""
    if not isinstance(top, FUNCTIONS):
        return set()
    arguments = top.args
    every_argument = [
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        *filter(None, (arguments.vararg, arguments.kwarg)),
    ]
    names = {each.arg for each in every_argument}
    inner = (node for statement in top.body for node in ast.walk(statement))
    return {id(each) for node in inner for each in _nodes_named(node, names)}


def _nodes_named(node: ast.AST, names: set[str]) -> Iterator[ast.AST]:
    """The node if it is one of the names, or an attribute chain that begins with one; else nothing."""
    inner = node
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    if isinstance(inner, ast.Name) and inner.id in names:
        yield node


def _tree_text(node: ast.AST) -> str:
    """The syntax tree as text without docstrings and positions; the same text in every version of Python."""
    parts = []
    for name, value in ast.iter_fields(node):
        if name in ("kind", "type_comment", "type_ignores", "ctx"):  # they do not change what the code does
            continue
        body = _strip_docstring(node, value) if name == "body" and isinstance(value, list) else value
        text = _field_text(body)
        if text:
            parts.append(f"{name}={text}")
    return f"{type(node).__name__}({','.join(parts)})"


def _field_text(value: object) -> str:
    """A field of a syntax node as text; empty for None and empty lists, as newer Pythons add such fields."""
    match value:
        case ast.AST():
            return _tree_text(value)
        case list():
            return f"[{','.join(_field_text(each) or 'None' for each in value)}]" if value else ""
        case None:
            return ""
        case _:
            return f"{type(value).__name__}:{value!r}"


def _strip_docstring(node: ast.AST, body: list[ast.stmt]) -> list[ast.stmt]:
    """The body without its docstring, whose changes are no changes of the code."""
    documented = isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Module)) and body
    if documented and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        return body[1:] if isinstance(body[0].value.value, str) else body
    return body

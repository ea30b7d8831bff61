"""What a function is made of: itself and what it calls in the project's own packages, from their source alone.

A part for each function, class and value of a module that is reached by names. Comments, docstrings, layout and what
is not reached do not count. Where a name is made up as the code runs, all of its module counts.
"""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Final

from sparkassets.core.definitions.definition import digest

Part = tuple[str, str]
"""A module and a name in it; ``*`` is all of the module."""

_DYNAMIC: Final = frozenset({"globals", "eval", "exec", "__import__", "vars", "import_module"})
_WHOLE: Final = "*"
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


class Calls:
    """The parts of functions, with the modules that were read for them.

    Args:
        source: The text of a module by its dotted name, and whether it is a package; None for one of others.
    """

    def __init__(self, source: Callable[[str], tuple[str, bool] | None]) -> None:
        self._source = source
        self._modules: dict[str, _Module | None] = {}

    def of(self, module: str, function: str) -> dict[str, str]:
        """Digests of all that the function is made of, by ``module:name``."""
        parts: dict[str, str] = {}
        seen: set[Part] = set()
        left: list[Part] = [(module, function)]
        while left:
            part = left.pop()
            if part in seen:
                continue
            seen.add(part)
            try:
                told, found = self._part(part)
            except (RecursionError, ValueError):  # nested too deep; a number of more digits than Python writes
                told, found = digest((self._source(part[0]) or ("",))[0]), []
            left += found
            if told:
                parts[":".join(part)] = told
        return parts

    def _part(self, part: Part) -> tuple[str, list[Part]]:
        """A digest of one part, empty for what stands elsewhere, and the parts that it names."""
        name, own = part
        module = self._module(name)
        if module is None:
            return "", []
        if own == _WHOLE:
            return digest(_dump(module.tree)), [*self._named(module, module.tree.body)]
        nodes = module.bound.get(own, [])
        found = [each for each in self._imported(module, own) if self._module(each[0]) is not None]
        outside = () if found else module.imports.get(own, ())
        told = digest(*map(_dump, nodes), *outside) if nodes or outside else ""
        return told, [*found, *self._named(module, nodes)]

    def _imported(self, module: _Module, name: str) -> Iterator[Part]:
        """The part that a name of a module stands for, where it was imported."""
        if name in module.imports:
            yield self._target(module.imports[name])
            return
        for each in module.stars:
            inner = self._module(each)
            if inner is not None and (name in inner.bound or name in inner.imports or inner.stars):
                yield each, name

    def _target(self, found: Part) -> Part:
        """The part that an import means: a name of a module, or all of one that is a module itself."""
        owner, name = found
        if name == _WHOLE:
            return found
        inner = self._module(owner)
        if inner is not None and (name in inner.bound or name in inner.imports):
            return found
        return (f"{owner}.{name}", _WHOLE) if self._module(f"{owner}.{name}") is not None else found

    def _named(self, module: _Module, nodes: list[ast.stmt]) -> Iterator[Part]:
        """The parts that statements of a module name."""
        for top in nodes:
            local = dict(_imports(top, module))
            taken: set[int] = set()
            for node in ast.walk(top):
                if isinstance(node, ast.Attribute) and id(node) not in taken:
                    yield from self._member(module, local, node, taken)
                elif isinstance(node, ast.Name) and id(node) not in taken:
                    yield from self._name(module, local, node.id)

    def _member(self, module: _Module, local: dict[str, Part], node: ast.Attribute, taken: set[int]) -> Iterator[Part]:
        """The part that ``a.b.c`` names, where ``a`` is a module of the project."""
        steps, inner = [node.attr], node.value
        chain: list[ast.AST] = [node]
        while isinstance(inner, ast.Attribute):
            steps.append(inner.attr)
            chain.append(inner)
            inner = inner.value
        if steps[0] in _DYNAMIC:
            yield module.name, _WHOLE
        if not isinstance(inner, ast.Name):
            return
        at = local.get(inner.id) or module.imports.get(inner.id)
        owner, own = self._target(at) if at is not None else ("", "")
        if own != _WHOLE or self._module(owner) is None:
            return
        taken.update(id(each) for each in [*chain, inner])
        for step in reversed(steps):
            if self._module(f"{owner}.{step}") is None:
                yield owner, step
                return
            owner = f"{owner}.{step}"
        yield owner, _WHOLE

    def _name(self, module: _Module, local: dict[str, Part], name: str) -> Iterator[Part]:
        if name in _DYNAMIC:
            yield module.name, _WHOLE
        elif name in local:
            yield self._target(local[name])
        elif name in module.bound or name in module.imports:
            yield module.name, name
        else:
            yield from self._imported(module, name)

    def _module(self, name: str) -> _Module | None:
        if name not in self._modules:
            found = self._source(name)
            self._modules[name] = _parsed(name, *found) if found is not None else None
        return self._modules[name]


class _Module:
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
        """The statements that make what each name stands for, or do something with it as the module is imported."""
        found: dict[str, list[ast.stmt]] = defaultdict(list)
        for node in self.tree.body:
            for name in dict.fromkeys(_touched(node)):
                found[name].append(node)
        return dict(found)

    @cached_property
    def imports(self) -> dict[str, Part]:
        """What names stand for that are imported as the module is."""
        plain = [node for node in self.tree.body if not isinstance(node, (*_FUNCTIONS, ast.ClassDef))]
        return {name: part for node in plain for name, part in _imports(node, self)}

    @cached_property
    def stars(self) -> list[str]:
        """The modules of which all names were imported."""
        found = (node for node in self.tree.body if isinstance(node, ast.ImportFrom))
        return [_absolute(node, self) for node in found if any(each.name == _WHOLE for each in node.names)]


def _parsed(name: str, text: str, is_package: bool) -> _Module | None:  # noqa: FBT001  as the port gives it
    try:
        return _Module(name, ast.parse(text), is_package=is_package)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _touched(node: ast.stmt) -> Iterator[str]:
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
            yield from (each.name for each in inner if isinstance(each, (*_FUNCTIONS, ast.ClassDef)))
            yield from (
                alias.asname or alias.name.partition(".")[0]
                for each in inner
                if isinstance(each, ast.Import | ast.ImportFrom)
                for alias in each.names
            )


def _imports(top: ast.AST, module: _Module) -> Iterator[tuple[str, Part]]:
    """What names stand for that are imported anywhere in a statement."""
    for node in ast.walk(top):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                yield (alias.asname, (alias.name, _WHOLE)) if alias.asname else (first, (first, _WHOLE))
        elif isinstance(node, ast.ImportFrom):
            owner = _absolute(node, module)
            yield from ((alias.asname or alias.name, (owner, alias.name)) for alias in node.names if alias.name != "*")


def _absolute(node: ast.ImportFrom, module: _Module) -> str:
    """The dotted name of the module that is imported from."""
    if not node.level:
        return node.module or ""
    steps = module.name.split(".")
    base = steps[: len(steps) - node.level + module.is_package]
    return ".".join([*base, *filter(None, [node.module])])


def _dump(node: ast.AST) -> str:
    """The syntax tree as text, without docstrings and places, alike in every version of Python."""
    told = []
    for name, value in ast.iter_fields(node):
        if name in ("kind", "type_comment", "type_ignores", "ctx"):
            continue
        body = _undocumented(node, value) if name == "body" and isinstance(value, list) else value
        text = _value(body)
        if text:
            told.append(f"{name}={text}")
    return f"{type(node).__name__}({','.join(told)})"


def _value(value: object) -> str:
    match value:
        case ast.AST():
            return _dump(value)
        case list():
            return f"[{','.join(_value(each) or 'None' for each in value)}]" if value else ""
        case None:
            return ""
        case _:
            return f"{type(value).__name__}:{value!r}"


def _undocumented(node: ast.AST, body: list[ast.stmt]) -> list[ast.stmt]:
    documented = isinstance(node, (*_FUNCTIONS, ast.ClassDef, ast.Module)) and body
    if documented and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        return body[1:] if isinstance(body[0].value.value, str) else body
    return body

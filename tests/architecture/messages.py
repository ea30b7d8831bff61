"""Every text that a user of the package may read, with its place: ``python -m tests.architecture.messages``.

Fields of f-strings appear as ``…``. SQL, patterns and names are left out.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.architecture.measures import source_files

FEWEST_WORDS = 3
_NOT_PROSE = re.compile(r"[A-Z]{3,}.*\b(AS|IN|NOT|FROM|BY|THEN|NULL)\b|\n|\(\?|\\|\||^import |->")
_HINT = re.compile("hint|advice|remed|command", re.IGNORECASE)


class Message(NamedTuple):
    """A text and where it stands; ``kind`` is ``hint`` for remedies and descriptions of keys, else ``sentence``."""

    module: str
    line: int
    kind: str
    text: str


def messages(files: Mapping[str, str]) -> Iterator[Message]:
    """The texts of all modules, in order of module and line."""
    for module, source in sorted(files.items()):
        tree = ast.parse(source)
        hints = {id(node) for each in ast.walk(tree) if _is_hint(each) for node in ast.walk(each)}
        found = [
            Message(module, node.lineno, "hint" if id(node) in hints else "sentence", text)
            for node in _strings(tree)
            if len((text := _text(node)).split()) >= FEWEST_WORDS and not _NOT_PROSE.search(text)
        ]
        yield from sorted(found)


def _is_hint(node: ast.AST) -> bool:
    """Whether the strings in a node say what to do, or describe a key or an option."""
    match node:
        case ast.keyword(arg=str(name)):
            return name in {"hint", "description", "help", "epilog"}
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return _HINT.search(name) is not None
        case ast.FunctionDef(name=name):
            return _HINT.search(name) is not None
    return False


def _strings(tree: ast.AST) -> Iterator[ast.Constant | ast.JoinedStr]:
    """String constants and f-strings, without docstrings and the parts of f-strings."""
    inner: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            inner.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            inner |= {id(each) for each in node.values}
            formats = [each.format_spec for each in node.values if isinstance(each, ast.FormattedValue)]
            inner |= {id(each) for spec in formats if spec is not None for each in ast.walk(spec)}
        if id(node) in inner:
            continue
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            yield node


def _text(node: ast.Constant | ast.JoinedStr) -> str:
    """The text, with ``…`` for each field."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    return "".join(str(each.value) if isinstance(each, ast.Constant) else "…" for each in node.values)


if __name__ == "__main__":
    for message in messages(source_files(Path(__file__).parents[2] / "sparkassets")):
        print(f"{message.module}:{message.line}: {message.kind}: {message.text}")  # noqa: T201

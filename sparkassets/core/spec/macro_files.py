"""Reads the files in ``macros/``: splits them into definitions, and finds the names that each uses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from jinja2 import TemplateSyntaxError, nodes

from sparkassets.core.query_outline import TemplateError
from sparkassets.core.sandbox import FUNCTIONS, environment
from sparkassets.core.spec.macros import MacroDefinition, MacroLibrary
from sparkassets.core.spec.yaml_document import SourceFile
from sparkassets.core.templating import NAMES, Template
from sparkassets.errors import SpecProblem

_OPENS: Final = ("macro", "set")
_ONLY: Final = "a file of macros may hold only {% macro … %} and {% set … %}"


def read_macros(files: Sequence[SourceFile]) -> MacroLibrary:
    """The macros of these files; what is wrong becomes problems, and the rest is read."""
    macros: dict[str, MacroDefinition] = {}
    problems: list[SpecProblem] = []
    for file in files:
        try:
            for found in _split_definitions(file):
                if isinstance(found, SpecProblem):
                    problems.append(found)
                elif refusal := _refuse(found, macros):
                    problems.append(found.file.problem(found.line, found.column, *refusal))
                else:
                    macros[found.name] = found
        except TemplateSyntaxError as error:
            message = f"the file of macros is broken: {(error.message or '').rstrip('.')}"
            problems.append(file.problem(error.lineno, 1, message))
        except TemplateError as error:
            problems.append(file.problem(error.fault.line, error.fault.column, error.fault.message))
    return MacroLibrary(macros, tuple(problems))


def _refuse(macro: MacroDefinition, known: Mapping[str, MacroDefinition]) -> tuple[str] | None:
    """Why a name cannot be defined; None where it can."""
    if macro.name in known:
        other = known[macro.name]
        return (f"{macro.name!r} is defined already, in {other.file.label}:{other.line}",)
    if macro.name in NAMES or macro.name in FUNCTIONS:
        return (f"{macro.name!r} is a name of the run and cannot be set",)
    return None


def _split_definitions(file: SourceFile) -> Iterator[MacroDefinition | SpecProblem]:
    """The definitions of a file, one by one, and problems for what stands between them.

    Raises:
        TemplateSyntaxError: Jinja's; the file is no template.
    """
    # `opened` are the blocks that have no end yet, the innermost last; `start` is where the outermost tag begins
    end, opened, start = 0, list[str](), 0
    tokens = [(kind, text) for _, kind, text in environment().lex(file.text)]
    for index, (kind, text) in enumerate(tokens):
        position = file.text.index(text, end)  # Jinja leaves out the space that a ``-`` takes away
        end = position + len(text)
        if kind == "block_begin":
            start = start if opened else position
            word = _next_word(tokens, index)
            if word.startswith("end") and opened:
                opened.pop()
            elif word in _OPENS or opened:
                opened += [word] if _is_block(word, tokens, index) else []
        elif kind == "block_end" and not opened:
            yield _read_definition(file, file.text[start : position + len(text.rstrip())], *_place(file, start))
        elif not opened and (kind == "variable_begin" or (kind == "data" and text.strip())):
            yield file.problem(*_place(file, position + len(text) - len(text.lstrip())), _ONLY)
    if opened:
        raise TemplateSyntaxError(f"'{opened[0]}' has no end", _place(file, start)[0])


def _place(file: SourceFile, position: int) -> tuple[int, int]:
    """Line and column of a position in a file."""
    return file.text.count("\n", 0, position) + 1, position - file.text.rfind("\n", 0, position)


def _next_word(tokens: Sequence[tuple[str, str]], index: int) -> str:
    """The first word of the block that begins at a token."""
    return next((text for kind, text in tokens[index + 1 :] if kind == "name"), "")


def _is_block(word: str, tokens: Sequence[tuple[str, str]], index: int) -> bool:
    """Whether a tag is closed by another one: all but ``{% set x = … %}``."""
    if word in ("else", "elif", "break", "continue", "do"):
        return False
    if word != "set":
        return True
    for kind, text in tokens[index + 1 :]:
        if kind == "block_end":
            return True
        if kind == "operator" and text == "=":
            return False
    return True


def _read_definition(file: SourceFile, written: str, line: int, column: int) -> MacroDefinition | SpecProblem:
    """The definition that stands at a place of a file; the ``-`` at its ends are gone: nothing stands around it."""
    text = re.sub(r"-%\}$", "%}", re.sub(r"^\{%-", "{%", written))
    template = Template.parse(text)
    first = template.tree.body[0] if template.tree.body else None
    match first:
        case nodes.Macro(name=name) | nodes.Assign(target=nodes.Name(name=name)):
            return MacroDefinition(name, text, file, line, column, frozenset(template.outside_names))
        case nodes.AssignBlock(target=nodes.Name(name=name)):
            return MacroDefinition(name, text, file, line, column, frozenset(template.outside_names))
    return file.problem(line, column, _ONLY)

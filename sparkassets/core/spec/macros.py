"""Macros and constants that the SQL of all assets shares, from the files in ``macros/``.

A file holds definitions alone: ``{% macro name(…) %}…{% endmacro %}`` and ``{% set name = … %}``. Those that a template
uses, directly or through others, are put before its text, as if its author had written them there. They print nothing,
so that the lines of the query stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from sparkassets.core.definitions.definition import digest
from sparkassets.core.query_text import normal_form
from sparkassets.core.spec.yaml_document import SourceFile
from sparkassets.errors import SpecProblem, TextFault
from sparkassets.frozen import frozen

_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_BREAK: Final = "{#\n#}"
"""A comment of Jinja that ends a line and prints nothing."""


@frozen
class MacroDefinition:
    """One macro or constant.

    Attributes:
        text: Its definition, from ``{%`` to ``%}``.
        line, column: Where that begins in its file, counted from 1.
        uses: The names that it may take from others.
    """

    name: str
    text: str
    file: SourceFile
    line: int
    column: int
    uses: frozenset[str]


@frozen
class MacroPrefix:
    """The macros that one template uses, in the order in which they are defined before its text."""

    macros: tuple[MacroDefinition, ...] = ()

    @property
    def text(self) -> str:
        """Their definitions, which print nothing; what follows them begins on a line of its own."""
        return "".join(f"{each.text}{_BREAK}" for each in self.macros)

    @property
    def parts(self) -> dict[str, str]:
        """Digests by name, for the definition of the asset."""
        return {f"macro {each.name}": digest(normal_form(each.text)) for each in self.macros}

    def problem(self, fault: TextFault) -> SpecProblem:
        """A fault in one of them at its place; its line counts back from 0, the line before the template's own."""
        # `before` is the length of what stands before a macro on its first line: the end of the break
        line, before = fault.line + self.text.count("\n"), 0
        for macro in self.macros:
            lines = macro.text.count("\n") + 1
            if line <= lines:
                column = fault.column + (macro.column - 1 - before if line == 1 else 0)
                place = (macro.line + line - 1, max(1, column))
                return macro.file.problem(*place, fault.message, hint=fault.hint, width=fault.width)
            line, before = line - lines, len(_BREAK.rpartition("\n")[2])
        last = self.macros[-1]
        return last.file.problem(last.line, last.column, fault.message, hint=fault.hint)


@dataclass(frozen=True)
class MacroLibrary:
    """All macros of a project.

    Attributes:
        macros: By name, in order of files.
        problems: What is wrong with the files.
    """

    macros: Mapping[str, MacroDefinition] = field(default_factory=dict)
    problems: tuple[SpecProblem, ...] = ()

    def find_prefix(self, text: str) -> MacroPrefix:
        """The macros that a template uses, directly or through others; none that it defines itself.

        Raises:
            TemplateError: The text is no template.
        """
        if not self.macros or self.macros.keys().isdisjoint(_WORD.findall(text)):
            return MacroPrefix()
        from sparkassets.core.templating import Template  # Jinja is for texts that use some

        front = Template.parse(text).outside_names & self.macros.keys()
        used = set[str]()
        while front:
            used |= front
            front = frozenset(name for each in front for name in self.macros[each].uses & self.macros.keys()) - used
        return MacroPrefix(tuple(self._sort(used)))

    def _sort(self, names: Iterable[str]) -> list[MacroDefinition]:
        """Constants after what they are made of, as Jinja evaluates them at once; else in order of files."""
        ordered: dict[str, MacroDefinition] = {}

        def add(name: str, within: frozenset[str]) -> None:  # `within` ends circles of macros that call each other
            for used in sorted(self.macros[name].uses & self.macros.keys() - within):
                add(used, within | {used})
            ordered.setdefault(name, self.macros[name])

        wanted = set(names)
        for name in self.macros:
            if name in wanted:
                add(name, frozenset({name}))
        return [*ordered.values()]

"""One YAML document: its data, and the position of every part for messages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from sparkassets.core.entry_points import RegisteredError
from sparkassets.core.redaction import mask_with_stars, redact
from sparkassets.core.spec.yaml_text import split_lines
from sparkassets.errors import MOST_PROBLEMS, FileLocation, SpecError, SpecProblem
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from yaml.error import Mark

KeyPath = tuple[str | int, ...]

_MOST_MESSAGE_CHARACTERS: Final = 2_000
"""Characters of a message, which repeats what is wrong; nobody reads more."""

_TRIPLE_QUOTES: Final = ('"""', "'''")
"""The quotes of Python's texts that go over lines."""

EXCERPT: Final = 160
"""Characters of a line that are shown; of a longer one those around the column."""


@dataclass(frozen=True)
class SourceFile:
    """A file that was read.

    Attributes:
        label: Its path as people know it.
        path: Its path from the project's folder, with ``/``.
    """

    label: str
    path: str
    text: str

    @cached_property
    def lines(self) -> list[str]:
        """Its lines, as YAML and SQL count them."""
        return split_lines(self.text)

    def problem(
        self, line: int, column: int, message: str, *, hint: str | None = None, width: int = 1, secret: bool = False
    ) -> SpecProblem:
        """A problem at a place of this file; line and column count from 1; what is secret is not shown."""
        message = message if len(message) <= _MOST_MESSAGE_CHARACTERS else f"{message[: _MOST_MESSAGE_CHARACTERS - 1]}…"
        place, width = FileLocation(self.label, line, column), max(1, min(width, EXCERPT))
        if not 0 < line <= len(self.lines) or secret:
            return SpecProblem(place, message, hint, None, width)
        cut = max(0, column - 1 - EXCERPT // 2) if len(self.lines[line - 1]) > EXCERPT else 0
        return SpecProblem(place, message, hint, self._excerpt(line)[cut : cut + EXCERPT], width, cut)

    def _excerpt(self, line: int) -> str:
        """A line as it may be shown: credentials as stars, a tab as a blank, so that columns still count."""
        if line not in self._excerpts:
            self._excerpts[line] = mask_with_stars(self.lines[line - 1]).replace("\t", " ")
        return self._excerpts[line]

    @cached_property
    def _excerpts(self) -> dict[int, str]:
        return {}


@dataclass
class YamlDocument:
    """A document whose problems are collected while it is read and judged.

    Attributes:
        data: The document as plain values; filled by `sparkassets.core.spec.yaml_values.read_values`.
        problems: In the order of discovery.
        warnings: What is probably not meant, in the order of discovery; the project is valid all the same.
        failed: Top-level keys whose value cannot be relied on.
        variables: Of the environment, those whose values are in the data; messages show their names instead.
    """

    file: SourceFile
    root: MappingNode
    data: dict[str, object] = field(default_factory=dict)
    problems: list[SpecProblem] = field(default_factory=list)
    warnings: list[SpecProblem] = field(default_factory=list)
    failed: set[str] = field(default_factory=set)
    variables: dict[str, str] = field(default_factory=dict)

    def add_node_problem(self, node: Node, message: str, *, hint: str | None = None, secret: bool = False) -> None:
        """Adds a problem with the text of a node, which is not shown when it is secret."""
        self.problems.append(self.build_node_problem(node, message, hint=hint, secret=secret))

    def build_node_problem(
        self, node: Node, message: str, *, hint: str | None = None, secret: bool = False
    ) -> SpecProblem:
        """A problem at a node."""
        start, end = node.start_mark, node.end_mark
        width = end.column - start.column if end.line == start.line else self._width_from(start)
        return self._build_problem(start.line + 1, start.column + 1, message, hint=hint, width=width, secret=secret)

    def add_text_problem(
        self, node: ScalarNode, position: int, message: str, *, width: int, hint: str | None = None
    ) -> None:
        """Adds a problem inside a scalar's text, ``position`` characters from its beginning."""
        line, column = self.place(node, position)
        self.problems.append(self._build_problem(line, column, message, hint=hint, width=width))

    def _build_problem(
        self, line: int, column: int, message: str, *, hint: str | None, width: int, secret: bool = False
    ) -> SpecProblem:
        """A problem at a place, without the values of variables."""
        message = redact(message, variables=self.variables)
        hint = hint and redact(hint, variables=self.variables)
        return self.file.problem(line, column, message, hint=hint, width=width, secret=secret)

    def place(self, node: ScalarNode, position: int = 0) -> tuple[int, int]:
        """Line and column, from 1, of a position in a scalar's text; of the scalar where the position is uncertain.

        That is so wherever the file has not the same characters, such as in a text with escapes or folded lines.
        """
        mark: Mark = node.start_mark
        if node.style in ("|", ">"):  # a block begins on the line after its mark, each line indented by the same
            before = node.value[:position]
            line_index = mark.line + 1 + before.count("\n")
            file_line = self.file.lines[line_index] if line_index < len(self.file.lines) else ""
            value_line = node.value.split("\n")[before.count("\n")]
            if file_line.endswith(value_line):
                return line_index + 1, len(file_line) - len(value_line) + position - (before.rfind("\n") + 1) + 1
            return mark.line + 1, mark.column + 1
        if node.style in _TRIPLE_QUOTES:
            return self._place_in_triple_quotes(node, position)
        begin = mark.column + (1 if node.style in ("'", '"') else 0)
        is_verbatim = self.file.lines[mark.line].startswith(node.value, begin)
        return mark.line + 1, begin + position + 1 if is_verbatim else mark.column + 1

    def _place_in_triple_quotes(self, node: ScalarNode, position: int) -> tuple[int, int]:
        """The place in a text of Python that goes over lines; only its first line begins after the quotes."""
        mark, before = node.start_mark, node.value[:position]
        line_index = before.count("\n")
        begin = mark.column + len(node.style) if line_index == 0 else 0
        line = mark.line + line_index
        file_line = self.file.lines[line] if line < len(self.file.lines) else ""
        if file_line.startswith(node.value.split("\n")[line_index], begin):
            return line + 1, begin + position - (before.rfind("\n") + 1) + 1
        return mark.line + 1, mark.column + 1

    def _width_from(self, mark: Mark) -> int:
        return len(self.file.lines[mark.line].rstrip()) - mark.column

    def find(self, path: KeyPath) -> tuple[Node | None, Node]:
        """The key's node and the value's node at ``path``; the parent's where it is missing.

        There is no key's node for the root and for items of lists.
        """
        key: Node | None = None
        node: Node = self.root
        for step in path:
            if isinstance(node, MappingNode):
                pair_found = next((pair for pair in node.value if pair[0].value == step), None)
                if pair_found:
                    key, node = pair_found
            elif isinstance(node, SequenceNode) and isinstance(step, int) and step < len(node.value):
                key, node = None, node.value[step]
        return key, node


@frozen
class DocumentPlace:
    """A place in a document by its path of keys and indices; ``at / key`` goes deeper."""

    document: YamlDocument
    path: KeyPath = ()

    def __truediv__(self, step: str | int) -> DocumentPlace:
        return DocumentPlace(self.document, (*self.path, step))

    @property
    def location(self) -> FileLocation:
        """Where the value stands."""
        mark = self.document.find(self.path)[1].start_mark
        return FileLocation(self.document.file.label, mark.line + 1, mark.column + 1)

    @property
    def key_location(self) -> FileLocation:
        """Where the key stands; an item of a list has none and is its own."""
        key, value = self.document.find(self.path)
        mark = (key or value).start_mark
        return FileLocation(self.document.file.label, mark.line + 1, mark.column + 1)

    @property
    def value(self) -> object:
        """The document's value here, as written; None where there is none."""
        value: object = self.document.data
        for step in self.path:
            if isinstance(value, list):
                value = value[step] if isinstance(step, int) and step < len(value) else None
            else:
                value = value.get(step) if isinstance(value, dict) else None
        return value

    @property
    def exists(self) -> bool:
        """Whether the document holds this path of keys."""
        value: object = self.document.data
        for step in self.path:
            if not isinstance(value, dict) or step not in value:
                return False
            value = value[step]
        return True

    def add_problem(self, message: str, *, hint: str | None = None, secret: bool = False) -> None:
        """Adds a problem that the value has, whose text may be secret; the top-level key is not relied on any more."""
        self._mark_unreliable()
        self.document.add_node_problem(self.document.find(self.path)[1], message, hint=hint, secret=secret)

    def add_key_problem(self, message: str, *, hint: str | None = None) -> None:
        """Adds a problem that the key has."""
        self._mark_unreliable()
        key, value = self.document.find(self.path)
        self.document.add_node_problem(key or value, message, hint=hint)

    def add_refusal(self, error: RegisteredError, *, name: str) -> None:
        """Adds what is wrong with what a package registered: at the parameter at fault, else at the key ``name``."""
        place = self
        for key in error.path or (name,):
            place = place / key
        (place.add_key_problem if error.at_key else place.add_problem)(str(error.args[0]), hint=error.hint)

    def add_text_problem(self, position: int, message: str, *, width: int, hint: str | None = None) -> None:
        """Adds a problem at a position inside the value's text."""
        self._mark_unreliable()
        node = self.document.find(self.path)[1]
        if isinstance(node, ScalarNode) and width:
            self.document.add_text_problem(node, position, message, width=width, hint=hint)
        else:
            self.document.add_node_problem(node, message, hint=hint)

    def add_word_problem(self, word: str, message: str, *, hint: str | None = None) -> None:
        """Adds a problem at the first text below the value that holds a word, at that word."""
        self._mark_unreliable()
        self.document.problems.append(self._build_word_problem(word, message, hint))

    def add_warning(self, message: str, *, hint: str | None = None, word: str | None = None) -> None:
        """Adds a warning about the value, or about the first text below it that holds ``word``."""
        node = self.document.find(self.path)[1]
        warning = (
            self._build_word_problem(word, message, hint)
            if word
            else self.document.build_node_problem(node, message, hint=hint)
        )
        self.document.warnings.append(warning)

    def _build_word_problem(self, word: str, message: str, hint: str | None) -> SpecProblem:
        """The problem at the first text that holds the word, as a whole word; at the value where none does."""
        pattern = re.compile(rf"(?<![A-Za-z0-9_]){re.escape(word)}(?![A-Za-z0-9_])")
        value = self.document.find(self.path)[1]
        for node in _iterate_scalars(value):
            if match := pattern.search(node.value):
                line, column = self.document.place(node, match.start())
                return self.document.file.problem(line, column, message, hint=hint, width=len(word))
        return self.document.build_node_problem(value, message, hint=hint)

    def _mark_unreliable(self) -> None:
        if self.path:
            self.document.failed.add(str(self.path[0]))


def _iterate_scalars(node: Node) -> Iterator[ScalarNode]:
    """The scalar nodes that are values, in order of the text."""
    if isinstance(node, ScalarNode):
        yield node
    elif isinstance(node, SequenceNode):
        for item in node.value:
            yield from _iterate_scalars(item)
    elif isinstance(node, MappingNode):
        for _, value in node.value:
            yield from _iterate_scalars(value)


def sort_problems(problems: Sequence[SpecProblem]) -> list[SpecProblem]:
    """By place, each once."""
    return sorted(dict.fromkeys(problems), key=lambda each: (each.location, each.message))


def too_many_problems(problems: Sequence[SpecProblem], at: YamlDocument) -> SpecError:
    """The first of `MOST_PROBLEMS` in order of place, and the document that is the first not to be checked."""
    mark = at.root.start_mark
    message = f"stopped after {MOST_PROBLEMS:,} problems; the rest is not checked"
    stop = at.file.problem(mark.line + 1, mark.column + 1, message)
    return SpecError([*sort_problems(problems)[: MOST_PROBLEMS - 1], stop])

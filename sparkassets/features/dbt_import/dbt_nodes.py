"""A dbt project as values, the same from its files and from its manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from sparkassets.frozen import frozen

NodeKind = Literal["model", "snapshot", "seed", "source"]


@frozen
class ImportNote:
    """Something that was not carried over, or not as it was.

    Attributes:
        file: Path in the dbt project.
        line: Counted from 1; 0 where none is known.
        subject: What it is about, such as ``metric revenue``.
        reason: Why it was not carried over.
        remedy: What to write by hand; empty where nothing is to be done.
    """

    file: str
    line: int
    subject: str
    reason: str
    remedy: str = ""

    @property
    def place(self) -> str:
        """File and line as editors open them."""
        return f"{self.file}:{self.line}" if self.line else self.file


@frozen
class DbtTest:
    """A test of a model, a seed or a source, or one that is a query of its own.

    Attributes:
        name: As dbt has it, with its package: ``unique``, ``dbt_utils.accepted_range``.
        column: The column that it stands at; empty for one of the whole node.
        arguments: Its arguments, without column and configuration.
        config: Its configuration, such as ``severity`` and ``where``.
    """

    name: str
    column: str
    arguments: Mapping[str, Any]
    config: Mapping[str, Any]
    file: str
    line: int


@frozen
class DbtColumn:
    """A described column; ``type`` is empty where none is declared."""

    description: str
    type: str
    is_private: bool


@frozen
class DbtNode:
    """A model, snapshot, seed or source.

    Attributes:
        name: Its name; of a source with that of its group, ``shop.orders``.
        file: Path in the dbt project.
        line: Of its declaration or its first line.
        text: The SQL with Jinja; empty for seeds and sources.
        compiled: The SQL that dbt itself made of it; empty where there is none.
        config: Its whole configuration, also tags and meta.
        relation: Database, schema and name of its table as far as they are known, outermost first.
        compiled_relation: The quoted name under which compiled SQL reads it; empty without a manifest.
    """

    kind: NodeKind
    name: str
    file: str
    line: int
    text: str = ""
    compiled: str = ""
    description: str = ""
    config: Mapping[str, Any] = {}
    columns: Mapping[str, DbtColumn] = {}
    tests: Sequence[DbtTest] = ()
    relation: tuple[str, ...] = ()
    compiled_relation: str = ""


@frozen
class DbtMacro:
    """A macro with the text of its definition.

    Attributes:
        package: The package that defines it.
    """

    package: str
    name: str
    text: str


@frozen
class DbtProject:
    """All of a project that may be carried over.

    Attributes:
        dialect: The SQL of its adapter, as sqlglot names it.
        variables: Values of ``var``.
        owners: The owner of each group.
        macros: Those of the project and of its installed packages.
        query_tests: Tests that are queries of their own.
        notes: What was met on the way and cannot be carried over.
    """

    name: str
    dialect: str
    variables: Mapping[str, Any]
    nodes: Sequence[DbtNode]
    owners: Mapping[str, str]
    macros: Sequence[DbtMacro]
    query_tests: Sequence[DbtTest]
    notes: Sequence[ImportNote]

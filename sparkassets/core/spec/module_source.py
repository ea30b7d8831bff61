"""What is known of a module of Python from its source, without importing it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from sparkassets.core.spec.yaml_document import SourceFile
from sparkassets.frozen import frozen


@frozen
class FunctionArgument:
    """One argument of a function; line and column count from 1.

    Attributes:
        collects: Whether it is ``*args``.
        row_library: The library whose rows its annotation asks for; None asks for Spark's.
    """

    name: str
    line: int
    column: int
    collects: bool = False
    row_library: str | None = None


@frozen
class ContextAccess:
    """A place where a function uses its ``context``; line and column count from 1.

    Attributes:
        path: The attributes and keys from ``context`` on; None for an index, or a key that is only known at run time.
    """

    path: tuple[str | None, ...]
    line: int
    column: int


@frozen
class ModuleFunction:
    """A function at the top level of a module.

    Attributes:
        context_accesses: The places where it uses its ``context``.
        parts: Digests of its code and of all it calls in the project's packages, by name.
        file: The file that it stands in; None if that is the file of its module.
    """

    line: int
    column: int
    arguments: tuple[FunctionArgument, ...]
    context_accesses: tuple[ContextAccess, ...] = ()
    is_async: bool = False
    parts: Mapping[str, str] = field(default_factory=dict)
    file: SourceFile | None = None


@frozen
class ModuleSource:
    """A Python module, read from its source and not imported.

    Attributes:
        search_path: Absolute folder that must be on ``sys.path`` to import it.
        syntax_fault: Line, column and message where the source is no Python; else None.
        is_readable: Whether its functions are known; if not, whoever read it has reported why.
    """

    file: SourceFile
    search_path: str
    functions: Mapping[str, ModuleFunction] = field(default_factory=dict)
    syntax_fault: tuple[int, int, str] | None = None
    is_readable: bool = True

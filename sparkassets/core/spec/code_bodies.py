"""The code that an asset runs: a template of SQL, or a function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from sparkassets.errors import FileLocation
from sparkassets.frozen import frozen


@frozen
class SqlBody:
    """A Jinja template that renders one SELECT.

    Attributes:
        template: Its text.
        location: Where that begins.
        macros: Definitions of the macros that it uses, which print nothing.
    """

    template: str
    location: FileLocation
    macros: str = ""

    @property
    def text(self) -> str:
        """The template with its macros, as it is rendered."""
        return self.macros + self.template


@frozen
class PythonBody:
    """A function ``module:name`` of an allowed package, found without importing it.

    Attributes:
        arguments: Its argument names, in order.
        search_path: Absolute folder that must be on ``sys.path`` to import the module.
        takes: By argument, the library whose rows it asks for by its annotation; all others are given Spark's.
    """

    module: str
    function: str
    arguments: tuple[str, ...]
    search_path: str
    location: FileLocation
    takes: Mapping[str, str] = field(default_factory=dict)

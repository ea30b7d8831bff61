"""Stands in for pyspark, so that modules can be imported without a session to find the assets they declare.

Planning needs no Spark, and a module that declares assets mostly names `pyspark` for annotations and inside functions.
Where it is installed it is imported as it is, unless a module needs a session at its top level, as
``@pandas_udf("long")`` does: then all of its names are placeholders, too.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final

_PACKAGES: Final = ("pyspark", "delta")


class _SparkPlaceholder:
    """Any name of a package that is not there; calls, attributes and items of it are placeholders, too."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401, ARG002  whatever it is given
        return self

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: object) -> Any:  # noqa: ANN401
        return self

    def __or__(self, other: object) -> Any:  # noqa: ANN401
        return self

    __ror__ = __or__

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return ()


class _PlaceholderFinder(MetaPathFinder, Loader):
    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None,  # noqa: ARG002  as importlib calls it
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """The spec of a module that is not installed."""
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in _PACKAGES else None

    def exec_module(self, module: ModuleType) -> None:
        """Gives the module every name, each a placeholder."""
        module.__dict__["__getattr__"] = _name
        module.__dict__["__all__"] = []


def _name(name: str) -> Any:  # noqa: ANN401
    if name.startswith("__"):
        raise AttributeError(name)
    return _SparkPlaceholder()


def replace_spark(*, always: bool) -> None:
    """Makes ``import pyspark`` and ``import delta`` succeed in this process.

    Args:
        always: Whether installed packages are replaced, too.
    """
    if always or find_spec(_PACKAGES[0]) is None:
        sys.meta_path.insert(0, _PlaceholderFinder())

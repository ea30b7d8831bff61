"""What installed packages register: timetables and checks."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from sparkassets.core.entry_points import EntryPointRegistry, Factory
from sparkassets.project.compile_trace import CompileTrace


class InstalledFactories(Mapping[str, Factory]):
    """What makes each registered thing of a kind, by name; looked for, and imported, only where a project names one."""

    def __init__(self, registry: EntryPointRegistry, trace: CompileTrace) -> None:
        self._registry = registry
        self._trace = trace

    def __getitem__(self, name: str) -> Factory:
        """The factory.

        Raises:
            KeyError: There is none of that name.
            InputError: It cannot be imported, or several packages registered one.
        """
        noun, raises = self._registry.noun, self._registry.raises
        points = self._points[name]
        if len(points) > 1:
            packages = sorted(point.dist.name for point in points if point.dist)
            raise raises(f"{noun} '{name}' is registered by several packages: {', '.join(packages)}")
        try:
            factory: Any = points[0].load()
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            raise raises(f"{noun} '{name}' ({points[0].value}) cannot be imported: {what}") from error
        self._remember(points[0].module.partition(".")[0])
        if not callable(factory):
            raise raises(f"{noun} '{name}' ({points[0].value}) cannot be called; expected a class or function")
        return factory  # type: ignore[no-any-return]

    def __contains__(self, name: object) -> bool:
        return name in self._points

    def __iter__(self) -> Iterator[str]:
        return iter(self._points)

    def __len__(self) -> int:
        return len(self._points)

    def _remember(self, package: str) -> None:
        """The modules of a package that are loaded: where it is installed as a link, only they tell of a change."""
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if file and (name == package or name.startswith(f"{package}.")):
                self._trace.record_module(file)

    @cached_property
    def _points(self) -> dict[str, list[EntryPoint]]:
        self._trace.record_packages()
        found: dict[str, list[EntryPoint]] = {}
        for point in entry_points(group=self._registry.group):
            found.setdefault(point.name, []).append(point)
        return found

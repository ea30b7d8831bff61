"""Entry points of installed packages: what is registered of a kind, searched and imported only where it is named."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from sparkassets.core.entry_points import PLUGIN_FAILURES, EntryPointRegistry, Factory
from sparkassets.errors import describe_error


class InstalledFactories(Mapping[str, Factory]):
    """The factories that packages register in one entry point group, by name.

    Args:
        registry: Of the group.
        searched: Is called before packages are searched.
        imported: Is called with the file of each module of a package that was imported: where it is installed as a
            link, only they tell of a change.
    """

    def __init__(
        self,
        registry: EntryPointRegistry,
        *,
        searched: Callable[[], None] | None = None,
        imported: Callable[[str], None] | None = None,
    ) -> None:
        self._registry = registry
        self._searched = searched
        self._imported = imported

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
            message = f"{noun} '{name}' is registered by several packages: {', '.join(packages)}"
            raise raises(message, hint="uninstall all but one of them")
        try:
            factory: Any = points[0].load()
        except PLUGIN_FAILURES as error:
            what = describe_error(error)
            hint = f"the installed package '{points[0].dist.name}' registers it" if points[0].dist else None
            raise raises(f"{noun} '{name}' ({points[0].value}) cannot be imported: {what}", hint=hint) from error
        self._report_modules(points[0].module.partition(".")[0])
        if not callable(factory):
            raise raises(f"{noun} '{name}' ({points[0].value}) cannot be called; expected a class or function")
        return factory  # type: ignore[no-any-return]

    def __contains__(self, name: object) -> bool:
        return name in self._points

    def __iter__(self) -> Iterator[str]:
        return iter(self._points)

    def __len__(self) -> int:
        return len(self._points)

    def _report_modules(self, package: str) -> None:
        """Reports the file of each loaded module of the package, as an input of what is compiled with it."""
        for name, module in list(sys.modules.items()) if self._imported else ():
            file = getattr(module, "__file__", None)
            if self._imported and file and (name == package or name.startswith(f"{package}.")):
                self._imported(file)

    @cached_property
    def _points(self) -> dict[str, list[EntryPoint]]:
        """Name to its entry points in this group: several if more than one package registers the name."""
        if self._searched:
            self._searched()
        found: dict[str, list[EntryPoint]] = {}
        for point in entry_points(group=self._registry.group):
            found.setdefault(point.name, []).append(point)
        return found

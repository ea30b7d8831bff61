"""Imports modules of a project's own packages, even if other packages have the same names."""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType


def import_from(module: str, folder: str) -> ModuleType:
    """Imports a module of the package in ``folder``; errors of its code pass through.

    Raises:
        ModuleNotFoundError: It is not there.
    """
    package = module.partition(".")[0]
    if not is_loaded(package, folder):
        _load(package, folder)
    return importlib.import_module(module)


def is_loaded(package: str, folder: str) -> bool:
    """Whether the package that was imported is the one in ``folder``."""
    loaded = sys.modules.get(package)
    if loaded is None:
        return False
    first = next(iter(getattr(loaded, "__path__", ())), None) or loaded.__file__ or ""
    own = Path(folder, package)
    return Path(first).resolve() in (own.resolve(), own.with_suffix(".py").resolve())


def _load(package: str, folder: str) -> None:
    """Loads the package from ``folder`` alone: elsewhere on the path, one with an ``__init__.py`` would hide it.

    Raises:
        ModuleNotFoundError: It is not there.
    """
    if folder in sys.path:
        sys.path.remove(folder)
    sys.path.insert(0, folder)
    for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
        del sys.modules[name]
    importlib.invalidate_caches()
    spec = PathFinder.find_spec(package, [folder])
    if spec is None:
        raise ModuleNotFoundError(f"No module named {package!r} in {folder}", name=package)
    if spec.submodule_search_locations is not None:
        spec.submodule_search_locations = list(spec.submodule_search_locations)  # else it follows `sys.path`
    sys.modules[package] = module_from_spec(spec)
    if spec.loader is None:
        return
    try:
        spec.loader.exec_module(sys.modules[package])
    except BaseException:
        del sys.modules[package]
        raise

"""Imports modules of a project's own packages, even if other packages have the same names."""

from __future__ import annotations

import importlib
import sys
import zlib
from collections.abc import Iterator
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Final

_COMPILED: Final = "__pycache__"
_IMPORTED: Final[dict[str, tuple[str, int]]] = {}
"""For each imported package its folder, and a checksum of its files then."""


def import_from(module: str, folder: str) -> ModuleType:
    """Imports a module of the package in ``folder``; errors of its code pass through.

    Raises:
        ModuleNotFoundError: It is not there.
    """
    package = module.partition(".")[0]
    if not is_loaded(package, folder):
        _load(package, folder)
    if package not in _IMPORTED:
        _IMPORTED[package] = (folder, _compute_checksum(package, folder))
    return importlib.import_module(module)


def forget_changed_packages() -> None:
    """Has packages imported again, when they are next needed, whose files are not as they were, or not readable."""
    for package, (folder, checksum) in list(_IMPORTED.items()):
        try:
            is_same = _compute_checksum(package, folder) == checksum
        except OSError:
            is_same = False
        if not is_same:
            _forget(package)


def imported_state(package: str, folder: str) -> int:
    """A checksum of the files of the package in ``folder`` as they were when it was imported."""
    if package not in _IMPORTED:  # a project was loaded meanwhile
        return _compute_checksum(package, folder)
    return _IMPORTED[package][1]


def iterate_files(package: str, folder: Path) -> Iterator[Path]:
    """The files of the package, and its folders: in a zip, Python finds a package without ``__init__.py`` by these.

    A package that is one module has one file.
    """
    module = folder / f"{package}.py"
    if module.is_file() and not (folder / package).is_dir():
        yield module
        return
    yield folder / package
    yield from (each for each in (folder / package).rglob("*") if _COMPILED not in each.parts)


def _compute_checksum(package: str, folder: str) -> int:
    """A checksum of the files' paths, sizes and times, which names a state of the package."""
    entries = [
        (str(each), *((each.stat().st_size, each.stat().st_mtime_ns) if each.is_file() else ()))
        for each in sorted(iterate_files(package, Path(folder)))
    ]
    return zlib.crc32(repr(entries).encode())


def is_loaded(package: str, folder: str) -> bool:
    """Whether the package that was imported is the one in ``folder``, not another project's of the same name."""
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
    _forget(package)
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


def _forget(package: str) -> None:
    """Makes the package and its modules unknown, so that the next import reads their files."""
    _IMPORTED.pop(package, None)
    for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
        del sys.modules[name]

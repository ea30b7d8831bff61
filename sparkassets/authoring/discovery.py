"""The child process that imports an author's modules, without Spark, and reports their declarations as JSON.

Stands in for pyspark, so that modules can be imported without a session to find the assets they declare.

Planning needs no Spark, and a module that declares assets mostly names `pyspark` for annotations and inside functions.
Where it is installed it is imported as it is, unless a module needs a session at its top level, as
``@pandas_udf("long")`` does: then all of its names are placeholders, too.
"""

from __future__ import annotations

import json
import os
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any, Final

from sparkassets.authoring.declarations import AssetDeclaration, collect_declarations
from sparkassets.authoring.packages import import_from

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
    """Finds and loads the packages of Spark, and all modules in them, as modules full of placeholders."""

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


_STARTERS: Final = ("java", "spark-submit", "spark-class")
"""Programs that start a JVM."""
_LISTING: Final = ("os.listdir", "os.scandir")
_MOST_CHARACTERS: Final = 500
"""Longest text of an error that is reported, in characters."""


def main() -> None:
    """Reads a request as JSON from stdin, writes the result to the file that it names, and ends the process."""
    wanted = json.load(sys.stdin)
    replace_spark(always=wanted["without_spark"])
    result = _import_all([tuple(each) for each in wanted["modules"]])
    part = Path(f"{wanted['result']}.part")
    part.write_text(json.dumps(result), encoding="utf-8")
    part.rename(wanted["result"])  # the parent process takes a result that exists for a whole one
    os._exit(0)  # does not wait for threads that a module started


def _import_all(modules: list[tuple[str, str]]) -> dict[str, Any]:
    """The fields of an `ImportResult`: declarations, failed imports, and the files, folders and variables read.

    ``modules`` are dotted names, each with the folder to import it from.
    """
    seen = _ImportObserver({folder for _, folder in modules})
    failures = []
    with collect_declarations() as found:
        for module, folder in modules:
            try:
                import_from(module, folder)
            except BaseException as error:  # noqa: BLE001  whatever an author's module raises
                failures.append(_failure(error, module, seen))
    return {
        "assets": [_describe_declaration(each) for each in found if each.place is not None],
        "failures": failures,
        "variables": sorted(seen.variables),
        "files": sorted(seen.all_files()),
        "folders": sorted(seen.folders_listed),
        "modules": sorted(seen.modules_elsewhere()),
        "installed": any(_is_installed(file) for file in seen.all_modules()),
    }


def _describe_declaration(each: AssetDeclaration) -> dict[str, Any]:
    """A declaration as JSON, with its function below all decorators."""
    function: Any = each.function
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    described: dict[str, Any] = {"name": each.name, "keys": each.keys, "function": None, "problems": each.problems}
    described["is_reference"] = each.is_reference
    if each.place is not None:
        described |= {"module": each.place.module, "file": each.place.file, "positions": each.place.positions}
    if isinstance(code, CodeType):
        own = {"module": function.__module__, "name": function.__qualname__}
        described["function"] = {**own, "file": code.co_filename, "line": code.co_firstlineno}
    elif function is not None:
        described["function"] = {"module": "", "name": repr(function)[:_MOST_CHARACTERS], "file": "", "line": 0}
    return described


def _failure(error: BaseException, module: str, seen: _ImportObserver) -> dict[str, Any]:
    """A failed import: the error, and the last line of the author's code in its traceback."""
    # a syntax error has no frame of its own: it names its place itself
    place = (error.filename, error.lineno or 1) if isinstance(error, SyntaxError) and error.filename else None
    for step in traceback.extract_tb(error.__traceback__):
        if seen.is_own(step.filename):
            place = step.filename, step.lineno or 1
    file, line = place or (None, None)
    lacks = error.name if isinstance(error, ModuleNotFoundError) else None
    return {
        "module": module,
        "file": file,
        "line": line,
        "error": _first_line(error)[:_MOST_CHARACTERS],
        "lacks": lacks,
    }


def _first_line(error: BaseException) -> str:
    """The kind of an error and the first line of its text; the kind alone if it has none."""
    try:
        text = str(error)
    except BaseException:  # noqa: BLE001  the author's own `__str__`
        text = ""
    lines = text.strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


class _ImportObserver:
    """Records the files, folders and variables that modules read during import, as they may change declarations.

    Attributes:
        folders: Folders that hold the project's packages.
        known: Modules that were loaded before.
        variables: Names of environment variables that were read.
        folders_listed: Folders of the project that were listed.
    """

    def __init__(self, folders: set[str]) -> None:
        self.folders = tuple(sorted({os.path.realpath(each) + os.sep for each in folders}))
        self.known = frozenset(sys.modules)
        self.variables: set[str] = set()
        self.folders_listed: set[str] = set()
        self._opened: set[str] = set()
        recording = type("Recording", (type(os.environ),), {"__getitem__": self._recording_lookup})
        os.environ.__class__ = recording
        sys.addaudithook(self._audit)

    def is_own(self, file: str) -> bool:
        """Whether a file lies in the project's packages, or beside them."""
        return "site-packages" not in file and os.path.realpath(file).startswith(self.folders)

    @property
    def _recording_lookup(self) -> Callable[[Any, str], str]:
        """A lookup of a variable that records names which the author's code reads."""
        plain = type(os.environ).__getitem__

        def record_variable(environment: Any, name: str) -> str:  # noqa: ANN401  a class that `os` does not name
            frame = sys._getframe(1)  # noqa: SLF001  there is no public way to know the caller
            # os.getenv and environ.get come in between
            while frame.f_back is not None and frame.f_globals.get("__name__") in ("os", "_collections_abc"):
                frame = frame.f_back
            if self.is_own(frame.f_code.co_filename):
                self.variables.add(name)
            return plain(environment, name)

        return record_variable

    def all_files(self) -> Iterator[str]:
        """Files of the project that were read, and those of its imported modules."""
        yield from (each for each in self._opened | self.all_modules(new=False) if self.is_own(each))

    def all_modules(self, *, new: bool = True) -> set[str]:
        """Files of modules that were imported since the start; of all loaded modules without ``new``."""
        modules = (each for name, each in list(sys.modules.items()) if not new or name not in self.known)
        return {str(file) for each in modules if (file := getattr(each, "__file__", None))}

    def modules_elsewhere(self) -> Iterator[str]:
        """Files of imported modules that are neither the project's, nor installed, nor Python's own."""
        own = tuple(os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib"))
        for file in self.all_modules():
            path = os.path.realpath(file)
            if not (self.is_own(path) or _is_installed(path) or path.startswith(own)):
                yield path

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        """Python's audit hook: records files opened and folders listed, and refuses the start of a JVM.

        What the import system itself lists is no input of a declaration.
        """
        if event == "open":
            path, mode, *_ = args
            if isinstance(path, str) and isinstance(mode, str) and "r" in mode:
                self._opened.add(os.path.realpath(path))
        elif event in _LISTING and not isinstance(args[0], int) and not _is_import(sys._getframe(1)):  # noqa: SLF001  as above
            folder = os.fsdecode(os.path.realpath(args[0] or "."))
            if self.is_own(folder):
                self.folders_listed.add(folder)
        elif event == "subprocess.Popen" and _starts_jvm(args[0], args[1]):
            raise RuntimeError(
                "the module starts Spark on import; use the argument `spark` of the asset's function instead"
            )


def _is_installed(file: str) -> bool:
    """Whether a module belongs to an installed package, which changes when the package is reinstalled."""
    return "site-packages" in file or "dist-packages" in file


def _is_import(frame: FrameType) -> bool:
    """Whether the import system lists the folder to find modules."""
    return "importlib" in frame.f_code.co_filename


def _starts_jvm(program: object, args: object) -> bool:
    given = [program, *(args[:1] if isinstance(args, list | tuple) else [args])]
    return any(Path(str(each)).name.startswith(_STARTERS) for each in given if each)

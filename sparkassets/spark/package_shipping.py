"""Ships the project's package to Spark's workers, so that functions find their imports there."""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sparkassets.spark.missing_features import ignore_lacking
from sparkassets.spark.own_session import context_of

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_SHIPPING = threading.Lock()
_SHIPPED: set[tuple[str, str]] = set()
_COMPILED = "__pycache__"


def ship_package(session: SparkSession, package: str, *, folder: str) -> None:
    """Gives the workers the package (or single module) as it is in ``folder`` now; once for each state of its files.

    Functions themselves are pickled by value; this serves the imports that they make when they run.
    """
    files = sorted(_files(package, Path(folder)))
    name, context = f"{package}-{_state(files):08x}.zip", context_of(session)
    with _SHIPPING:
        if (_application(session), name) not in _SHIPPED:
            archive = _folder() / name
            if not archive.exists():
                _pack(archive, files, root=Path(folder))
            if context is not None:
                context.addPyFile(str(archive))
            else:
                with ignore_lacking():  # what a function defined here calls of the package goes with it all the same
                    session.addArtifacts(str(archive), pyfile=True)
            _SHIPPED.add((_application(session), name))
        if context is not None:
            _choose(context, package, name)


def _choose(context: SparkContext, package: str, name: str) -> None:
    """Lets workers find only this state of the package: Spark gives them everything ever added, in no order.

    A worker is used again where its environment is the same, with what it has imported by then. Both are made anew, as
    pyspark goes through them one by one, in whatever thread makes a frame meanwhile.
    """
    state = re.compile(rf"{re.escape(package)}-[0-9a-f]{{8}}\.zip")
    includes = context._python_includes  # noqa: SLF001  there is no public way to take an archive back
    context._python_includes = [*(each for each in includes if not state.fullmatch(each)), name]  # noqa: SLF001
    context.environment = {**context.environment, f"SPARKASSETS_{package.upper()}": name}


def _files(package: str, folder: Path) -> Iterator[Path]:
    """Folders too: without them in the archive, packages without an ``__init__.py`` are not found in it."""
    module = folder / f"{package}.py"
    if module.is_file() and not (folder / package).is_dir():
        yield module
        return
    yield folder / package
    yield from (each for each in (folder / package).rglob("*") if _COMPILED not in each.parts)


def _state(files: list[Path]) -> int:
    told = [(str(each), *((each.stat().st_size, each.stat().st_mtime_ns) if each.is_file() else ())) for each in files]
    return zlib.crc32(repr(told).encode())


def _pack(archive: Path, files: list[Path], *, root: Path) -> None:
    with zipfile.ZipFile(archive, "w", strict_timestamps=False) as packed:
        for each in files:
            packed.write(each, each.relative_to(root))


def _application(session: SparkSession) -> str:
    """The application whose workers they are."""
    context = context_of(session)
    return str(session.session_id if context is None else context.applicationId)


@cache
def _folder() -> Path:
    """Spark serves the archives from here until the process ends."""
    folder = tempfile.mkdtemp(prefix="sparkassets-packages-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)

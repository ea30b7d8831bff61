"""Imports the modules that declare assets in a process of its own, which starts no JVM."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from sparkassets.frozen import frozen
from sparkassets.project.declared.modules import PythonFile

_SECONDS: Final = 60
"""For all modules together."""
_MOST_BYTES: Final = 32 * 1024 * 1024
"""Of what they declare, as JSON."""
_NEEDS_SESSION: Final = "SESSION_OR_CONTEXT_NOT_EXISTS"
"""What pyspark raises where a name needs a session, such as ``pandas_udf("long")``, which parses its type by one."""
_CODE: Final = (
    "import json, sys; sys.path[:] = json.loads({path!r}); from sparkassets.authoring.discovery import main; main()"
)


@frozen
class ImportResult:
    """The result of importing modules.

    Attributes:
        assets: As `sparkassets.authoring.discovery` reports them, in order.
        failures: Which modules could not be imported, where, and why; without a place it is about all of them.
        variables: Names of environment variables that they read.
        files: Absolute paths of the project's files that they read.
        folders: Absolute paths of the project's folders that they listed.
        modules: Files of modules from elsewhere that they import, absolute; not of installed packages.
        installed: Whether they import installed packages.
    """

    assets: Sequence[Mapping[str, Any]] = ()
    failures: Sequence[Mapping[str, Any]] = ()
    variables: Sequence[str] = ()
    files: Sequence[str] = ()
    folders: Sequence[str] = ()
    modules: Sequence[str] = ()
    installed: bool = False


def import_modules(modules: Iterable[PythonFile], env: Mapping[str, str]) -> ImportResult:
    """Imports the modules in a child process; with placeholders for Spark's names where they need a session."""
    wanted = [(each.name, each.search_path) for each in modules]
    result = _import_in_process(wanted, env, without_spark=False)
    if any(_NEEDS_SESSION in failure["error"] for failure in result.failures):
        return _import_in_process(wanted, env, without_spark=True)
    return result


def _import_in_process(
    wanted: Sequence[tuple[str, str]], env: Mapping[str, str], *, without_spark: bool
) -> ImportResult:
    with TemporaryDirectory(prefix="sparkassets-") as folder:
        result = Path(folder, "result.json")
        request = {"modules": wanted, "result": str(result), "without_spark": without_spark}
        ended = _run_import(json.dumps(request), env)
        if not result.exists():
            return ImportResult(failures=[{"module": wanted[0][0], "file": None, "line": None, "error": ended}])
        if result.stat().st_size > _MOST_BYTES:
            told = f"it declares more than {_MOST_BYTES // 1024**2} MiB"
            return ImportResult(failures=[{"module": wanted[0][0], "file": None, "line": None, "error": told}])
        return ImportResult(**json.loads(result.read_text(encoding="utf-8")))


def _run_import(request: str, env: Mapping[str, str]) -> str:
    """Runs the importing process and returns how it ended; output of the modules is discarded."""
    code = _CODE.format(path=json.dumps(sys.path))
    process = subprocess.Popen(  # noqa: S603  this very Python
        [sys.executable, "-B", "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **env},
        start_new_session=True,
    )
    try:
        process.communicate(request.encode(), timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return f"it did not end within {_SECONDS} s"
    finally:
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return f"the process that imported it ended with exit code {process.returncode}"

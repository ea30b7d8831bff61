"""The author's Python function: found in an allowed package, called with DataFrames by the names of its arguments."""

from __future__ import annotations

import importlib
import json
import sys
import threading
import traceback
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from sparkassets.core.spec.model import PythonBody
from sparkassets.errors import RunError, SparkAssetsError
from sparkassets.spark.context import Context
from sparkassets.spark.failures import first_line, is_final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_IMPORTING = threading.Lock()


def run_function(
    session: SparkSession,
    body: PythonBody,
    *,
    asset: str,
    allowed: Collection[str],
    inlets: Mapping[str, DataFrame],
    context: Context,
) -> DataFrame:
    """The rows that the function returns, not yet computed.

    Only modules of the packages ``allowed`` are imported.

    Raises:
        RunError: It is not there or not allowed, it raised, or it returned something else than a DataFrame.
    """
    function = _load(body, allowed)
    given: dict[str, Any] = {**inlets, "context": context, "spark": session}
    arguments = {name: given[name] for name in body.arguments if name in given}
    try:
        result = function(**arguments)
    except SparkAssetsError:
        raise
    except Exception as error:
        made = RunError(f"{_place(error, body)}: {asset}: {_said(error)}")
        made.retryable = not is_final(error)
        raise made from error
    if not (hasattr(result, "schema") and hasattr(result, "write")):
        what = "nothing" if result is None else f"a {type(result).__name__}"
        raise RunError(
            f"{body.location}: {asset}: {body.module}:{body.function} returned {what}, but a table needs a DataFrame"
        )
    _refuse_unrecordable(context.extra, body, asset)
    return result


def _refuse_unrecordable(extra: Mapping[str, Any], body: PythonBody, asset: str) -> None:
    for key, value in extra.items():
        try:
            json.dumps({key: value}, allow_nan=False)
        except (TypeError, ValueError):
            kind = type(value).__name__
            raise RunError(
                f"{body.location}: {asset}: context.extra[{key!r}] is a {kind}, which cannot be recorded",
                hint="make it text, a number, a list or a dict of these",
            ) from None


def _load(body: PythonBody, allowed: Collection[str]) -> Callable[..., DataFrame]:
    package = body.module.partition(".")[0]
    if package not in allowed:
        raise RunError(
            f"{body.location}: functions may not come from the package {package!r}",
            hint=f"the project allows {', '.join(allowed) or 'none'}; see 'python' in project.yml",
        )
    module = _import(body, package)
    function = getattr(module, body.function, None)
    if not callable(function):
        raise RunError(f"{body.location}: {body.module} has no function {body.function!r}")
    found: Callable[..., DataFrame] = function
    return found


def _import(body: PythonBody, package: str) -> ModuleType:
    """The function's module, from the project's folder even where another package of that name was imported before."""
    with _IMPORTING:
        if body.search_path not in sys.path:
            sys.path.insert(0, body.search_path)
        loaded = [name for name in sys.modules if name == package or name.startswith(f"{package}.")]
        if not all(_is_from(sys.modules[name], body.search_path) for name in loaded):
            for name in loaded:
                del sys.modules[name]
            sys.path.remove(body.search_path)
            sys.path.insert(0, body.search_path)
            importlib.invalidate_caches()
        try:
            module = importlib.import_module(body.module)
        except Exception as error:
            raise RunError(f"{_place(error, body)}: {body.module} cannot be imported: {_said(error)}") from error
        _ship_to_workers(sys.modules[package])
        return module


def _is_from(module: ModuleType, folder: str) -> bool:
    """Whether the module is of ``folder``; a package without a file follows `sys.path`, so only its modules tell."""
    return module.__file__ is None or Path(module.__file__).resolve().is_relative_to(Path(folder).resolve())


def _ship_to_workers(package: ModuleType) -> None:
    """Sends the package's functions to Spark's workers by value, as these do not have the project's folder."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(package)


def _place(error: BaseException, body: PythonBody) -> str:
    """``file:line`` in the author's own code where the error came from, else where the function is named."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno or 0}"
    own = Path(body.search_path).resolve()
    for step in reversed(traceback.extract_tb(error.__traceback__)):
        if Path(step.filename).resolve().is_relative_to(own) and "site-packages" not in step.filename:
            return f"{step.filename}:{step.lineno}"
    return str(body.location)


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {first_line(error)}"

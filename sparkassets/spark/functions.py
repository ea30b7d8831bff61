"""Runs Python functions of assets: finds them, ships them to Spark's workers, and checks what they return."""

from __future__ import annotations

import atexit
import inspect
import json
import re
import shutil
import sys
import tempfile
import threading
import traceback
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from sparkassets.authoring import find_function, set_current_context
from sparkassets.authoring.packages import import_from, imported_state, iterate_files
from sparkassets.core.events import check_extra
from sparkassets.core.phrases import kind_of, listing, show_value
from sparkassets.core.spec.code_bodies import PythonBody
from sparkassets.core.suggestions import missing_module_hint, suggest_close
from sparkassets.errors import InputError, RunError, SparkAssetsError, describe_error
from sparkassets.spark.author_values import accept_in_rows
from sparkassets.spark.context import Context
from sparkassets.spark.failures import first_line, ignore_lacking, is_final, is_of_data
from sparkassets.spark.frame_conversion import is_rows, to_library
from sparkassets.spark.iterations import IterationArgument
from sparkassets.spark.own_session import context_of
from sparkassets.spark.process_state import preserve_process_state

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession

_SHIPPING = threading.Lock()
_SHIPPED: set[tuple[str, str]] = set()


def ship_package(session: SparkSession, package: str, *, folder: str) -> None:
    """Gives Spark's workers the imported package (or single module) of ``folder``, as it was imported.

    Each state of its files is sent once. Functions are pickled by value; the archive serves the imports that they make.
    """
    name, context = f"{package}-{imported_state(package, folder):08x}.zip", context_of(session)
    with _SHIPPING:
        if (_find_application_id(session), name) not in _SHIPPED:
            archive = _package_folder() / name
            if not archive.exists():
                _write_archive(archive, sorted(iterate_files(package, Path(folder))), root=Path(folder))
            if context is not None:
                context.addPyFile(str(archive))
            else:
                with ignore_lacking():  # what a function defined here calls of the package goes with it all the same
                    session.addArtifacts(str(archive), pyfile=True)
            _SHIPPED.add((_find_application_id(session), name))
        if context is not None:
            _select_archive(context, package, name)


def _select_archive(context: SparkContext, package: str, name: str) -> None:
    """Makes workers find only this state of the package: Spark gives them all archives ever added, in no order.

    Spark reuses a worker, with the modules it has imported, if its environment is the same, so that changes, too. Both
    are replaced, not changed: pyspark iterates over them in other threads.
    """
    state = re.compile(rf"{re.escape(package)}-[0-9a-f]{{8}}\.zip")
    includes = context._python_includes  # noqa: SLF001  there is no public way to take an archive back
    context._python_includes = [*(each for each in includes if not state.fullmatch(each)), name]  # noqa: SLF001
    context.environment = {**context.environment, f"SPARKASSETS_{package.upper()}": name}


def _write_archive(archive: Path, files: list[Path], *, root: Path) -> None:
    with zipfile.ZipFile(archive, "w", strict_timestamps=False) as packed:
        for each in files:
            packed.write(each, each.relative_to(root))


def _find_application_id(session: SparkSession) -> str:
    """The id of the Spark application whose workers get the archives; on Spark Connect of the session."""
    context = context_of(session)
    return str(session.session_id if context is None else context.applicationId)


@cache
def _package_folder() -> Path:
    """The temporary folder of the archives, kept until the process ends: Spark serves them from there."""
    folder = tempfile.mkdtemp(prefix="sparkassets-packages-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


_IMPORTING = threading.Lock()
_MACHINE_ERRORS = (OSError, MemoryError, ImportError, NameError)
"""Errors of the machine, which do not depend on the rows that a function gets."""
Writes = Literal["nothing", "files", "all"]
"""What a function writes itself: nothing, files instead of returned rows, or its whole target."""
_AS_ROWS = "return spark.createDataFrame(rows, schema), and take `spark` as an argument"


def source_of(body: PythonBody) -> str:
    """The source text of a function's module; empty where it has none."""
    try:
        return inspect.getsource(sys.modules[body.module])
    except (KeyError, OSError, TypeError):
        return ""


def run_function(
    session: SparkSession,
    body: PythonBody,
    *,
    allowed: Collection[str],
    inlets: Mapping[str, DataFrame | IterationArgument],
    context: Context,
    given_up: Callable[[], bool],
    outlets: Sequence[str] = (),
    writes: Writes = "nothing",
) -> Sequence[Any]:
    """The rows that the function returns, one frame (of any library) for each table that the run writes.

    The function of a multi-asset returns a dict by outlet. A generator's last rows count, whether yielded or returned;
    other dicts that it yields go into ``context.extra``. Empty if the function ``writes`` its target, or returned
    nothing and has written files instead.

    Only modules of the packages ``allowed`` are imported. Changes to the process are undone; ``given_up`` says whether
    nobody waits for the result any more.

    Raises:
        RunError: It is missing or not allowed, it raised, or it returned something other than rows.
    """
    asset = context.asset
    function = load_function(body, allowed, asset)
    ship_package(session, body.module.partition(".")[0], folder=body.search_path)
    accept_in_rows()
    available: dict[str, Any] = {**inlets, "context": context, "spark": session}
    arguments = {
        name: to_library(available[name], body.takes.get(name)) for name in body.arguments if name in available
    }
    place = f"{body.location}: {body.module}:{body.function}"
    try:
        with preserve_process_state(given_up), set_current_context(context):
            result = function(**arguments)
            if inspect.isgenerator(result):
                result = _last_rows(result, context, place=place, outlets=outlets)
    except SparkAssetsError:
        raise
    except BaseException as error:
        raise raised_by(error, body) from error
    if writes == "all" or (result is None and writes == "files"):
        _refuse_all_unrecordable(context, body, outlets)
        return ()
    frames = select_outlets(result, outlets, place=place) if outlets else {"": result}
    _refuse_other_results(frames, place=place)
    _refuse_all_unrecordable(context, body, outlets)
    return list(frames.values())


def _refuse_other_results(frames: Mapping[str, Any], *, place: str) -> None:
    """Refuses results, by outlet, that are not rows.

    Raises:
        RunError: One is not.
    """
    for name, frame in frames.items():
        if not is_rows(frame):
            named = f" for outlet {name!r}" if name else ""
            raise RunError(
                f"{place} returned {_describe_result(frame)}{named}; expected a DataFrame of Spark, pandas or "
                "Polars, or an Arrow table",
                hint=_AS_ROWS if isinstance(frame, list) else None,
            )


def select_outlets(result: object, outlets: Sequence[str], *, place: str) -> Mapping[str, Any]:
    """The function's result for each outlet, in their order.

    Raises:
        RunError: It is no dict, lacks outlets, or has keys that are none; names all of them.
    """
    expected = f"a dict with the rows of {listing(map(repr, outlets), last='and')}"
    if not isinstance(result, Mapping):
        raise RunError(f"{place} returned {_describe_result(result)}; expected {expected}")
    lacking, unknown = [name for name in outlets if name not in result], [key for key in result if key not in outlets]
    faults, hint = [], None
    if lacking:
        faults.append(f"lacks {listing(map(repr, lacking), last='and')}")
    if unknown:
        faults.append(f"has {listing(map(show_value, unknown), last='and')}, which is not an outlet")
        hint = suggest_close(str(unknown[0]), lacking)
    if faults:
        raise RunError(f"{place} returned a dict that {' and '.join(faults)}; expected {expected}", hint=hint)
    return {name: result[name] for name in outlets}


def _describe_result(value: object) -> str:
    """The type of a function's result, with its library unless that is Python itself."""
    if value is None:
        return "nothing"
    library = type(value).__module__.partition(".")[0]
    return kind_of(value) if library == "builtins" else f"{kind_of(value)} of {library}"


def _last_rows(steps: Iterator[Any], context: Context, *, place: str, outlets: Sequence[str]) -> Any:  # noqa: ANN401  the author's
    """The last rows that a generator yields or returns; None if it has none.

    A dict of frames is the result of a multi-asset; any other dict that it yields is added to ``context.extra``.

    Raises:
        RunError: It yields anything else.
    """
    last: object = None
    while True:
        try:
            step_value = next(steps)
        except StopIteration as end:
            return last if end.value is None else end.value
        if isinstance(step_value, Mapping) and any(is_rows(value) for value in step_value.values()) and outlets:
            last = step_value
        elif isinstance(step_value, Mapping):
            context.extra.update(step_value)
        elif is_rows(step_value):
            last = step_value
        else:
            raise RunError(f"{place} yielded {kind_of(step_value)}; expected a DataFrame, or a dict of extras")


def _refuse_all_unrecordable(context: Context, body: PythonBody, outlets: Sequence[str]) -> None:
    _refuse_unrecordable(context.extra, body)
    for name in outlets:
        _refuse_unrecordable(context.outlets[name].extra, body, of=f"context.outlets.{name}.extra")


def _refuse_unrecordable(extra: Mapping[str, Any], body: PythonBody, *, of: str = "context.extra") -> None:
    """Refuses an extra that the journal cannot hold, and names the key at fault where one alone is.

    Raises:
        RunError: A value is no JSON, or all of it is too large, too deep, or holds a credential.
    """
    for key, value in extra.items():
        try:
            json.dumps({key: value}, allow_nan=False)
        except RecursionError:
            break  # refused below, as nested too deep
        except (TypeError, ValueError):
            raise RunError(
                f"{body.location}: {of}[{key!r}] is {kind_of(value)}, which cannot be recorded",
                hint="use text, numbers, or lists or dicts of these",
            ) from None
    try:
        check_extra(extra)
    except InputError as error:
        raise RunError(f"{body.location}: {of}: {error.args[0]}", hint=error.hint) from None


def load_function(body: PythonBody, allowed: Collection[str], asset: str) -> Callable[..., Any]:
    """The function, from a module in one of the packages ``allowed``.

    Raises:
        RunError: It is missing, or from another package.
    """
    package = body.module.partition(".")[0]
    if not any(body.module == each or body.module.startswith(f"{each}.") for each in allowed):
        raise RunError(
            f"{body.location}: functions may not come from the package {package!r}",
            hint=f"the project allows {', '.join(allowed) or 'none'}; see 'python' in project.yml",
        )
    module = _import_module(body, package)
    function = find_function(body.module, asset) or getattr(module, body.function, None)
    if not callable(function):
        raise RunError(f"{body.location}: {body.module} has no function {body.function!r}")
    loaded: Callable[..., Any] = function
    return loaded


def _import_module(body: PythonBody, package: str) -> ModuleType:
    """The function's module, from the project's folder even if another package has its name."""
    with _IMPORTING:
        try:
            module = import_from(body.module, body.search_path)
        except BaseException as error:
            failure = raised_by(error, body, what=f"{body.module} cannot be imported")
            failure.retryable = failure.is_data_error = False
            raise failure from error
        _pickle_by_value(sys.modules[package])
        return module


def _pickle_by_value(package: ModuleType) -> None:
    """Makes Spark send the package's functions as they are now, so that no worker uses an older import of them."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(package)


def _find_raising_line(error: BaseException, body: PythonBody) -> str:
    """``file:line`` in the author's own code where the error came from, else where the function is named."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno or 0}"
    project_folder = Path(body.search_path).resolve()
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename.startswith("<") or "site-packages" in frame.filename:
            continue
        if Path(frame.filename).resolve().is_relative_to(project_folder):
            return f"{frame.filename}:{frame.lineno}"
    return str(body.location)


def raised_by(error: BaseException, body: PythonBody, *, what: str = "") -> RunError:
    """The failure of a run because its author's code raised an error; ``what`` precedes the error's own text.

    Errors of the machine, such as a full disk, are retryable; errors that rows may cause are marked as of data.
    """
    kind = type(error)
    try:
        is_spark_error = getattr(error, "getCondition", None) or getattr(error, "java_exception", None)
        text = f"{kind.__name__}: {first_line(error)}" if is_spark_error else describe_error(error)
        place, is_retryable = _find_raising_line(error, body), not is_final(error)
        is_data_error = is_of_data(error) if is_spark_error else not issubclass(kind, _MACHINE_ERRORS)
    except BaseException:  # noqa: BLE001  what an author's class does when it is looked at
        text, place, is_retryable, is_data_error = describe_error(error), str(body.location), True, False
    is_ordinary = issubclass(kind, Exception)
    hint = (
        missing_module_hint(error.name, body.module) if isinstance(error, ModuleNotFoundError) and error.name else None
    )
    if not is_ordinary:
        hint = "return, or raise an exception with a message: other runs share the process"
    failure = RunError(": ".join(filter(None, [place, what, text])), hint=hint)
    failure.retryable = is_ordinary and is_retryable
    failure.is_data_error = is_ordinary and is_data_error
    return failure

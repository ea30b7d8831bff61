"""Assets that are declared in Python: by ``@asset`` on a function, or by ``asset(…)`` for SQL and for sources."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, update_wrapper
from itertools import islice
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, Generic, ParamSpec, TypedDict, TypeVar, overload

from sparkassets.authoring.names import Asset, Expression
from sparkassets.authoring.partitions import Partition
from sparkassets.authoring.plain import plain

if TYPE_CHECKING:
    from datetime import date, timedelta
    from os import PathLike
    from typing import Unpack

    Condition = Expression | str | Sequence[Any] | Mapping[str, Any]
    Span = str | timedelta
    Moment = str | date
    Target = str | PathLike[str]

P = ParamSpec("P")
R = TypeVar("R")

OTHERWISE: Final = {"name": "asset", "at": "path"}
"""Arguments by the key of YAML that they are."""
AT_ONCE: Final = frozenset({"sql", "source"})
"""With either there is no function to decorate: the call declares the asset."""


class AssetKeys(TypedDict, total=False):
    """What an asset is declared by: the keys of YAML; `at` is its `path`, `name` what `asset` is there."""

    name: str
    at: Target
    type: str
    description: str
    owner: str
    extra: Mapping[str, Any]
    columns: Mapping[str, str | Mapping[str, Any]]
    validations: Sequence[Mapping[str, Any]]
    uri: str
    path: Target
    table: str
    source: str | bool
    options: Mapping[str, Any]
    inlets: Sequence[Any] | Mapping[Any, Any]
    schedule: Condition
    partition: str | Partition | Mapping[str, Any] | Sequence[Any]
    strategy: str | Mapping[str, Any]
    write: str | Mapping[str, Any]
    schema: str
    unchanged: str
    commit: str
    properties: Mapping[str, Any]
    sql: str
    params: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    on_code_change: str
    timezone: str
    start: Moment
    end: Moment
    settle: Span
    paused: bool
    budget: Mapping[str, Any]
    expect: Mapping[str, Any]
    notify: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    retries: int
    retry_delay: Span
    timeout: Span
    lease: Span


@dataclass(frozen=True)
class Place:
    """Where a module that is being imported declares an asset.

    Attributes:
        positions: First line, last line, first and end column as Python has them; None of code without any.
    """

    module: str
    file: str
    positions: tuple[int | None, ...]


@dataclass(frozen=True)
class Declaration:
    """One asset as it was declared.

    Attributes:
        name: Of the asset.
        keys: As YAML has them, without the name.
        function: What it runs; None for SQL and sources.
        place: None where no module is being imported.
    """

    name: str
    keys: Mapping[str, Any]
    function: Callable[..., Any] | None = None
    place: Place | None = None


class AssetFunction(Expression, Generic[P, R]):
    """A function that makes an asset: it is called as it would be without that, and stands for the asset elsewhere.

    Attributes:
        name: Of the asset.
    """

    def __init__(self, function: Callable[P, R], name: str) -> None:
        update_wrapper(self, function)
        self._function = function
        self.name = name

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """What the function returns."""
        return self._function(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        """What workers get is the function: they need no sparkassets."""
        return partial, (self._function,)

    def plain(self) -> str:
        """The asset's name."""
        return self.name

    def __repr__(self) -> str:
        return f"<asset {self.name!r}: {self._function!r}>"


_FUNCTIONS: dict[tuple[str, str], Callable[..., Any]] = {}
"""By module and asset, of all modules that were imported."""
_SINKS: list[Callable[[Declaration], None]] = []


@overload
def asset(name: Callable[P, R], /) -> AssetFunction[P, R]: ...
@overload
def asset(name: str | None = None, /, **keys: Unpack[AssetKeys]) -> Callable[[Callable[P, R]], AssetFunction[P, R]]: ...
def asset(name: Any = None, /, **keys: Any) -> Any:
    """Declares the function below as what makes an asset; its arguments are the inlets.

    With ``sql=`` or ``source=`` there is no function: the call declares the asset, and returns its name as an `Asset`.

    Args:
        name: Of the asset; the function's own by default.
        **keys: Those of YAML; ``at`` is the `path`.

    Raises:
        TypeError: There is no such key, or a value that no asset is declared by.
    """
    place = _place(sys._getframe(1))  # noqa: SLF001  where the declaration stands
    if callable(name) and not keys:
        return _declaring({}, place)(name)
    if "outlets" in keys:
        raise TypeError("several outlets are declared by @multi_asset")
    return _declaring(declared_keys(keys, name), place)


def multi_asset(
    name: str | None = None, /, *, outlets: Mapping[Any, Any] | Sequence[Any], **keys: Unpack[AssetKeys]
) -> Callable[[Callable[P, R]], AssetFunction[P, R]]:
    """Declares the function below as what makes several assets, all of them or none; it returns a dict of their rows.

    Args:
        name: Of the runs; the function's own by default.
        outlets: The assets, by their names, each with the keys of its own; or their names alone.
        **keys: Those of YAML.

    Raises:
        TypeError: There is no such key, or a value that no asset is declared by.
    """
    place = _place(sys._getframe(1))  # noqa: SLF001  where the declaration stands
    made = _declaring({**declared_keys(keys, name), "outlets": outlets_of(outlets)}, place)
    if not callable(made):
        raise TypeError("@multi_asset stands above a function")
    found: Callable[[Callable[P, R]], AssetFunction[P, R]] = made
    return found


def outlets_of(given: object) -> dict[str, Any]:
    """The outlets as YAML has them, of a map or of names alone."""
    said = plain(given)
    if isinstance(said, list) and all(isinstance(each, str) for each in said):
        return {each: {} for each in said}
    if not isinstance(said, dict):
        raise TypeError("the outlets of @multi_asset are a map by their names, or a list of names")
    return {name: {} if keys is None else _renamed(keys) for name, keys in said.items()}


def _renamed(keys: Any) -> Any:  # noqa: ANN401  what is no map YAML's checks refuse
    return (
        {OTHERWISE.get(key, key) if key != "name" else key: value for key, value in keys.items()}
        if isinstance(keys, dict)
        else keys
    )


def _declaring(given: dict[str, Any], place: Place | None) -> Any:  # noqa: ANN401  a decorator, or an asset's name
    """Declares an asset at once where it has no function, else what declares it by the function below."""
    if AT_ONCE & given.keys():
        own = given.pop("asset", None)
        if not isinstance(own, str):
            raise TypeError("asset(sql=…) and asset(source=…) need a name: asset('orders', source='csv')")
        _tell(Declaration(own, given, None, place))
        return Asset(own)

    def decorated(function: Callable[P, R]) -> AssetFunction[P, R]:
        if not callable(function):
            raise TypeError(f"@asset stands above a function, not a {type(function).__name__}")
        own = given.get("asset") or getattr(function, "__name__", None)
        if not isinstance(own, str):
            raise TypeError("@asset needs the name of the asset here: @asset('orders')")
        module = place.module if place is not None else getattr(function, "__module__", "")
        _FUNCTIONS[module, own] = function
        rest = {key: each for key, each in given.items() if key != "asset"}
        _tell(Declaration(own, rest, function, place))
        return AssetFunction(function, own)

    return decorated


def declared_keys(keys: Mapping[str, Any], name: object = None) -> dict[str, Any]:
    """The keys as YAML has them; those that are None are not given.

    Raises:
        TypeError: There is no such key, two are the same one, or a value is none of YAML's.
    """
    given = {"name": name, **keys} if name is not None else dict(keys)
    if unknown := next((key for key in given if key not in AssetKeys.__annotations__), None):
        from difflib import get_close_matches

        close = get_close_matches(unknown, AssetKeys.__annotations__, n=1)
        meant = f"; did you mean {close[0]!r}?" if close else ""
        raise TypeError(f"asset() has no key {unknown!r}{meant}")
    if name is not None and "name" in keys:
        raise TypeError("asset() is given its name twice")
    found: dict[str, Any] = {}
    for key, value in given.items():
        if value is None:
            continue
        own = OTHERWISE.get(key, key)
        if own in found:
            raise TypeError(f"asset() is given both 'at' and {own!r}, which are one key")
        found[own] = plain(value)
    return found


def function_of(module: str, name: str) -> Callable[..., Any] | None:
    """The function of that asset which a module that was imported declares."""
    return _FUNCTIONS.get((module, name))


@contextmanager
def declarations_in() -> Iterator[list[Declaration]]:
    """What is declared while the block lasts."""
    found: list[Declaration] = []
    sink = found.append
    _SINKS.append(sink)
    try:
        yield found
    finally:
        _SINKS.remove(sink)


def _tell(declaration: Declaration) -> None:
    for sink in _SINKS:
        sink(declaration)


def _place(frame: FrameType | None) -> Place | None:
    """Where the module that is being imported, or the innermost of several, has come to."""
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    if frame is None:
        return None
    found = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), ()) if _SINKS else ()
    return Place(frame.f_globals.get("__name__", ""), frame.f_code.co_filename, tuple(found))

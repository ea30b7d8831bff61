"""Assets that are declared in Python: by ``@asset`` on a function, or by ``asset(…)`` for SQL and for sources."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, update_wrapper
from itertools import islice
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, Generic, ParamSpec, TypedDict, TypeVar, overload

from sparkassets.authoring.arguments import (
    REFERENCE_HOOKS,
    Asset,
    AssetColumn,
    ConditionExpression,
    Partition,
    plain_schedule,
    to_plain,
)
from sparkassets.authoring.validation import AssetValidation, place_rules, plain_rules

if TYPE_CHECKING:
    from datetime import date, timedelta
    from os import PathLike
    from typing import Unpack

    Condition = ConditionExpression | str | timedelta | Sequence[Any] | Mapping[str, Any]
    Span = str | timedelta
    Moment = str | date
    Target = str | PathLike[str]

P = ParamSpec("P")
R = TypeVar("R")

OTHERWISE: Final = {"name": "asset", "at": "path"}
"""The keys of YAML for arguments of another name."""
_NOT_HERE: Final = {
    "python": "@asset takes no 'python': the asset runs the decorated function",
    "asset": "pass the asset's name as 'name' or as the first argument: @asset('orders')",
}
AT_ONCE: Final = frozenset({"sql", "source"})
"""With either there is no function to decorate: the call declares the asset."""


class AssetKeys(TypedDict, total=False):
    """The keys of an asset as in YAML; `at` stands for `path`, and `name` for `asset`."""

    name: str
    at: Target
    type: str
    description: str
    owner: str
    tags: Sequence[str]
    pool: str
    priority: int
    spark_conf: Mapping[str, Any]
    extra: Mapping[str, Any]
    columns: Mapping[str, str | Mapping[str, Any]]
    validations: Sequence[Mapping[str, Any] | AssetValidation]
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
    partitioned_by: Sequence[str]
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
class DeclarationPlace:
    """Where a module that is being imported declares an asset.

    Attributes:
        positions: First line, last line, first and end column as in Python; empty where they are unknown.
    """

    module: str
    file: str
    positions: tuple[int | None, ...]


KeyProblem = tuple[str, str]
"""A key of a declaration, or an empty text, and its problem."""


@dataclass(frozen=True)
class AssetDeclaration:
    """One declared asset.

    Attributes:
        name: Name of the asset.
        keys: Keys as in YAML, without the name.
        function: The function of the asset; None for SQL and sources.
        place: None where no module is being imported.
        problems: Unusable keys, each with its problem; the key is empty for a problem of the whole declaration.
        is_reference: Whether only its name and URI are given, so that another declaration may define it.
    """

    name: str
    keys: Mapping[str, Any]
    function: Callable[..., Any] | None = None
    place: DeclarationPlace | None = None
    problems: tuple[KeyProblem, ...] = ()
    is_reference: bool = False


class AssetFunction(ConditionExpression, Generic[P, R]):
    """A function that computes an asset: it is called as before, and stands for the asset in conditions and inlets.

    Attributes:
        name: Of the asset.
    """

    def __init__(self, function: Callable[P, R], name: str) -> None:
        update_wrapper(self, function)
        self._function = function
        self.name = name

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls the function."""
        return self._function(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the function alone, as workers may lack sparkassets."""
        return partial, (self._function,)

    def plain(self) -> str:
        """The asset's name."""
        return self.name

    def __getattr__(self, column: str) -> AssetColumn:
        if column.startswith(("_", "pytest")) or "name" not in self.__dict__:
            raise AttributeError(column)
        return AssetColumn(self.name, column)

    def __getitem__(self, column: str) -> AssetColumn:
        return AssetColumn(self.name, column)

    def __repr__(self) -> str:
        return f"<asset {self.name!r}: {self._function!r}>"


_FUNCTIONS: dict[tuple[str, str], Callable[..., Any]] = {}
"""Functions by module and asset, of all imported modules."""
_SINKS: list[Callable[[AssetDeclaration], None]] = []
_UNUSED: dict[int, AssetDeclaration] = {}
"""Decorators created during discovery that decorate no function yet."""
_DECLARES_NOTHING: Final = "asset() declares nothing: it decorates no function and has no 'sql' or 'source'"


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
        return _make_declaration(DeclaredKeys({}), place)(name)
    given = declared_keys(keys, name)
    if given.values.pop("outlets", None) is not None or "outlets" in keys:
        given.refuse("outlets", "use @multi_asset to declare several outlets")
    return _make_declaration(given, place)


def multi_asset(
    name: str | None = None, /, *, outlets: Mapping[Any, Any] | Sequence[Any] = (), **keys: Unpack[AssetKeys]
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
    given = declared_keys(keys, name)
    if outlets == ():
        given.refuse("outlets", "@multi_asset has no 'outlets'; expected their names")
    try:
        given.values["outlets"] = outlets_of(outlets)
    except (TypeError, ValueError) as error:
        given.refuse("outlets", str(error))
    declaration = _make_declaration(given, place)
    if not callable(declaration):
        raise TypeError("@multi_asset must decorate a function")
    found: Callable[[Callable[P, R]], AssetFunction[P, R]] = declaration
    return found


def outlets_of(given: object) -> dict[str, Any]:
    """The outlets as in YAML, from a map or a list of names."""
    plain = to_plain(given)
    if isinstance(plain, list) and all(isinstance(each, str) for each in plain):
        return {each: {} for each in plain}
    if not isinstance(plain, dict):
        raise TypeError("'outlets' of @multi_asset must be a dict by name, or a list of names")
    return {name: {} if keys is None else _rename_keys(keys) for name, keys in plain.items()}


def _rename_keys(keys: Any) -> Any:  # noqa: ANN401  what is no map YAML's checks refuse
    """The keys of one outlet under their names in YAML; ``name`` stays, as the outlet has its name already."""
    return (
        {OTHERWISE.get(key, key) if key != "name" else key: value for key, value in keys.items()}
        if isinstance(keys, dict)
        else keys
    )


@dataclass
class DeclaredKeys:
    """The keys of a declaration as in YAML.

    Attributes:
        values: Values by the keys of YAML.
        problems: Every unusable key; collected during discovery only.
    """

    values: dict[str, Any]
    problems: list[KeyProblem] = field(default_factory=list)

    def add(self, key: str, value: object) -> None:
        """Adds a key with its value as in YAML; refuses it if it is there already or has no form in YAML.

        Raises:
            TypeError: Outside discovery, if the key is refused.
        """
        own = OTHERWISE.get(key, key)
        if own in self.values:
            self.refuse(key, f"asset() got both 'at' and {own!r}, which set the same key")
            return
        try:
            make_plain: Callable[[Any], Any] = _PLAIN.get(own, to_plain)
            self.values[own] = make_plain(value)
        except (TypeError, ValueError) as error:
            self.refuse(key, str(error))

    def refuse(self, key: str, message: str) -> None:
        """Refuses a key: at once, or during discovery together with all others.

        Raises:
            TypeError: Outside discovery.
        """
        if not _SINKS:
            raise TypeError(message)
        self.problems.append((key, message))


def _make_declaration(given: DeclaredKeys, place: DeclarationPlace | None) -> Any:  # noqa: ANN401  a decorator, or an asset's name
    """Declares an asset without a function at once, else returns the decorator that declares it.

    During discovery a decorator that never gets a function is reported: its declaration waits in ``_UNUSED`` till then.
    """
    keys = given.values
    own = keys.pop("asset", None)
    if AT_ONCE & keys.keys():
        if not isinstance(own, str):
            given.refuse("", "asset(sql=…) and asset(source=…) need a name: asset('orders', source='csv')")
            own = "unnamed"
        _record_declaration(AssetDeclaration(own, keys, None, place, tuple(given.problems)))
        return Asset(own)

    unused = AssetDeclaration(own or "unnamed", keys, None, place, (*given.problems, ("sql", _DECLARES_NOTHING)))
    if _SINKS:
        _UNUSED[id(unused)] = unused

    def decorate(function: Callable[P, R]) -> AssetFunction[P, R]:
        _UNUSED.pop(id(unused), None)
        if not callable(function):
            raise TypeError(f"@asset must decorate a function, not a {type(function).__name__}")
        name = own or getattr(function, "__name__", None)
        if not isinstance(name, str):
            raise TypeError("@asset needs the name of the asset: @asset('orders')")
        module = place.module if place is not None else getattr(function, "__module__", "")
        _FUNCTIONS[module, name] = function
        _record_declaration(AssetDeclaration(name, keys, function, place, tuple(given.problems)))
        return AssetFunction(function, name)

    return decorate


_PLAIN: Final[Mapping[str, Callable[[Any], Any]]] = {"schedule": plain_schedule, "validations": plain_rules}
"""Functions that make the value of a key plain, where `to_plain` does not fit."""


def declared_keys(keys: Mapping[str, Any], name: object = None) -> DeclaredKeys:
    """The keys as in YAML; a key with the value None counts as absent.

    During discovery an unknown key is left to the checks of YAML, which report its place.

    Raises:
        TypeError: A key is unknown, given twice under two names, or its value has no form in YAML.
    """
    found = DeclaredKeys({})
    if name is not None and "name" in keys:
        found.refuse("name", "asset() got the name twice")
    for key, value in {**keys, **({"name": name} if name is not None else {})}.items():
        if key in _NOT_HERE:
            found.refuse(key, _NOT_HERE[key])
        elif key not in AssetKeys.__annotations__:
            if key != "outlets" and not _SINKS:
                raise TypeError(f"asset() got the unknown key {key!r}{_suggest_key(key)}")
            found.add(key, value)
        elif value is not None:
            found.add(key, value)
    place_rules(found.values)
    return found


def _suggest_key(key: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(key, AssetKeys.__annotations__, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def find_function(module: str, name: str) -> Callable[..., Any] | None:
    """The function of an asset that an imported module declares; None without one."""
    return _FUNCTIONS.get((module, name))


@contextmanager
def collect_declarations() -> Iterator[list[AssetDeclaration]]:
    """Collects declarations while entered; at the end adds every decorator that decorates no function."""
    found: list[AssetDeclaration] = []
    sink = found.append

    def refer(asset: Asset, frame: FrameType) -> None:
        place = _place(frame)
        sink(AssetDeclaration(str(asset.name), {"source": True, "uri": asset.uri}, None, place, is_reference=True))

    _SINKS.append(sink)
    REFERENCE_HOOKS.append(refer)
    try:
        yield found
        found += [each for each in _UNUSED.values() if each.place is not None]
    finally:
        _UNUSED.clear()
        _SINKS.remove(sink)
        REFERENCE_HOOKS.remove(refer)


def _record_declaration(declaration: AssetDeclaration) -> None:
    for sink in _SINKS:
        sink(declaration)


def _place(frame: FrameType | None) -> DeclarationPlace | None:
    """The current position in the module that is being imported, or in the innermost of several; None outside imports.

    The position inside the module is only looked up during discovery.
    """
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    if frame is None:
        return None
    # co_positions has one position for each code unit, and f_lasti counts bytes: two a unit
    found = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), ()) if _SINKS else ()
    return DeclarationPlace(frame.f_globals.get("__name__", ""), frame.f_code.co_filename, tuple(found))

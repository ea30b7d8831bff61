"""`frozen` values, which msgspec also reads and writes where they are stored, and `mutable` records; all its structs.

`replace` copies one with other values in some fields. It is that of `dataclasses` for frozen values alone, ten times as
fast: the fold makes some ten copies of an asset's state, of forty fields, for each run.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, field, fields, make_dataclass
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform, overload

import msgspec

if TYPE_CHECKING:
    from dataclasses import replace  # of which the fields are checked
else:
    from msgspec.structs import replace  # in a tenth of the time

__all__ = ["frozen", "mutable", "replace"]

T = TypeVar("T")


@overload
def frozen(cls: type[T], /) -> type[T]: ...
@overload
def frozen(
    *,
    array_like: bool = ...,
    kw_only: bool = ...,
    has_dict: bool = ...,
    tag: str | None = ...,
    stored_names: Mapping[str, str] | None = ...,
) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(
    cls: type[T] | None = None,
    /,
    *,
    array_like: bool = False,
    kw_only: bool = False,
    has_dict: bool = False,
    tag: str | None = None,
    stored_names: Mapping[str, str] | None = None,
) -> type[T] | Callable[[type[T]], type[T]]:
    """What ``@dataclass(frozen=True, slots=True)`` makes, also to `dataclasses.replace`, `fields` and `asdict`.

    Hundreds of classes are made at every start; the standard library takes fifty times as long for each.

    Args:
        cls: The class as it is written.
        array_like: Where values of it are stored, each is a list of its fields instead of an object with their names.
        kw_only: Its own fields are keyword arguments, and follow those of classes that inherit from it.
        has_dict: Each value has a ``__dict__``, which cached properties need.
        tag: The ``kind`` that is stored with each value, to tell it from values of other classes in a union.
        stored_names: The names that fields have where values are stored, for fields that are called otherwise here.
    """
    options: dict[str, Any] = {"array_like": array_like, "kw_only": kw_only, "dict": has_dict, "rename": stored_names}
    if tag is not None:
        options |= {"tag": tag, "tag_field": "kind"}
    options |= {"frozen": True, "omit_defaults": True}
    return partial(_struct, **options) if cls is None else _struct(cls, **options)


@dataclass_transform(field_specifiers=(field,))
def mutable(cls: type[T], /) -> type[T]:
    """What ``@dataclass(slots=True, eq=False, repr=False)`` makes, in as little time as `frozen` takes."""
    cls.__repr__ = object.__repr__  # type: ignore[method-assign]
    return _struct(cls, eq=False)  # type: ignore[no-any-return]


def _struct(cls: Any, **options: Any) -> Any:  # noqa: ANN401  of any fields
    """A msgspec struct with the fields, methods and bases of ``cls``; ``options`` are those of `msgspec.Struct`.

    Fields with ``compare=False`` are left out of ``__eq__`` and ``__hash__``, which msgspec itself cannot do.
    """
    own, body = cls.__annotations__, dict(cls.__dict__)
    for name in _NOT_WRITTEN:
        body.pop(name, None)
    if isinstance(cls, msgspec.StructMeta):
        bases, body = cls.__bases__, _as_written(cls, body)
    else:
        bases = (*(each for each in cls.__bases__ if each is not object), msgspec.Struct)
    given = {name: body[name] for name in own if name in body}
    body["__dataclass_fields__"] = _LazyFields(given)
    body["__qualname__"] = cls.__qualname__
    specified = [(name, each) for name, each in given.items() if isinstance(each, Field)]
    body.update((name, _struct_field(each)) for name, each in specified)
    if not all(each.repr for _, each in specified) and "__repr__" not in body:
        body["__repr__"] = _format_repr
    aside = {*getattr(cls, "_aside", ()), *(name for name, each in specified if not each.compare)}
    if aside:
        body |= {"_aside": aside, **_make_comparisons([*getattr(cls, "__struct_fields__", ()), *own], aside)}
    elif body.get("__hash__", MISSING) is None:
        body["__hash__"] = msgspec.Struct.__hash__  # which Python takes away where there is an `__eq__` of its own
    metaclass = _AbstractStructMeta if isinstance(cls, ABCMeta) else msgspec.StructMeta
    return metaclass(cls.__name__, bases, body, **options)


_NOT_WRITTEN = ("__dict__", "__weakref__", "__slots__", "__match_args__")
"""What Python puts into a class by itself."""


class _AbstractStructMeta(msgspec.StructMeta, ABCMeta):
    """The metaclass of structs with abstract methods."""


def _as_written(cls: Any, body: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401  a struct
    """The body of a class that is written below a frozen one, which made a struct of it already."""
    defaults = zip(reversed(cls.__struct_fields__), reversed(cls.__struct_defaults__), strict=False)
    given = {name: each for name, each in defaults if name in cls.__annotations__ and each is not msgspec.NODEFAULT}
    others = {name: each for name, each in body.items() if name not in cls.__annotations__}
    return {name: each for name, each in others.items() if not name.startswith("__struct_")} | given


def _struct_field(given: Field[Any]) -> Any:  # noqa: ANN401  in msgspec's words
    """The field of msgspec for one that is written as ``dataclasses.field(…)``."""
    if given.default_factory is not MISSING:
        return msgspec.field(default_factory=given.default_factory)
    if given.default is MISSING and given.init:
        return msgspec.field()
    return msgspec.field(default=given.default)  # `MISSING` until `__post_init__` sets what is no argument


class _LazyFields:
    """Stands for ``__dataclass_fields__`` of a struct until they are first asked for, since making them is slow.

    Attributes:
        given: Field of the class itself to its default, or to its ``field(…)``; fields without either are left out.
    """

    __slots__ = ("given",)

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given

    def __get__(self, instance: object, owner: Any) -> dict[str, Field[Any]]:  # noqa: ANN401  any struct
        """The ``__dataclass_fields__`` of the struct, which take the place of this descriptor when first asked for.

        They are made by a throw-away dataclass that has the struct's fields and defaults, inherited ones included.
        """
        defaults: dict[str, Any] = {}
        for base in reversed(owner.__mro__):
            fields = base.__dict__.get("__dataclass_fields__", {})
            defaults |= fields.given if isinstance(fields, _LazyFields) else fields
        pairs = ((name, defaults.get(name, MISSING)) for name in owner.__struct_fields__)
        typed = [(name, Any, each if isinstance(each, Field) else field(default=each)) for name, each in pairs]
        stand_in: Any = make_dataclass(owner.__name__, typed, init=False, repr=False, eq=False, kw_only=True)
        owner.__dataclass_fields__ = stand_in.__dataclass_fields__
        return owner.__dict__["__dataclass_fields__"]  # type: ignore[no-any-return]


def _format_repr(self: Any) -> str:  # noqa: ANN401  any struct
    """The ``repr`` of a struct some of whose fields have ``repr=False``."""
    shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__name__}({shown})"


def _make_comparisons(names: list[str], aside: set[str]) -> dict[str, object]:
    """``__eq__`` and ``__hash__`` by all fields but those ``aside``."""
    values = attrgetter(*dict.fromkeys(name for name in names if name not in aside))

    def is_equal(self: object, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def hash_value(self: object) -> int:
        return hash(values(self))

    return {"__eq__": is_equal, "__hash__": hash_value}

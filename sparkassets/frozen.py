"""`frozen`: slotted dataclasses that share their methods, as making those of each class is much of a cold start."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from functools import cache, partial
from inspect import get_annotations
from operator import attrgetter
from threading import RLock
from types import FunctionType
from typing import Any, TypeVar, cast, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """What ``@dataclass(frozen=True, slots=True)`` makes, at a fifth of its price: a hundred are made at every start.

    The standard library looks at every field, and writes and compiles eight functions for each class. Here the fields
    are looked at, and `__init__` alone is written, once so many values were made that it pays: at a start most classes
    have few or none. The other methods look at the fields when they are called.
    """
    own = get_annotations(cls)
    before: tuple[str, ...] = getattr(cls, "__match_args__", ())
    body = {name: value for name, value in cls.__dict__.items() if name not in own and name not in _UNSLOTTED}
    methods = {"__init__": _Unwritten(), **_comparing(attrgetter(*_compared(cls, own) or ("__class__",))), **_SHARED}
    body |= {name: method for name, method in methods.items() if body.get(name) is None}
    body |= {name: _Undescribed(cls) for name in _DESCRIPTIONS}
    body["__qualname__"] = cls.__qualname__
    body["__slots__"] = tuple(name for name in own if name not in before)
    body["__match_args__"] = (*before, *body["__slots__"])
    metaclass: Any = type(cls)
    return cast("type[T]", metaclass(cls.__name__, cls.__bases__, body))


_UNSLOTTED = frozenset({"__dict__", "__weakref__"})
"""What a class without slots has for its values."""


def _compared(cls: type, own: Iterable[str]) -> list[str]:
    """The fields that ``==`` looks at, those of its bases first."""
    found: dict[str, bool] = {}
    for each in reversed(cls.__mro__[1:]):
        described = each.__dict__.get("__dataclass_fields__")
        if isinstance(described, _Undescribed):
            found |= described.compared()
        elif described is not None:
            found |= {name: one.compare for name, one in described.items()}
    found |= {name: _is_compared(cls.__dict__.get(name)) for name in own}
    return [name for name, compared in found.items() if compared]


def _is_compared(given: object) -> bool:
    return not isinstance(given, Field) or bool(given.compare)


class _Undescribed:
    """Stands for what the standard library keeps of a dataclass until somebody asks, such as `fields`."""

    __slots__ = ("_made", "_name", "_unslotted")

    def __init__(self, unslotted: type) -> None:
        self._unslotted = unslotted

    def __set_name__(self, made: type, name: str) -> None:
        self._made, self._name = made, name

    def defaults(self) -> dict[str, object]:
        """The fields of the class itself, each with its default, a `_New` or `MISSING`."""
        return {name: _default(one) if isinstance(one, Field) else one for name, one in self._given().items()}

    def compared(self) -> dict[str, bool]:
        """The fields of the class itself, each with whether ``==`` looks at it."""
        return {name: _is_compared(one) for name, one in self._given().items()}

    def _given(self) -> dict[str, object]:
        """The fields of the class itself, each as it was written: its default, or what tells more."""
        own = get_annotations(self._unslotted)
        with _DESCRIBING:
            if self._made.__dict__[self._name] is not self:
                described = self._made.__dict__["__dataclass_fields__"]
                return {name: described[name] for name in own}
            return {name: self._unslotted.__dict__.get(name, MISSING) for name in own}

    def __get__(self, instance: object, owner: type) -> object:
        with _DESCRIBING:
            if self._made.__dict__[self._name] is self:
                described = dataclass(init=False, eq=False, repr=False)(self._unslotted)
                for name in _DESCRIPTIONS:
                    setattr(self._made, name, getattr(described, name))
            return self._made.__dict__[self._name]


_DESCRIPTIONS = ("__dataclass_fields__", "__dataclass_params__")
"""What the standard library keeps of a dataclass."""

_DESCRIBING = RLock()
"""Held while a class and its bases are described: it takes the defaults of fields off the class, so once is all."""


_FIRST = 50
"""Values of a class that are made without an ``__init__`` of its own, which takes as long to write as these do."""


class _Unwritten:
    """Stands for ``__init__`` until it is written: assigns the fields of the first values one by one.

    Newer Pythons bind it to the class itself to tell its signature.
    """

    __slots__ = ("_left", "_made")

    def __set_name__(self, made: type, name: str) -> None:
        self._made, self._left = made, _FIRST

    def __get__(self, instance: object, owner: type) -> object:
        if instance is not None and self._left > 0 and not isinstance(instance, type):
            self._left -= 1
            return partial(self._assign, instance)
        return self._written().__get__(instance, owner)

    def _written(self) -> FunctionType:
        written = _init(self._made)
        self._made.__init__ = written  # type: ignore[misc]  # it takes this one's place
        return written

    def _assign(self, instance: Any, /, *args: object, **named: object) -> None:  # noqa: ANN401  of any class
        layout = _layout(self._made)
        left = len(named)
        for (_, assign, _), value in zip(layout, args, strict=False):
            assign(instance, value)
        for name, assign, default in layout[len(args) :]:
            if name in named:
                assign(instance, named[name])
                left -= 1
            elif default is MISSING:
                left = -1
                break
            else:
                assign(instance, default.new() if isinstance(default, _New) else default)
        if left or len(args) > len(layout):
            self._written()(instance, *args, **named)  # which says what is wrong
        elif hasattr(instance, "__post_init__"):
            instance.__post_init__()


class _New:
    """A default that is made for each value."""

    __slots__ = ("new",)

    def __init__(self, new: Callable[[], object]) -> None:
        self.new = new


_Assigned = tuple[str, Callable[[object, object], None], Any]
"""A field's name, what assigns it, and its default, a `_New` or `MISSING`."""


@cache
def _layout(made: Any) -> tuple[_Assigned, ...]:  # noqa: ANN401  a class of any fields
    """Its fields in order, those of its bases first; read off the classes, as describing one takes long."""
    found: dict[str, object] = {}
    for each in reversed(made.__mro__):
        described = each.__dict__.get("__dataclass_fields__")
        if isinstance(described, _Undescribed):
            found |= described.defaults()
        elif described is not None:
            found |= {name: _default(one) for name, one in described.items()}
    return tuple((name, getattr(made, name).__set__, default) for name, default in found.items())


def _default(given: Field[Any]) -> object:
    if given.default_factory is not MISSING:
        return _New(given.default_factory)
    return given.default


def _init(made: Any) -> FunctionType:  # noqa: ANN401  a class of any fields
    """Its ``__init__``: assigns to the slots themselves, as `_refuse_assignment` stands before them."""
    known: dict[str, Any] = {"MISSING": MISSING}
    parameters, lines = ["self"], ["pass"]
    for name, assign, default in _layout(made):
        parameter, value = name, name
        if isinstance(default, _New):
            known[f"new_{name}"], parameter = default.new, f"{name}=MISSING"
            value = f"new_{name}() if {name} is MISSING else {name}"
        elif default is not MISSING:
            known[f"default_{name}"], parameter = default, f"{name}=default_{name}"
        known[f"set_{name}"] = assign
        parameters.append(parameter)
        lines.append(f"set_{name}(self, {value})")
    if hasattr(made, "__post_init__"):
        lines.append("self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines), known)  # noqa: S102  of names of fields
    init: FunctionType = known["__init__"]
    told = (get_annotations(each) for each in reversed(made.__mro__))
    init.__annotations__ = {name: kind for each in told for name, kind in each.items()}
    return init


def _comparing(compared: Callable[[object], object]) -> dict[str, object]:
    """``__eq__`` and ``__hash__`` of a class, by what of a value is compared."""

    def equal(self: object, other: object) -> bool:
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: object) -> int:
        return hash(compared(self))

    return {"__eq__": equal, "__hash__": hashed}


def _text(self: Any) -> str:  # noqa: ANN401  of any frozen class; so the next two
    shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({shown})"


def _refuse_assignment(_self: object, name: str, _value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(_self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _pickled(self: Any) -> list[object]:  # noqa: ANN401
    return [getattr(self, name) for name, _, _ in _layout(self.__class__)]


def _unpickled(self: Any, state: list[object]) -> None:  # noqa: ANN401
    for (_, assign, _), value in zip(_layout(self.__class__), state, strict=True):
        assign(self, value)


_SHARED = {
    "__repr__": _text,
    "__setattr__": _refuse_assignment,
    "__delattr__": _refuse_deletion,
    "__getstate__": _pickled,
    "__setstate__": _unpickled,
}

"""`frozen`: slotted dataclasses that share their methods, as making those of each class is much of a cold start."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields, is_dataclass
from functools import partial
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
    """The fields that ``==`` looks at."""
    defaults = {name: cls.__dict__.get(name) for name in own}
    inherited = [each.name for each in fields(cls) if each.compare] if is_dataclass(cls) else []
    return [*inherited, *(name for name, given in defaults.items() if not isinstance(given, Field) or given.compare)]


class _Undescribed:
    """Stands for what the standard library keeps of a dataclass until somebody asks, such as `fields`."""

    __slots__ = ("_made", "_name", "_unslotted")

    def __init__(self, unslotted: type) -> None:
        self._unslotted = unslotted

    def __set_name__(self, made: type, name: str) -> None:
        self._made, self._name = made, name

    def defaults(self) -> dict[str, object]:
        """The fields of the class itself, each with its default, a `_New` or `MISSING`."""
        with _DESCRIBING:
            if self._made.__dict__[self._name] is not self:
                described = self._made.__dict__["__dataclass_fields__"]
                return {name: _default(described[name]) for name in get_annotations(self._unslotted)}
            given = ((name, self._unslotted.__dict__.get(name, MISSING)) for name in get_annotations(self._unslotted))
            return {name: _default(one) if isinstance(one, Field) else one for name, one in given}

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


_FIRST = 24
"""Values of a class that are made without an ``__init__`` of its own, which takes as long to write as these do."""


class _Unwritten:
    """Stands for ``__init__`` until it is written: assigns the fields of the first values one by one."""

    __slots__ = ("_layout", "_left", "_made")

    def __set_name__(self, made: type, name: str) -> None:
        self._made, self._left = made, _FIRST
        self._layout: tuple[_Assigned, ...] | None = None

    def __get__(self, instance: object, owner: type) -> object:
        if instance is not None and self._left > 0:
            self._left -= 1
            return partial(self._assign, instance)
        return self._written().__get__(instance, owner)

    def _written(self) -> FunctionType:
        written = _init(self._made)
        self._made.__init__ = written  # type: ignore[misc]  # it takes this one's place
        return written

    def _assign(self, instance: Any, /, *args: object, **named: object) -> None:  # noqa: ANN401  of any class
        if self._layout is None:
            self._layout = _layout(self._made)
        given = dict(zip((name for name, _, _ in self._layout), args, strict=False))
        known = {**given, **named}
        expected = sum(name in known or default is not MISSING for name, _, default in self._layout)
        fits = len(given) == len(args) and len(known) == len(given) + len(named)
        if not fits or expected < len(self._layout) or not known.keys() <= {name for name, _, _ in self._layout}:
            self._written()(instance, *args, **named)  # which says what is wrong
            return
        for name, assign, default in self._layout:
            if name in known:
                assign(instance, known[name])
            else:
                assign(instance, default.new() if isinstance(default, _New) else default)
        if hasattr(instance, "__post_init__"):
            instance.__post_init__()


class _New:
    """A default that is made for each value."""

    __slots__ = ("new",)

    def __init__(self, new: Callable[[], object]) -> None:
        self.new = new


_Assigned = tuple[str, Callable[[object, object], None], Any]
"""A field's name, what assigns it, and its default, a `_New` or `MISSING`."""


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
    for each in fields(made):
        name = each.name
        parameter, value = name, name
        if each.default is not MISSING:
            known[f"default_{name}"], parameter = each.default, f"{name}=default_{name}"
        elif each.default_factory is not MISSING:
            known[f"new_{name}"], parameter = each.default_factory, f"{name}=MISSING"
            value = f"new_{name}() if {name} is MISSING else {name}"
        known[f"set_{name}"] = getattr(made, name).__set__
        parameters.append(parameter)
        lines.append(f"set_{name}(self, {value})")
    if hasattr(made, "__post_init__"):
        lines.append("self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines), known)  # noqa: S102  of names of fields
    init: FunctionType = known["__init__"]
    init.__annotations__ = {each.name: each.type for each in fields(made)}
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
    return [getattr(self, each.name) for each in fields(self)]


def _unpickled(self: Any, state: list[object]) -> None:  # noqa: ANN401
    for each, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


_SHARED = {
    "__repr__": _text,
    "__setattr__": _refuse_assignment,
    "__delattr__": _refuse_deletion,
    "__getstate__": _pickled,
    "__setstate__": _unpickled,
}

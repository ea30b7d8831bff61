"""`frozen`: slotted dataclasses that share their methods, as making those of each class is much of a cold start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from types import FunctionType
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """What ``@dataclass(frozen=True, slots=True)`` makes, at a third of its price: a hundred are made at every start.

    The standard library writes and compiles eight functions for each class; here that is `__init__` alone, when the
    first value is made, and the others look at the fields when they are called.
    """
    made = dataclass(slots=True, init=False, eq=False, repr=False)(cls)
    names = [each.name for each in fields(made) if each.compare]  # type: ignore[arg-type]  # it is a dataclass now
    methods = {"__init__": _Unwritten(made), **_comparing(attrgetter(*names or ("__class__",))), **_SHARED}
    for name, method in methods.items():
        if cls.__dict__.get(name) is None:
            setattr(made, name, method)
    return made


class _Unwritten:
    """Stands for ``__init__`` until somebody looks at it: of half of the classes no value is made at a start."""

    __slots__ = ("_made",)

    def __init__(self, made: type) -> None:
        self._made = made

    def __get__(self, instance: object, owner: type) -> object:
        written = _init(self._made)
        self._made.__init__ = written  # type: ignore[misc]  # it takes this one's place
        return written.__get__(instance, owner)


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

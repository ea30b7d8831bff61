"""Estimates the size of the result of an operator, method or filter before it is computed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from sparkassets.core.sandbox.cost_meter import MOST_STEPS, CostMeter, TooMuchError

MOST_BITS: Final = 4_096
"""Largest size of a whole number: some 1,200 digits."""
_MOST_PLACES: Final = 400
"""To which a number is rounded; a float has no more."""

_STEPS_OF_A_CALL: Final = 10
"""A macro takes as long as so many turns of a loop."""

_NUMBER: Final = re.compile(r"[0-9]+")
_MOST_DIGITS: Final = 9
"""Most digits of a width; a longer width is always too large."""

_NO_BRACES: Final = re.compile(r"[^{}]+")
_ENDLESS: Final = 10**_MOST_DIGITS


# --------------------------------------------------------------------------- operators


def charge_operator(meter: CostMeter, operator: str, left: Any, right: Any) -> None:  # noqa: ANN401  whatever a template has
    """Counts what an operator will make of two values.

    Raises:
        TooMuchError: It is too much.
    """
    characters = meter.weigh(left, right)
    if operator == "%" and isinstance(left, str):
        meter.write(_max_formatted_size(left, "%", right, widths_are_values="*" in left))
    elif operator == "+" and not isinstance(left, int | float):
        meter.write(characters)
    elif operator == "*" and isinstance(left, int) and isinstance(right, int):
        _whole_number(left.bit_length() + right.bit_length())
    elif operator == "*":
        for many, count in ((left, right), (right, left)):
            if isinstance(count, int) and isinstance(many, str | bytes | list | tuple):
                meter.write(max(0, count) * meter.weigh(many))
    elif operator == "**" and isinstance(left, int) and isinstance(right, int):
        _whole_number(left.bit_length() * abs(right) if abs(left) > 1 else 1)


def _whole_number(bits: int) -> None:
    if bits > MOST_BITS:
        raise TooMuchError(f"the template makes a number of more than {MOST_BITS:,} bits")


# --------------------------------------------------------------------------- methods


def charge_call(meter: CostMeter, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:  # noqa: ANN401
    """Counts what a call will make, as far as it is a method of a text, a number or a list.

    Raises:
        TooMuchError: It is too much.
    """
    meter.step(_STEPS_OF_A_CALL)
    method = getattr(function, "__wrapped__", function)  # Jinja wraps `format`
    owner, name = getattr(method, "__self__", None), getattr(method, "__name__", "")
    characters = meter.weigh(*args, *kwargs.values())
    if isinstance(owner, str | bytes):
        size = _METHODS.get(name, _cased_size)(owner, args, kwargs)
        meter.write(size)
        meter.step(len(owner) + characters)
    elif isinstance(owner, list | tuple | dict | set):
        meter.weigh(owner)


def _cased_size(owner: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:  # noqa: ANN401, ARG001  as its neighbours
    return 3 * len(owner)  # no letter has more than three as its other case


def _padded_size(owner: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:  # noqa: ANN401
    return len(owner) + _width(args, kwargs, "width")


def _replaced_size(owner: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:  # noqa: ANN401
    old, new = (*args, *kwargs.values(), "", "")[:2]
    if not isinstance(old, type(owner)) or not isinstance(new, type(owner)):
        return 0  # Python says so itself
    return len(owner) + int(owner.count(old)) * len(new)


def _joined_size(owner: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:  # noqa: ANN401, ARG001
    items = args[0] if args and isinstance(args[0], list | tuple | dict | set) else ()
    return sum(len(each) + len(owner) for each in items if isinstance(each, str))


def _format_size(owner: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:  # noqa: ANN401
    opened = _NO_BRACES.sub("", owner.replace("{{", "").replace("}}", ""))
    return _max_formatted_size(owner, "{", [*args, dict(kwargs)], widths_are_values="{{" in opened)


_METHODS: Final[Mapping[str, Callable[[Any, Sequence[Any], Mapping[str, Any]], int]]] = {
    "ljust": _padded_size,
    "rjust": _padded_size,
    "zfill": _padded_size,
    "replace": _replaced_size,
    "join": _joined_size,
    "format": _format_size,
}


def _max_formatted_size(text: str, mark: str, values: object, *, widths_are_values: bool) -> int:
    """Upper bound of a formatted text: the format, every width in it, and its values as often as it may print them."""
    widths = sum(_ENDLESS if len(each) > _MOST_DIGITS else int(each) for each in _NUMBER.findall(text))
    printed = CostMeter().weigh(values) * text.count(mark)
    return len(text) + widths + printed + (_largest(values) if widths_are_values else 0)


def _largest(values: object) -> int:
    """The sum of the whole numbers that a format is given, which may be widths."""
    if isinstance(values, int):
        return abs(values)
    if isinstance(values, dict):
        return sum(map(_largest, values.values()))
    return sum(map(_largest, values)) if isinstance(values, list | tuple) else 0


def _width(args: Sequence[Any], kwargs: Mapping[str, Any], name: str) -> int:
    """An argument that says how large the result will be."""
    width = args[0] if args else kwargs.get(name, 0)
    return max(0, width) if isinstance(width, int) else 0


# --------------------------------------------------------------------------- filters


def charge_filter(meter: CostMeter, name: str, value: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:  # noqa: ANN401
    """Counts what a filter will make of a value.

    Raises:
        TooMuchError: It is too much.
    """
    characters = meter.weigh(value, *args, *kwargs.values())
    meter.write(characters)
    grows = _FILTERS.get(name)
    if grows is not None:
        meter.write(grows(value, args, kwargs))


def _argument(args: Sequence[Any], kwargs: Mapping[str, Any], index: int, name: str, otherwise: Any) -> Any:  # noqa: ANN401
    return args[index] if len(args) > index else kwargs.get(name, otherwise)


def _indented_size(value: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:  # noqa: ANN401
    width = _argument(args, kwargs, 0, "width", 4)
    lines = len(value.splitlines()) if isinstance(value, str) else 1
    return lines * (len(width) if isinstance(width, str) else _width([width], {}, ""))


def _format_filter_size(value: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:  # noqa: ANN401
    text = str(value) if isinstance(value, str) else ""
    return _max_formatted_size(text, "%", [*args, dict(kwargs)], widths_are_values="*" in text)


def _replace_filter_size(value: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:  # noqa: ANN401
    texts = [str(each) for each in (_argument(args, kwargs, 0, "old", ""), _argument(args, kwargs, 1, "new", ""))]
    return _replaced_size(str(value), texts, {})


def _size_from_argument(name: str) -> Callable[[Any, Sequence[Any], Mapping[str, Any]], int]:
    """The size estimate of a filter whose first argument is the size of its result."""

    def grows(value: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:  # noqa: ANN401, ARG001
        return _width(args, kwargs, name)

    return grows


def _join_filter_size(value: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:  # noqa: ANN401
    return (
        len(value) * len(str(_argument(args, kwargs, 0, "d", "")))
        if isinstance(value, list | tuple | dict | str)
        else 0
    )


def _summed_size(value: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:  # noqa: ANN401, ARG001
    """Lists are copied for each one that is added."""
    if not isinstance(value, list | tuple) or not any(isinstance(each, list | tuple) for each in value):
        return 0
    return len(value) * sum(len(each) for each in value if isinstance(each, list | tuple))


def _check_rounding(value: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:  # noqa: ANN401, ARG001
    places = _argument(args, kwargs, 0, "precision", 0)
    if isinstance(places, int) and abs(places) > _MOST_PLACES:
        raise TooMuchError(f"the template rounds to {places:,} places; expected at most {_MOST_PLACES}")
    return 0


def _json_size(value: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:  # noqa: ANN401
    """Every value may stand in a line of its own, indented by its depth, which is less than their number."""
    inside = CostMeter()
    inside.weigh(value)
    values = MOST_STEPS - inside.steps
    return _width(args, kwargs, "indent") * values * values


_FILTERS: Final[Mapping[str, Callable[[Any, Sequence[Any], Mapping[str, Any]], int]]] = {
    "batch": _size_from_argument("linecount"),
    "format": _format_filter_size,
    "indent": _indented_size,
    "join": _join_filter_size,
    "replace": _replace_filter_size,
    "round": _check_rounding,
    "slice": _size_from_argument("slices"),
    "sum": _summed_size,
    "tojson": _json_size,
}

"""Extras: free facts about an asset or an event, which anybody may read (docs/design/projects.md#extras)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from sparkassets.core.credentials import secrets_in
from sparkassets.core.phrases import kind_of
from sparkassets.errors import InputError

EXTRA_BYTES: Final = 64 * 1024
"""An extra's greatest size, as JSON in UTF-8."""
EXTRA_DEPTH: Final = 100
"""How deep its objects and lists may be nested."""


def check_extra(extra: object) -> dict[str, Any]:
    """A copy of the extra, as JSON has it.

    Raises:
        InputError: It is not a JSON object, is larger than `EXTRA_BYTES` or deeper than `EXTRA_DEPTH`, or holds a
            credential.
    """
    if not isinstance(extra, Mapping):
        raise InputError(f"the extra is {kind_of(extra)}; expected an object of keys and values")
    for key in extra:
        if not isinstance(key, str):
            raise InputError(f"the extra's key {key!r} is {kind_of(key)}; expected text")
    found: dict[str, Any] = json.loads(encode_extra(extra))
    for path, what in secrets_in(found):
        where = f" {'.'.join(map(str, path))}" if path else ""
        raise InputError(f"the extra{where} holds {what}; events are clear text")
    return found


def encode_extra(extra: Mapping[str, Any]) -> str:
    """The extra as JSON.

    Raises:
        InputError: JSON or UTF-8 cannot say it, or it is larger than `EXTRA_BYTES` or deeper than `EXTRA_DEPTH`.
    """
    try:
        text = json.dumps(dict(extra), ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise InputError(
            f"the extra holds {error.object[error.start]!r}, half of a character, which UTF-8 cannot write",
            hint="the text was decoded from bytes that are no text; replace what could not be read",
        ) from None
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the extra cannot be written as JSON: {_json_problem(error)}",
            hint="make it text, numbers, lists and dicts of these",
        ) from None
    except RecursionError:
        raise nesting_error() from None
    if size > EXTRA_BYTES:
        raise InputError(
            f"the extra is {size:,} bytes of JSON; expected at most {EXTRA_BYTES:,}",
            hint="put what is large into a file or a table, and its place into the extra",
        )
    if _depth(extra) > EXTRA_DEPTH:
        raise nesting_error()
    return text


def _json_problem(error: TypeError | ValueError) -> str:
    """The problem as JSON words it, without the value, which only newer Pythons add."""
    return str(error).partition(": ")[0]


def _depth(value: object) -> int:
    """How deep objects and lists are nested."""
    level, depth = [value], 0
    while level := [each for each in level if isinstance(each, Mapping | list | tuple)]:
        depth += 1
        level = [inner for each in level for inner in (each.values() if isinstance(each, Mapping) else each)]
    return depth


def nesting_error() -> InputError:
    """The error for objects and lists that are nested deeper than `EXTRA_DEPTH`, or than can be read."""
    return InputError(f"the extra is nested too deep; expected at most {EXTRA_DEPTH} objects and lists in each other")

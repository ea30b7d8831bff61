"""Restores the state of the process that functions of assets change, such as its working folder, once none runs."""

from __future__ import annotations

import locale
import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

_LOCK: Final = threading.Lock()


def _read_working_folder() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109  of a folder that was removed, pathlib tells less
    except OSError:
        return None  # it was removed


def _set_working_folder(folder: str | None) -> None:
    if folder is not None:
        os.chdir(folder)


def _set_environment(values: dict[str, str]) -> None:
    for name in os.environ.keys() - values.keys():
        del os.environ[name]
    os.environ.update({name: value for name, value in values.items() if os.environ.get(name) != value})


def _set_filters(filters: list[Any]) -> None:
    warnings.filters[:] = filters  # type: ignore[index]
    warnings._filters_mutated()  # type: ignore[attr-defined]  # noqa: SLF001  what `catch_warnings` does


def _read_logging() -> tuple[int, list[logging.Handler], int]:
    root = logging.getLogger()
    return root.level, list(root.handlers), root.manager.disable


def _set_logging(state: tuple[int, list[logging.Handler], int]) -> None:
    root = logging.getLogger()
    root.setLevel(state[0])
    root.handlers[:] = state[1]
    root.manager.disable = state[2]


_STATE_PARTS: Final[tuple[tuple[Callable[[], Any], Callable[[Any], None]], ...]] = (
    (_read_working_folder, _set_working_folder),
    (lambda: dict(os.environ), _set_environment),
    (lambda: list(warnings.filters), _set_filters),
    (lambda: locale.setlocale(locale.LC_ALL), lambda given: (locale.setlocale(locale.LC_ALL, given), None)[1]),
    (_read_logging, _set_logging),
    (sys.getrecursionlimit, sys.setrecursionlimit),
)
"""How to read and to set each part of the process's state."""


class _RunningFunctions:
    """The running functions, and the process's state before the first of them.

    Once that state is restored it is forgotten: later changes are made by whoever no longer waits for the functions,
    such as a notebook, and stay.

    Attributes:
        given_up: For each running function, a test whether nobody waits for it any more.
        before: The state by the order of `_STATE_PARTS`; empty while none is to be restored.
    """

    def __init__(self) -> None:
        self.given_up: list[Callable[[], bool]] = []
        self.before: list[Any] = []

    @property
    def all_given_up(self) -> bool:
        """Whether every function that still runs was given up."""
        return all(each() for each in self.given_up)


_RUNNING: Final = _RunningFunctions()


@contextmanager
def preserve_process_state(given_up: Callable[[], bool]) -> Iterator[None]:
    """Restores what functions change of the process, once this and all parallel ones have ended.

    The working folder, environment, warning filters, locale, root logger and recursion limit belong to the whole
    process. Functions that run at the same time see each other's changes; a later run sees none of them.

    Args:
        given_up: Tests whether nobody waits for the function any more.
    """
    with _LOCK:
        _restore_if_unused()  # of one that was given up this very moment
        if not _RUNNING.before:
            _RUNNING.before = [look() for look, _ in _STATE_PARTS]
        _RUNNING.given_up.append(given_up)
    try:
        yield
    finally:
        with _LOCK:
            _RUNNING.given_up.remove(given_up)
            _restore_if_unused()


def restore_process_state() -> None:
    """Restores the process's state if every function that still runs was given up."""
    with _LOCK:
        _restore_if_unused()


def _restore_if_unused() -> None:
    """Restores the state, unless a function runs that somebody waits for; the caller holds `_LOCK`."""
    if not _RUNNING.all_given_up or not _RUNNING.before:
        return
    for (read, restore), value in zip(_STATE_PARTS, _RUNNING.before, strict=True):
        with suppress(Exception):  # the folder may be gone; what else was changed is set all the same
            if read() != value:
                restore(value)
    _RUNNING.before = []

"""Restores the working directory and environment after asset functions change them."""

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


def _folder() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109  of a folder that was removed, pathlib tells less
    except OSError:
        return None  # it was removed


def _go(folder: str | None) -> None:
    if folder is not None:
        os.chdir(folder)


def _set_environment(given: dict[str, str]) -> None:
    for name in os.environ.keys() - given.keys():
        del os.environ[name]
    os.environ.update({name: value for name, value in given.items() if os.environ.get(name) != value})


def _set_filters(given: list[Any]) -> None:
    warnings.filters[:] = given  # type: ignore[index]
    warnings._filters_mutated()  # type: ignore[attr-defined]  # noqa: SLF001  what `catch_warnings` does


def _logging() -> tuple[int, list[logging.Handler], int]:
    root = logging.getLogger()
    return root.level, list(root.handlers), root.manager.disable


def _set_logging(given: tuple[int, list[logging.Handler], int]) -> None:
    root = logging.getLogger()
    root.setLevel(given[0])
    root.handlers[:] = given[1]
    root.manager.disable = given[2]


_SHARED: Final[tuple[tuple[Callable[[], Any], Callable[[Any], None]], ...]] = (
    (_folder, _go),
    (lambda: dict(os.environ), _set_environment),
    (lambda: list(warnings.filters), _set_filters),
    (lambda: locale.setlocale(locale.LC_ALL), lambda given: (locale.setlocale(locale.LC_ALL, given), None)[1]),
    (_logging, _set_logging),
    (sys.getrecursionlimit, sys.setrecursionlimit),
)
"""How to read and to set each part of the process's state."""


class _RunningFunctions:
    """The running functions, whether each was given up, and the process's state before the first of them.

    Once that is restored it is forgotten: later changes are taken for those of whoever gave the functions up,
    such as a notebook, and stay.
    """

    def __init__(self) -> None:
        self.given_up: list[Callable[[], bool]] = []
        self.before: list[Any] = []

    @property
    def is_none(self) -> bool:
        """Whether no function runs, apart from those given up."""
        return all(each() for each in self.given_up)


_RUNNING: Final = _RunningFunctions()


@contextmanager
def preserve_process_state(given_up: Callable[[], bool]) -> Iterator[None]:
    """Restores changed state once the block, and all blocks in parallel, have ended.

    The working folder, the environment, the filters of warnings, the locale, the root of logging and the
    limit of recursion are those of the whole process: functions that run at the same time see what one of them
    changes; a run that begins later does not.

    Args:
        given_up: Says whether nobody waits for the block any more.
    """
    with _LOCK:
        _undo()  # of one that was given up this very moment
        if not _RUNNING.before:
            _RUNNING.before = [look() for look, _ in _SHARED]
        _RUNNING.given_up.append(given_up)
    try:
        yield
    finally:
        with _LOCK:
            _RUNNING.given_up.remove(given_up)
            _undo()


def restore_process_state() -> None:
    """Restores changed state once the last running function has been given up."""
    with _LOCK:
        _undo()


def _undo() -> None:
    if not _RUNNING.is_none or not _RUNNING.before:
        return
    for (look, put), before in zip(_SHARED, _RUNNING.before, strict=True):
        with suppress(Exception):  # the folder may be gone; what else was changed is set all the same
            if look() != before:
                put(before)
    _RUNNING.before = []

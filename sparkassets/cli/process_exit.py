"""The end of the process, also where a thread that somebody's function has started never ends."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Collection
from contextlib import suppress
from typing import Final

PATIENCE_SECONDS: Final = 5.0
"""How long remaining threads may take to end, after the main thread."""


def end_in_time(code: int, *, before: Collection[threading.Thread]) -> None:
    """Ends the process with this code soon after its main thread has ended, and names the threads that still run.

    In a process that goes on, such as a notebook, nothing happens.

    Args:
        code: Exit code of the command.
        before: The threads that existed before it.
    """
    left = [each for each in threading.enumerate() if not each.daemon and each not in before]
    if left:
        threading.Thread(target=_watch, args=(code, left), name="sparkassets-leaving", daemon=True).start()


def _watch(code: int, left: list[threading.Thread]) -> None:
    threading.main_thread().join()
    end = time.monotonic() + PATIENCE_SECONDS
    while left and time.monotonic() < end:
        left[0].join(max(0.0, end - time.monotonic()))
        left = [each for each in left if each.is_alive()]
    if not left:
        return
    names = ", ".join(repr(each.name) for each in left)
    with suppress(OSError, ValueError):
        sys.stderr.write(f"warning: the process ends without its threads {names}, which a function has left running\n")
        sys.stderr.flush()
    os._exit(code)

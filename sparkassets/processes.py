"""Processes that cannot be mistaken for others: a number is used again, a number with its start is not."""

from __future__ import annotations

import os
from pathlib import Path

Process = tuple[int, float]
"""The number of a process, and when it started: clock ticks since its host booted, which no change of clocks moves."""

_STATE, _START = 0, 19
"""Places in ``/proc/PID/stat`` after the process's name (proc(5): fields 3 and 22)."""
_DEAD = "ZXx"


def this_process() -> Process:
    """The process that asks."""
    return os.getpid(), read_start_time(os.getpid())


def read_start_time(pid: int) -> float:
    """When the process started, in clock ticks since the boot; 0 if it does not exist, or there is no ``/proc``."""
    fields = _stat(pid)
    return float(fields[_START]) if fields else 0.0


def is_alive(process: Process) -> bool:
    """Whether this very process runs, or may run.

    Where ``/proc`` does not show its start, any process with its number counts, also one of another user.
    """
    pid, start = process
    fields = _stat(pid)
    if fields:
        return fields[_STATE] not in _DEAD and float(fields[_START]) == start
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def host_of_processes(name: str) -> str:
    """A name of the place within which a process number means one process: ``name/boot id/PID namespace``.

    Empty if the system tells no boot or namespace. The host's ``name`` alone is not enough: two containers may share
    it, and each has its own process 7.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = str(Path("/proc/self/ns/pid").readlink()).removeprefix("pid:").strip("[]")
    except (OSError, ValueError):
        return ""
    return f"{name}/{boot}/{namespace}" if boot and namespace else ""


def _stat(pid: int) -> list[str]:
    """The fields of ``/proc/PID/stat`` after the process's name; empty if they cannot be read."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()  # the name stands in parentheses, and may hold spaces or parentheses

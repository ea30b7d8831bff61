"""This machine: its clock, its processes and its cache folder."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from sparkassets.cache import cache_folder
from sparkassets.processes import Process, host_of_processes, is_alive


class SystemClock:
    """This machine's time."""

    def now(self) -> datetime:
        """The current instant, aware UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        return time.monotonic()


class RandomIds:
    """Run names such as ``daily_delays-20250321T060000-4f9a1c``."""

    def invocation_id(self) -> str:
        """A name of one start of a driver that never repeats."""
        return os.urandom(6).hex()

    def run_id(self, asset: str, at: datetime) -> str:
        """A name for a run that never repeats, made of asset, time and random characters."""
        return f"{asset}-{at:%Y%m%dT%H%M%S}-{os.urandom(3).hex()}"


def process_name() -> str:
    """What this process is called in the journal: ``host:pid``."""
    return f"{platform.node()}:{os.getpid()}"


def user_name() -> str:
    """The name of the user who runs this process; ``someone`` if the host does not know it."""
    from getpass import getuser

    try:
        return getuser()
    except (OSError, KeyError, ImportError):
        return "someone"


def host_identity() -> str:
    """The name of this host, boot and process namespace for claims; empty if the system does not tell these.

    Within one such name a process number always means the same process; without a name only leases decide.
    """
    return host_of_processes(platform.node())


def any_alive(processes: Sequence[Process]) -> bool:
    """Whether at least one of these processes of this host still runs."""
    return any(map(is_alive, processes))


def find_cache_folder() -> Path | None:
    """The cache folder; None if the user has no home folder to have one in."""
    try:
        return cache_folder()
    except RuntimeError:
        return None

"""This machine: its clock, its processes and its cache folder."""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from sparkassets.cache import cache_folder


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

    def run_id(self, asset: str, at: datetime) -> str:
        """A name that never repeats."""
        return f"{asset}-{at:%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


def process_name() -> str:
    """What this process is called in the journal: ``host:pid``."""
    return f"{socket.gethostname()}:{os.getpid()}"


def host_identity() -> str:
    """What tells this host (and this boot and container of it) from others."""
    boot = ""
    for source in ("/proc/sys/kernel/random/boot_id", "/proc/self/cgroup"):
        try:
            boot += Path(source).read_text(encoding="utf-8").splitlines()[0]
        except (OSError, IndexError):
            continue
    digest = hashlib.blake2s(boot.encode(), digest_size=4).hexdigest()
    return f"{socket.gethostname()}/{digest}"


def any_alive(processes: Sequence[tuple[int, float]]) -> bool:
    """Whether one of these (pid, creation time) processes runs on this host."""
    import psutil

    for pid, created in processes:
        try:
            process = psutil.Process(pid)
            if abs(process.create_time() - created) < 1.0 and process.status() != psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            continue
        except psutil.AccessDenied:
            return True
    return False


def kept() -> Path | None:
    """The cache folder; None where there is no home to have one in."""
    try:
        return cache_folder()
    except RuntimeError:
        return None

"""The figures of all kills, printed once, whichever process of the tests counted them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.crash.processes import Figures, server

SHOWN = 8
"""Points in a line."""


@pytest.fixture(scope="session")
def drivers() -> Iterator[None]:
    """Drivers begin at once from here on, and none outlives the tests."""
    if not Path("/proc/self/stat").exists():
        pytest.skip("where a process that is gone cannot be determined, leases alone decide, which takes minutes")
    started = server()
    started.ready()
    yield
    started.close()
    server.cache_clear()


@pytest.fixture
def figures(drivers: None, record_property: Any) -> Iterator[Figures]:
    """Of one test."""
    found = Figures()
    yield found
    record_property("kills", {**asdict(found), "ended": dict(found.ended)})


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Kills, and what they came to."""
    total = Figures()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") == "teardown":
                for name, told in report.user_properties:
                    if name == "kills":
                        total.add(Figures(**told))
    if total.kills or total.stops:
        _print(terminalreporter, total)


def _print(terminal: Any, total: Figures) -> None:
    terminal.section("drivers that were killed or stopped")
    for name, value in (
        ("killed by SIGKILL", total.kills),
        ("stopped, taken over, continued", total.stops),
        ("starts that settled what they left", total.restarts),
        ("rows lost", total.lost),
        ("rows doubled", total.doubled),
        ("longest of these starts", f"{total.longest:.1f} s"),
    ):
        terminal.write_line(f"{name:<36}{value:>8}")
    told = [f"{point} {count}" for point, count in sorted(total.ended.items())]
    for place in range(0, len(told), SHOWN):
        terminal.write_line("  " + ", ".join(told[place : place + SHOWN]))

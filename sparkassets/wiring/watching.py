"""Who watches the invocations of a project: what its files and the environment ask for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sparkassets.core.spec.model import ProjectSpec
from sparkassets.emit.run_logs import RunLogs
from sparkassets.wiring.failures import log_folder

if TYPE_CHECKING:
    from sparkassets.runtime.watching import Watcher


def watchers(spec: ProjectSpec) -> Iterator[Watcher]:
    """Those of one invocation; nothing is imported for those that nobody asks for."""
    yield RunLogs(log_folder(spec), variables=spec.variables)


def run_log(spec: ProjectSpec, run: str) -> Path:
    """Where the log of a run is, if it is on this host."""
    return log_folder(spec) / f"{run}.log"

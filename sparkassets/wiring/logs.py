"""Where the logs of a project's runs are on this host."""

from __future__ import annotations

from pathlib import Path

from sparkassets.core.spec.model import ProjectSpec
from sparkassets.wiring.host import kept


def log_folder(project: ProjectSpec) -> Path:
    """Where a project's runs leave their logs on this host.

    That is where it says, else beside a ``state`` on a disk, else in the user's cache.
    """
    if project.logs is not None:
        return Path(project.logs)
    if "://" not in project.state:
        return Path(project.state) / "logs"
    from hashlib import blake2b
    from tempfile import gettempdir

    cache = kept()
    own = f"{project.name}-{blake2b(project.state.encode(errors='surrogateescape'), digest_size=4).hexdigest()}"
    return cache / "logs" / own if cache is not None else Path(gettempdir()) / "sparkassets-logs"

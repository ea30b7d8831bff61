"""The folder layout of ``write: publish``: each run writes a folder of its own, which no later run touches.

The target at ``path`` is a Delta table in any case, and shows the newest iteration. Beside its log::

    <path>/_iterations/<run>.<token>.<attempt>/rows/     the iteration's rows, a Delta table of its own
    <path>/_iterations/<run>.<token>.<attempt>/files/    what a function wrote there itself

An iteration becomes the newest by one commit at ``path`` that names the files below its ``rows``. So fences,
look-ups and take-overs are those of any other write, and nothing is copied or renamed. Of a function that returns no
rows these are one row that says where its files are, so that any reader of Delta finds them. ``VACUUM`` passes over
folders that begin with ``_``, be it Spark's or deltalake's: older iterations stay until sparkassets removes them, and
are read, and made the newest again, from their own logs, however short the log at ``path`` is.

A name holds the fence token and the attempt as well, because an abandoned attempt may still be writing.
"""

from __future__ import annotations

from typing import Final

ITERATIONS: Final = "_iterations"
"""The folder of all iterations, in the table's folder."""
ROWS: Final = "rows"
"""The folder of an iteration's rows, in its own folder."""
FILES: Final = "files"
"""The folder of the files that a function wrote, in the iteration's own folder."""


def iteration_name(run: str, token: int, attempt: int) -> str:
    """The name of the iteration that one attempt of a run writes, and of its folder.

    >>> iteration_name("model-2025", 7, 1)
    'model-2025.7.1'
    """
    return f"{run}.{token}.{attempt}"


def iteration_folder(name: str, part: str = "") -> str:
    """The iteration's folder, or one in it, relative to the table.

    >>> iteration_folder("model-2025.7.1"), iteration_folder("model-2025.7.1", FILES)
    ('_iterations/model-2025.7.1', '_iterations/model-2025.7.1/files')
    """
    return "/".join(filter(None, [ITERATIONS, name, part]))

"""A driver as a process of its own that commits to a table: ``committing.py TABLE APP VERSION…``.

It commits one fence a version, each by a table that it loads again, and says which when that has returned.
"""

from __future__ import annotations

import contextlib
import sys

from deltalake import DeltaTable

from sparkassets.delta.commit import CommitConflictError, CommitRequest, commit


def change(app: str, version: int, **more) -> CommitRequest:
    """A commit of a transaction alone."""
    return CommitRequest("sales", app, version, f"{app}-{version}", **more)


def main(path: str, app: str, *versions: str) -> None:
    for version in versions:
        with contextlib.suppress(CommitConflictError):
            commit(path, DeltaTable(path), change(app, int(version)))
        sys.stdout.write(f"{app}-{version}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Somebody else's session: ``asking.py PROJECT`` answers each line of SQL with its rows, as a line of JSON."""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession

from sparkassets import Project


def main(folder: str) -> None:
    Project.load(folder).connect()
    session = SparkSession.active()
    for statement in sys.stdin:
        rows = [list(row) for row in session.sql(statement).collect()]
        sys.stdout.write(json.dumps(rows, default=str) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Prepares the cache folder for starts of Spark, for a container image: ``python -m sparkassets.spark``.

It fetches the jars and starts Spark once, which leaves the class data archive: a container that keeps no cache would
otherwise write its own at each end.
"""

from __future__ import annotations

import sys
from tempfile import TemporaryDirectory

from sparkassets.spark.session import open_session
from sparkassets.spark.session_settings import delta_jars


def main() -> None:
    """Fills the cache; the archive is written when the process ends."""
    sys.stdout.writelines(f"{jar}\n" for jar in delta_jars())
    session, _ = open_session({}, name="sparkassets")
    with TemporaryDirectory() as folder:
        session.range(1).write.format("delta").save(f"{folder}/table")
    session.stop()


if __name__ == "__main__":
    main()

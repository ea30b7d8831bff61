"""Fetches the jars that a start of Spark needs, for a container image: ``python -m sparkassets.spark``."""

from __future__ import annotations

import sys

from sparkassets.spark.session_settings import delta_jars

if __name__ == "__main__":
    sys.stdout.writelines(f"{jar}\n" for jar in delta_jars())

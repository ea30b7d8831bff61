"""What a run loads in Python, loaded while Spark's JVM starts on another core."""

from __future__ import annotations

import importlib
import threading
from typing import Final

MODULES: Final = ("pyarrow.fs", "pyarrow.parquet", "deltalake.transaction", "pyspark.sql.functions")


def warm_up() -> None:
    """Begins to load; returns at once. What cannot be loaded is told by whoever needs it."""
    threading.Thread(target=_load, name="warm-up", daemon=True).start()


def _load() -> None:
    for module in MODULES:
        try:
            importlib.import_module(module)
        except ImportError:
            return

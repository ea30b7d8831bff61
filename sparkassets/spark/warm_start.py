"""What a run loads in Python, loaded while Spark's JVM starts on another core."""

from __future__ import annotations

import contextlib
import importlib
import threading
from typing import Final

MODULES: Final = ("pandas", "pyarrow.fs", "pyarrow.parquet", "deltalake.transaction")
"""None of pyspark's: two threads that load modules which import each other may wait for each other's.

pandas is what pyspark itself loads, where it is installed, before it makes its first configuration.
"""


def warm_up() -> None:
    """Begins to load, after pyspark was loaded; returns at once. What cannot be loaded is told by whoever needs it."""
    threading.Thread(target=_load, name="warm-up", daemon=True).start()


def _load() -> None:
    for module in MODULES:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)

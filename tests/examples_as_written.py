"""The examples of the grammar as they stand; the catalog `main` is the session's own."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

EXAMPLES = Path(__file__).parent / "examples"


def as_written(name: str, folder: Path) -> Path:
    """A copy of an example in ``folder``; storage elsewhere is below its ``lake``."""
    copy = shutil.copytree(EXAMPLES / name, folder / name)
    for file in copy.glob("*.yml"):
        text = re.sub(r"\btable: main\.", "table: spark_catalog.", file.read_text())
        file.write_text(text.replace("s3://lake/", "lake/"))
    return copy

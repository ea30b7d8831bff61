"""The examples of the grammar as they stand, with paths in place of a catalog's tables."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from sparkassets.core.spec.not_yet import refused_key

EXAMPLES = Path(__file__).parent / "examples"


def over_paths(name: str, folder: Path) -> Path:
    """A copy of an example in ``folder``; catalogs' tables, and storage elsewhere, are below its ``lake``."""
    copy = shutil.copytree(EXAMPLES / name, folder / name)
    for file in copy.glob("*.yml"):
        text = re.sub(r"\btable: [\w.]+\.(\w+)", r"path: lake/\1", file.read_text())
        if refused_key("outlets.*.validations"):
            text = re.sub(r", validations: \[\{.*\}\]\}", "}", text)
        file.write_text(text.replace("s3://lake/", "lake/"))
    return copy

"""Makes a project of a dbt project: its files, and a report of what could not be carried over and why."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from sparkassets.errors import InputError
from sparkassets.features.dbt_import.conversion import ImportedProject, convert_project
from sparkassets.features.dbt_import.dbt_nodes import ImportNote
from sparkassets.features.dbt_import.manifest import MANIFEST, read_manifest
from sparkassets.features.dbt_import.project_files import read_project_files

__all__ = ["REPORT", "ImportNote", "ImportedProject", "import_dbt", "write_import"]

REPORT: Final = "IMPORTED.md"
"""File in the new project with what was not carried over."""


def import_dbt(folder: Path, *, variables: Mapping[str, Any], dialect: str | None = None) -> ImportedProject:
    """The project of a dbt project; nothing is written, run or imported.

    Args:
        folder: Holds ``dbt_project.yml``. What dbt resolved is taken from ``target/manifest.json`` where that is.
        variables: Values of ``var`` that replace those of the project.
        dialect: The SQL of the project, as sqlglot names it; None for that of its adapter.

    Raises:
        InputError: There is no project, or it cannot be read.
    """
    manifest = folder / MANIFEST
    read = read_manifest if manifest.is_file() else read_project_files
    return convert_project(read(manifest if manifest.is_file() else folder, variables, dialect), folder)


def write_import(imported: ImportedProject, folder: Path) -> list[str]:
    """Writes the project and its report into a new or empty folder; returns the paths in it.

    Raises:
        InputError: The folder holds something, or cannot be written to.
    """
    files = {**imported.files, REPORT: _report_text(imported).encode(), ".gitignore": b"/state/\n/warehouse/\n"}
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(f"{str(folder)!r} is not empty; nothing was written", hint="name a new folder with --to")
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    except OSError as error:
        raise InputError(f"cannot write into {str(folder)!r}: {error.strerror}", topic="output-not-writable") from error
    return sorted(files)


def _report_text(imported: ImportedProject) -> str:
    """The report in Markdown: the summary, and a table with a row for each note."""
    lines = [f"# {imported.name}, imported from dbt", "", f"{imported.summary}."]
    if imported.notes:
        lines += ["", "What was not carried over, or not as it was:", "", "| where | what | why | write by hand |"]
        lines.append("|---|---|---|---|")
    for note in imported.notes:
        cells = (note.place, note.subject, note.reason, note.remedy)
        lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    return "\n".join(lines) + "\n"

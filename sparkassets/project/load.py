"""From a folder to the compiled project."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from sparkassets.core.spec.asset_file import read_asset_files
from sparkassets.core.spec.bodies import Module, WantedModule, WantedSql, wanted
from sparkassets.core.spec.document import SourceFile
from sparkassets.core.spec.drafts import AssetFiles, ProjectDraft
from sparkassets.core.spec.load import compile_project
from sparkassets.core.spec.model import ProjectSpec
from sparkassets.core.spec.project_file import read_project_file
from sparkassets.errors import InputError, Location, Problem, SpecError
from sparkassets.project.functions import read_module

PROJECT_FILE = "project.yml"
_YAML = (".yml", ".yaml")


def load(folder: Path, env: Mapping[str, str]) -> ProjectSpec:
    """The project in a folder, compiled.

    Args:
        folder: Holds ``project.yml``; messages name files as this path does, or shorter.
        env: Variables for ``${…}``.

    Raises:
        InputError: There is no project file.
        SpecError: With every problem of every file, in order of place.
    """
    if not (folder / PROJECT_FILE).is_file():
        found = "there is no folder" if not folder.is_dir() else f"there is no {PROJECT_FILE} in"
        raise InputError(f"{found} {str(folder)!r}", hint="give the project's folder, or make one: sparkassets init")
    root = folder.resolve()
    reader = _Reader(root)
    project_file = reader.file(root / PROJECT_FILE)
    if project_file is None:
        raise SpecError(reader.problems)
    project = read_project_file(project_file, root=str(root), environment=env)
    asset_files = [file for path in _asset_paths(project, root) if (file := reader.file(path))]
    assets = read_asset_files(asset_files, project=project, environment=env)
    sql, modules = _code(project, assets, reader)
    assets = AssetFiles(assets.drafts, assets.unreadable, (*assets.problems, *reader.problems))
    return compile_project(project, assets, sql=sql, modules=modules)


class _Reader:
    """Reads text files once; what is no UTF-8 becomes a problem."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.problems: list[Problem] = []

    def file(self, path: Path) -> SourceFile | None:
        """The file, or None where there is none that can be read."""
        try:
            content = path.read_bytes()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None
        except OSError as error:
            self.problems.append(Problem(Location(_label(path)), f"cannot be read: {error.strerror}"))
            return None
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            column = error.start - content.rfind(b"\n", 0, error.start)
            message = f"the byte 0x{content[error.start]:02x} is not UTF-8; files of a project are UTF-8 text"
            self.problems.append(Problem(Location(_label(path), line, column), message))
            return None
        return SourceFile(_label(path), Path(os.path.relpath(path, self.root)).as_posix(), text)


def _label(path: Path) -> str:
    """The path as people know it: from where they stand when that is shorter."""
    return min(os.path.relpath(path), str(path), key=len)


def _asset_paths(project: ProjectDraft, root: Path) -> Iterable[Path]:
    """The files of the `assets` folders, by name within a folder; of the project's folder itself no subfolders."""
    found: dict[Path, None] = {}
    for index, entry in enumerate(project.keys.assets):
        path = Path(os.path.normpath(root / entry))
        if path.is_dir():
            found |= dict.fromkeys(_yaml_files(path, deep=path != root))
        elif path.is_file():
            found[path] = None
        elif (at := project.at / "assets").exists:
            (at / index).problem(f"there is no folder {entry!r} in the project's folder")
    found.pop(root / PROJECT_FILE, None)
    return found


def _yaml_files(folder: Path, *, deep: bool) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        ordered = sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name)
    for entry in ordered:
        if entry.is_dir():
            if deep:
                yield from _yaml_files(Path(entry.path), deep=deep)
        elif entry.name.endswith(_YAML):
            yield Path(entry.path)


def _code(
    project: ProjectDraft, assets: AssetFiles, reader: _Reader
) -> tuple[dict[str, SourceFile], dict[str, Module]]:
    """The SQL files and the modules that the assets want, as far as they exist."""
    sql: dict[str, SourceFile] = {}
    modules: dict[str, Module] = {}
    for draft in assets.drafts.values():
        match wanted(draft, project):
            case WantedSql(paths):
                found = next((file for path in paths if (file := reader.file(reader.root / path))), None)
                sql |= {found.path: found} if found else {}
            case WantedModule(name) if name not in modules and (module := _module(name, reader)):
                modules[name] = module
    return sql, modules


def _module(name: str, reader: _Reader) -> Module | None:
    """The module in the project's folder or beside it."""
    relative = name.replace(".", "/")
    for base in (reader.root, reader.root.parent):
        for path in (base / f"{relative}.py", base / relative / "__init__.py"):
            if path.is_file() and (file := reader.file(path)):
                return read_module(file, search_path=str(base))
    return None

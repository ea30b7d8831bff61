"""The owner and the tags that assets take from the project's `defaults`."""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import dirname, normpath

from sparkassets.core.spec.drafts import AssetDraft, AssetFiles, ProjectDraft
from sparkassets.core.spec.project_models import FolderDefaultsMap
from sparkassets.core.suggestions import did_you_mean


def find_owner(draft: AssetDraft, project: ProjectDraft) -> str:
    """The owner of an asset: its own, else that of the innermost folder with one, else the project's."""
    owners = [each.owner for each in _find_folders(draft, project) if each.owner is not None]
    return draft.keys.owner or (owners[-1] if owners else project.keys.defaults.owner)


def find_tags(draft: AssetDraft, project: ProjectDraft) -> tuple[str, ...]:
    """The tags of an asset: the project's, those of its folders from the outermost on, and its own."""
    of_folders = [tag for each in _find_folders(draft, project) for tag in each.tags]
    return tuple(dict.fromkeys([*project.keys.defaults.tags, *of_folders, *draft.keys.tags]))


def _find_folders(draft: AssetDraft, project: ProjectDraft) -> Iterator[FolderDefaultsMap]:
    """The defaults of the folders that hold the asset's file, the outermost first."""
    folders = {normpath(name): each for name, each in project.keys.defaults.folders.items()}
    for name in sorted(folders, key=len):
        if draft.file.path.startswith(f"{name}/"):
            yield folders[name]


def check_folders(project: ProjectDraft, files: AssetFiles) -> None:
    """Refuses defaults of a folder that holds no file of an asset."""
    written = project.keys.defaults.folders
    if not written:
        return
    holding = {dirname(draft.file.path) for draft in files.drafts.values()}
    known = {folder[:end] for folder in holding for end in [*_slashes(folder), len(folder)]}
    for name in written:
        if normpath(name) not in known:
            at = project.at / "defaults" / "folders" / name
            at.add_key_problem(f"the folder {name!r} holds no file of an asset", hint=did_you_mean(name, known))


def _slashes(path: str) -> Iterator[int]:
    return (place for place, letter in enumerate(path) if letter == "/")

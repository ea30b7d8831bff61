"""Folders of tables that are not there at all: a volume that is not mounted is no reason to compute anything anew."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

from sparkassets.core.journal.state import State
from sparkassets.core.spec.model import AssetSpec, ProjectSpec
from sparkassets.ports import TargetObserver


def find_unmounted(
    project: ProjectSpec, state: State, observer: TargetObserver, assets: Iterable[AssetSpec]
) -> dict[str, str]:
    """Those of ``assets`` that would be written to a folder that is not there although tables in it are recorded.

    An asset that was never written counts as well: its first run would make the folder beside the volume, and then
    the tables of the others would look as if somebody had removed them.
    """
    written = [asset for asset in project.assets.values() if asset.source is None and _has_recorded_table(asset, state)]
    lost = {PurePath(folder) for asset in written if (folder := observer.missing_folder(asset)) is not None}
    faults = {}
    for asset in assets if lost else ():
        folder = observer.missing_folder(asset)
        around = () if folder is None else (PurePath(folder), *PurePath(folder).parents)
        # the outermost, so that all that one volume holds is told in the same words
        found = next((each for each in reversed(around) if each in lost), None)
        if found is not None:
            from shlex import quote

            faults[asset.name] = (
                f"the folder {found} is not there, but tables were written to it: is its volume mounted?"
                f" to compute them anew, make the folder: mkdir -p {quote(str(found))}"
            )
    return faults


def _has_recorded_table(asset: AssetSpec, state: State) -> bool:
    known = state.assets.get(asset.name)
    return known is not None and known.table_id is not None

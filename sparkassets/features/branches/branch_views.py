"""The views by which catalogs show a branch: own and reused tables, each under the name that it has in the base."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress

from sparkassets.core.journal.state import State
from sparkassets.core.phrases import few
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.storage_location import NAMED
from sparkassets.core.table_names import has_fields, parse_table_name
from sparkassets.errors import StateError
from sparkassets.features.branches.branch_project import branch_storage
from sparkassets.features.branches.branch_state import Branch
from sparkassets.ports.views import BranchViews, ShownTable


def list_views(branch: Branch, *, is_dropped: bool = False) -> BranchViews:
    """The views that catalogs should have of a branch now; none of one that this or another process is dropping."""
    base = branch.base.state()
    try:
        own = branch.journal.state()
        is_dropped |= any(asset_state.paused for asset_state in own.assets.values())  # a drop alone pauses in a branch
    except StateError:  # its journal is gone already
        own, is_dropped = State(), True
    tables: dict[tuple[str, ...], ShownTable | None] = dict.fromkeys(_recorded_tables(base))
    for asset in branch.branch_project.base.assets.values():
        if asset.is_named and asset.storage is not None and (asset.source is None or not asset.source.varies):
            tables[asset.storage.table] = None if is_dropped else _find_shown_table(asset, branch, base, own)
    return BranchViews(branch.branch_project.name, f"{base.journal_id}/{branch.branch_project.name}", tables)


def show_branch(branch: Branch, shown: BranchViews | None) -> BranchViews:
    """Updates the views of a branch and returns them; ``shown`` are those that this process has made before.

    The branch is looked at again afterwards: a `drop` that comes in between has removed only the views of before.
    """
    while (views := list_views(branch)) != shown:
        shown = views
        if views.tables and (problems := branch.adapters.update_views(views)):
            warn_of_views(branch.branch_project.name, problems)
    return views


def warn_of_views(branch: str, problems: Sequence[str]) -> None:
    """Warns of views that could not be made or removed."""
    with suppress(Warning):  # where warnings are errors
        warnings.warn(f"branch {branch!r}: {few(problems)}", RuntimeWarning, stacklevel=2)


def _recorded_tables(base: State) -> Iterator[tuple[str, ...]]:
    """The names of tables in catalogs that the base's journal knows, of assets that are gone, too."""
    for asset_state in base.assets.values():
        name = (asset_state.spec.storage or "").removeprefix(NAMED)
        if name != asset_state.spec.storage and name and not has_fields(name):
            yield parse_table_name(name)


def _find_shown_table(asset: AssetSpec, branch: Branch, base: State, own: State) -> ShownTable | None:
    """What the branch shows of an asset: its own table, or else the base's; None where that does not exist yet."""
    branch_project = branch.branch_project
    location = (
        branch_storage(branch_project.base, branch_project.name, asset)
        if asset.name in branch_project.assets_to_compute
        else asset.storage
    )
    is_own = asset.name in branch_project.assets_to_compute or asset.name in branch_project.changed_sources
    asset_state = (own if is_own else base).assets.get(asset.name)
    if location is None or asset_state is None or asset_state.table_id is None or asset_state.version is None:
        return None
    return ShownTable(location, f"{asset_state.table_id}@{asset_state.version}")

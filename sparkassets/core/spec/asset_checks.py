"""Checks across keys and assets: cycles, alignment, places, similar URIs, bare tables, assets that write themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from sparkassets.core.query_outline import fault_at
from sparkassets.core.spec.asset_graph import find_cycles
from sparkassets.core.spec.bodies import AssetBody, SqlText
from sparkassets.core.spec.drafts import AssetDraft, AssetFiles, ProjectDraft
from sparkassets.core.spec.model import AssetSpec, Schedule
from sparkassets.core.spec.project_file import describe_state, state_place
from sparkassets.core.spec.rule_maps import TAKING
from sparkassets.core.spec.schedule import check_aligned
from sparkassets.core.spec.storage_overlaps import find_overlaps, storage_uses
from sparkassets.core.spec.yaml_document import DocumentPlace
from sparkassets.errors import TextFault


def find_unbraced_assets(sql: SqlText, *, asset: str, known: Mapping[str, str]) -> list[TextFault]:
    """Where the query of ``asset`` names an asset as a table, in order of place; ``known`` is by folded names."""
    tables = ((known.get(table.casefold()), table, position) for table, position in sql.outline.tables)
    return [
        _make_fault(sql.text, name, table, position, is_own_table=name == asset)
        for name, table, position in tables
        if name
    ]


def _make_fault(sql: str, name: str, table: str, position: int, *, is_own_table: bool) -> TextFault:
    message = f"{table!r} without braces is a table of Spark's catalog, not an asset"
    reference = f"{{{{ {'outlets' if is_own_table else 'inlets'}.{name} }}}}"
    hint = f"write {reference}; for a catalog table write its schema too, as in default.{table}"
    return fault_at(sql, position, len(table), message, hint)


def check_together(
    project: ProjectDraft, files: AssetFiles, assets: Mapping[str, AssetSpec], edges: Mapping[str, tuple[str, ...]]
) -> None:
    """Refuses what no asset has wrong by itself: cycles, runs that cannot be aligned, places that are written twice.

    Args:
        project: Read.
        files: Read.
        assets: Compiled.
        edges: The assets that each one depends on.
    """
    if not files.names and not files.problems:
        folders = ", ".join(project.keys.assets)
        place = project.at / ("assets" if (project.at / "assets").exists else "project")
        place.add_problem(f"the project has no assets: no YAML file in {folders} declares one")
    for cycle in find_cycles(edges):
        message = f"the assets depend on each other in a cycle: {' → '.join(cycle)}"
        (files.drafts[cycle[0]].at / "asset").add_problem(message)
    for asset in assets.values():
        for inlet in asset.inlets.values():
            if inlet.aligned:
                check_aligned(files.drafts[asset.name], asset, assets[inlet.name])
    _warn_of_similar_identities(files, assets)
    _check_storage(project, files, assets)


def _check_storage(project: ProjectDraft, files: AssetFiles, assets: Mapping[str, AssetSpec]) -> None:
    """Refuses what is written where something else is; links are followed when the project is loaded."""
    keys = ("path", "table", "write", "source")
    reliable = {name: asset for name, asset in assets.items() if files.drafts[name].are_reliable(*keys)}
    state = (state_place(project.keys.state, root=project.root), describe_state(project.keys.state))
    places = {name: _find_key_place(files.drafts[name].at, "path", "table", "asset") for name in reliable}
    state_spot = _find_key_place(project.at, "state", "project")
    for overlap in find_overlaps(
        storage_uses(root=project.root, state=state, folders=project.folders, assets=reliable)
    ):
        at, other = (places[place.asset] if place.asset else state_spot for place in (overlap.place, overlap.other))
        other_place = "" if overlap.other.role in ("root", "code") else str(other.location)
        at.add_problem(overlap.sentence(other_place), hint=overlap.hint)


def _find_key_place(at: DocumentPlace, *keys: str) -> DocumentPlace:
    """The first of the keys that is there, else the last."""
    return at / next((key for key in keys if (at / key).exists), keys[-1])


def _warn_of_similar_identities(files: AssetFiles, assets: Mapping[str, AssetSpec]) -> None:
    """Warns where an asset or a condition names a dataset that differs from another one only by case or slashes."""
    known: dict[str, tuple[str, str]] = {}
    for draft in files.drafts.values():
        if draft.are_reliable("uri", "path", "table"):
            first_uri, owner = known.setdefault(_fold_identity(draft.uri), (draft.uri, f"asset {draft.name!r}"))
            if first_uri != draft.uri:
                _find_identity_key(draft).add_warning(
                    _describe_similarity(draft.uri, first_uri, owner), hint=_suggest_spelling(first_uri)
                )
    for draft, uri in _condition_uris(files, assets):
        first_uri, owner = known.setdefault(_fold_identity(uri), (uri, f"the condition of asset {draft.name!r}"))
        if first_uri != uri:
            (draft.at / "schedule").add_warning(
                _describe_similarity(uri, first_uri, owner), hint=_suggest_spelling(first_uri), word=uri
            )


def _condition_uris(files: AssetFiles, assets: Mapping[str, AssetSpec]) -> Iterator[tuple[AssetDraft, str]]:
    """The URIs in conditions."""
    for draft in files.drafts.values():
        condition = assets[draft.name].schedule.condition
        for leaf in condition.leaves() if condition else ():
            if leaf.is_uri:
                yield draft, leaf.ref


def _find_identity_key(draft: AssetDraft) -> DocumentPlace:
    """The key that the identity comes from."""
    return next((draft.at / key for key in ("uri", "path", "table") if (draft.at / key).exists), draft.at / "asset")


def _fold_identity(uri: str) -> str:
    """The same text for all that differ only in case and in slashes at the end.

    >>> _fold_identity("s3://lake/Orders/") == _fold_identity("s3://lake/orders")
    True
    """
    return uri.rstrip("/").casefold()


def _describe_similarity(uri: str, other: str, owner: str) -> str:
    """The warning that two URIs with the same folded identity are different datasets, and how they differ."""
    # both have one folded identity: what differs without case differs by slashes, and the other way round
    differs_by_slash, differs_by_case = uri.casefold() != other.casefold(), uri.rstrip("/") != other.rstrip("/")
    differs = " and ".join(["a slash at the end"] * differs_by_slash + ["case"] * differs_by_case)
    verb = "differ" if differs_by_slash and differs_by_case else "differs"
    return f"{uri!r} is not the dataset {other!r} of {owner}: {differs} {verb}"


def _suggest_spelling(other: str) -> str:
    return f"URIs are compared as written; if you mean the same dataset, write {other!r}"


_TABLE_KEYS: Final = ("schema", "commit", "properties", "partitioned_by")
"""Keys that say how sparkassets writes a table."""


def check_self_written(draft: AssetDraft, body: AssetBody) -> None:
    """Refuses what cannot be had of a target that others than sparkassets write."""
    if not draft.writes_itself or not draft.are_reliable("write"):
        return
    for key in _TABLE_KEYS:
        if (draft.at / key).exists:
            message = f"{key!r} is not allowed with 'write: self': the asset's own code writes its target"
            (draft.at / key).add_key_problem(message)
    for number, rule in enumerate(draft.keys.validations):
        if rule.severity in TAKING:
            place = draft.at / "validations" / number / "severity"
            message = (
                f"'severity' is {rule.severity!r}, but with 'write: self' rows are validated after they are written"
            )
            place.add_problem(message, hint="expected fail or warn")
    if draft.keys.outlets is None and draft.is_known_by_events:
        _refuse_without_table(draft, body)


def compile_external_schedule(draft: AssetDraft, body: AssetBody) -> Schedule | None:
    """The schedule of an asset that has no code here: something else starts its job; None of any other."""
    if not draft.writes_itself or body.compiled is not None or not draft.are_reliable("write", "sql", "python"):
        return None
    if (draft.at / "schedule").exists and draft.keys.schedule != "manual":
        message = f"asset {draft.name!r} has a 'schedule' but neither 'sql' nor 'python' to run"
        hint = "leave it out if the job has its own scheduler and records its runs by `project.run_of(…)`"
        (draft.at / "schedule").add_key_problem(message, hint=hint)
    return Schedule(default=True)


def _refuse_without_table(draft: AssetDraft, body: AssetBody) -> None:
    """Refuses what needs a table that can be read, of an asset that is known by its events alone."""
    hint = "add 'path' or 'table' if it is a Delta table"
    if draft.keys.validations:
        message = "there is no table to validate: 'path' or 'table' is missing"
        (draft.at / "validations").add_key_problem(message, hint=hint)
    if draft.keys.unchanged == "skip":
        message = "'unchanged' needs a table to compare: 'path' or 'table' is missing"
        (draft.at / "unchanged").add_problem(message, hint=hint)
    if body.sql is not None:
        for name, (line, column) in body.sql.outline.outlets.items():
            message = f"{name!r} has no table: 'path' or 'table' is missing"
            draft.at.document.problems.append(body.sql.mention(line, column, len(name)).problem(message, hint=hint))

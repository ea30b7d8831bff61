"""Checks of assets that concern several keys: bare tables, similar URIs, assets that write themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from sparkassets.core.query_text import find_bare_tables
from sparkassets.core.spec.bodies import AssetBody
from sparkassets.core.spec.drafts import AssetDraft, AssetFiles
from sparkassets.core.spec.model import AssetSpec, Schedule
from sparkassets.core.spec.rule_maps import TAKING
from sparkassets.core.spec.yaml_document import DocumentPlace
from sparkassets.core.templating import TemplateFault


def find_unbraced_assets(sql: str, *, asset: str, known: Mapping[str, str]) -> list[TemplateFault]:
    """Where the query of ``asset`` names an asset as a table, in order of place; ``known`` is by folded names."""
    found = ((known.get(table.casefold()), table, position) for table, position in find_bare_tables(sql))
    return [_fault(sql, name, table, position, own=name == asset) for name, table, position in found if name]


def _fault(sql: str, name: str, table: str, position: int, *, own: bool) -> TemplateFault:
    before = sql[:position]
    column = position - (before.rfind("\n") + 1) + 1
    message = f"{table!r} without braces is no asset to Spark, but a table of its catalog"
    meant = f"{{{{ {'outlets' if own else 'inlets'}.{name} }}}}"
    hint = f"write {meant}; a table of the catalog needs its schema before its name, as in default.{table}"
    return TemplateFault(before.count("\n") + 1, column, len(table), message, hint)


def warn_of_similar_identities(files: AssetFiles, assets: Mapping[str, AssetSpec]) -> None:
    """Warns where an asset or a condition names a dataset whose identity another one nearly has."""
    first: dict[str, tuple[str, str]] = {}
    for draft in files.drafts.values():
        if draft.are_reliable("uri", "path", "table"):
            kept, owner = first.setdefault(_fold_identity(draft.uri), (draft.uri, f"asset {draft.name!r}"))
            if kept != draft.uri:
                _named_by(draft).add_warning(_message(draft.uri, kept, owner), hint=_hint(kept))
    for draft, uri in _condition_uris(files, assets):
        kept, owner = first.setdefault(_fold_identity(uri), (uri, f"the condition of asset {draft.name!r}"))
        if kept != uri:
            (draft.at / "schedule").add_warning(_message(uri, kept, owner), hint=_hint(kept), word=uri)


def _condition_uris(files: AssetFiles, assets: Mapping[str, AssetSpec]) -> Iterator[tuple[AssetDraft, str]]:
    """The URIs in conditions."""
    for draft in files.drafts.values():
        condition = assets[draft.name].schedule.condition
        for leaf in condition.leaves() if condition else ():
            if leaf.is_uri:
                yield draft, leaf.ref


def _named_by(draft: AssetDraft) -> DocumentPlace:
    """The key that the identity comes from."""
    return next((draft.at / key for key in ("uri", "path", "table") if (draft.at / key).exists), draft.at / "asset")


def _fold_identity(uri: str) -> str:
    """The same text for all that differ only in case and in slashes at the end.

    >>> _fold_identity("s3://lake/Orders/") == _fold_identity("s3://lake/orders")
    True
    """
    return uri.rstrip("/").casefold()


def _message(uri: str, other: str, owner: str) -> str:
    slash, case = uri.casefold() != other.casefold(), uri.rstrip("/") != other.rstrip("/")
    differs = " and ".join(["a slash at the end"] * slash + ["case"] * case)
    return f"{uri!r} is not the dataset {other!r} of {owner}: {differs} differ{'' if slash and case else 's'}"


def _hint(other: str) -> str:
    return f"URIs are compared as written; if one dataset is meant, write {other!r}"


_OF_WRITERS: Final = ("schema", "commit", "properties", "partitioned_by")
"""Keys that say how sparkassets writes a table."""


def check_self_written(draft: AssetDraft, body: AssetBody) -> None:
    """Refuses what cannot be had of a target that others than sparkassets write."""
    if not draft.writes_itself or not draft.are_reliable("write"):
        return
    for key in _OF_WRITERS:
        if (draft.at / key).exists:
            message = f"{key!r} has no meaning with 'write: self': the asset's own code writes its target"
            (draft.at / key).add_key_problem(message)
    for number, rule in enumerate(draft.keys.validations):
        if rule.severity in TAKING:
            place = draft.at / "validations" / number / "severity"
            message = f"'severity' is {rule.severity!r}, but with 'write: self' rows are judged once they are written"
            place.add_problem(message, hint="expected fail or warn")
    if draft.keys.outlets is None and draft.is_known_by_events:
        _check_place(draft, body)


def compile_external_schedule(draft: AssetDraft, body: AssetBody) -> Schedule | None:
    """The schedule of an asset that has no code here: something else starts its job; None of any other."""
    if not draft.writes_itself or body.compiled is not None or not draft.are_reliable("write", "sql", "python"):
        return None
    if (draft.at / "schedule").exists and draft.keys.schedule != "manual":
        message = f"asset {draft.name!r} has neither 'sql' nor 'python', so that nothing runs by its 'schedule'"
        hint = "leave it out where the job has a scheduler of its own and records itself by `project.run_of(…)`"
        (draft.at / "schedule").add_key_problem(message, hint=hint)
    return Schedule(default=True)


def _check_place(draft: AssetDraft, body: AssetBody) -> None:
    """Refuses what needs a table that can be read, of an asset that is known by its events alone."""
    hint = "give its 'path' or its 'table', if it is a Delta table"
    if draft.keys.validations:
        message = "there is no table to validate: neither 'path' nor 'table' says where it is"
        (draft.at / "validations").add_key_problem(message, hint=hint)
    if draft.keys.unchanged == "skip":
        message = "nothing tells whether a run has changed anything: neither 'path' nor 'table' says where it is"
        (draft.at / "unchanged").add_problem(message, hint=hint)
    if body.sql is not None:
        for name, (line, column) in body.sql.template.outlets.items():
            message = f"{name!r} has no table: neither 'path' nor 'table' says where it is"
            draft.at.document.problems.append(body.sql.mention(line, column, len(name)).problem(message, hint=hint))

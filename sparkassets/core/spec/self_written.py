"""Assets whose own code writes their target (``write: self``): which keys have a meaning for them."""

from __future__ import annotations

from typing import Final

from sparkassets.core.spec.bodies import AssetBody
from sparkassets.core.spec.drafts import AssetDraft
from sparkassets.core.spec.model import Schedule
from sparkassets.core.spec.rule_maps import TAKING

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

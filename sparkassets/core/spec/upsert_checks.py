"""Checks an upsert against the columns of its rows, as far as the query's text shows them."""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.core.known_columns import KnownColumns
from sparkassets.core.query_text import yielded_columns
from sparkassets.core.spec.bodies import AssetBody
from sparkassets.core.spec.drafts import AssetDraft
from sparkassets.core.spec.file_models import WriteMap
from sparkassets.core.spec.yaml_document import DocumentPlace
from sparkassets.core.suggestions import suggest_close
from sparkassets.core.writes import HistoryColumns, UpsertWrite, Write


def check_upsert(draft: AssetDraft, body: AssetBody, write: Write | None) -> None:
    """Refuses an upsert whose columns the SELECT lacks, and a history without a column for the time."""
    given = draft.keys.write
    if (
        not isinstance(write, UpsertWrite)
        or not isinstance(given, WriteMap)
        or not given.upsert
        or not draft.are_reliable("write")
    ):
        return
    at = draft.at / "write" / "upsert"
    selected = yielded_columns(body.sql.template.text) if body.sql is not None else None
    if selected:
        known = KnownColumns.of_select(draft.name, selected)
        _check_given(known, write.keys, at / "keys", listed=True, use="which is one of the keys")
        listed = isinstance(given.upsert.newest_by, list)
        _check_given(known, write.newest_by, at / "newest_by", listed=listed, use="which is to tell the newest row")
    columns = selected or (tuple(draft.keys.types) if body.sql is None else ())
    if write.history is not None and columns:
        _check_history(draft.name, columns, write, write.history, at / "history", stored=not selected)


def _check_given(known: KnownColumns, names: Sequence[str], at: DocumentPlace, *, listed: bool, use: str) -> None:
    for number, name in enumerate(names):
        if refused := known.refuse(name):
            (at / number if listed else at).add_problem(f"{refused[0]}, {use}", hint=refused[1])


def _check_history(
    asset: str, columns: Sequence[str], write: UpsertWrite, history: HistoryColumns, at: DocumentPlace, *, stored: bool
) -> None:
    """Refuses rows without a time, and, unless the columns are those that are ``stored``, with what a history adds."""
    names = {name.lower() for name in columns}
    for key, added in (("valid_to", history.valid_to), ("current", history.current)) if not stored else ():
        if added.lower() in names:
            message = f"the SELECT of asset {asset!r} yields the column {added!r}, which the history adds"
            (at / key).add_problem(message, hint="take it out of the SELECT, or give it another name here")
    has_time = history.valid_from.lower() in names
    if not has_time and not write.newest_by:
        message = f"nothing tells from when a row holds: asset {asset!r} has no column {history.valid_from!r}"
        hint = (
            suggest_close(history.valid_from, columns)
            or "give it, or write newest_by: <the column of the source's time>"
        )
        (at / "valid_from").add_problem(message, hint=hint)

"""What an upsert asks of the rows that it gets, as far as the text of the query tells which columns they have."""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.core.columns import KnownColumns
from sparkassets.core.selects import columns_of
from sparkassets.core.spec.bodies import Body
from sparkassets.core.spec.document import At
from sparkassets.core.spec.drafts import AssetDraft
from sparkassets.core.spec.files import WriteMap
from sparkassets.core.suggestions import meant_by
from sparkassets.core.writes import History, Upsert, Write


def check_upsert(draft: AssetDraft, body: Body, write: Write | None) -> None:
    """Refuses a column that an upsert goes by and the SELECT lacks, and a history that nothing tells the time of."""
    given = draft.keys.write
    if not isinstance(write, Upsert) or not isinstance(given, WriteMap) or not given.upsert or not draft.sure("write"):
        return
    at = draft.at / "write" / "upsert"
    selected = columns_of(body.sql.template.text) if body.sql is not None else None
    if selected:
        known = KnownColumns.selected(draft.name, selected)
        _check_given(known, write.keys, at / "keys", listed=True, use="which is one of the keys")
        listed = isinstance(given.upsert.newest_by, list)
        _check_given(known, write.newest_by, at / "newest_by", listed=listed, use="which is to tell the newest row")
    columns = selected or (tuple(draft.keys.types) if body.sql is None else ())
    if write.history is not None and columns:
        _check_history(draft.name, columns, write, write.history, at / "history", stored=not selected)


def _check_given(known: KnownColumns, names: Sequence[str], at: At, *, listed: bool, use: str) -> None:
    for number, name in enumerate(names):
        if refused := known.refuse(name):
            (at / number if listed else at).problem(f"{refused[0]}, {use}", hint=refused[1])


def _check_history(
    asset: str, columns: Sequence[str], write: Upsert, history: History, at: At, *, stored: bool
) -> None:
    """Refuses rows without a time, and, unless the columns are those that are ``stored``, with what a history adds."""
    names = {name.lower() for name in columns}
    for key, added in (("valid_to", history.valid_to), ("current", history.current)) if not stored else ():
        if added.lower() in names:
            message = f"the SELECT of asset {asset!r} yields the column {added!r}, which the history adds"
            (at / key).problem(message, hint="take it out of the SELECT, or give it another name here")
    has_time = history.valid_from.lower() in names
    if not has_time and not write.newest_by:
        message = f"nothing tells from when a row holds: asset {asset!r} has no column {history.valid_from!r}"
        hint = meant_by(history.valid_from, columns) or "give it, or write newest_by: <the column of the source's time>"
        (at / "valid_from").problem(message, hint=hint)

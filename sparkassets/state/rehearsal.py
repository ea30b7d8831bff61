"""What a state will be like once what is torn at the end of its logs is put aside, before anything is renamed."""

from __future__ import annotations

from contextlib import ExitStack

from sparkassets.errors import StateError
from sparkassets.state import refusals
from sparkassets.state.numbered_table import NumberedTable


def check_mended(
    state: str, journal: NumberedTable, snapshot: NumberedTable, base: NumberedTable, *, project: str
) -> None:
    """Does nothing where no log is torn, or where the state can be read once that is put aside.

    Raises:
        StateError: It is another project's, or what is left of one table does not fit the others.
    """
    with ExitStack() as copies:
        mended = [copies.enter_context(each.mended()) for each in (journal, snapshot, base)]
        if not any(mended):
            return
        whole = [copy or each for copy, each in zip(mended, (journal, snapshot, base), strict=True)]
        if not _is_there(whole[0], journal):
            return
        refusals.check_project(state, whole[0].properties, project=project)
        last, begins = whole[0].last_seq, whole[0].oldest_seq
        seq = whole[1].number if _is_there(whole[1], snapshot) else 0
        if last < seq:
            raise refusals.behind(journal.uri, last, seq)
        if seq + 1 < begins:
            seq = whole[2].number if _is_there(whole[2], base) else 0
        if seq + 1 < begins:
            raise refusals.damaged_error(journal.uri, f"entry {seq + 1} is missing")


def _is_there(copy: NumberedTable, table: NumberedTable) -> bool:
    """Opens what is left of a table.

    Raises:
        StateError: It cannot be read.
    """
    try:
        return copy.open()
    except StateError as error:
        if copy is table:
            raise
        why = f"the end of its log is not whole, and the rest cannot be read: {str(error).splitlines()[0]}"
        raise refusals.damaged_error(table.uri, why) from error

"""The refusal of a CSV file whose header lacks declared columns, with a guess at its separator.

Nothing else of the header is shown: the first line of an unfit file may hold anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sparkassets.core.suggestions import suggest_close
from sparkassets.errors import RunError

_SEPARATORS = {";": "';'", "\t": '"\\t"', "|": "'|'", ",": "','"}
_MOST_FILES = 20
"""How many headers are read to find the file; each takes a job."""


def missing_column_error(
    missing: Sequence[str], paths: Sequence[str], *, asset: str, header: Callable[[str], Sequence[str]]
) -> RunError:
    """The error for files that lack declared columns.

    Args:
        missing: Declared columns that Spark found in no header.
        paths: Of the files.
        asset: The source.
        header: Reads the columns of one file.
    """
    lacking, columns = paths[0], header(paths[0])
    for path in paths[1:_MOST_FILES]:
        if not set(missing) - set(columns):
            lacking, columns = path, header(path)
    lost = [name for name in missing if name not in columns] or list(missing)
    told = ", ".join(map(repr, lost))
    made = RunError(
        f"the file {lacking.removeprefix('file://')} of {asset!r} has no column {told} in its header of "
        f"{len(columns)} column{'' if len(columns) == 1 else 's'}",
        hint=_hint(lost[0], columns),
    )
    made.is_data_error = True
    made.files = (lacking,)
    return made


def _hint(name: str, columns: Sequence[str]) -> str | None:
    if len(columns) == 1:
        held = {mark: columns[0].count(mark) for mark in _SEPARATORS if mark in columns[0]}
        if held:
            mark = max(held, key=lambda each: held[each])
            return f"its separator is probably {_SEPARATORS[mark]}: options: {{sep: {_SEPARATORS[mark]}}}"
    return suggest_close(name, columns)

"""Where a project's state is, as its file says: a folder, a URI, or a schema of a catalog."""

from __future__ import annotations

from typing import Final

from sparkassets.core.instants import DAY
from sparkassets.core.spec.file_models import ProjectFile, StateMap
from sparkassets.core.spec.model import NAMED
from sparkassets.core.spec.paths import resolve_path
from sparkassets.core.spec.time_bounds import fixed_seconds
from sparkassets.core.spec.yaml_document import DocumentPlace
from sparkassets.core.table_names import format_table_name

USUAL: Final = "./state"
"""Where the state is unless its file says so."""
_ONLY_AS: Final = {
    "gcs": "gs://<bucket>/…",
    **dict.fromkeys(("wasb", "wasbs"), "abfss://<container>@<account>.dfs.core.windows.net/…"),
}
"""Schemes that deltalake opens with other credentials, or not at all, and the spelling to use instead."""


def state_place(state: str | StateMap, *, root: str) -> str:
    """The absolute path or URI of a state; of one in a catalog ``table://`` and the name of its schema.

    >>> state_place("./state", root="/p/conf"), state_place(StateMap(catalog="main", schema="my ops"), root="/p")
    ('/p/conf/state', 'table://main.`my ops`')
    """
    if isinstance(state, str):
        return resolve_path(state, root=root)
    if path := _path(state):
        return resolve_path(path, root=root)
    return f"{NAMED}{format_table_name(_schema(state))}"


def describe_state(state: str | StateMap) -> str:
    """The state's location for people, as written in the file."""
    if isinstance(state, str):
        return state
    return _path(state) or format_table_name(_schema(state))


def is_kept_by_spark(state: str | StateMap) -> bool:
    """Whether a Spark session keeps it."""
    return not isinstance(state, str) and (_path(state) is None or state.commit == "spark")


def state_texts(state: str | StateMap) -> list[tuple[str, str]]:
    """The texts of the state's location in the file, each under the key `state`."""
    told = (state,) if isinstance(state, str) else (state.catalog, state.schema_, _path(state))
    return [("state", text) for text in told if text is not None]


def check_states(at: DocumentPlace, keys: ProjectFile) -> None:
    """Refuses invalid names and maps with no place or two, in the project and its profiles."""
    for name, own in (keys.profiles or {}).items():
        if own.state is not None:
            _check(at / "profiles" / name / "state", own.state)
    _check(at / "state", keys.state)


def _check(at: DocumentPlace, state: str | StateMap) -> None:
    if isinstance(state, str):
        _check_scheme(at, state)
        return
    named = {key: text for key, text in (("catalog", state.catalog), ("schema", state.schema_)) if text is not None}
    if (path := _path(state)) is not None:
        for key in named:
            (at / key).add_key_problem(f"{key!r} and 'path' both say where the state is; expected one of them")
        if state.commit == "spark" and "://" not in path:
            (at / "commit").add_problem(
                "a state on a local disk is committed by the driver: Spark's commits there are safe in one JVM only",
                hint="leave 'commit' out",
            )
        if state.commit != "spark":
            _check_scheme(at / "path", path)
        return
    for key in ("catalog", "schema"):
        if key not in named:
            at.add_problem(f"the state has no {key!r}; expected a folder, a URI or {{catalog: <name>, schema: <name>}}")
        elif not _is_name(named[key]):
            (at / key).add_problem(f"{named[key]!r} is no name of a {key}")


def _check_scheme(at: DocumentPlace, path: str) -> None:
    """Refuses spellings by which the driver has no safe way to a store that it has one to."""
    scheme, found, _ = path.partition("://")
    if found and (other := _ONLY_AS.get(scheme.lower())) is not None:
        at.add_problem(f"the driver keeps no state at '{scheme}://'; expected {other}")


def says_retention(state: str | StateMap) -> bool:
    """Whether it says how long entries are kept; a profile's that does not goes by the project's."""
    return not isinstance(state, str) and state.retention is not None


def retention(at: DocumentPlace, state: str | StateMap) -> int | None:
    """How long entries are kept, in seconds; None for ever."""
    text = None if isinstance(state, str) else state.retention
    if text is None:
        return None
    place, found = at / "retention", fixed_seconds(at / "retention", text)
    if 0 < found < DAY:
        place.add_problem(f"'retention' is {text!r}; expected at least 1d")
    return found


def _path(state: StateMap) -> str | None:
    """The path of the state; the default where only the retention is set."""
    nowhere = (state.path, state.catalog, state.schema_) == (None, None, None)
    return USUAL if nowhere and state.retention is not None else state.path


def _schema(state: StateMap) -> tuple[str, str]:
    """Catalog and schema; of a map that is refused, stand-ins."""
    catalog, schema = (text if text and _is_name(text) else "unnamed" for text in (state.catalog, state.schema_))
    return catalog, schema


def _is_name(text: str) -> bool:
    return bool(text) and not any(character in text for character in "/.")

"""Asset files: every document on its own, before assets are looked at together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Final

from yaml.nodes import MappingNode, Node

from sparkassets.core.assets import AssetError, parse_uri
from sparkassets.core.credentials import secret_in_text, secrets_in
from sparkassets.core.events import encode_extra
from sparkassets.core.spec import yaml_values
from sparkassets.core.spec.asset_models import AssetFile
from sparkassets.core.spec.drafts import DURATIONS, AssetDraft, AssetFiles, ProjectDraft, normalize_path, resolve_path
from sparkassets.core.spec.model import SourceSpec
from sparkassets.core.spec.outlets import (
    check_partition_columns,
    keys_of,
    multi_asset_identity,
    outlets_of,
    refuse_keys_of_data,
)
from sparkassets.core.spec.partition import compile_partition
from sparkassets.core.spec.shape_checks import check_shape
from sparkassets.core.spec.source import check_table, compile_pattern, compile_source, named_table
from sparkassets.core.spec.sql_types import TypeNameError, check_type
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.spec.stores import check_scheme, without_store_name
from sparkassets.core.spec.time_bounds import TimeBounds, compile_bounds, fixed_seconds
from sparkassets.core.spec.yaml_document import DocumentPlace, SourceFile, YamlDocument, too_many_problems
from sparkassets.core.spec.yaml_text import compose_documents
from sparkassets.errors import MOST_PROBLEMS, InputError, SpecProblem
from sparkassets.frozen import replace

_ASSET_LINE = re.compile(r"^\{?\s*['\"]?asset['\"]?\s*:\s*['\"]?([A-Za-z_][A-Za-z0-9_]*)", re.MULTILINE)
_SEPARATOR = re.compile(r"^---(.*)$", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ESCAPED_NAME = re.compile(r"asset['\"]?\s*:[^\n#]*[$\\]")
_NOT_IN_DELTA = re.compile(r"[ ,;{}()\n\t=]")


def read_asset_files(
    files: Sequence[SourceFile],
    *,
    project: ProjectDraft,
    declared: Sequence[YamlDocument] = (),
    references: Sequence[YamlDocument] = (),
    most: int | None = None,
) -> AssetFiles:
    """The drafts of all assets, each with the problems of its document.

    Args:
        files: The YAML files.
        project: The project file, read.
        declared: Documents of assets that Python modules declare.
        references: Documents of sources that Python modules only name; an asset of the same name takes their place.
        most: Documents that are read; None for all.
    """
    drafts: dict[str, AssetDraft] = {}
    unreadable: set[str] = set()
    problems: list[SpecProblem] = []
    limit = _ProblemLimit()
    for document in islice(chain(_iterate_documents(files, unreadable, problems), declared), most):
        limit.check(document, problems)
        draft = _make_draft(document, project)
        if not draft.are_reliable("asset") or not _register_draft(draft, drafts):
            problems += document.problems
            unreadable |= _possible_names(draft)
            continue
        limit.add(document)
        for outlet in _make_outlet_drafts(draft, project):
            _register_draft(outlet, drafts)
    for document in references:
        draft = _make_draft(document, project)
        first = drafts.setdefault(draft.name, draft)
        if first is not draft and first.uri != draft.uri:
            message = f"the asset {draft.name!r} has the uri {first.uri!r}, not {draft.uri!r}"
            (draft.at / "uri").add_problem(message, hint=f"Asset({draft.name!r}) refers to it without a uri")
            problems += document.problems
    return AssetFiles(drafts, frozenset(unreadable - drafts.keys()), tuple(problems))


MANY: Final = 20_000
"""Documents that are read at once: more take longer, and more memory, than anybody gives to a spoilt project."""
MOST_READ_FIRST: Final = 2_000
"""Documents of a project with more of them that are read and checked before the others."""


def read_first_assets(
    files: Sequence[SourceFile], *, project: ProjectDraft, declared: Sequence[YamlDocument] = ()
) -> AssetFiles | None:
    """The first drafts of a project with more than `MANY` documents, whose mistakes can be reported before the rest.

    ``unreadable`` holds the names of all other assets, so that references to them are no problems. None for smaller
    projects, and where the names of the assets are only found by reading all documents.

    Args:
        files: The YAML files.
        project: The project file, read.
        declared: Documents of assets that Python modules declare or name.
    """
    if sum(file.text.count("\n---") + 1 for file in files) <= MANY:
        return None
    names = _find_names(files, declared)
    if names is None:
        return None
    first = read_asset_files(files, project=project, most=MOST_READ_FIRST)
    return AssetFiles(first.drafts, (first.unreadable | names) - first.drafts.keys(), first.problems)


def _find_names(files: Sequence[SourceFile], declared: Sequence[YamlDocument]) -> frozenset[str] | None:
    """Every name that an asset may have, found without composing YAML; None where one may be written in another way.

    Of a file with outlets, or with a document whose `asset` is not found, every word is such a name.
    """
    if any(_ESCAPED_NAME.search(file.text) for file in files):
        return None
    names = {name for document in declared for name in _names_of_nodes(document.root)}
    for file in files:
        parts = _SEPARATOR.split(file.text)
        plain = "outlets" not in file.text and not any(each.strip() for each in parts[1::2])
        plain = plain and all(_ASSET_LINE.search(part) for part in parts[::2] if part.strip())
        names.update((_ASSET_LINE if plain else _WORD).findall(file.text))
    return frozenset(names)


def _names_of_nodes(root: MappingNode) -> Iterator[str]:
    """The name of a document's asset, and the names of its outlets."""
    for key, value in root.value:
        if key.value == "asset":
            yield value.value
        elif key.value == "outlets":
            yield from (each[0].value if isinstance(each, tuple) else each.value for each in value.value)


class _ProblemLimit:
    """Stops reading at `MOST_PROBLEMS`, because more problems of a file that a program spoilt help nobody."""

    def __init__(self) -> None:
        self._drafts: list[YamlDocument] = []
        self._count = 0

    def add(self, document: YamlDocument) -> None:
        """Counts the problems of a draft."""
        if document.problems:
            self._drafts.append(document)
            self._count += len(document.problems)

    def check(self, document: YamlDocument, others: Sequence[SpecProblem]) -> None:
        """Stops before this document if earlier drafts, and ``others``, have too many problems.

        Raises:
            SpecError: They have; with these problems, and the place where checking stops.
        """
        if self._count + len(others) < MOST_PROBLEMS:
            return
        raise too_many_problems([*others, *(problem for each in self._drafts for problem in each.problems)], document)


def _iterate_documents(
    files: Sequence[SourceFile], unreadable: set[str], problems: list[SpecProblem]
) -> Iterator[YamlDocument]:
    """The documents of the files, read one by one; unreadable ones become problems.

    Names of assets in broken files are added to ``unreadable``, so that references to them are no further problems.
    """
    for file in files:
        composed = compose_documents(file.text)
        if fault := composed.fault:
            unreadable.update(_ASSET_LINE.findall(file.text))
            problems.append(file.problem(fault.line, fault.column, fault.message, hint=fault.hint, width=fault.width))
        documents = (_make_document(file, root, problems) for root in composed.roots)
        yield from (document for document in documents if document is not None)


def _register_draft(draft: AssetDraft, drafts: dict[str, AssetDraft]) -> bool:
    """Keeps the draft if its name is new; otherwise adds a problem and returns False."""
    first = drafts.setdefault(draft.name, draft)
    if first is draft:
        return True
    other = first.at.key_location if first.written_by else (first.at / "asset").location
    message = f"the asset {draft.name!r} is defined twice; first at {other}"
    if draft.written_by:
        draft.at.add_key_problem(message)
    else:
        (draft.at / "asset").add_problem(message)
    return False


def _possible_names(draft: AssetDraft) -> set[str]:
    """The names by which others may mean a document whose own name is wrong or taken: its file's, and its outlets'."""
    return {draft.file.path.rpartition("/")[2].partition(".")[0], *(draft.keys.outlets or {})}


def _make_outlet_drafts(draft: AssetDraft, project: ProjectDraft) -> Iterator[AssetDraft]:
    """A draft for each outlet of a multi-asset, which shares the document of its asset."""
    for name, options in outlets_of(draft.keys).items():
        at = draft.at / "outlets" / name
        path, store = without_store_name(at, options.path, project.keys.storage)
        keys = keys_of(draft.keys, name, options).model_copy(update={"path": path})
        _check_extra(at, keys)
        _check_declared_columns(at, keys)
        check_table(at, keys)
        check_scheme(at, keys)
        storage = _find_storage(keys, project, None)
        outlet = replace(
            draft, name=name, at=at, keys=keys, storage=storage, uri=_find_identity(at, keys, storage), store=store
        )
        outlet = replace(outlet, written_by=draft.name)
        check_partition_columns(outlet)
        yield outlet


def _make_document(file: SourceFile, root: Node, problems: list[SpecProblem]) -> YamlDocument | None:
    """The document of a root node; None where it is empty, or no map, which becomes a problem."""
    if isinstance(root, MappingNode):
        return YamlDocument(file, root)
    mark = root.start_mark
    if root.value:
        message = "expected a map of keys that begins with 'asset: <name>'"
        problems.append(file.problem(mark.line + 1, mark.column + 1, message))
    return None


def _make_draft(document: YamlDocument, project: ProjectDraft) -> AssetDraft:
    """One document of an asset file as a draft; every mistake in it becomes a problem of the document.

    Works on this document and the project's defaults alone: nothing here looks at other assets.
    """
    yaml_values.read_values(document, environment=project.environment, secrets=project.keys.secrets)
    at, keys = DocumentPlace(document), check_shape(AssetFile, document, stand_in={"asset": "unnamed"})
    path, store = without_store_name(at, keys.path, project.keys.storage)
    keys = keys.model_copy(update={"path": path})
    refuse_keys_of_data(at, keys)
    _check_extra(at, keys)
    _check_declared_columns(at, keys)
    bounds = TimeBounds(project.timezone)
    bounds = compile_bounds(at, timezone=keys.timezone, start=keys.start, end=keys.end, outer=bounds)
    source = compile_source(at, keys, project.installed.sources)
    pattern = compile_pattern(at, keys)
    check_table(at, keys)
    check_scheme(at, keys)
    partitioning = compile_partition(at, keys, within=bounds, source=source, pattern=pattern)
    storage = _find_storage(keys, project, source)
    return AssetDraft(
        name=keys.asset,
        at=at,
        keys=keys,
        bounds=bounds,
        storage=storage,
        uri=_find_identity(at, keys, storage),
        source=source,
        partitioning=partitioning,
        seconds=_compile_durations(at, keys, project),
        store=store,
    )


def _find_storage(keys: AssetFile, project: ProjectDraft, source: SourceSpec | None) -> StorageLocation | None:
    """Where the asset is stored, below the warehouse by default; None for a multi-asset and one known by its events."""
    if keys.outlets is not None:
        return None
    if keys.table is not None:
        return named_table(keys.table, several=source is not None and source.kind == "tables")
    if keys.path is None and (source or keys.write == "self"):
        return None
    given = normalize_path(keys.path or f"{project.keys.warehouse.rstrip('/')}/{keys.asset}")
    return StorageLocation(resolve_path(given, root=project.root), given)


def _find_identity(at: DocumentPlace, keys: AssetFile, storage: StorageLocation | None) -> str:
    """The asset's identity in events: its `uri`, else its path as written, else its name.

    An identity with a credential becomes a problem: events are clear text.
    """
    if keys.uri is not None:
        try:
            return parse_uri(keys.uri)
        except AssetError as error:
            (at / "uri").add_problem(str(error.args[0]), hint=error.hint, secret=secret_in_text(keys.uri) is not None)
            return keys.uri
    if keys.outlets is not None:
        return multi_asset_identity(keys.asset)
    identity = storage.given if storage else keys.asset
    if keys.path and (secret := secret_in_text(identity)):
        message = f"the path contains {secret}, and events store it as clear text"
        (at / "path").add_problem(message, secret=True)
    return identity


def _check_extra(at: DocumentPlace, keys: AssetFile) -> None:
    """Refuses ``extra`` with credentials, and what events cannot hold: they store it as clear text."""
    if not keys.extra:
        return
    for path, secret in secrets_in(keys.extra):
        place = at / "extra"
        for step in path:
            place = place / step
        place.add_problem(f"'extra' contains {secret}, and events store it as clear text", secret=True)
    try:
        encode_extra(keys.extra)
    except InputError as error:
        (at / "extra").add_problem(str(error.args[0]), hint=error.hint)


def _check_declared_columns(at: DocumentPlace, keys: AssetFile) -> None:
    """Refuses names that differ by case only, names that Delta does not allow, and types that it cannot store."""
    spellings: dict[str, str] = {}
    for name, column in keys.column_maps.items():
        place = at / "columns" / name
        type_place = place if isinstance(keys.columns[name], str) else place / "type"
        if (other := spellings.setdefault(name.lower(), name)) != name:
            place.add_key_problem(f"the column {name!r} differs from {other!r} only by case, which Spark ignores")
        if keys.source is None and (forbidden := _NOT_IN_DELTA.search(name)):
            place.add_key_problem(f"the column {name!r} contains {forbidden[0]!r}, which Delta does not allow in names")
        try:
            check_type(column.type) if column.type is not None else None
        except TypeNameError as error:
            type_place.add_text_problem(error.position, str(error.args[0]), width=error.width, hint=error.hint)


def _compile_durations(at: DocumentPlace, keys: AssetFile, project: ProjectDraft) -> Mapping[str, int]:
    """The durations of a run in seconds, by key: the asset's own, else the project's."""
    written = {key: getattr(keys, key) for key in DURATIONS}
    compiled = {
        key: fixed_seconds(at / key, text, positive=key != "retry_delay") for key, text in written.items() if text
    }
    return {**project.seconds, **compiled}

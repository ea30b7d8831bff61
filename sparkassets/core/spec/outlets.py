"""Outlets: assets that one run writes together, and the properties of their tables.

A multi-asset and its outlets are assets of one namespace. The multi-asset (`AssetSpec.outlets`) has all that makes
runs: inlets, schedule, partition, strategy, write, code. It is what is planned, claimed and run, and it has no data: no
place, no columns, and an identity that nobody can name, so that nothing reads it or waits for it. An outlet
(`AssetSpec.written_by`) has what data has: a place, an identity, columns. It is what others read, and what events,
coverage and lineage are of. It comes after its multi-asset in the project's order and has that one's partitions and
write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from sparkassets.core.phrases import listing
from sparkassets.core.spec.asset_models import AssetFile, OutletMap
from sparkassets.core.spec.column_inference import compile_columns
from sparkassets.core.spec.drafts import AssetDraft
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.source import plain_text
from sparkassets.core.spec.write_models import WriteMap
from sparkassets.core.spec.yaml_document import DocumentPlace
from sparkassets.core.suggestions import did_you_mean
from sparkassets.core.validations import ValidationRule
from sparkassets.frozen import replace

if TYPE_CHECKING:
    from sparkassets.core.spec.bodies import AssetBody

_DELTA: Final = "delta."
"""Prefix of the properties that Delta stores with a table; it drops all others."""


def compile_properties(draft: AssetDraft) -> dict[str, str]:
    """The table properties as text, as Delta stores them; a name without ``delta.`` becomes a problem."""
    for name in draft.keys.properties:
        if not name.startswith(_DELTA):
            message = f"{name!r} is not a Delta table property: their names begin with {_DELTA!r}"
            (draft.at / "properties" / name).add_key_problem(message, hint="put your own metadata under 'extra'")
    return {name: plain_text(value) for name, value in draft.keys.properties.items()}


def compile_folders(draft: AssetDraft) -> tuple[str, ...] | None:
    """The columns that `partitioned_by` names; one that no table can have becomes a problem of the draft."""
    names = draft.keys.partitioned_by
    if names is None:
        return None
    at, seen = draft.at / "partitioned_by", set[str]()
    for number, name in enumerate(names):
        if name.lower() in seen:
            (at / number).add_problem(f"{name!r} is listed twice in 'partitioned_by'")
        seen.add(name.lower())
    if not isinstance(draft.keys.write, WriteMap):  # an upsert may store other columns than the declared ones
        _check_declared(draft, names)
    return tuple(names)


def _check_declared(draft: AssetDraft, names: Sequence[str]) -> None:
    """Refuses folders by undeclared columns, or by every column: the files in them would have none."""
    at, declared = draft.at / "partitioned_by", {name.lower() for name in draft.keys.types}
    if not declared or not draft.are_reliable("columns"):
        return
    for number, name in enumerate(names):
        if name.lower() not in declared:
            message = f"{name!r} in 'partitioned_by' is not a column of {draft.name!r}"
            (at / number).add_problem(message, hint=did_you_mean(name, draft.keys.types))
    if declared <= {name.lower() for name in names}:
        at.add_problem("'partitioned_by' names every column, but the files need at least one", hint="leave one out")


_DATA_KEYS: Final = ("path", "table", "uri", "columns", "properties", "partitioned_by", "validations", "sql")
"""Keys that each outlet has for itself."""


def multi_asset_identity(asset: str) -> str:
    """The URI that stands for a multi-asset, which has no data and hence no dataset; no condition can name it.

    >>> multi_asset_identity("split")
    'sparkassets:split'
    """
    return f"sparkassets:{asset}"


def refuse_keys_of_data(at: DocumentPlace, keys: AssetFile) -> None:
    """Refuses keys that belong to each outlet of a multi-asset, such as `path`, and a multi-asset without outlets."""
    if keys.outlets is None:
        return
    if not keys.outlets:
        (at / "outlets").add_problem("'outlets' is empty: the asset would write nothing", hint="name its outlets")
    for key in _DATA_KEYS:
        if (at / key).exists:
            message = f"{key!r} is not allowed beside 'outlets': each outlet has its own"
            (at / key).add_key_problem(message, hint="move it below an outlet")


def outlets_of(keys: AssetFile) -> Mapping[str, OutletMap]:
    """The outlets by name; empty for an asset that is no multi-asset."""
    return {name: options or OutletMap() for name, options in (keys.outlets or {}).items()}


def keys_of(keys: AssetFile, name: str, options: OutletMap) -> AssetFile:
    """The keys of an outlet as if it were an asset: its own ones for its data, the multi-asset's for all else."""
    data_keys = {key: getattr(options, key) for key in (*_DATA_KEYS, "description", "extra")}
    return keys.model_copy(update={"asset": name, "outlets": None, "inlets": None, **data_keys})


def check_partition_columns(draft: AssetDraft) -> None:
    """Refuses an outlet whose declared columns lack one that it is partitioned by."""
    declared = {name.lower() for name in draft.keys.types}
    for column in draft.partitioning.columns if declared and draft.are_reliable("partition") else ():
        if column.lower() not in declared:
            message = f"outlet {draft.name!r} lacks the column {column!r}, by which {draft.written_by!r} is partitioned"
            (draft.at / "columns").add_problem(message)


def compile_outlet(
    draft: AssetDraft, writer: AssetSpec, body: AssetBody, *, rules: tuple[ValidationRule, ...]
) -> AssetSpec:
    """An outlet of a compiled multi-asset."""
    return replace(
        writer,
        name=draft.name,
        uri=draft.uri,
        storage=draft.storage,
        location=draft.at.key_location,
        description=draft.keys.description,
        extra=draft.keys.extra,
        columns=draft.keys.types,
        listed_columns=compile_columns(draft),
        private=draft.keys.private,
        properties=compile_properties(draft),
        partitioned_by=compile_folders(draft),
        rules=rules,
        inlets={},
        body=body.compiled or writer.body,
        definition=None,
        outlets=(),
        written_by=writer.name,
    )


def refuse_reference(draft: AssetDraft, name: str, drafts: Mapping[str, AssetDraft]) -> tuple[str, str] | None:
    """Why ``draft`` may not read or await the asset of that name, with a hint; None where it may.

    Forbidden are multi-assets, which have no data, and the draft's own outlets under any name of their dataset.
    """
    other = drafts.get(name)
    if other is None:
        return None
    if other.keys.outlets is not None and other.name != draft.name:
        message = f"{name!r} is a multi-asset without data of its own; use one of its outlets"
        return message, f"name {list_outlet_names(other.keys.outlets)}"
    if other.written_by == draft.name:
        message = f"asset {draft.name!r} cannot wait for its own outlet {name!r}"
        return message, f"in SQL, {{{{ outlets.{name} }}}} reads the target as it was before the run"
    own_outlet = next((each for each in _iterate_own_outlets(draft, drafts) if each.shares_dataset(other)), None)
    if own_outlet is not None:
        explanation = f"it is the dataset {own_outlet.uri!r} of its own outlet {own_outlet.name!r}"
        message = f"asset {draft.name!r} cannot wait for {name!r}: {explanation}"
        return message, "give one of them a different 'uri'"
    return None


def refuse_own_uri(draft: AssetDraft, uri: str, drafts: Mapping[str, AssetDraft]) -> str | None:
    """Why a multi-asset may not wait for that dataset, which one of its own outlets has; None for any other dataset."""
    own_outlet = next(
        (
            each
            for each in _iterate_own_outlets(draft, drafts)
            if each.uri == uri and each.are_reliable("uri", "path", "table")
        ),
        None,
    )
    return (
        f"asset {draft.name!r} cannot wait for the dataset {uri!r} of its own outlet {own_outlet.name!r}"
        if own_outlet
        else None
    )


def _iterate_own_outlets(draft: AssetDraft, drafts: Mapping[str, AssetDraft]) -> Iterator[AssetDraft]:
    """The outlets of a multi-asset; none of any other."""
    return (
        drafts[name] for name in draft.keys.outlets or () if name in drafts and drafts[name].written_by == draft.name
    )


def list_outlet_names(names: Iterable[str]) -> str:
    """Names of outlets in a hint.

    >>> list_outlet_names(["train", "test"])
    "'train' or 'test'"
    """
    return listing([repr(name) for name in names])

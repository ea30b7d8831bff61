"""The inlets of an asset: those that its code names and those that its YAML lists, with what they must bring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sparkassets.core.spec.bodies import AssetMention
from sparkassets.core.spec.drafts import AssetDraft, AssetFiles
from sparkassets.core.spec.inlet_compiler import InletCompiler
from sparkassets.core.spec.inlet_models import InletMap
from sparkassets.core.spec.model import (
    InletSpec,
)
from sparkassets.core.spec.outlets import refuse_reference
from sparkassets.core.spec.validations import foreign_keys, referenced_assets
from sparkassets.core.spec.yaml_document import DocumentPlace
from sparkassets.core.suggestions import KnownColumns, did_you_mean, suggest_close
from sparkassets.frozen import replace

_OWN_INLET: Final = "asset {!r} cannot be its own inlet"
_SAME_DATASET: Final = "asset {!r} cannot have {!r} as an inlet: both are the dataset {!r}"
_OWN_HINT: Final = "in SQL, {{ outlets.<asset> }} reads the target as it was before the run"


def compile_inlets(
    draft: AssetDraft, named: Mapping[str, AssetMention], assets: AssetFiles, *, columns: Mapping[str, KnownColumns]
) -> dict[str, InletSpec]:
    """The inlets by name: first those that the YAML lists, then those in the code, then those of foreign keys.

    Args:
        draft: The asset; mistakes become its problems.
        named: The assets that its code names.
        assets: All assets.
        columns: All columns of an asset, by its name, where they are known.
    """
    inlets: dict[str, InletSpec] = {}
    compared = referenced_assets(draft)
    for name, (at, options) in _listed_inlets(draft).items():
        if name == draft.name:
            at.add_key_problem(_OWN_INLET.format(name), hint=_OWN_HINT)
        elif name not in assets.names:
            at.add_key_problem(f"unknown asset {name!r}", hint=did_you_mean(name, assets.candidates(draft.name)))
        elif outlet := refuse_reference(draft, name, assets.drafts):
            at.add_key_problem(outlet[0], hint=outlet[1])
        elif name in assets.drafts and assets.drafts[name].shares_dataset(draft):
            at.add_key_problem(_SAME_DATASET.format(draft.name, name, draft.uri), hint=_OWN_HINT)
        elif name in assets.drafts:
            inlet = InletCompiler(draft, assets.drafts[name], options, at, columns.get(name))
            inlets[name] = inlet.compile(waits_only=name not in {*named, *compared}, location=at.key_location)
    inlets |= _compile_named_inlets(draft, named, inlets, assets)
    return {**inlets, **_compile_compared_inlets(draft, compared, inlets, assets, columns)}


def _compile_named_inlets(
    draft: AssetDraft, named: Mapping[str, AssetMention], listed: Mapping[str, InletSpec], assets: AssetFiles
) -> dict[str, InletSpec]:
    """The inlets that the code names and the YAML does not list, with default options.

    A name that may not be read makes the inlets unreliable, so that no later check builds on them.
    """
    inlets: dict[str, InletSpec] = {}
    for name, mention in named.items():
        if refusal := _explain_refusal(draft, name, assets):
            draft.at.document.problems.append(mention.problem(refusal[0], hint=refusal[1]))
        elif name not in listed and name in assets.drafts:
            # its defaults depend on `partition`, so problems with them stand there
            inlet = InletCompiler(draft, assets.drafts[name], InletMap(), draft.at / "partition", None)
            inlets[name] = inlet.compile(waits_only=False, location=mention.location)
    if named.keys() - inlets.keys() - listed.keys():
        draft.at.document.failed.add("inlets")
    return inlets


def _compile_compared_inlets(
    draft: AssetDraft,
    compared: Mapping[str, DocumentPlace],
    found: Mapping[str, InletSpec],
    assets: AssetFiles,
    columns: Mapping[str, KnownColumns],
) -> dict[str, InletSpec]:
    """The inlets that only foreign keys name; problems with their columns stand at the foreign key."""
    compared_inlets: dict[str, InletSpec] = {}
    for name, at in compared.items():
        if refusal := _explain_compared_refusal(draft, name, assets):
            at.add_problem(refusal[0], hint=refusal[1])
        elif name in assets.drafts:
            _check_compared(draft, name, columns.get(name))
            if name not in found:
                compared_inlets[name] = _compile_compared_inlet(draft, assets.drafts[name], at)
    return compared_inlets


def _compile_compared_inlet(draft: AssetDraft, other: AssetDraft, at: DocumentPlace) -> InletSpec:
    """An inlet that only foreign keys name: a run reads all of it, and its updates make nothing stale."""
    are_partitioned = draft.partitioning.is_partitioned and other.partitioning.is_partitioned
    options = (
        InletMap(on_update="ignore", partitions="all", require="any")
        if are_partitioned
        else InletMap(on_update="ignore")
    )
    inlet = InletCompiler(draft, other, options, at, None).compile(waits_only=False, location=at.location)
    return replace(inlet, is_foreign_key_only=True)


def _explain_compared_refusal(draft: AssetDraft, name: str, assets: AssetFiles) -> tuple[str, str | None] | None:
    """Why no foreign key of ``draft`` may name that asset, with a hint; None where one may."""
    if name == draft.name or name in (draft.keys.outlets or {}):
        return f"a foreign key of asset {draft.name!r} cannot refer to its own output {name!r}", None
    if name not in assets.names:
        return f"unknown asset {name!r}", did_you_mean(name, assets.candidates(draft.name))
    return _explain_refusal(draft, name, assets)


def _check_compared(draft: AssetDraft, name: str, columns: KnownColumns | None) -> None:
    """Refuses columns in a foreign key that its asset is known to lack."""
    for key, _, at in foreign_keys(draft):
        for number, column in enumerate(key.to if key.asset == name else ()):
            if columns is not None and (refusal := columns.find_problem(column)):
                (at / number).add_problem(refusal[0], hint=refusal[1])


def _listed_inlets(draft: AssetDraft) -> dict[str, tuple[DocumentPlace, InletMap]]:
    """The inlets in the YAML, each with its place and its options; one that is listed twice becomes a problem."""
    at, listed = draft.at / "inlets", draft.keys.inlets or []
    if isinstance(listed, dict):
        return {name: (at / name, options or InletMap()) for name, options in listed.items()}
    inlets: dict[str, tuple[DocumentPlace, InletMap]] = {}
    for index, name in enumerate(listed):
        if name in inlets:
            (at / index).add_problem(f"the inlet {name!r} is listed twice")
        inlets.setdefault(name, (at / index, InletMap()))
    return inlets


def _explain_refusal(draft: AssetDraft, name: str, assets: AssetFiles) -> tuple[str, str | None] | None:
    """Why the code of ``draft`` may not read the asset of that name, with a hint; None where it may."""
    if name == draft.name:
        return _OWN_INLET.format(name), _OWN_HINT
    if name not in assets.names:
        others = assets.candidates(draft.name)
        if draft.keys.python is None:
            return f"unknown asset {name!r}", did_you_mean(name, others)
        hint = "arguments are inlets, 'context' or 'spark'; read params from context.params"
        return f"the argument {name!r} is not the name of an asset", suggest_close(name, others) or hint
    if refusal := refuse_reference(draft, name, assets.drafts):
        return refusal
    other = assets.drafts.get(name)
    if other is None:
        return None
    if other.shares_dataset(draft):
        return _SAME_DATASET.format(draft.name, name, draft.uri), _OWN_HINT
    if other.is_known_by_events and other.are_reliable("path", "table", "source", "write"):
        return f"{name!r} is known only by its events and cannot be read", (
            "to wait for it, list it under 'inlets' without reading it"
        )
    return None

"""Identities that differ only in a slash at the end or in case: compared as written, they are two datasets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sparkassets.core.spec.drafts import AssetDraft, AssetFiles
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.yaml_document import DocumentPlace


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

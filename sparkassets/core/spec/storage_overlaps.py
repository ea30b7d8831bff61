"""Places where a project stores data, and which of them must not overlap.

What is written must have its place to itself: a table that is replaced takes everything below its folder with it, and
what lies inside a source is read as its data. A place is compared as it is written (`written`), or as an adapter has
found it on the disk, where links and the case of letters count.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal

from sparkassets.core.patterns import PathPattern
from sparkassets.core.spec.code_bodies import PythonBody
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.spec.storage_location import NAMED, StorageLocation
from sparkassets.core.table_names import parse_table_name
from sparkassets.frozen import frozen

_SCHEMES: Final = {
    **dict.fromkeys(("s3a", "s3n"), "s3"),
    "gcs": "gs",
    **dict.fromkeys(("abfs", "abfss", "azure", "adl", "wasb", "wasbs"), "az"),
}
"""Schemes of one store that different libraries call differently."""
_STATE_TABLES: Final = ("journal", "watermarks")


@frozen
class StorageSite:
    """A path or URI in a form in which places can be compared.

    Attributes:
        store: Scheme and bucket or container; empty for the local disk.
        names: The names on the path, outermost first.
        folders: Identities of the existing folders on the path, outermost first; empty where nobody looked at the disk.
        account: The account of an Azure container, where the URI names it.
    """

    store: str
    names: tuple[str, ...]
    folders: tuple[str, ...] = ()
    account: str = ""

    @property
    def unknown_names(self) -> tuple[str, ...]:
        """The names below the innermost folder whose identity is known."""
        return self.names[len(self.folders) :]


def parse_site(path: str) -> StorageSite:
    """The site of an absolute path or URI, as it is written.

    >>> parse_site("s3a://lake/x/") == parse_site("s3://lake/y/../x")
    True
    """
    scheme, separator, rest = path.partition("://")
    scheme = scheme.lower()
    if not separator or scheme == "file":
        local = rest if separator else path
        return StorageSite("", _split_names(local if local.startswith("/") else local[local.find("/") :]))
    host, _, below = rest.partition("/")
    container, has_account, account = host.lower().partition("@")
    kind = _SCHEMES.get(scheme, scheme)
    return StorageSite(
        f"{kind}://{container}", _split_names(below), (), account.partition(".")[0] if has_account else ""
    )


def _split_names(path: str) -> tuple[str, ...]:
    return tuple(name for name in posixpath.normpath(f"/{path}").split("/") if name)


@frozen
class StorageUse:
    """A place that a project uses, and what for.

    Attributes:
        role: ``code`` is read by sparkassets itself; ``root`` is the project's folder, in which all others may lie.
        path: Absolute, or a URI; for files the longest part that does not vary.
        shown: The place as written in the file.
        asset: The asset that uses it; None for the project.
        appended: Whether a target is only ever appended to, so that other such targets may share it.
        pattern: The path pattern of a source of files; else None.
    """

    role: Literal["state", "target", "source", "code", "root"]
    path: str
    shown: str
    asset: str | None = None
    appended: bool = False
    pattern: PathPattern | None = None

    @property
    def is_written(self) -> bool:
        """Whether sparkassets writes there."""
        return self.role in ("state", "target")

    @property
    def name(self) -> str:
        """The use as a noun phrase, with its owner."""
        noun = {"state": "the state", "code": "the folder", "root": "the project's own folder"}.get(self.role)
        return f"{noun or f'the {self.role} of asset {self.asset!r},'} {self.shown!r}"


@frozen
class StorageOverlap:
    """A place that is written, and another place that it overlaps and must not.

    Attributes:
        relation: Whether the first is the other, lies inside it, or lies around it.
    """

    place: StorageUse
    other: StorageUse
    relation: Literal["same", "inside", "around"]

    def sentence(self, where: str) -> str:
        """The problem as a sentence; ``where`` is where the other place is set, empty if it is not."""
        how = {"same": "is also", "inside": "lies inside", "around": "holds"}[self.relation]
        where_text = f" ({where})" if where else ""
        return (
            f"the {self.place.role} {self.place.shown!r} {how} {self.other.name}{where_text}; {self._describe_harm()}"
        )

    def _describe_harm(self) -> str:
        if self.other.role == "source":
            return "the source would read the rows written there"
        return "writing one would destroy the other"

    @property
    def hint(self) -> str:
        """How to resolve the overlap."""
        if self.relation == "same" and self.place.role == "target" and self.other.role == "source":
            return f"remove the source, and name the asset {self.place.asset!r} as an inlet instead"
        if self.relation == "same" and self.other.role == self.place.role:
            return "give each asset its own path; only assets that all append may share one"
        return "give one of them a different folder"


def storage_uses(
    *, root: str, state: tuple[str, str], folders: Iterable[str], assets: Mapping[str, AssetSpec]
) -> list[StorageUse]:
    """All places that a project uses.

    Args:
        root: Absolute folder of the project file.
        state: The state's absolute path or URI, and its name in messages.
        folders: Absolute folders of asset files; one that holds the project's own folder is left out.
        assets: All assets, by name.
    """
    places = [StorageUse("state", each, state[1]) for each in _iterate_state_places(state[0])]
    places.append(StorageUse("root", root, root))
    bodies = (asset.body for asset in assets.values() if isinstance(asset.body, PythonBody))
    packages = (f"{body.search_path.rstrip('/')}/{body.module.partition('.')[0]}" for body in bodies)
    # a folder that holds the project's own would hold its state and tables as well
    code = (each for each in dict.fromkeys([*folders, *packages]) if not f"{root}/".startswith(f"{each.rstrip('/')}/"))
    places += [StorageUse("code", path, posixpath.relpath(path, root)) for path in code]
    return [*places, *(_asset_use(asset, asset.storage) for asset in assets.values() if asset.storage is not None)]


def _asset_use(asset: AssetSpec, storage: StorageLocation) -> StorageUse:
    """The place of an asset: of a source of files the part of its path before the first field or glob."""
    path = storage.as_path
    if asset.source is None:
        # a run commits once in each of its tables, so two of its outlets cannot share one
        appended = asset.write is not None and asset.write.only_adds and not asset.written_by
        return StorageUse("target", path, storage.given, asset.name, appended)
    if asset.source.kind == "delta":
        return StorageUse("source", path, storage.given, asset.name)
    pattern = PathPattern.parse(path, asset.partitioning.segment_columns)
    return StorageUse("source", pattern.root, storage.given, asset.name, pattern=pattern)


def catalog_schema(place: str) -> tuple[str, ...]:
    """Catalog and schema of a place in a catalog; empty for a path or a URI.

    >>> catalog_schema("table://main.`my ops`"), catalog_schema("s3://lake/state")
    (('main', 'my ops'), ())
    """
    return parse_table_name(place.removeprefix(NAMED)) if place.startswith(NAMED) else ()


def find_table_sharers(project: ProjectSpec, asset: str) -> tuple[str, ...]:
    """The asset and all others that write to the same table, which is only allowed if all of them append."""
    location = project.assets[asset].storage
    if location is None:
        return (asset,)
    place = parse_site(location.as_path)
    writers = (each for each in project.assets.values() if each.source is None and each.storage is not None)
    return (asset, *(each.name for each in writers if each.name != asset and _is_stored_at(each, place)))


def _is_stored_at(asset: AssetSpec, place: StorageSite) -> bool:
    return asset.storage is not None and parse_site(asset.storage.as_path) == place


def _iterate_state_places(place: str) -> Iterator[str]:
    """The places of a state: its tables if it is in a catalog, else the one place itself."""
    schema = catalog_schema(place)
    tables = (StorageLocation.of_table((*schema, table)).as_path for table in _STATE_TABLES)
    yield from tables if schema else (place,)


def find_overlaps(
    places: Sequence[StorageUse], locate: Callable[[str], StorageSite] = parse_site
) -> Iterator[StorageOverlap]:
    """Every pair of places that overlap and must not; the first of a pair is written.

    Each place is looked up by its prefixes, so the time grows with the number of places and not with that of pairs.
    """
    sites = [locate(place.path) for place in places]
    # `ends` has each place by its own key; a place lies in those that have the key of one of its prefixes
    ends: dict[tuple[object, ...], list[int]] = {}
    for number, site in enumerate(sites):
        ends.setdefault(_site_key(site), []).append(number)
    for number, site in enumerate(sites):
        for key, below in _iterate_prefix_keys(site):
            for other in ends.get(key, ()):
                is_first_meeting = other < number or below  # two equal places find each other, but are one pair
                if other != number and is_first_meeting and _same_account(site, sites[other]):
                    yield from _find_refused_overlaps(places[number], places[other], below)


def sites_overlap(site: StorageSite, other: StorageSite) -> bool:
    """Whether the two places are the same, or one lies in the other."""
    return _same_account(site, other) and (
        any(key == _site_key(other) for key, _ in _iterate_prefix_keys(site))
        or any(key == _site_key(site) for key, _ in _iterate_prefix_keys(other))
    )


def _site_key(site: StorageSite) -> tuple[object, ...]:
    """The key by which a place is found: its innermost known folder, and the names below it."""
    return (site.store, site.folders[-1:], site.unknown_names)


def _iterate_prefix_keys(site: StorageSite) -> Iterator[tuple[tuple[object, ...], tuple[str, ...]]]:
    """Yields the key of every place that may hold the site, itself included, each with the names between the two.

    First the prefixes below the innermost known folder, then the known folders around that, each by its identity alone:
    links may give one folder several names.
    """
    names_below = site.unknown_names
    for length in range(len(names_below) + 1):
        yield (site.store, site.folders[-1:], names_below[:length]), names_below[length:]
    for length in range(len(site.folders)):
        yield (site.store, site.folders[:length][-1:], ()), site.names[length:]


def _same_account(site: StorageSite, other: StorageSite) -> bool:
    """Whether both may be of one Azure account; a URI that names none may be of any."""
    return not (site.account and other.account) or site.account == other.account


def _find_refused_overlaps(inner: StorageUse, outer: StorageUse, below: tuple[str, ...]) -> Iterator[StorageOverlap]:
    """Yields the overlap of ``inner`` in ``outer``, if it is not allowed; both are one place if ``below`` is empty.

    The place that is written comes first, of state and target the target: its key is where the author can change it.
    """
    if not below:
        first, second = (inner, outer) if inner.is_written else (outer, inner)
        if first.is_written and not (first.appended and second.appended):
            if second.role == "target" and first.role == "state":
                first, second = second, first
            yield StorageOverlap(first, second, "same")
    elif outer.is_written and (not inner.is_written or inner.role == "state"):
        yield StorageOverlap(outer, inner, "around")
    elif inner.is_written and outer.role != "root" and _belongs_to_outer(outer, below):
        yield StorageOverlap(inner, outer, "inside")


def _belongs_to_outer(outer: StorageUse, below: tuple[str, ...]) -> bool:
    """Whether files at ``below`` would belong to the outer place; a pattern may not match them."""
    pattern = outer.pattern
    if pattern is None or not pattern.is_pattern:
        return True
    return all(pattern.may_match_below(depth, name) for depth, name in enumerate(below, start=1))

"""Projects and assets as read, before they are compiled, and the paths of their files."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Final

from sparkassets.core.entry_points import InstalledKinds
from sparkassets.core.partitions import UNPARTITIONED, Partitioning
from sparkassets.core.spec.asset_models import AssetFile
from sparkassets.core.spec.model import SourceSpec
from sparkassets.core.spec.project_models import ProjectFile
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.spec.stores import NamedStore
from sparkassets.core.spec.time_bounds import TimeBounds
from sparkassets.core.spec.yaml_document import DocumentPlace, SourceFile, too_many_problems
from sparkassets.core.variables import VariableLookup
from sparkassets.errors import MOST_PROBLEMS, SpecProblem
from sparkassets.frozen import frozen

DURATIONS: Final = ("retry_delay", "timeout", "lease")
"""The keys of an asset that hold a duration and have a default in the project file."""

MOST_COMPARED: Final = 300_000
"""Comparisons of unknown names with the known ones, for hints; a project that needs more of them needs no hints."""


@frozen
class ProjectDraft:
    """The project file, read.

    Attributes:
        root: Absolute folder of the project file.
        keys: The file's keys; defaults where they are missing or wrong.
        timezone: A zone that exists.
        seconds: The defaults of `DURATIONS`.
        environment: Variables for ``${…}`` in all its files.
        profile: The one that holds; empty where there is none.
        retention: How long the journal's entries are kept, in seconds; None for ever.
        installed: What packages register for its files to name.
    """

    root: str
    at: DocumentPlace
    keys: ProjectFile
    timezone: str
    seconds: Mapping[str, int]
    environment: VariableLookup
    profile: str = ""
    retention: int | None = None
    installed: InstalledKinds = field(default_factory=InstalledKinds)

    @property
    def problems(self) -> list[SpecProblem]:
        """The problems of the file."""
        return self.at.document.problems

    @property
    def folders(self) -> tuple[str, ...]:
        """The absolute folders of asset files."""
        return tuple(resolve_path(entry, root=self.root) for entry in self.keys.assets)


@frozen
class AssetDraft:
    """One asset's document, read on its own.

    Attributes:
        keys: The document's keys, without the wrong ones.
        bounds: The zone and the bounds that schedule and partition start from.
        seconds: The `DURATIONS` in seconds, by key.
        written_by: For an outlet the multi-asset whose document it stands in; else empty.
        store: The key of `storage` that the path names, which ``keys.path`` no longer has; None without one.
    """

    name: str
    at: DocumentPlace
    keys: AssetFile
    bounds: TimeBounds
    storage: StorageLocation | None = None
    uri: str = ""
    source: SourceSpec | None = None
    partitioning: Partitioning = UNPARTITIONED
    seconds: Mapping[str, int] = field(default_factory=dict)
    written_by: str = ""
    store: NamedStore | None = None

    @property
    def file(self) -> SourceFile:
        """The file that holds the document."""
        return self.at.document.file

    def are_reliable(self, *keys: str) -> bool:
        """Whether no problem concerns any of these top-level keys, so that checks that build on them make sense."""
        failed = self.at.document.failed
        return not failed or failed.isdisjoint({*keys, "outlets"} if self.written_by else keys)

    @property
    def param_names(self) -> frozenset[str]:
        """The names of the params that every run has: with a list of params, the names in all of them."""
        params = self.keys.params
        return (
            frozenset(params) if isinstance(params, dict) else frozenset.intersection(*map(frozenset, params or [{}]))
        )

    @property
    def writes_itself(self) -> bool:
        """Whether the asset's own code writes its target (``write: self``)."""
        return self.keys.write == "self"

    @property
    def is_known_by_events(self) -> bool:
        """Whether nothing of it can be read: neither a path nor a name says where it is."""
        return self.storage is None and self.keys.outlets is None

    def shares_dataset(self, other: AssetDraft) -> bool:
        """Whether both surely have one identity in events: an update of either is an update of both."""
        return self.uri == other.uri and self.are_reliable("uri", "path") and other.are_reliable("uri", "path")


@dataclass(frozen=True)
class AssetFiles:
    """All asset files, read; what is looked up for each asset is an index, so that compiling stays linear.

    Attributes:
        drafts: By name, in order of files.
        unreadable: Names of assets that exist but could not be read.
        problems: Of files and documents that yielded no draft.
    """

    drafts: Mapping[str, AssetDraft]
    unreadable: frozenset[str] = frozenset()
    problems: tuple[SpecProblem, ...] = ()
    _unknown: Iterator[int] = field(default_factory=count, repr=False, compare=False)

    @cached_property
    def names(self) -> frozenset[str]:
        """Every asset of the project."""
        return self.unreadable | self.drafts.keys()

    @cached_property
    def names_by_uri(self) -> Mapping[str, Sequence[str]]:
        """The assets of each dataset, in order of files."""
        names: dict[str, list[str]] = {}
        for draft in self.drafts.values():
            names.setdefault(draft.uri, []).append(draft.name)
        return names

    @cached_property
    def names_by_table(self) -> Mapping[str, str]:
        """The asset that a table of Spark's catalog may be mistaken for: by its name with case folded."""
        return {name.casefold(): name for name in sorted(self.names)}

    def until_too_many(self) -> Iterator[AssetDraft]:
        """The drafts in order of files; each is counted once the caller has checked it.

        Raises:
            SpecError: There are `MOST_PROBLEMS` already: further ones of files that a program has spoilt help nobody.
        """
        total = len(self.problems)
        for draft in self.drafts.values():
            if total >= MOST_PROBLEMS:
                problems = (problem for each in self.drafts.values() for problem in each.at.document.problems)
                raise too_many_problems([*self.problems, *problems], draft.at.document)
            yield draft
            if not draft.written_by:
                total += len(draft.at.document.problems)

    def candidates(self, asset: str) -> Collection[str]:
        """The assets that an unknown name in ``asset`` may stand for; none after `MOST_COMPARED` comparisons."""
        return self.names - {asset} if next(self._unknown) * len(self.names) < MOST_COMPARED else ()

    @property
    def stores(self) -> tuple[NamedStore, ...]:
        """The stores that paths name."""
        return tuple(draft.store for draft in self.drafts.values() if draft.store is not None)


def normalize_path(given: str) -> str:
    """The path without ``./``, doubled and trailing slashes; an object-store URI keeps all but a trailing slash.

    >>> normalize_path("./landing//flights/"), normalize_path("s3://Lake/x/")
    ('landing/flights', 's3://Lake/x')
    """
    return given.rstrip("/") if "://" in given else posixpath.normpath(given)


def resolve_path(given: str, *, root: str) -> str:
    """Where the path leads, from the project's absolute folder ``root``.

    >>> resolve_path("../landing", root="/work/conf"), resolve_path("s3://lake/x", root="/work/conf")
    ('/work/landing', 's3://lake/x')
    """
    return normalize_path(given) if "://" in given else normalize_path(posixpath.join(root, given))


def sibling_path(file: str, name: str) -> str:
    """The path of ``name`` in the folder of ``file``.

    >>> sibling_path("assets/sales/orders.yml", "orders.sql")
    'assets/sales/orders.sql'
    """
    return normalize_path(posixpath.join(posixpath.dirname(file), name))

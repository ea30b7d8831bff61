"""What is said of a source that is not there, and of values that belong to no partition."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sparkassets.core.partitions import YEARS, Partitioning
from sparkassets.core.patterns import PathPattern
from sparkassets.core.phrases import escape_unwritable, few
from sparkassets.core.planner.wording import plural
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.spec.source_views import source_pattern
from sparkassets.errors import SourceError, SpecProblem
from sparkassets.files.object_stores import local_path

_SIMILAR = 0.7


def explain_missing_root(source: str, pattern: PathPattern, *, seen: bool) -> str:
    """Says that a pattern's root is not there yet; raises where it cannot be expected to come.

    An object store has no empty folders, and a single file may appear in its folder; a missing folder on a disk
    is taken for a mistake, as an empty one can be created. ``seen`` says whether an earlier look found it.

    Raises:
        SourceError: It is gone, or was never there.
    """
    local = local_path(pattern.root)
    path = Path(local or pattern.root)
    is_file = not pattern.is_pattern and path.suffix != ""
    if seen:
        empty = "a file without rows" if is_file else "an empty folder"
        raise SourceError(
            f"the source '{source}' vanished: '{pattern.root}' is no longer there",
            hint=f"restore it; if its data is gone for good, put {empty} in its place",
        )
    if local is None:
        return f"'{pattern.root}' contains no files yet"
    if is_file and path.parent.is_dir():
        return f"the file '{pattern.root}' does not exist yet"
    folder = path.parent if is_file else path
    raise SourceError(f"the source '{source}' has no folder '{folder}'", hint=_hint(folder))


def explain_missing_table(source: str, path: str) -> str:
    """Says that a Delta table is not there yet; raises where it cannot be expected to come.

    Raises:
        SourceError: On a disk, even its parent folder is missing.
    """
    local = local_path(path)
    if local is not None and not Path(local).parent.is_dir():
        raise SourceError(f"the source '{source}' has no folder '{Path(local).parent}'", hint=_hint(Path(local).parent))
    return f"no Delta table at '{path}' yet"


def find_missing_storage(project: ProjectSpec) -> tuple[SpecProblem, ...]:
    """Sources of a project whose folder is missing on this machine's disk, with their errors."""
    problems = []
    for asset in project.assets.values():
        if asset.source is None or asset.storage is None or local_path(asset.storage.path) is None:
            continue
        try:
            if asset.source.kind == "delta":
                explain_missing_table(asset.name, asset.storage.path)
            elif asset.source.kind != "events":
                pattern = source_pattern(asset)
                if not Path(local_path(pattern.root) or "").exists():
                    explain_missing_root(asset.name, pattern, seen=False)
        except SourceError as error:
            problems.append(SpecProblem(asset.location, error.args[0], error.hint))
    return tuple(problems)


def _hint(path: Path) -> str:
    """The most similar existing name, or how to confirm the folder."""
    from unicodedata import normalize

    parent = path.parent
    while not parent.is_dir():
        path, parent = parent, parent.parent
    try:
        names = sorted(each.name for each in parent.iterdir())
    except OSError:
        names = []
    equivalent = [name for name in names if normalize("NFC", name) == normalize("NFC", path.name)]
    if equivalent:
        return f"'{parent}' has the same name in another Unicode form (NFC or NFD); rename one of the two"
    from difflib import get_close_matches

    similar = get_close_matches(path.name, names, n=1, cutoff=_SIMILAR)
    if similar:
        return f"did you mean '{parent / similar[0]}'? if not, create the folder: the source then waits for its data"
    return "create the folder: the source then waits for its data"


NAMED = 5
"""How many paths, or values of a column, are named."""

Exclusion = tuple[Sequence[str], str, str]
"""Paths that a look leaves out, the noun of one, and what a note says of them."""


def describe_exclusions(exclusions: Iterable[Exclusion]) -> tuple[str, ...]:
    """A note for each kind of paths that are left out.

    >>> describe_exclusions([(["in/b", "in/a"], "file", "of no day left out"), ([], "link", "left out")])
    ('2 files of no day left out: in/a, in/b',)
    """
    return tuple(
        f"{plural(len(paths), noun)} {predicate}: {_name_some(sorted(paths))}"
        for paths, noun, predicate in exclusions
        if paths
    )


def count_ignored(names: Collection[str]) -> dict[str, Any]:
    """The first names that are left out and their number, as ``extra`` of an observation; empty without any."""
    first = [escape_unwritable(name) for name in sorted(names)[:NAMED]]
    return {"ignored": first, "ignored_count": len(names)} if names else {}


LeftOut = Mapping[str, Sequence[str]]
"""Values by column that name no partition, ascending."""


def describe_ignored_values(ignored: LeftOut, partitioning: Partitioning) -> tuple[str, ...]:
    """A sentence for each partition column.

    >>> from sparkassets.core.partitions import SegmentPartition
    >>> describe_ignored_values({"region": ["us"]}, Partitioning(None, (SegmentPartition("region", ("de",)),)))
    ("rows left out whose 'region' is none of its segments: us",)
    """
    time = partitioning.time
    descriptions = {} if time is None else {time.column: f"no {time.noun} of the years {YEARS[0]} to {YEARS[-1]}"}
    descriptions |= {
        each.column: "no segment" if each.is_open else "none of its segments" for each in partitioning.segments
    }
    return tuple(
        f"rows left out whose '{column}' is {descriptions[column]}: {_name_some(values)}"
        for column, values in ignored.items()
        if column in descriptions
    )


def _name_some(values: Sequence[str]) -> str:
    return few([escape_unwritable(value) or "''" for value in values], most=NAMED)

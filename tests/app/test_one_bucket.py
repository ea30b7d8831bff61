"""However a place on S3 is written, its site, the options of its bucket and who shares a table with it are the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.spec.project_spec import StoreOptions
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.spec.storage_overlaps import (
    StorageOverlap,
    StorageUse,
    find_overlaps,
    find_table_sharers,
    parse_site,
    sites_overlap,
)
from sparkassets.core.spec.stores import bucket_of
from sparkassets.files.object_stores import BucketAccess, find_bucket_access, set_bucket_access
from tests.builders import asset, project

BUCKETS = ("lake", "lake2", "la.ke")
NAMES = ("a", "b", "a.b")
Place = tuple[str, tuple[str, ...]]

places = st.tuples(st.sampled_from(BUCKETS), st.lists(st.sampled_from(NAMES), max_size=3).map(tuple))
schemes = st.sampled_from(["s3", "s3a", "s3n", "S3", "S3A"])
noise = st.sampled_from(["", "./", "/", "//", "c/../", "c/d/../../", "./c/.././"])
ends = st.sampled_from(["", "/", "//", "/.", "/c/..", "/c/../"])


@pytest.fixture(autouse=True, scope="module")
def _nothing_is_left() -> Iterator[None]:
    yield
    set_bucket_access(())


@st.composite
def uris(draw: st.DrawFn, place: Place) -> str:
    """One of the ways to write a place."""
    bucket, names = place
    up = draw(st.sampled_from(["", "../", "../../"]))  # above a bucket there is nothing
    below = "".join(f"{draw(noise)}{name}/" for name in names).removesuffix("/")
    return f"{draw(schemes)}://{bucket}/{up}{below}{draw(ends)}"


def related(one: Place, other: Place) -> bool:
    """Whether one of them is, or lies in, the other: by brute force."""
    (here, mine), (there, its) = one, other
    least = min(len(mine), len(its))
    return here == there and mine[:least] == its[:least]


def at(name: str, uri: str):
    return replace(asset(name), storage=StorageLocation(uri, uri))


@given(st.data(), places, places)
def test_a_place_is_one_however_it_is_written(data, one, other):
    first, second = data.draw(uris(one)), data.draw(uris(other))
    assert (parse_site(first) == parse_site(second)) == (one == other)
    assert sites_overlap(parse_site(first), parse_site(second)) == related(one, other)
    found: list[StorageOverlap] = list(
        find_overlaps([StorageUse("target", first, first), StorageUse("source", second, second)])
    )
    assert bool(found) == related(one, other)
    spec = project(at("a", first), at("b", second))
    assert (find_table_sharers(spec, "a"), find_table_sharers(spec, "b")) == (
        (("a", "b"), ("b", "a")) if one == other else (("a",), ("b",))
    )


@given(st.data(), places, st.sets(st.sampled_from(["", *BUCKETS])))
def test_the_options_of_its_bucket_are_those_of_the_place(data, place, told):
    keys = {bucket: f"{data.draw(schemes)}://{bucket}{data.draw(st.sampled_from(['', '/']))}" for bucket in told}
    assert {bucket: bucket_of(key) for bucket, key in keys.items()} == {bucket: bucket for bucket in told}
    set_bucket_access([BucketAccess(StoreOptions(bucket)) for bucket in told])
    found, uri = find_bucket_access(data.draw(uris(place))), place[0]
    expected = uri if uri in told else "" if "" in told else None
    assert (found.options.bucket if found is not None else None) == expected

"""Which partitions a sample of a branch has, and which assets it leaves out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from sparkassets.app.adapters import Adapters
from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.instants import Duration
from sparkassets.core.partitions import EVERYTHING, WindowMapping
from sparkassets.core.spec.model import AssetSpec, InletSpec, SourceSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.errors import InputError
from sparkassets.open_project import OpenProject
from tests.app.test_branching import Memory
from tests.builders import asset, days, multi, project, source

AT = "2025-02-01"
SOURCE = replace(source("s"), source=SourceSpec("events"))
TWO_DAYS = InletSpec("a", "a", mapping=WindowMapping.trailing(Duration.parse("2d")))


def coded(name: str, *inlets: str | InletSpec, code: int = 0, by: str | None = "day") -> AssetSpec:
    return asset(name, *inlets, by=by, definition=AssetDefinition(f"{name}{code}"))


class Today(Memory):
    """Whose clock shows the first of February."""

    def adapters(self, spec: ProjectSpec) -> Adapters:
        adapters = replace(super().adapters(spec), for_project=self.adapters)
        adapters.clock.time = datetime(2025, 2, 1, tzinfo=UTC)  # type: ignore[attr-defined]
        return adapters


def branched(base: tuple[AssetSpec, ...], changed: tuple[AssetSpec, ...]) -> OpenProject:
    """The changed project, whose base has run for five days."""
    memory = Today()
    prod = memory.of(project(SOURCE, *base))
    for day in range(1, 6):
        prod.events.add("s", partition=f"2025-01-0{day}")
    prod.run(at=AT)
    return memory.of(project(SOURCE, *changed))


def test_the_newest_partitions_are_computed_and_those_of_the_branch_that_they_need():
    dev = branched((coded("a", "s"), coded("b", TWO_DAYS)), (coded("a", "s", code=1), coded("b", TWO_DAYS)))
    sample = dev.branches.sample("dev", 2)
    assert dict(sample.partitions) == {"a": days("2025-01-03..2025-01-05"), "b": days("2025-01-04..2025-01-05")}
    summary = dev.branches.open("dev", sample=sample).run(at=AT)
    assert {run.asset: run.partitions for run in summary.runs} == dict(sample.partitions)
    assert not dev.branches.open("dev", sample=sample).run(at=AT).runs
    rest = dev.branches.open("dev").run(at=AT).runs
    assert {run.asset: run.partitions for run in rest} == {
        "a": days("2025-01-01..2025-01-02"),
        "b": days("2025-01-02..2025-01-03"),  # the day before the first one never came
    }


def test_an_asset_without_partitions_is_computed_unless_it_reads_all_of_a_sampled_one():
    base = (coded("a", "s"), coded("t", "a", by=None), coded("u", "t", by=None), coded("n", "s", by=None))
    dev = branched(base, (coded("a", "s", code=1), *base[1:3], coded("n", "s", by=None, code=1)))
    sample = dev.branches.sample("dev", 2)
    assert dict(sample.partitions) == {"a": days("2025-01-04..2025-01-05"), "n": EVERYTHING}
    assert sample.left_out == {
        "t": "it reads all of a, and the branch computes only a sample of that",
        "u": "it reads t, which is left out",
    }
    assert not dev.branches.sample("dev", 5).left_out


def test_a_new_asset_gets_the_newest_partitions_that_its_inlets_have():
    dev = branched((coded("a", "s"),), (coded("a", "s"), coded("new", "a")))
    assert dict(dev.branches.sample("dev", 1).partitions) == {"new": days("2025-01-05")}


def test_named_partitions_are_computed_in_place_of_the_newest():
    base = (coded("a", "s"), coded("m", "a", by="month"), coded("n", "s", by=None))
    dev = branched(base, (coded("a", "s", code=1), base[1], coded("n", "s", by=None, code=1)))
    sample = dev.branches.sample("dev", 1, keys=["2025-01-01", "2025-01-03..2025-01-04", "2025-02-01"])
    assert dict(sample.partitions) == {"a": days("2025-01-01", "2025-01-03..2025-01-04"), "n": EVERYTHING}
    assert sample.left_out == {"m": "it has none of these partitions"}
    with pytest.raises(InputError, match=r"^branch 'dev' computes no partition 2025-01-09 or x$"):
        dev.branches.sample("dev", 1, keys=["2025-01-09", "x"])


def test_outlets_have_the_partitions_of_their_multi_asset():
    multi_asset, *outlets = multi(coded("m", "s"), "x", "y")
    changed = replace(multi_asset, definition=AssetDefinition("m1"))
    window = replace(TWO_DAYS, name="x", uri="x")
    reader = coded("z", window)
    dev = branched((multi_asset, *outlets, reader), (changed, *outlets, reader))
    needed = days("2025-01-04..2025-01-05")
    assert dict(dev.branches.sample("dev", 1).partitions) == {
        **dict.fromkeys(("m", "x", "y"), needed),
        "z": days("2025-01-05"),
    }

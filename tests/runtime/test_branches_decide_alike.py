"""Branch, run, promote comes to the same as running the changed code on the base, whatever a project declares."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.instants import DAY, Duration
from sparkassets.core.planner.planning_context import partitions_in_bounds
from sparkassets.core.spec.model import AssetSpec, InletSpec, PartitionRequirement
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.runtime.driver_work import DueWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import project
from tests.depth import histories
from tests.runtime.lake import KINDS, ZERO, Lake, Table, inside, partitions_of, random_lake, set_of
from tests.runtime.test_branches import COMPUTED, Beside, History, coded, tables

REQUIRES = (
    PartitionRequirement(),
    PartitionRequirement(),
    PartitionRequirement("any"),
    PartitionRequirement("none"),
    PartitionRequirement("at_least", 2),
)


def bounded(random: Random, lake: ProjectSpec) -> ProjectSpec:
    """The project with starts, ends, requirements and tolerances here and there."""

    def declared(each: AssetSpec) -> AssetSpec:
        often = 0.6 if each.source else 0.2
        start = ZERO + random.randint(-3, 8) * DAY if random.random() < often else None
        end = ZERO + random.randint(9, 14) * DAY if random.random() < 0.1 else None
        inlets = {name: required(inlet) for name, inlet in each.inlets.items()}
        kind = random.choice(KINDS[:1] + KINDS[3:4]) if each.source or each.name == "one" else each.partitioning
        return replace(each, start=start, end=end, inlets=inlets, partitioning=kind)

    def required(inlet: InletSpec) -> InletSpec:
        tolerance = Duration.parse("6h") if random.random() < 0.2 else None
        return replace(inlet, require=random.choice(REQUIRES), tolerance=tolerance, on_update="rerun")

    return project(*map(declared, lake.assets.values()))


class Declared(History):
    """A history of a project that declares much."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.plain = bounded(random, random_lake(random).project)
        self.lake = Lake(self.plain, MemoryStore())
        self.codes = dict.fromkeys(random.sample(COMPUTED, random.randint(1, 2)), 1)
        self.stores = {self.plain.state: self.lake.store}
        self.beside = Beside(self.plain, MemoryStore(), base=self.lake)
        self.promoted = []
        self.suspended = []

    def begin(self) -> None:
        """The base runs, and its sources move on; they have holes."""
        if self.random.random() < 0.4:
            self.base_runs()
            self.skip()
        self.fill()
        self.base_runs()
        for _ in range(self.random.randint(0, 2)):
            self.change()
            self.base_runs()
        self.base_is_idle()

    def skip(self) -> None:
        """Somebody says of some partitions, none of which is there yet, that nobody wants them."""
        for name in self.random.sample(COMPUTED, 2):
            partitioning, allowed = self.plain.assets[name].partitioning, partitions_in_bounds(self.plain.assets[name])
            partitions = [set_of(partitioning, each) for each in self.random.sample(partitions_of(partitioning), 2)]
            keys = [key for each in partitions for key in partitioning.labels(each & allowed)]
            if not keys:
                continue
            self.lake.opened().assets.mark(name, "skip", *keys, reason="a holiday")

    def in_base(self) -> None:
        """The changed code runs on the base itself."""
        changed = coded(self.plain, self.codes)
        assets = {name: replace(each, on_code_change="backfill") for name, each in changed.assets.items()}
        self.lake.project, self.lake.codes = replace(changed, assets=assets), self.codes
        assert self.lake.driver().run_works([DueWork()]).ok
        assert self.lake.driver().run_works([DueWork()]).runs == ()

    def there(self) -> dict[str, tuple[Table, list[object]]]:
        """Every table of the base, and what counts as there."""
        driver = self.lake.driver()
        driver.ledger.open()
        known = driver.ledger.state.assets
        return {
            name: (dict(self.lake.table(name)), inside(self.plain.assets[name].partitioning, known[name].coverage))
            for name in tables(self.plain)
        }


@histories(25)
@given(seed=st.integers(0, 2**32))
def test_what_is_promoted_is_what_the_changed_code_makes_on_the_base(*, seed: int) -> None:
    beside, directly = (Declared(Random(seed)) for _ in range(2))  # noqa: S311  a history
    for history in (beside, directly):
        history.begin()
    beside.run_branch()
    beside.promote()
    directly.in_base()
    assert beside.there() == directly.there()

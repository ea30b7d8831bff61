"""Random projects whose code adds a column: what the plan names is what then runs, or waits for a person, and no more.

The model of a run is independent of the planner: it returns columns by the shape of its query, and fails where a strict
table would get another one.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.query_text import normal_form
from sparkassets.core.spec.code_bodies import PythonBody, SqlBody
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.errors import RunError
from sparkassets.ports import RunOrder
from sparkassets.runtime.driver_work import DueWork
from sparkassets.runtime.requested_works import RebuildWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import HERE, asset, project, source
from tests.depth import histories
from tests.runtime.fakes import World

SHAPES = ("star", "star", "aliased", "named", "counted", "function")
OWN = {"named": ("day", "x"), "counted": ("day", "x", "k"), "function": ("day", "x")}
QUERIES = {
    "star": "SELECT *_MORE FROM {{ inlets._UP }}",
    "aliased": "WITH u AS (SELECT * FROM {{ inlets._UP }}) SELECT u.*, 2 AS k__UP_MORE FROM u",
    "named": "SELECT day, x_MORE FROM {{ inlets._UP }}",
    "counted": "SELECT day, x, 3 AS k_MORE FROM {{ inlets._UP }} WHERE x > 1",
}


class Shop:
    """A chain of assets with branches, each of a shape of its own, above one source."""

    def __init__(self, random: Random) -> None:
        self.names = [f"a{number}" for number in range(random.randint(3, 6))]
        self.up = {name: random.choice(["s", *self.names[:at]][-3:]) for at, name in enumerate(self.names)}
        self.shape = {name: random.choice(SHAPES) for name in self.names}
        self.schema = {name: random.choice(["strict", "add_columns"]) for name in self.names}
        self.by = {name: random.choice(["day", "day", None]) for name in self.names}
        self.again = {name: random.choice(["backfill"] * 4 + ["warn"]) for name in self.names}
        self.edited = ""

    def edit(self, random: Random) -> None:
        self.edited = next((name for name in self.names if self.shape[name] != "function"), "")
        self.schema[self.edited] = random.choice(["strict", "add_columns", "add_columns"])

    def project(self) -> ProjectSpec:
        return project(source("s"), *map(self._asset, self.names))

    def _asset(self, name: str) -> AssetSpec:
        made = asset(name, self.up[name], by=self.by[name], schema=self.schema[name], on_code_change=self.again[name])
        if self.shape[name] == "function":
            body = PythonBody("jobs", "f", (self.up[name],), "/p", HERE)
            return replace(made, body=body, definition=AssetDefinition.build(text="f"))
        more = ", 1 AS of__UP" if name == self.edited else ""
        text = QUERIES[self.shape[name]].replace("_MORE", more).replace("_UP", self.up[name])
        return replace(made, body=SqlBody(text, HERE), definition=AssetDefinition.build(text=normal_form(text)))

    def returned(self, name: str, tables: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
        own = OWN.get(self.shape[name]) or tables[self.up[name]]
        more = [f"k_{self.up[name]}"] if self.shape[name] == "aliased" else []
        more += [f"of_{self.up[name]}"] if name == self.edited else []
        return (*own, *more)

    def compute(self, w: World, order: RunOrder) -> None:
        """What a run does to the columns of its table; it fails where they do not fit."""
        name, table = order.asset.name, w.columns.get(order.asset.name)
        returned = self.returned(name, w.columns)
        if table is None or order.partitions.is_everything or order.rebuilds:
            w.columns[name] = returned
            return
        extra = [each for each in returned if each not in table]
        if self.schema[name] == "strict" and set(returned) != set(table):
            raise RunError(f"{name}: {extra} is not in the target")
        w.columns[name] = (*table, *extra)


def tick(w: World) -> set[str]:
    """What runs until nothing does; no run may fail."""
    ran: set[str] = set()
    while runs := w.driver().run_works([DueWork()]).runs:
        assert [each.error for each in runs if each.status != "success"] == []
        ran |= {each.asset for each in runs}
    return ran


def named(w: World) -> tuple[set[str], set[str]]:
    """Assets that the plan runs or lets wait, and those that wait for a person."""
    news = [*w.source("s").news]
    plan = w.opened().plan()
    w.source("s").news[:] = news
    waits = [each for each in plan.waiting if not each.quiet]
    stuck = {each.asset for each in waits if each.stuck}
    return {each.asset for each in (*plan.runs, *waits)}, stuck


@histories(100)
@given(st.randoms(use_true_random=False))
def test_the_plan_names_what_then_runs_or_waits_and_nothing_fails(random: Random):
    shop = Shop(random)
    w = World(shop.project(), MemoryStore(), columns={"s": ("day", "x")})
    for name in shop.names:
        w.engine.hooks[name, "compute"] = lambda order: shop.compute(w, order)
    w.tell("s", "2025-01-01", "2025-01-02")
    tick(w)
    shop.edit(random)
    w.project = shop.project()
    if random.random() < 0.5:
        w.tell("s", "2025-01-03")
    expected, stuck = named(w)
    ran = tick(w)
    left, _ = named(w)
    assert ran | left == expected
    assert not ran & stuck
    for name in shop.names:
        if name in named(w)[1]:
            assert w.driver().run_works([RebuildWork(w.project.assets[name])]).ok
            tick(w)
    assert named(w) == (set(), set())

"""What is planned and explained as of an earlier moment, by the journal as it stood then."""

from datetime import datetime, timedelta

import pytest

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.instants import to_unix
from sparkassets.core.journal.retention import RetentionPolicy
from sparkassets.errors import InputError
from sparkassets.runtime.driver_work import DueWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, project, source
from tests.runtime.fakes import World, dying


def later(world, **units):
    world.clock.instant += timedelta(**units)
    return world.clock.instant


def due(plan):
    return [(run.asset, run.partition_keys) for run in plan.runs]


@pytest.fixture
def world():
    return World(project(source("s"), asset("a", "s", retries=0)), MemoryStore())


def advance_three_days(world):
    """Each day the source gains a partition and `a` computes it an hour later; yields the instants of the news."""
    for day in ("2025-01-01", "2025-01-02", "2025-01-03"):
        now = later(world, days=1)
        world.opened().events.add("s", partition=day)
        yield now
        later(world, hours=1)
        world.opened().run(select="a")


def test_the_plan_of_each_earlier_moment_is_the_one_that_was_made_then(world):
    for day, moment in enumerate(list(advance_three_days(world)), 1):
        assert due(world.opened().plan(as_of=moment)) == [("a", (f"2025-01-0{day}",))]
        assert due(world.opened().plan(as_of=moment + timedelta(hours=2))) == []


def test_the_plan_that_was_shown_then_is_shown_again(world):
    shown = {moment: world.opened().plan() for moment in advance_three_days(world)}
    assert {moment: world.opened().plan(as_of=moment) for moment in shown} == shown


def test_it_records_nothing_and_looks_at_nothing(world):
    moments = list(advance_three_days(world))
    before = world.store.read_after(0)
    world.tell("s", "2025-01-09")
    node = world.opened(find_observer=None, make_target_observer=None).explain("a", as_of=moments[0])
    assert "2025-01-01" in str(node)
    assert "2025-01-09" not in str(node)
    assert world.store.read_after(0) == before


def test_a_run_that_was_on_its_way_then_holds_its_asset_until_its_lease_ends(world):
    now = later(world, days=1)
    world.opened().events.add("s", partition="2025-01-01")
    dying(world, "written")
    (waiting,) = [each for each in world.opened().plan(as_of=now).waiting if each.asset == "a"]
    assert waiting.reason.startswith("running: a-1 since")
    assert due(world.opened().plan(as_of=now + timedelta(days=1))) == [("a", ("2025-01-01",))]


def test_an_asset_whose_code_changed_since_is_noted(world):
    (first, *_) = advance_three_days(world)
    world.project = project(source("s"), asset("a", "s", retries=0, definition=AssetDefinition.build(text="SELECT 2")))
    (note,) = world.opened().plan(as_of=first).notes
    assert note.text == "its files changed after 2025-02-02T00:00:00Z: this is decided by the files of today"


def test_before_the_oldest_entry_it_says_from_when_on(world):
    with pytest.raises(InputError, match="nothing is recorded yet"):
        world.opened().plan(as_of="2025-01-01")
    first, second, third = advance_three_days(world)
    with pytest.raises(InputError, match=r"the journal begins at 2025-02-02T00:00:00Z\n"):
        world.opened().plan(as_of=first - timedelta(seconds=1))
    ledger = world.driver().ledger
    ledger._retention = RetentionPolicy(86_400)
    ledger.open()
    assert ledger.expire_entries() > 0
    with pytest.raises(InputError, match="older entries are no longer kept") as refused:
        world.opened().plan(as_of=second)
    earliest = refused.value.args[0].removeprefix("the journal begins at ").partition(": ")[0]
    assert world.opened().plan(as_of=earliest).at == to_unix(datetime.fromisoformat(earliest))
    assert due(world.opened().plan(as_of=third)) == [("a", ("2025-01-03",))]
    assert world.driver().run_works([DueWork()]).runs == ()

"""Inlets of which all partitions, or an asset without partitions, read the newest partition or those that are named."""

from datetime import timedelta

import pytest

from sparkassets.core.journal.codec.row_values import decode_spec, encode_spec
from sparkassets.core.journal.fold_specs import build_fold_spec
from sparkassets.runtime.driver_work import DueWork
from sparkassets.state.memory_store import MemoryStore
from tests.core.spec.in_memory import compiled
from tests.runtime.fakes import World

DAYS = "{by: day, column: day}"
BOTH = "[{by: day, column: day}, {segments: [m, e], column: w}]"


class Read:
    """A source `s` and an asset that reads some of it."""

    def __init__(self, partitions, *, of=DAYS, rest=""):
        inlet = f"asset: a\ninlets: {{s: {{partitions: {partitions}}}}}\n{rest}"
        source = f"asset: s\nsource: delta\npath: s\npartition: {of}\n"
        sql = "SELECT 'x' AS w, count(*) AS n FROM {{ inlets.s }}"
        self.spec = compiled({"a.yml": inlet, "a.sql": sql, "s.yml": source})
        self.world = World(self.spec, MemoryStore(), alive=True)

    def came(self, *keys, removed=()):
        """What runs once these partitions came: what it reads of the source."""
        parse = self.spec.assets["s"].partitioning.parse
        gone = [parse(key) for key in removed]
        self.world.tell("s", *keys, **({"removed": gone[0]} if gone else {}))
        runs = self.world.driver().run_works([DueWork()]).runs
        assert all(run.status == "success" for run in runs)
        return [self.spec.assets["s"].partitioning.display_labels(run.request.pins["s"].parts) for run in runs]

    @property
    def waits(self):
        return [each.reason for each in self.world.opened(self.spec).plan().waiting]


def test_an_asset_without_partitions_reads_the_newest_and_no_update_of_an_older_one_runs_it():
    read = Read("latest")
    assert [read.came("2025-01-01"), read.came("2025-01-02")] == [[["2025-01-01"]], [["2025-01-02"]]]
    assert read.came("2025-01-01") == []
    assert read.waits == ["up to date since a-2"]
    assert read.came("2025-01-02") == [["2025-01-02"]]


def test_the_newest_of_each_segment_is_read():
    read = Read("latest", of=BOTH)
    assert read.came("2025-01-01,e", "2025-01-01,m") == [["2025-01-01,*"]]
    assert read.came("2025-01-02,m") == [["2025-01-01,e", "2025-01-02,m"]]
    assert read.came("2025-01-01,m") == []
    assert read.came("2025-01-01,e") == [["2025-01-01,e", "2025-01-02,m"]]


def test_what_becomes_the_newest_again_is_read():
    read = Read("latest")
    read.came("2025-01-01", "2025-01-02")
    assert read.came(removed=["2025-01-02"]) == [["2025-01-01"]]


@pytest.mark.parametrize("schedule", ["", "schedule: s\n"])
def test_named_partitions_are_read_once_all_are_there_and_nothing_else_runs_it(schedule):
    read = Read("[2025-01-01..2025-01-02, 2025-01-05]", rest=schedule)
    assert read.came("2025-01-01", "2025-01-02") == []
    assert read.waits == ["waits for s: 2 of 3 partitions, missing 2025-01-05"]
    assert read.came("2025-01-05") == [["2025-01-01..2025-01-02", "2025-01-05"]]
    assert read.came("2025-01-03") == []
    assert read.came("2025-01-02") == [["2025-01-01..2025-01-02", "2025-01-05"]]


def test_all_partitions_need_the_named_partitions():
    read = Read("[m]", of="{segments: [m, e], column: w}", rest="partition: {segments: [x, y], column: w}\n")
    assert read.came("e") == []
    assert read.came("m") == [["m"]]
    assert read.came("e") == []
    assert read.came("m") == [["m"]]


def test_it_waits_for_no_more_than_it_reads_of_what_runs_first():
    files = {
        "s.yml": f"asset: s\nsource: delta\npath: s\npartition: {DAYS}\n",
        "up.yml": f"asset: up\npartition: {DAYS}\nretries: 0\n",
        "up.sql": "SELECT day FROM {{ inlets.s }}",
        "a.yml": "asset: a\ninlets: {up: {partitions: latest}}\nschedule: '@daily'\n",
        "a.sql": "SELECT * FROM {{ inlets.up }}",
    }
    world = World(compiled(files), MemoryStore(), alive=True)
    world.tell("s", "2025-01-01", "2025-01-02")
    assert [run.asset for run in world.driver().run_works([DueWork()]).runs] == ["up", "a"]
    world.clock.instant = world.clock.instant.replace(day=2)
    world.tell("s", "2025-01-01")
    runs = [run.asset for run in world.opened().plan().runs]
    assert runs == ["up", "a"]


def test_the_names_are_kept_in_the_journal():
    spec = build_fold_spec(Read("[2025-01-01]").spec.assets["a"], Read("[2025-01-01]").spec)
    assert decode_spec(encode_spec(spec)) == spec


def test_a_named_partition_counts_once_it_is_over():
    read = Read("[2025-02-01]")
    driver = read.world.driver()
    read.world.tell("s", "2025-02-01")
    work = DueWork()
    assert driver.run_works([work]).runs == ()
    read.world.clock.instant += timedelta(days=1)
    assert [run.asset for run in read.world.driver().run_works([work]).runs] == ["a"]

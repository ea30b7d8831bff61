"""Which partitions run when: every kind of inlet, schedule, partition and strategy over a few days, as a table.

The table says what an engineer reads out of the YAML. At each moment of it `plan`, `explain`, `status` and `preview`
say the same as `run` does.
"""

from datetime import UTC, datetime

import pytest

from sparkassets.core.instants import from_unix
from sparkassets.core.journal.entries import EventEntry
from sparkassets.runtime.driver_work import DueWork
from sparkassets.state.memory_store import MemoryStore
from tests.core.spec.in_memory import compiled
from tests.runtime.fakes import World

INLETS = {
    "none": "",
    "whole": "asset: s\nsource: delta\npath: s\n",
    "by segment": "asset: s\nsource: delta\npath: s\npartition: {segments: [m, e], column: w}\n",
    "by time": "asset: s\nsource: delta\npath: s\npartition: {by: day, column: day}\nstart: 2025-01-01\n",
}
PARTITIONS = {
    "listed": "{segments: [m, e], column: w}",
    "runtime": "{segments: runtime, column: w}",
    "product": "[{by: day, column: day, start: 2025-01-01}, {segments: [m, e], column: w}]",
}
SCHEDULES = {
    "timetable": '"@daily"',
    "condition": "SOURCE",
    "either": '{any: ["@daily", "SOURCE"]}',
    "both": '{all: ["@daily", "SOURCE"]}',
}
STRATEGIES = {
    "default": "",
    "full": "strategy: full_refresh\n",
    "each": "strategy: every_instance\n",
    "append": "strategy: every_instance\nwrite: append\n",
}
STEPS = (
    ("2025-01-02T00:00", True),  # all of the inlet came, or an event
    ("2025-01-02T12:00", False),
    ("2025-01-03T00:00", False),
    ("2025-01-03T12:00", True),  # segment m, or 2 January, or all of it, or an event
    ("2025-01-04T00:00", False),
    ("2025-01-06T00:00", False),  # two midnights later
)

# What runs at each step: a word is a run; segments are letters, days digits, * is all segments; + stands between runs.
# In `each` and `append` a partition is a run of its own, so that two missed midnights are two runs of each segment.
TABLE = """
none, listed
  timetable default  em       -        em       -        em       em
  timetable full     em       -        em       -        em       em
  timetable each     e+m      -        e+m      -        e+m      e+e+m+m
  timetable append   e+m      -        e+m      -        e+m      e+e+m+m
  condition default  em       -        -        em       -        -
  condition full     em       -        -        em       -        -
  condition each     e+m      -        -        e+m      -        -
  condition append   e+m      -        -        e+m      -        -
  either    default  em       -        em       em       em       em
  either    full     em       -        em       em       em       em
  either    each     e+m      -        e+m      e+m      e+m      e+m
  either    append   e+m      -        e+m      e+m      e+m      e+m
  both      default  em       -        -        em       -        -
  both      full     em       -        -        em       -        -
  both      each     e+m      -        -        e+m      -        -
  both      append   e+m      -        -        e+m      -        -

none, runtime
  timetable default  *        -        em       -        em       em
  timetable full     *        -        em       -        em       em
  timetable each     *        -        e+m      -        e+m      e+e+m+m
  timetable append   *        -        e+m      -        e+m      e+e+m+m
  condition default  *        -        -        em       -        -
  condition full     *        -        -        em       -        -
  condition each     *        -        -        e+m      -        -
  condition append   *        -        -        e+m      -        -
  either    default  *        -        em       em       em       em
  either    full     *        -        em       em       em       em
  either    each     *        -        e+m      e+m      e+m      e+m
  either    append   *        -        e+m      e+m      e+m      e+m
  both      default  *        -        -        em       -        -
  both      full     *        -        -        em       -        -
  both      each     *        -        -        e+m      -        -
  both      append   *        -        -        e+m      -        -

none, product
  timetable default  1*       -        2*       -        3*       4-5*
  timetable full     1*       -        1-2*     -        1-3*     1-5*
  timetable each     1e+1m    -        2e+2m    -        3e+3m    4e+4m+5e+5m
  timetable append   1e+1m    -        2e+2m    -        3e+3m    4e+4m+5e+5m
  condition default  1*       -        -        2*       -        -
  condition full     1*       -        -        1-2*     -        -
  condition each     1e+1m    -        -        2e+2m    -        -
  condition append   1e+1m    -        -        2e+2m    -        -
  either    default  1*       -        2*       -        3*       4-5*
  either    full     1*       -        1-2*     1-2*     1-3*     1-5*
  either    each     1e+1m    -        2e+2m    -        3e+3m    4e+4m+5e+5m
  either    append   1e+1m    -        2e+2m    -        3e+3m    4e+4m+5e+5m
  both      default  1*       -        -        2*       -        -
  both      full     1*       -        -        1-2*     -        -
  both      each     1e+1m    -        -        2e+2m    -        -
  both      append   1e+1m    -        -        2e+2m    -        -

whole, listed
  timetable default  em       -        em       -        em       em
  timetable full     em       -        em       -        em       em
  timetable each     e+m      -        e+m      -        e+m      e+e+m+m
  timetable append   e+m      -        e+m      -        e+m      e+e+m+m
  condition default  em       -        -        em       -        -
  condition full     em       -        -        em       -        -
  condition each     e+m      -        -        e+m      -        -
  condition append   e+m      -        -        e+m      -        -
  either    default  em       -        em       em       em       em
  either    full     em       -        em       em       em       em
  either    each     e+m      -        e+m      e+m      e+m      e+m
  either    append   e+m      -        e+m      e+m      e+m      e+m
  both      default  em       -        -        em       -        -
  both      full     em       -        -        em       -        -
  both      each     e+m      -        -        e+m      -        -
  both      append   e+m      -        -        e+m      -        -

whole, runtime
  timetable default  *        -        em       -        em       em
  timetable full     *        -        em       -        em       em
  timetable each     *        -        e+m      -        e+m      e+e+m+m
  timetable append   *        -        e+m      -        e+m      e+e+m+m
  condition default  *        -        -        em       -        -
  condition full     *        -        -        em       -        -
  condition each     *        -        -        e+m      -        -
  condition append   *        -        -        e+m      -        -
  either    default  *        -        em       em       em       em
  either    full     *        -        em       em       em       em
  either    each     *        -        e+m      e+m      e+m      e+m
  either    append   *        -        e+m      e+m      e+m      e+m
  both      default  *        -        -        em       -        -
  both      full     *        -        -        em       -        -
  both      each     *        -        -        e+m      -        -
  both      append   *        -        -        e+m      -        -

whole, product
  timetable default  1*       -        2*       -        3*       4-5*
  timetable full     1*       -        1-2*     -        1-3*     1-5*
  timetable each     1e+1m    -        2e+2m    -        3e+3m    4e+4m+5e+5m
  timetable append   1e+1m    -        2e+2m    -        3e+3m    4e+4m+5e+5m
  condition default  1*       -        -        2*       -        -
  condition full     1*       -        -        1-2*     -        -
  condition each     1e+1m    -        -        2e+2m    -        -
  condition append   1e+1m    -        -        2e+2m    -        -
  either    default  1*       -        2*       -        3*       4-5*
  either    full     1*       -        1-2*     1-2*     1-3*     1-5*
  either    each     1e+1m    -        2e+2m    -        3e+3m    4e+4m+5e+5m
  either    append   1e+1m    -        2e+2m    -        3e+3m    4e+4m+5e+5m
  both      default  1*       -        -        2*       -        -
  both      full     1*       -        -        1-2*     -        -
  both      each     1e+1m    -        -        2e+2m    -        -
  both      append   1e+1m    -        -        2e+2m    -        -

by segment, listed
  timetable default  em       -        -        -        m        -
  timetable full     em       -        em       -        em       em
  timetable each     e+m      -        e+m      -        e+m      e+e+m+m
  timetable append   e+m      -        e+m      -        e+m      e+e+m+m
  condition default  em       -        -        m        -        -
  condition full     em       -        -        em       -        -
  condition each     e+m      -        -        m        -        -
  condition append   e+m      -        -        m        -        -
  either    default  em       -        -        m        -        -
  either    full     em       -        em       em       em       em
  either    each     e+m      -        e+m      m        e+m      e+m
  either    append   e+m      -        e+m      m        e+m      e+m
  both      default  em       -        -        m        -        -
  both      full     em       -        -        em       -        -
  both      each     e+m      -        -        m        -        -
  both      append   e+m      -        -        m        -        -

by segment, runtime
  timetable default  em       -        -        -        m        -
  timetable full     em       -        em       -        em       em
  timetable each     e+m      -        e+m      -        e+m      e+e+m+m
  timetable append   e+m      -        e+m      -        e+m      e+e+m+m
  condition default  em       -        -        m        -        -
  condition full     em       -        -        em       -        -
  condition each     e+m      -        -        m        -        -
  condition append   e+m      -        -        m        -        -
  either    default  em       -        -        m        -        -
  either    full     em       -        em       em       em       em
  either    each     e+m      -        e+m      m        e+m      e+m
  either    append   e+m      -        e+m      m        e+m      e+m
  both      default  em       -        -        m        -        -
  both      full     em       -        -        em       -        -
  both      each     e+m      -        -        m        -        -
  both      append   e+m      -        -        m        -        -

by segment, product
  timetable default  1*       -        2*       -        3*       4-5*
  timetable full     1*       -        1-2*     -        1-3*     1-5*
  timetable each     1e+1m    -        2e+2m    -        3e+3m    4e+4m+5e+5m
  timetable append   1e+1m    -        2e+2m    -        3e+3m    4e+4m+5e+5m
  condition default  1*       -        -        2*       -        -
  condition full     1*       -        -        1-2*     -        -
  condition each     1e+1m    -        -        2e+2m    -        -
  condition append   1e+1m    -        -        2e+2m    -        -
  either    default  1*       -        2*       -        3*       4-5*
  either    full     1*       -        1-2*     1-2*     1-3*     1-5*
  either    each     1e+1m    -        2e+2m    -        3e+3m    4e+4m+5e+5m
  either    append   1e+1m    -        2e+2m    -        3e+3m    4e+4m+5e+5m
  both      default  1*       -        -        2*       -        -
  both      full     1*       -        -        1-2*     -        -
  both      each     1e+1m    -        -        2e+2m    -        -
  both      append   1e+1m    -        -        2e+2m    -        -

by time, listed
  timetable default  em       -        em       -        em       em
  timetable full     em       -        em       -        em       em
  timetable each     e+m      -        e+m      -        e+m      e+e+m+m
  timetable append   e+m      -        e+m      -        e+m      e+e+m+m
  condition default  em       -        -        em       -        -
  condition full     em       -        -        em       -        -
  condition each     e+m      -        -        e+m      -        -
  condition append   e+m      -        -        e+m      -        -
  either    default  em       -        em       em       em       em
  either    full     em       -        em       em       em       em
  either    each     e+m      -        e+m      e+m      e+m      e+m
  either    append   e+m      -        e+m      e+m      e+m      e+m
  both      default  em       -        -        em       -        -
  both      full     em       -        -        em       -        -
  both      each     e+m      -        -        e+m      -        -
  both      append   e+m      -        -        e+m      -        -

by time, runtime
  timetable default  *        -        em       -        em       em
  timetable full     *        -        em       -        em       em
  timetable each     *        -        e+m      -        e+m      e+e+m+m
  timetable append   *        -        e+m      -        e+m      e+e+m+m
  condition default  *        -        -        em       -        -
  condition full     *        -        -        em       -        -
  condition each     *        -        -        e+m      -        -
  condition append   *        -        -        e+m      -        -
  either    default  *        -        em       em       em       em
  either    full     *        -        em       em       em       em
  either    each     *        -        e+m      e+m      e+m      e+m
  either    append   *        -        e+m      e+m      e+m      e+m
  both      default  *        -        -        em       -        -
  both      full     *        -        -        em       -        -
  both      each     *        -        -        e+m      -        -
  both      append   *        -        -        e+m      -        -

by time, product
  timetable default  1*       -        -        2*       -        -
  timetable full     1*       -        1*       -        1-2*     1-2*
  timetable each     1e+1m    -        -        2e+2m    -        -
  timetable append   1e+1m    -        -        2e+2m    -        -
  condition default  1*       -        -        2*       -        -
  condition full     1*       -        -        1-2*     -        -
  condition each     1e+1m    -        -        2e+2m    -        -
  condition append   1e+1m    -        -        2e+2m    -        -
  either    default  1*       -        -        2*       -        -
  either    full     1*       -        1*       1-2*     1-2*     1-2*
  either    each     1e+1m    -        -        2e+2m    -        -
  either    append   1e+1m    -        -        2e+2m    -        -
  both      default  1*       -        -        2*       -        -
  both      full     1*       -        -        1-2*     -        -
  both      each     1e+1m    -        -        2e+2m    -        -
  both      append   1e+1m    -        -        2e+2m    -        -
"""


def rows():
    """Each row of the table with what it is about."""
    about = ""
    for line in TABLE.strip("\n").splitlines():
        if not line.startswith(" "):
            about = line
        elif line.strip():
            schedule, strategy, *runs = line.split()
            inlet, partition = about.split(", ")
            yield pytest.param((inlet, partition, schedule, strategy), runs, id=f"{about}, {schedule}, {strategy}")


class Played:
    """A project of one asset in a world whose clock is set by hand."""

    def __init__(self, inlet, partition, schedule, strategy):
        source = "x-go://now" if inlet == "none" else "s"
        text = f"asset: a\npartition: {PARTITIONS[partition]}\nschedule: {SCHEDULES[schedule]}\n{STRATEGIES[strategy]}"
        files = {"a.yml": text.replace("SOURCE", source), "a.sql": "SELECT 'm' AS w, DATE '2025-01-01' AS day"}
        if inlet != "none":
            files |= {"a.yml": files["a.yml"] + "inlets: [s]\n", "s.yml": INLETS[inlet]}
        self.inlet = inlet
        self.spec = compiled(files)
        self.world = World(self.spec, MemoryStore(), alive=True)
        self.world.engine.segments = {"w": ["e", "m"]}

    @property
    def looking(self):
        return self.world.opened(self.spec)

    @property
    def status(self):
        return next(each for each in self.looking.status() if each.asset == "a")

    def observe_news(self, moment, *, first):
        """News of the inlet, or an event, which a driver has looked at."""
        self.world.clock.instant = datetime.fromisoformat(moment).replace(tzinfo=UTC)
        keys = {"by segment": ["m", "e"] if first else ["m"], "by time": ["2025-01-01" if first else "2025-01-02"]}
        driver = self.world.driver()
        if self.inlet == "none":
            driver.ledger.open()
            driver.ledger.commit(lambda state: [EventEntry("x-go://now")])
        else:
            self.world.tell("s", *keys.get(self.inlet, ()))
            driver.run_works([DueWork(select=())])

    def at(self, moment):
        """What runs at that moment, as one word; what everybody says agrees with it."""
        self.world.clock.instant = now = datetime.fromisoformat(moment).replace(tzinfo=UTC)
        plan, tree, before = self.looking.plan(), self.looking.explain("a"), self.status
        ran = self.world.driver().run_works([DueWork()]).runs
        assert bool(plan.runs) == bool(ran) == bool(tree.holds)
        assert not ran or before.missing + before.stale
        assert {run.partitions for run in plan.runs} <= {run.partitions for run in ran}
        assert self.looking.plan().runs == ()
        self.agrees(now)
        return "+".join(sorted(self.word(run.partitions) for run in ran)) or "-"

    def agrees(self, now):
        """After a run the status tells the tick that is to come, which is the first of the preview."""
        coming = self.world.opened(self.spec).assets.preview("a", count=2)[0].slots
        later = [slot.run_after for slot in coming if slot.run_after > now]
        at = self.status.next_at
        assert (at and from_unix(at)) == (later[0] if later else None)

    def word(self, partitions):
        """The partitions of a run: days as digits, segments as letters."""
        partitioning = self.spec.assets["a"].partitioning.with_segments_of(partitions)
        labels = partitioning.display_labels(partitions) if partitioning.time else partitioning.labels(partitions)
        return "".join(labels).replace("2025-01-0", "").replace("..", "-").replace(",", "")


@pytest.mark.parametrize(("combination", "expected"), [*rows()])
def test_what_runs_when(combination, expected):
    play = Played(*combination)
    ran = []
    for moment, news in STEPS:
        if news:
            play.observe_news(moment, first=moment == STEPS[0][0])
        ran.append(play.at(moment))
    assert ran == expected


def test_the_table_has_every_combination():
    found = {tuple(row.values[0]) for row in rows()}
    assert len(found) == len(INLETS) * len(PARTITIONS) * len(SCHEDULES) * len(STRATEGIES)

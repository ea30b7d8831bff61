"""Partitions by the upstream runs that they share: found by run, and equal to a look at each partition."""

from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.instants import from_unix, to_unix
from sparkassets.core.partitions import Partitioning, PartitionSet, TimePartition
from sparkassets.core.planner.gates.aligned_inlets import group_by_upstream_runs
from sparkassets.core.spec.model import InletSpec
from sparkassets.core.timetables import TimetableError
from tests.builders import Story, asset, at, project, timed
from tests.core.clocks import instants_near_changes, zones
from tests.work import calls_of

SCHEDULES = [
    "0 * * * *",
    "*/20 * * * *",
    "0 6 * * *",
    "30 2 * * *",
    "0 0 * * MON-FRI",
    "0 0 1 * *",
    "@daily",
    "@monthly",
    {"cron": "0 0 * * MON-FRI", "interval": "1d"},
    {"cron": ["0 6 * * *", "0 18 * * *"]},
    {"at": "0 7 * * *"},
    {"every": "6h"},
    {"cron": "0 4 * * *", "delay": "1mo"},
    {"cron": "0 4 * * *", "delay": "1d"},
    {"cron": "0 0 * * *", "window": "7d"},
    {"times": [{"hours": [3, 9, 18], "minutes": [2, 30]}, {"hours": [17], "minutes": [0, 45]}]},
]


@st.composite
def cases(draw: st.DrawFn) -> Any:
    """The downstream's grid, its partitions and both timetables, near a clock change."""
    zone = draw(zones)
    near = draw(instants_near_changes(zone))
    partition = TimePartition(draw(st.sampled_from(["hour", "day", "month"])), zone)  # type: ignore[arg-type]
    size = {"hour": 3600, "day": 86_400, "month": 31 * 86_400}[partition.by]

    def timetable() -> Any:
        bounds = {
            bound: from_unix(near + draw(st.integers(-20, 60)) * 7200).isoformat()
            for bound in ("start", "end")
            if draw(st.integers(0, 2)) == 0
        }
        rule, where = draw(st.sampled_from(SCHEDULES)), draw(st.sampled_from([zone, "UTC"]))
        try:
            return timed(rule, where, **_read(bounds))
        except TimetableError:  # it would never fire between them
            return timed(rule, where)

    starts = draw(st.lists(st.tuples(st.integers(-6, 60), st.integers(1, 9)), min_size=1, max_size=6))
    spans = PartitionSet.from_time_pairs((near + low * size, near + (low + count) * size - 1) for low, count in starts)
    partitions = Partitioning(partition).cover(spans)
    ups = [timetable() for _ in range(draw(st.integers(1, 2)))]
    return partition, partitions, ups, timetable(), near


def _read(bounds: dict[str, str]) -> dict[str, int]:
    return {name: at(text) for name, text in bounds.items()}


def plain(story: Story, partition: TimePartition, partitions: PartitionSet) -> dict[Any, list[tuple[int, int]]]:
    """The ends of the upstream runs of each partition, looked for one by one, to the partitions that share them."""
    down = story.project.assets["down"]
    timetable, found = down.schedule.timetable, {}
    for start, end in partition.slots(partitions.time):
        slot = timetable.first_after(from_unix(end) - timedelta(seconds=1))
        while slot is not None:
            each = next((e for e in timetable.between(slot.run_after, slot.run_after) if to_unix(e.end) >= end), None)
            if each is not None:
                slot = each
                break
            slot = timetable.first_after(slot.run_after)
        at = from_unix(end) if slot is None else slot.end
        ups = [story.project.assets[name].schedule.timetable.last_over(at) for name in down.inlets]
        found.setdefault(tuple(up and to_unix(up.end) for up in ups), []).append((start, end))
    return found


def story_of(downs: Any, ups: list[Any], partition: TimePartition, *, now: str) -> Story:
    inlets = [asset(f"up{n}", by=None, schedule=schedule) for n, schedule in enumerate(ups)]
    aligned = [InletSpec(each.name, "", None, aligned=True, on_update="ignore") for each in inlets]
    down = asset("down", *aligned, by=partition.by, zone=partition.timezone, schedule=downs)
    return Story(project(*inlets, down), now=now)


@given(cases())
def test_groups_are_those_of_the_partitions_one_by_one(case: Any):
    partition, partitions, ups, downs, near = case
    story = story_of(downs, ups, partition, now=from_unix(near + 5 * 86_400).isoformat())
    context = story.context()
    found = group_by_upstream_runs(context, story.project.assets["down"], partitions)
    expected = plain(story, partition, partitions)
    assert [group.partitions for group in found] == [PartitionSet.from_time_pairs(slots) for slots in expected.values()]
    for group, slots in zip(found, expected.values(), strict=True):
        (alone,) = group_by_upstream_runs(
            context, story.project.assets["down"], PartitionSet.from_time_pairs(slots[:1])
        )
        assert [item.reason for item in group.inlet_alignment.waiting] == [
            item.reason for item in alone.inlet_alignment.waiting
        ]
        assert (group.inlet_alignment.pins, group.inlet_alignment.notes) == (
            alone.inlet_alignment.pins,
            alone.inlet_alignment.notes,
        )


def test_upstream_runs_that_may_start_at_the_same_instant_are_told_apart():
    partition = TimePartition("hour", "UTC")
    up = timed({"cron": "0 4 * * *", "delay": "1mo"})  # those of 28 to 31 January may start on 28 February
    story = story_of(timed("0 * * * *"), [up], partition, now="2025-03-01")
    partitions = PartitionSet.span(at("2025-01-27"), at("2025-02-03"))
    found = group_by_upstream_runs(story.context(), story.project.assets["down"], partitions)
    assert [group.partitions for group in found] == [
        PartitionSet.from_time_pairs(slots) for slots in plain(story, partition, partitions).values()
    ]


def test_the_work_goes_by_the_upstream_runs_and_not_by_the_partitions():
    def work(cron: str, by: str) -> int:
        partition = TimePartition(by, "UTC")  # type: ignore[arg-type]
        up = timed({"cron": "0 6 * * *", "start": "2020-01-01T06:00"})
        story = story_of(timed(cron), [up], partition, now="2021-01-01")
        partitions = PartitionSet.span(at("2020-02-01"), at("2020-06-01"))
        return calls_of(lambda: group_by_upstream_runs(story.context(), story.project.assets["down"], partitions))

    assert work("0 * * * *", "hour") < 1.5 * work("0 0 * * *", "day")

"""Partitions without a column: for which writes, what is assumed where none is written, and what cannot be read."""

import pytest

from sparkassets.core.partitions import Partitioning, TimePartition
from tests.core.spec.in_memory import compiled, errors

FLIGHTS = "asset: flights\nsource: delta\npath: flights\npartition: {by: hour, column: hour}\n"
LOG = "asset: log\ninlets: [flights]\nschedule: '@daily'\nstrategy: every_instance\n"
DAYS = Partitioning(TimePartition("day", "UTC"))


def of(text, **more):
    files = {f"{name}.yml": each for name, each in {"log": text, "flights": FLIGHTS, **more}.items()}
    return {**files, **{f"{name}.sql": "SELECT 1 AS n" for name in ("log", *more)}}


@pytest.mark.parametrize("write", ["append", "{publish: {keep: 3}}"])
@pytest.mark.parametrize("partition", ["", "partition: '@daily'\n", "partition: {by: day}\n", "partition: auto\n"])
def test_a_write_that_adds_needs_none_and_has_the_schedules_interval_where_none_is_written(write, partition):
    made = compiled(of(f"{LOG}write: {write}\n{partition}")).assets["log"]
    assert made.partitioning == DAYS
    assert made.inlets["flights"].mapping is not None


@pytest.mark.parametrize(
    "schedule",
    ["{at: '0 6 * * *'}", "{cron: '@daily', window: 7d}", "{cron: '@daily', catchup: rollup}", "flights", "manual"],
)
def test_nothing_is_assumed_of_other_schedules(schedule):
    made = compiled(of(f"{LOG}write: append\n".replace("'@daily'", schedule))).assets["log"]
    assert not made.partitioning.is_partitioned


def test_nothing_is_assumed_where_a_column_would_be_needed_or_none_is_wanted():
    for more in ("write: append\npartition: none\n", "write: {upsert: {keys: [n]}}\n"):
        assert not compiled(of(LOG + more)).assets["log"].partitioning.is_partitioned
    assert errors(of(f"{LOG}write: replace\n")).splitlines()[0] == (
        "log.yml:5:8: strategy 'every_instance' cannot 'replace': every run would overwrite the rows of earlier runs"
    )
    assert errors(of("asset: log\nschedule: '@daily'\nstrategy: date_range\n")) == (
        "log.yml:3:11: strategy 'date_range' needs a partition by time\n"
        "    strategy: date_range\n"
        "              ^^^^^^^^^^\n"
        "  hint: write partition: {by: auto, column: <column>}"
    )


@pytest.mark.parametrize(("write", "works"), [("replace", "replace"), ("{upsert: {keys: [n]}}", "upsert")])
def test_a_write_by_partition_needs_one(write, works):
    assert errors(of(f"{LOG}write: {write}\npartition: '@daily'\n")) == (
        f"log.yml:6:12: the partition has no column, but '{works}' works by partition and needs one\n    "
        "partition: '@daily'\n               ^^^^^^^^\n  hint: write partition: {by: day, column: <column>}"
    )


def test_its_partitions_are_read_by_nobody_alone():
    down = "asset: down\ninlets: [log]\npartition: {by: day, column: n}\n"
    assert compiled(of(f"{LOG}write: append\n", down=down)).assets["down"].inlets["log"].waits_only
    files = {**of(f"{LOG}write: append\n", down=down), "down.sql": "SELECT * FROM {{ inlets.log }}"}
    assert errors(files) == (
        "down.yml:2:10: asset 'log' has no partition column, so its partitions cannot be read separately\n    "
        "inlets: [log]\n             ^\n  hint: add a column to the partition of 'log', or write 'partition: none' "
        "in 'down'"
    )
    whole = {**files, "down.yml": "asset: down\ninlets: [log]\n"}
    assert compiled(whole).assets["down"].inlets["log"].mapping is None


def test_who_is_aligned_reads_the_iteration_of_the_interval():
    down = "asset: down\ninlets: {log: {partitions: aligned}}\nschedule: '@hourly'\n"
    sql = {"down.sql": "SELECT * FROM {{ inlets.log }}"}
    publishing = {**of(f"{LOG}write: {{publish: {{keep: 3}}}}\n", down=down), **sql}
    assert compiled(publishing).assets["down"].inlets["log"].aligned
    appending = {**of(f"{LOG}write: append\n", down=down), **sql}
    assert errors(appending).splitlines()[0] == (
        "down.yml:2:28: 'partitions: aligned' needs one run for each interval, but asset 'log' has several"
    )


def test_a_template_names_it_by_its_grain():
    files = {**of(f"{LOG}write: append\n"), "log.sql": "SELECT '{{ partition.day }}' AS n"}
    assert compiled(files).assets["log"].partitioning == DAYS
    files["log.sql"] = "SELECT '{{ partition.dy }}' AS n"
    assert errors(files).splitlines()[0] == "log.sql:1:22: 'dy' is not a partition column of asset 'log'"

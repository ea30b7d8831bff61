"""``every_instance`` in YAML: what goes with partitions, what without, and what is refused."""

import pytest

from sparkassets.core.strategies import EveryInstance
from sparkassets.core.writes import AppendWrite, ReplaceWrite
from tests.core.spec.in_memory import compiled, errors

FLIGHTS = """asset: flights
source: delta
path: flights
partition: [{by: hour, column: hour}, {segments: [de, nl], column: region}]
"""


def asset_of(text):
    return compiled({"a.yml": f"asset: a\n{text}", "a.sql": "SELECT *", "flights.yml": FLIGHTS}).assets["a"]


PARTITION = "partition: [{by: hour, column: hour}, {segments: [de, nl], column: region}]\n"


@pytest.mark.parametrize(
    ("text", "write"),
    [
        ("", ReplaceWrite()),
        ("write: replace\n", ReplaceWrite()),
        ("write: append\n", AppendWrite()),
        ("schedule: '@daily'\n", ReplaceWrite()),
    ],
)
def test_of_partitions_it_takes_every_write(text, write):
    made = asset_of(f"inlets: [flights]\n{PARTITION}strategy: every_instance\n{text}")
    assert (made.strategy, made.write) == (EveryInstance(), write)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            f"{PARTITION}strategy: every_instance\nschedule: {{cron: '@daily', catchup: rollup}}\n",
            """\
a.yml:4:11: 'catchup' cannot be 'rollup': each partition has its own run
    schedule: {cron: '@daily', catchup: rollup}
              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: write catchup: all or latest; strategy 'date_range' computes many partitions in one run
""",
            id="rollup",
        ),
        pytest.param(
            "inlets: [flights]\nstrategy: every_instance\nwrite: replace\n",
            """\
a.yml:4:8: strategy 'every_instance' cannot 'replace': every run would overwrite the rows of earlier runs
    write: replace
           ^^^^^^^
  hint: write 'write: append', or give the asset a partition
""",
            id="replace_without_partitions",
        ),
        pytest.param(
            "inlets: [flights]\nstrategy: every_instance\n",
            """\
a.yml:3:11: strategy 'every_instance' needs 'write'
    strategy: every_instance
              ^^^^^^^^^^^^^^
  hint: write 'write: append', or give the asset a partition
""",
            id="no_write_without_partitions",
        ),
    ],
)
def test_refused(text, expected):
    files = {"a.yml": f"asset: a\n{text}", "a.sql": "SELECT *", "flights.yml": FLIGHTS}
    assert errors(files) + "\n" == expected


MODELS = """\
inlets: [flights]
strategy: every_instance
write: append
partition: [{by: day, column: day}, {segments: [big, "7"], column: model}]
"""


def test_a_list_of_params_has_one_for_each_segment():
    made = asset_of(f"{MODELS}params: [{{model: big, depth: 9}}, {{model: 7, depth: 2}}]\n")
    assert made.segment_params is not None
    assert made.params == {}
    of = {key: made.params_of(made.partitioning.parse(f"2025-01-01,{key}")) for key in ("7", "big")}
    assert of == {"7": {"model": 7, "depth": 2}, "big": {"model": "big", "depth": 9}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"{MODELS}params: [{{model: big}}]\n",
            "a.yml:6:9: model '7' has no params",
        ),
        (
            f"{MODELS}params: [{{model: big}}, {{model: '7'}}, {{model: big, x: 1}}]\n",
            "a.yml:6:38: the params of model 'big' are listed twice",
        ),
        (
            f"{MODELS}params: [{{model: big}}, {{model: '7'}}, {{model: small}}]\n",
            "a.yml:6:38: 'small' is not a segment of the column 'model'",
        ),
        (
            f"{MODELS}params: [{{x: 1}}, {{x: 2}}]\n",
            "a.yml:6:9: the params cannot be matched to segments: no segment column is a key of every item",
        ),
        (f"{MODELS}params: []\n", "a.yml:6:9: the list of params is empty: the asset would never run"),
        (
            "inlets: [flights]\nparams: [{x: 1}]\n",
            "a.yml:3:9: a list of params needs strategy 'every_instance', which runs once for each item",
        ),
    ],
)
def test_a_list_of_params_that_fits_no_segments_is_refused(text, expected):
    files = {"a.yml": f"asset: a\n{text}", "a.sql": "SELECT *", "flights.yml": FLIGHTS}
    assert errors(files).partition("\n")[0] == expected


def test_what_all_params_have_may_be_used():
    text = f"{MODELS}params: [{{model: big, x: 1}}, {{model: '7', y: 2}}]\n"
    files = {"a.yml": f"asset: a\n{text}", "a.sql": "SELECT {{ params.model }}, {{ params.x }}", "flights.yml": FLIGHTS}
    assert errors(files).splitlines()[0] == "a.sql:1:38: unknown parameter 'x'; 'params' has no such key"


def hint(text: str) -> str:
    files = {"a.yml": f"asset: a\ninlets: [flights]\n{text}", "a.sql": "SELECT *", "flights.yml": FLIGHTS}
    return errors(files).partition("hint: ")[2].strip()


def test_by_a_timetable_the_partition_of_its_intervals_is_told():
    by_auto = "write partition: {by: auto, column: <column>}"
    assert hint("strategy: every_instance\nschedule: '@daily'\nwrite: replace\n") == (
        f"write 'write: append', or {by_auto} for a run in each interval of the schedule"
    )
    assert hint("strategy: date_range\nschedule: '@daily'\n") == by_auto


def test_params_of_what_is_replaced_need_a_segment():
    text = "strategy: every_instance\nparams: [{model: a}, {model: b}]\npartition: {by: day, column: day}\n"
    assert hint(text) == "write partition: {segments: [<key>, …], column: <a name among the params>}"


def test_params_of_each_interval():
    text = "inlets: [flights]\nstrategy: every_instance\nschedule: '@daily'\nwrite: append\n"
    partition = "partition: [{by: auto, column: day}, {segments: [big, small], column: model}]\n"
    made = asset_of(f"{text}{partition}params: [{{model: big}}, {{model: small}}]\n")
    assert made.partitioning.time.by == "day"
    assert made.params_of(made.partitioning.parse("2025-01-01,small")) == {"model": "small"}


def test_segments_may_come_to_be_known():
    made = asset_of("inlets: [flights]\npartition: {segments: runtime, column: region}\nstrategy: every_instance\n")
    assert (made.strategy, made.partitioning.is_open) == (EveryInstance(), True)


def test_params_tell_no_segments_that_nobody_lists():
    text = "partition: {segments: runtime, column: region}\nstrategy: every_instance\nparams: [{region: a}]\n"
    files = {"a.yml": f"asset: a\n{text}", "a.sql": "SELECT *", "flights.yml": FLIGHTS}
    told = "a.yml:4:9: the params cannot be matched to segments: no segment column is a key of every item"
    assert errors(files).partition("\n")[0] == told


def test_none_is_aligned_to_runs_side_by_side():
    up = f"asset: up\ninlets: [flights]\n{PARTITION}strategy: every_instance\nschedule: '@daily'\n"
    text = "asset: a\nschedule: '@daily'\ninlets: {up: {partitions: aligned}}\n"
    files = {"a.yml": text, "a.sql": "SELECT *", "up.yml": up, "up.sql": "SELECT *", "flights.yml": FLIGHTS}
    told = "a.yml:3:27: 'partitions: aligned' needs one run for each interval, but asset 'up' has several"
    assert errors(files).splitlines()[0] == told

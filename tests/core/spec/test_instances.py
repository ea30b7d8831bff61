"""``every_instance`` in YAML: what goes with partitions, what without, and what is refused."""

import pytest

from sparkassets.core.strategies import EveryInstance
from sparkassets.core.writes import Append, Replace
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
        ("", Replace()),
        ("write: replace\n", Replace()),
        ("write: append\n", Append()),
        ("schedule: '@daily'\n", Replace()),
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
a.yml:4:11: each partition is a run of its own: 'catchup' cannot be 'rollup'
    schedule: {cron: '@daily', catchup: rollup}
              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: write catchup: all, or latest; strategy 'date_range' computes many partitions in one run
""",
            id="rollup",
        ),
        pytest.param(
            "inlets: [flights]\nstrategy: every_instance\nwrite: replace\n",
            """\
a.yml:4:8: strategy 'every_instance' cannot 'replace': every run would destroy what the runs before it wrote
    write: replace
           ^^^^^^^
  hint: write 'write: append', or give the asset a partition
""",
            id="replace_without_partitions",
        ),
        pytest.param(
            "inlets: [flights]\nstrategy: every_instance\n",
            """\
a.yml:3:11: strategy 'every_instance' needs its write to be given
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

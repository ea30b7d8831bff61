"""Write modes that packages register: a value that says which strategies they go with."""

from dataclasses import dataclass

import pytest

from sparkassets.core.writes import RegisteredWrite
from tests.core.spec.in_memory import compiled, errors


@dataclass
class Ledger:
    sign: int = 1
    repeatable = False

    def combine(self, rows, there):
        raise AssertionError("nobody calls it where a project is compiled")


@dataclass
class Keyed(Ledger):
    repeatable = True


@dataclass
class Unsaid(Ledger):
    repeatable = "maybe"


class Nothing:
    pass


INSTALLED = {"ledger": Ledger, "keyed": Keyed, "unsaid": Unsaid, "none": Nothing}
PARTITIONED = "partition: {by: day, column: day}\n"


GIVEN = "asset: g\nsource: csv\npath: g/{day}.csv\npartition: {by: day, column: day}\n"
READ = "sql: SELECT id, day FROM {{ inlets.g }}\n"


def text(write, more=""):
    return {"a.yml": f"asset: a\nwrite: {write}\n{more}{READ}", "g.yml": GIVEN}


def test_a_mode_is_a_value_whose_parameters_are_of_the_code():
    write = compiled(text("{mode: keyed, sign: -1}", PARTITIONED), writes=INSTALLED).assets["a"].write
    assert write == RegisteredWrite("keyed", {"sign": -1}, recomputable=True)
    assert write.parts() == {"write.keyed": {"sign": -1}}
    assert (write.combines, write.side_by_side, write.takes_all, write.only_adds) == (True, False, False, False)
    assert write.last_run_wins


def test_one_that_is_not_repeatable_computes_nothing_again():
    strategies = ("full_refresh", "date_range", "segments", "latest_only", "every_instance")
    taken = {
        repeatable: [
            each
            for each in strategies
            if RegisteredWrite("x", {}, recomputable=repeatable).why_not(each, partitioned=True) is None
        ]
        for repeatable in (True, False)
    }
    assert taken == {True: [*strategies], False: ["latest_only", "every_instance"]}


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        ("{mode: kyed}", "a.yml:2:15: unknown write mode 'kyed'; installed: keyed, ledger, none, unsaid"),
        ("{mode: kyed}", "hint: did you mean 'keyed'?"),
        ("{mode: keyed, sgn: 1}", "a.yml:2:22: unknown key 'sgn' of write mode 'keyed'; expected sign"),
        ("{mode: keyed, sign: x}", "a.yml:2:28: 'sign' of write mode 'keyed' is 'x'; expected a valid integer"),
        ("{mode: upsert, keys: [id]}", "'upsert' is a built-in write mode"),
        ("{mode: upsert, keys: [id]}", "hint: write: {upsert: {keys: [<column>]}}"),
        ("{mode: unsaid}", "write mode 'unsaid' has 'repeatable' 'maybe'; expected a boolean"),
        (
            "{mode: none}",
            "write mode 'none' is a Nothing; expected an object with 'repeatable' and 'combine(rows, there)'",
        ),
        ("{mode: ledger}", "strategy 'date_range' cannot 'ledger': recomputed rows would be combined again"),
    ],
)
def test_what_is_refused(write, expected):
    assert expected in errors(text(write, PARTITIONED), writes=INSTALLED)

"""Write modes: the words of the YAML, and what others ask of them."""

import pytest

from sparkassets.core.writes import WRITES, Append, History, Publish, Replace, SelfWritten, Upsert

ALL = (Replace(), Append(), Upsert(("id",)), Publish(3), SelfWritten())
STRATEGIES = ("full_refresh", "date_range", "segments", "latest_only", "every_instance")


def test_the_words_of_the_yaml_the_default_first():
    assert {name: type(write) for name, write in WRITES.items()} == {
        "replace": Replace,
        "append": Append,
        "self": SelfWritten,
    }
    assert next(iter(WRITES)) == "replace"


def test_what_only_adds_cannot_be_computed_again():
    assert {each.name: (each.recomputable, each.only_adds, each.takes_all, each.side_by_side) for each in ALL} == {
        "replace": (True, False, True, True),
        "append": (False, True, False, True),
        "upsert": (True, False, False, False),
        "publish": (True, False, True, True),
        "self": (True, False, False, False),
    }


@pytest.mark.parametrize(
    ("write", "partitioned", "taken"),
    [
        (Replace(), True, {"full_refresh", "date_range", "segments", "every_instance"}),
        (Replace(), False, {"full_refresh", "date_range", "segments"}),
        (Append(), True, {"latest_only", "every_instance"}),
        (Upsert(("id",)), True, {"date_range", "segments", "latest_only", "every_instance"}),
        (Upsert(("id",)), False, {"date_range", "segments", "latest_only", "every_instance"}),
        (SelfWritten(), True, {*STRATEGIES}),
        (SelfWritten(), False, {*STRATEGIES}),
        (Publish(3), True, {"full_refresh", "latest_only", "every_instance"}),
        (Publish(3), False, {"full_refresh", "latest_only", "every_instance"}),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_which_strategies_take_it(write, partitioned, taken):
    assert {each for each in STRATEGIES if write.why_not(each, partitioned=partitioned) is None} == taken


def test_options_are_of_the_code_but_not_how_long_things_are_kept():
    assert Replace().parts() == Append().parts() == Publish(3).parts() == {}
    history = History("valid_from", "valid_to", "is_current")
    assert Upsert(("id",), ("at",), "op = 'd'", history=history).parts() == {
        "write.upsert.keys": ("id",),
        "write.upsert.newest_by": ("at",),
        "write.upsert.delete_when": "op = 'd'",
        "write.upsert.history": ["valid_from", "valid_to", "is_current"],
    }

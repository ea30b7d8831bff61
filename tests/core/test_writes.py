"""Write modes: the words of the YAML, and what others ask of them."""

import re

import pytest

from sparkassets.core.writes import (
    ONE_WORD_WRITES,
    AppendWrite,
    HistoryColumns,
    PublishWrite,
    ReplaceWrite,
    SelfWrite,
    UpsertWrite,
)
from tests.documents import ROOT

ALL = (ReplaceWrite(), AppendWrite(), UpsertWrite(("id",)), PublishWrite(3), SelfWrite())
STRATEGIES = ("full_refresh", "date_range", "segments", "latest_only", "every_instance")


def test_the_words_of_the_yaml_the_default_first():
    assert {name: type(write) for name, write in ONE_WORD_WRITES.items()} == {
        "replace": ReplaceWrite,
        "append": AppendWrite,
        "self": SelfWrite,
    }
    assert next(iter(ONE_WORD_WRITES)) == "replace"


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
        (ReplaceWrite(), True, {"full_refresh", "date_range", "segments", "every_instance"}),
        (ReplaceWrite(), False, {"full_refresh", "date_range", "segments"}),
        (AppendWrite(), True, {"latest_only", "every_instance"}),
        (UpsertWrite(("id",)), True, {"date_range", "segments", "latest_only", "every_instance"}),
        (UpsertWrite(("id",)), False, {"date_range", "segments", "latest_only", "every_instance"}),
        (SelfWrite(), True, {*STRATEGIES}),
        (SelfWrite(), False, {*STRATEGIES}),
        (PublishWrite(3), True, {"full_refresh", "latest_only", "every_instance"}),
        (PublishWrite(3), False, {"full_refresh", "latest_only", "every_instance"}),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_which_strategies_take_it(write, partitioned, taken):
    assert {each for each in STRATEGIES if write.why_not(each, partitioned=partitioned) is None} == taken


def test_options_are_of_the_code_but_not_how_long_things_are_kept():
    assert ReplaceWrite().parts() == AppendWrite().parts() == PublishWrite(3).parts() == {}
    history = HistoryColumns("valid_from", "valid_to", "is_current")
    assert UpsertWrite(("id",), ("at",), "op = 'd'", history=history).parts() == {
        "write.upsert.keys": ("id",),
        "write.upsert.newest_by": ("at",),
        "write.upsert.delete_when": "op = 'd'",
        "write.upsert.history": ["valid_from", "valid_to", "is_current"],
    }


def test_what_a_mode_promises_of_the_table():
    upsert, history = (
        UpsertWrite(("id",)),
        UpsertWrite(("id",), ("at",), history=HistoryColumns("since", "until", "now")),
    )
    assert [each.kept_iterations for each in ALL] == [0, 0, 0, 3, 0]
    assert [each.name for each in ALL if each.takes_all] == ["replace", "publish"]
    assert [each.name for each in ALL if each.is_of_code] == ["self"]
    assert (upsert.unique_columns, history.unique_columns) == (("id",), ())
    assert (upsert.last_run_wins, history.last_run_wins) == (True, False)
    assert (upsert.added_columns, history.added_columns) == ((), ("since", "until", "now"))
    assert (upsert.stores_column("_op"), AppendWrite().stores_column("_op")) == (False, True)


def test_nobody_asks_which_mode_it_is_outside_the_rooms_of_the_modes():
    asking = re.compile(r"isinstance\([^()]*\b\w+Write\b|case \w+Write\(")
    files = (path for path in (ROOT / "sparkassets").rglob("*.py") if asking.search(path.read_text(encoding="utf-8")))
    rooms = {"core/writes.py", "spark/writes", "core/spec/strategy_and_write.py"}
    found = {str(path.relative_to(ROOT / "sparkassets")) for path in files}
    assert {each for each in found if not any(each.startswith(room) for room in rooms)} == set()

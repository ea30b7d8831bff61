"""`frozen` makes what ``dataclass(frozen=True, slots=True)`` makes."""

import copy
import pickle
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from inspect import signature

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.frozen import frozen, mutable


def classes(decorate):
    """A class of each shape that is used, made by a decorator."""

    @decorate
    class Empty:
        pass

    @decorate
    class Plain:
        first: int
        second: str = "x"

    @decorate
    class Odd:
        first: int
        told: int = field(default=0, repr=False)
        aside: list[int] = field(default_factory=list, compare=False)

        def __post_init__(self):
            if self.first < 0:
                raise ValueError("below zero")

    @decorate
    class Longer(Plain):
        third: int = 3

    @decorate
    class Own:  # noqa: PLW1641  the decorator makes it
        first: int

        def __eq__(self, other):
            return True

        def __repr__(self):
            return "own"

    return {"Empty": Empty, "Plain": Plain, "Odd": Odd, "Longer": Longer, "Own": Own}


OURS, THEIRS = classes(frozen), classes(dataclass(frozen=True, slots=True))
ARGUMENTS = {
    "Empty": st.just({}),
    "Plain": st.fixed_dictionaries({"first": st.integers(0, 2)}, optional={"second": st.sampled_from("xy")}),
    "Odd": st.fixed_dictionaries(
        {"first": st.integers(0, 2)}, optional={"told": st.integers(0, 1), "aside": st.lists(st.integers(), max_size=1)}
    ),
    "Longer": st.fixed_dictionaries({"first": st.integers(0, 2)}, optional={"third": st.integers(0, 1)}),
    "Own": st.fixed_dictionaries({"first": st.integers(0, 2)}),
}


@given(st.sampled_from(list(OURS)), st.data())
def test_equal_hashed_and_told_as_the_standard_library_does(name, data):
    one, other = data.draw(ARGUMENTS[name]), data.draw(ARGUMENTS[name])
    ours, theirs = [[made[name](**each) for each in (one, other)] for made in (OURS, THEIRS)]
    assert (ours[0] == ours[1]) is (theirs[0] == theirs[1])
    assert (hash(ours[0]) == hash(ours[1])) is (hash(theirs[0]) == hash(theirs[1]))
    assert repr(ours[0]) == repr(theirs[0]).rpartition("<locals>.")[2]
    assert [getattr(ours[0], each.name) for each in fields(ours[0])] == [
        getattr(theirs[0], each.name) for each in fields(theirs[0])
    ]
    assert copy.deepcopy(ours[0]) == ours[0]


@pytest.mark.parametrize("name", OURS)
def test_has_the_signature_and_fields_of_the_standard_librarys(name):
    ours, theirs = OURS[name], THEIRS[name]
    assert list(signature(ours).parameters) == list(signature(theirs).parameters)
    assert ours.__match_args__ == theirs.__match_args__
    assert [each.name for each in fields(ours)] == [each.name for each in fields(theirs)]


@pytest.mark.parametrize("name", OURS)
def test_is_a_dataclass_to_whoever_asks(name):
    ours, theirs = classes(frozen)[name], THEIRS[name]  # again, as nobody has asked it anything
    assert is_dataclass(ours)
    value = {"first": 1} if name != "Empty" else {}
    assert asdict(ours(**value)) == asdict(theirs(**value))


@pytest.mark.parametrize(
    ("given", "named"), [((), {}), ((1, "x", 2), {}), ((1,), {"first": 2}), ((1,), {"third": 3})], ids=str
)
def test_what_does_not_fit_is_refused(given, named):
    with pytest.raises(TypeError):
        OURS["Plain"](*given, **named)


def test_is_stored_by_the_names_of_its_fields_or_as_a_list_of_them():
    @frozen
    class Named:
        first: int
        second: tuple[int, ...] = ()

    @frozen(array_like=True)
    class Listed:
        first: int
        second: tuple[int, ...] = ()

    assert msgspec.to_builtins([Named(1), Named(1, (2,)), Listed(1)]) == [
        {"first": 1},
        {"first": 1, "second": (2,)},
        [1, ()],
    ]


def test_nothing_assigns_to_it():
    value = OURS["Plain"](1)
    with pytest.raises(AttributeError):
        value.first = 2
    with pytest.raises(AttributeError):
        del value.first
    assert value == OURS["Plain"](1)


def test_classes_are_not_equal():
    assert OURS["Plain"](1) != OURS["Longer"](1)
    assert OURS["Empty"]() == OURS["Empty"]()
    assert OURS["Empty"]() != OURS["Plain"](1)


def test_what_is_replaced_is_checked_again():
    assert replace(OURS["Odd"](1), told=2) == OURS["Odd"](1, told=2)
    with pytest.raises(ValueError, match="below zero"):
        replace(OURS["Odd"](1), first=-1)


def test_each_value_has_its_own_default():
    assert OURS["Odd"](1).aside is not OURS["Odd"](1).aside


@frozen
class Sent:
    first: int
    rest: tuple[int, ...] = ()


def test_travels_between_processes():
    value = Sent(1, (2, 3))
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(value, protocol=protocol)) == value  # noqa: S301  made here


def test_a_pattern_takes_it_apart():
    match Sent(1, (2,)):
        case Sent(first, rest):
            assert (first, rest) == (1, (2,))


@pytest.mark.parametrize("decorate", [frozen, dataclass(frozen=True, slots=True)], ids=["ours", "theirs"])
def test_fields_by_keyword_alone_leave_room_for_those_of_the_classes_below(decorate):
    keyword_only = frozen(kw_only=True) if decorate is frozen else dataclass(frozen=True, slots=True, kw_only=True)

    @keyword_only
    class Base:
        second: int = 2

    @decorate
    class Below(Base):
        first: int

    assert (Below(1).first, Below(1).second, Below(1, second=3).second) == (1, 2, 3)
    assert replace(Below(1, second=3), first=4) == Below(4, second=3)
    with pytest.raises(TypeError):
        Below(1, 2)


def test_a_mutable_record_is_assigned_to_and_equals_only_itself():
    @mutable
    class Record:
        first: int
        rest: list[int] = field(default_factory=list)
        total: int = field(init=False)

        def __post_init__(self):
            self.total = self.first

    one, other = Record(1), Record(1)
    one.first = 2
    one.rest.append(3)
    assert (one.first, one.rest, one.total, other.rest) == (2, [3], 1, [])
    assert one != other
    assert len({one, other}) == 2


def test_a_value_with_a_dict_has_cached_properties():
    @frozen(has_dict=True)
    class Doubled:
        first: int

        @cached_property
        def twice(self):
            return [self.first * 2]

    value = Doubled(2)
    assert value.twice is value.twice
    assert value == Doubled(2)

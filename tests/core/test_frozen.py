"""`frozen` makes what ``dataclass(frozen=True, slots=True)`` makes."""

import copy
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, is_dataclass, replace
from inspect import signature
from threading import Barrier

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.frozen import frozen


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
    assert repr(ours[0]) == repr(theirs[0])
    assert [getattr(ours[0], each.name) for each in fields(ours[0])] == [
        getattr(theirs[0], each.name) for each in fields(theirs[0])
    ]
    assert copy.deepcopy(ours[0]) == ours[0]


@pytest.mark.parametrize("name", OURS)
def test_has_the_signature_slots_and_fields_of_the_standard_librarys(name):
    ours, theirs = OURS[name], THEIRS[name]
    assert list(signature(ours).parameters) == list(signature(theirs).parameters)
    assert ours.__slots__ == theirs.__slots__
    assert ours.__match_args__ == theirs.__match_args__
    assert [each.name for each in fields(ours)] == [each.name for each in fields(theirs)]
    assert ours.__init__.__annotations__.keys() == theirs.__init__.__annotations__.keys() - {"return"}


@pytest.mark.parametrize("name", OURS)
def test_is_a_dataclass_to_whoever_asks(name):
    ours, theirs = classes(frozen)[name], THEIRS[name]  # anew, as nobody has asked it anything
    assert is_dataclass(ours)
    value = {"first": 1} if name != "Empty" else {}
    assert asdict(ours(**value)) == asdict(theirs(**value))


@pytest.mark.parametrize("name", OURS)
def test_what_is_asked_of_it_first_makes_no_difference(name):
    ours, theirs = classes(frozen)[name], THEIRS[name]
    assert ours.__dataclass_params__.order is False
    assert list(ours.__dataclass_fields__) == list(theirs.__dataclass_fields__)
    value = {"first": 1} if name != "Empty" else {}
    assert asdict(ours(**value)) == asdict(theirs(**value))


@pytest.mark.parametrize("name", OURS)
def test_nothing_that_values_do_describes_a_class(name):
    class Below(classes(frozen)[name]):
        last: int = 0

    made = frozen(Below)
    value = {"first": 1} if name != "Empty" else {}
    for _ in range(100):
        assert made(**value) == made(**value)
    hash(made(**value))
    state = made(**value).__getstate__()
    copied = made.__new__(made)
    copied.__setstate__(state)
    assert copied == made(**value)
    described = [vars(each)["__dataclass_fields__"] for each in made.__mro__[:2]]
    assert not any(isinstance(each, dict) for each in described)


@pytest.mark.parametrize(
    ("given", "named"), [((), {}), ((1, "x", 2), {}), ((1,), {"first": 2}), ((1,), {"third": 3})], ids=str
)
def test_what_does_not_fit_is_refused_as_the_standard_library_does(given, named):
    said = []
    for made in (classes(frozen), THEIRS):
        with pytest.raises(TypeError) as refused:
            made["Plain"](*given, **named)
        said.append(str(refused.value).rpartition(".")[2])
    assert said[0] == said[1]


def test_threads_that_are_the_first_to_make_values_make_the_same():
    interval, together = sys.getswitchinterval(), Barrier(4)

    def made(ours):
        together.wait()
        return asdict(ours["Odd"](1)), asdict(ours["Longer"](1))

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(together.parties) as threads:
            for _ in range(50):
                found = list(threads.map(made, [classes(frozen)] * together.parties))
                assert found == [(asdict(THEIRS["Odd"](1)), asdict(THEIRS["Longer"](1)))] * together.parties
    finally:
        sys.setswitchinterval(interval)


def test_nothing_assigns_to_it():
    value = OURS["Plain"](1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'first'"):
        value.first = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'first'"):
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

"""What a function is made of, by the source of its package alone."""

from __future__ import annotations

import pytest

from sparkassets.project.function_parts import FunctionParts

LIB = '''
import numpy as np
from . import other

RATE = 1

def clean(rows):
    """Cleans."""
    return rows + RATE + np.int64(other.f(rows))

def unrelated():
    return 1
'''
OTHER = """
LIMITS = {}
LIMITS["a"] = 1
try:
    from jobs.fast import speed
except ImportError:
    speed = None

def f(x): return g(x) if speed is None else speed(x)
def g(x): return LIMITS[x]
def h(): return None
class Shape(Base := object):
    def area(self): return h()
"""
FAST = "def speed(x): return x\ndef slow(x): return x\n"
SALES = '''
from jobs import clean
import jobs.lib
import jobs.other as o
from jobs.other import *

def daily(flights, spark):
    """By day."""
    # all of them
    return clean(flights)

def weekly(x): return jobs.lib.clean(x)
def monthly(x): return g(x)
def shaped(x):
    from jobs.other import Shape as S
    return S().area()
def made_up(x, name): return getattr(o, name)(x)
def anything(): return globals()["daily"]
'''
PACKAGE = {
    "jobs": "from .lib import clean\n",
    "jobs.lib": LIB,
    "jobs.other": OTHER,
    "jobs.fast": FAST,
    "jobs.sales": SALES,
}


def parts(function: str, **changed: str) -> dict[str, str]:
    package = {**PACKAGE, **{f"jobs.{name}": text for name, text in changed.items()}}
    return FunctionParts(lambda name: (package[name], name == "jobs") if name in package else None).digest_parts(
        "jobs.sales", function
    )


FOLLOWED = {"jobs.lib:clean", "jobs.lib:RATE", "jobs.lib:np", "jobs.other:f", "jobs.other:g", "jobs.other:LIMITS"}
FOLLOWED |= {"jobs.other:speed", "jobs.fast:speed"}


@pytest.mark.parametrize(
    ("function", "found"),
    [
        ("daily", {"jobs.sales:daily", *FOLLOWED}),
        ("weekly", {"jobs.sales:weekly", *FOLLOWED}),
        ("monthly", {"jobs.sales:monthly", "jobs.other:g", "jobs.other:LIMITS"}),
        ("shaped", {"jobs.sales:shaped", "jobs.other:Shape", "jobs.other:h"}),
    ],
)
def test_names_are_followed_through_imports(function, found):
    assert set(parts(function)) == found


@pytest.mark.parametrize(
    ("module", "before", "after"),
    [
        ("sales", "# all of them", "# some"),
        ("sales", '"""By day."""', '"""Differently said."""'),
        ("sales", "return clean(flights)", "return clean(\n        flights,\n    )"),
        ("sales", "def weekly(x): return jobs.lib.clean(x)", "def weekly(x): return 0"),
        ("sales", "def weekly", "def yearly(): pass\n\ndef weekly"),
        ("lib", "def unrelated():\n    return 1", ""),
        ("lib", '    """Cleans."""\n', ""),
        ("other", "def h(): return None", "def h(): return 1"),
        ("fast", "def slow(x): return x", "def slow(x): return 2 * x"),
        ("lib", LIB, LIB.partition("RATE")[0] + "def unrelated(): pass\n" + "RATE" + LIB.partition("RATE")[2]),
    ],
)
def test_what_makes_no_other_rows_is_no_other_function(module, before, after):
    assert before in PACKAGE[f"jobs.{module}"]
    assert parts("daily", **{module: PACKAGE[f"jobs.{module}"].replace(before, after)}) == parts("daily")


@pytest.mark.parametrize(
    ("module", "before", "after", "changed"),
    [
        ("sales", "clean(flights)", "clean(flights, 1)", "jobs.sales:daily"),
        ("lib", "rows + RATE", "rows - RATE", "jobs.lib:clean"),
        ("lib", "RATE = 1", "RATE = 2", "jobs.lib:RATE"),
        ("lib", "import numpy as np", "import cupy as np", "jobs.lib:np"),
        ("other", "return LIMITS[x]", "return LIMITS.get(x)", "jobs.other:g"),
        ("other", 'LIMITS["a"] = 1', 'LIMITS["a"] = 2', "jobs.other:LIMITS"),
        ("fast", "def speed(x): return x", "def speed(x): return -x", "jobs.fast:speed"),
    ],
)
def test_what_it_calls_is_part_of_it(module, before, after, changed):
    old, new = parts("daily"), parts("daily", **{module: PACKAGE[f"jobs.{module}"].replace(before, after)})
    assert {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)} == {changed}


@pytest.mark.parametrize(("function", "whole"), [("made_up", "jobs.other:*"), ("anything", "jobs.sales:*")])
def test_where_names_are_made_up_all_of_a_module_counts(function, whole):
    assert whole in parts(function)
    module = whole.partition(":")[0].removeprefix("jobs.")
    assert parts(function, **{module: PACKAGE[f"jobs.{module}"] + "\nextra = 1\n"}) != parts(function)


@pytest.mark.parametrize("text", ["def broken(:", "x = " + "(" * 5000 + ")" * 5000, "import nothing\0"])
def test_a_module_that_is_no_python_is_followed_no_further(text):
    assert "jobs.sales:daily" in parts("daily", lib=text)

import math

import pytest

from sparkassets.core.spec.yaml_values import UnresolvedVariable, plain_value, substitute_variables


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("Null", None),
        ("NULL", None),
        ("true", True),
        ("True", True),
        ("TRUE", True),
        ("false", False),
        ("FALSE", False),
        ("0", 0),
        ("-7", -7),
        ("+12", 12),
        ("0o17", 15),
        ("0xFf", 255),
        ("1.5", 1.5),
        ("-0.1", -0.1),
        (".5", 0.5),
        ("1.", 1.0),
        ("1e3", 1000.0),
        (".inf", math.inf),
        ("-.INF", -math.inf),
    ],
)
def test_core_scalars(text, value):
    found = plain_value(text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    "text",
    [
        "NO",
        "no",
        "yes",
        "on",
        "Off",
        "y",
        "tRUE",
        "nULL",
        "010",
        "-010",
        "007.5",
        "18:00",
        "2024-01-01",
        "2024-01-01T10:00:00Z",
        "1_000",
        "1,5",
        "0b1",
        "0o8",
        "1.2.3",
        "+",
        "-",
        ".",
        "=",
        "<<",
        "12h",
    ],
)
def test_what_stays_text(text):
    assert plain_value(text) == text


def test_not_a_number():
    assert math.isnan(plain_value(".nan"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("${A}", "1"),
        ("x${A}y${B}z", "x1y2z"),
        ("${C:-three}", "three"),
        ("${C:-}", ""),
        ("${A:-three}", "1"),
        ("${C:-a:-b}", "a:-b"),
        ("$${A}", "${A}"),
        ("$$${A}", "$${A}"),
        ("$A", "$A"),
        ("${EMPTY:-x}", ""),
    ],
)
def test_variables(text, expected):
    assert substitute_variables(text, environment={"A": "1", "B": "2", "EMPTY": ""}) == (expected, [])


@pytest.mark.parametrize(
    ("text", "bad"),
    [
        (
            "a ${C}",
            UnresolvedVariable(
                "${C}",
                "the environment variable 'C' is not set",
                "set it, give it by --set C=… or a profile's `variables`, or write ${C:-a default}",
            ),
        ),
        ("${1}", UnresolvedVariable("${1}", "expected ${NAME} or ${NAME:-default}", "write '$${' for a literal '${'")),
        ("${A", UnresolvedVariable("${A", "expected ${NAME} or ${NAME:-default}", "write '$${' for a literal '${'")),
        ("${}", UnresolvedVariable("${}", "expected ${NAME} or ${NAME:-default}", "write '$${' for a literal '${'")),
    ],
)
def test_variables_without_a_value(text, bad):
    assert substitute_variables(text, environment={"A": "1"})[1] == [bad]


def test_a_value_is_not_substituted_again():
    assert substitute_variables("${A}", environment={"A": "${B}"}) == ("${B}", [])

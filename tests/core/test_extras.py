"""What may stand in an extra."""

import pytest

from sparkassets.core.events import EXTRA_BYTES, EXTRA_DEPTH, check_extra
from sparkassets.core.redaction import redact
from sparkassets.errors import InputError


def error_of(extra):
    with pytest.raises(InputError) as caught:
        check_extra(extra)
    return str(caught.value)


def test_an_extra_has_a_size():
    assert check_extra({"a": "x" * (EXTRA_BYTES - 9)})
    assert error_of({"a": "x" * (EXTRA_BYTES - 8)}) == (
        "the extra is 65,537 bytes of JSON; expected at most 65,536\n  hint: store large values in a file or a "
        "table, and their location in the extra"
    )
    assert error_of({"a": "ä" * 40_000}).startswith("the extra is 80,009 bytes")


def listed(depth):
    value = []
    for _ in range(depth - 2):
        value = [value]
    return {"a": value}


@pytest.mark.parametrize("depth", [EXTRA_DEPTH + 1, 900, 3000])
def test_an_extra_has_a_depth(depth):
    """Whoever reads it back from the journal may have less of Python's stack left than whoever announced it."""
    assert check_extra(listed(EXTRA_DEPTH)) == listed(EXTRA_DEPTH)
    assert error_of(listed(depth)) == ("the extra nests more than 100 objects and lists")


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["a"], "the extra is a list; expected an object of keys and values"),
        ({1: 2}, "the extra's key 1 is an int; expected text"),
        ({"a": {1, 2}}, "the extra cannot be written as JSON: Object of type set is not JSON serializable"),
        ({"a": float("nan")}, "the extra cannot be written as JSON: Out of range float values are not JSON compliant"),
    ],
)
def test_an_extra_is_a_json_object(extra, message):
    assert error_of(extra).split("\n")[0] == message


@pytest.mark.parametrize("extra", [{"x": "a\ud800"}, {"x": [{"y": "\ud800"}]}, {"\ud800": 1}])
def test_an_extra_can_be_written_as_utf_8(extra):
    assert error_of(extra) == (
        "the extra contains '\\ud800', half of a surrogate pair, which is not valid Unicode\n  hint: the text was "
        "decoded from invalid bytes; replace the characters that could not be read"
    )


def test_an_extra_is_a_copy():
    days = ["2025-01-01"]
    kept = check_extra({"days": days, "pair": (1, 2)})
    days.append("2025-01-02")
    assert kept == {"days": ["2025-01-01"], "pair": [1, 2]}


@pytest.mark.parametrize(
    ("extra", "what"),
    [
        ({"jdbc": {"password": "x"}}, " jdbc.password contains a credential in 'password'"),
        ({"urls": ["https://me:pw@b/x"]}, " urls.0 contains a password"),
        ({"?sig=abc": 1}, " contains a credential in 'sig', as a key"),
        ({"jdbc": {"password=x": 1}}, " jdbc contains a credential in 'password', as a key"),
    ],
)
def test_an_extra_holds_no_credentials(extra, what):
    assert error_of(extra) == redact(error_of(extra)) == f"the extra{what}; events are clear text"

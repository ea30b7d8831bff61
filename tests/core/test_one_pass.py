"""What looks for credentials and statements passes over a text once, whatever is in it; its steps are counted."""

import re
import sys

import pytest

from sparkassets.core import credentials, query_text, redaction
from tests.core.regex_steps import Steps, TooManySteps

PATTERNS = {
    f"{module.__name__}.{name}": pattern
    for module in (credentials, redaction, query_text)
    for name, pattern in vars(module).items()
    if isinstance(pattern, re.Pattern) and name not in {"_VALUE", "_OF_QUERY", "_LONG_KEY", "_FIRST_WORD", "_COLUMN"}
}
PIECES = ["=a:", "a:", "//", "//:", "//a:@", "@", "a_", "eyJ", "-eyJ", "AKIA", "Bearer ", "a='", '\\"', "'\\"]
PIECES += [" ;", "{{", "a ", "%4", "sk-", "INSERT "]
LENGTH = 200
MOST_A_CHARACTER = 250
"""Steps at each place: some thirty alternatives, and runs of bounded length; the old expressions took thousands."""


@pytest.mark.parametrize("name", PATTERNS)
def test_steps_are_bounded_at_every_place(name):
    for piece in PIECES:
        for tail in ("", "\0"):
            text = (piece * LENGTH)[:LENGTH] + tail
            try:
                Steps(PATTERNS[name], text, most=MOST_A_CHARACTER * LENGTH).count(anchored=False)
            except TooManySteps:
                pytest.fail(
                    f"{name} takes more than {MOST_A_CHARACTER} steps a character of {piece!r}, again and again"
                )


def test_what_takes_more_than_a_pass_is_found():
    old = re.compile(r"(?:^|(?<=[\s=]))[A-Za-z_][^\s:]*:[^\s/?#@]*[^\s/?#@:]@[A-Za-z0-9]")
    with pytest.raises(TooManySteps):
        Steps(old, "=a:" * 400, most=MOST_A_CHARACTER * 400).count(anchored=False)


def test_counting_leaves_the_recursion_limit_as_it_was():
    before = sys.getrecursionlimit()
    with pytest.raises(TooManySteps):
        Steps(re.compile("a+b"), "a" * 400, most=10).count(anchored=False)
    assert sys.getrecursionlimit() == before

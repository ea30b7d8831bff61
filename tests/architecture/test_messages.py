"""Texts that users read are short, and in plain English."""

import re

import pytest

from tests.architecture.measures import source_files
from tests.architecture.messages import messages
from tests.architecture.test_source_rules import PACKAGE

MOST_CHARACTERS = 100
DESCRIPTIONS = r"\.cli\b|_models$"
"""Modules of help texts and of descriptions of keys, which are wrapped where they are shown."""

# What each phrase should be: the style is that of the documentation of Stripe, SQLite and rustc.
PHRASES = {
    r"\banew\b": "again",
    r"\bany (more|longer)\b": "no longer",
    r"\bbeside each other\b|\bside by side\b": "in parallel",
    r"\bcannot stand\b|\bstands? (where|there|alone|above|beside)\b": "is not allowed; expected …, found …",
    r"\bcomput\w+ (it |them |all of it )?again\b": "recompute",
    r"\bfits? (the|no)\b": "match",
    r"\bgoes? by\b": "depends on, uses",
    r"\bhas no meaning\b": "is not allowed",
    r"\bhalf (of )?a character\b": "half of a surrogate pair",
    r"\b(is|are|be|was) (there )?twice\b|\bthere twice\b": "is listed twice, would be duplicated",
    r"(?<!there )\bis no (?!longer)\w+": "is not a",
    r"\b(is|be) told\b|\btells?\b(?! (Spark|the driver))": "says, reports, identifies",
    r"\b(is|are|was|were) to be\b": "should be",
    r"\blook(s|ed|ing)? (at|after)\b": "read, observe, check",
    r"\bmade of\b": "computed from",
    r"\bmeanwhile\b": "during the run",
    r"\bnothing (tells|says)\b": "… is unknown",
    r"\bof which\b": "split the sentence",
    r"\bset(tle|tles|tled) (it|them|what)\b|\bis settled\b": "recover",
    r"\bso that (nothing|it be)\b": "…: nothing would be",
    r"\btakes? (it|them|that) back\b|\btaken back\b": "undo, revert",
    r"\bwhat (never|came|comes|is new|is there|was there)\b": "name the thing",
    r"\bwhole story\b": "details",
}


@pytest.fixture(scope="module")
def found():
    return list(messages(source_files(PACKAGE)))


def test_texts_are_found_with_their_fields_left_out():
    texts = {
        "pack.a": '"""Docs."""\nHINT = "say what is missing"\n'
        'def f(name):\n    """Docs of it."""\n'
        '    raise ValueError(f"the {name} has {1:,} rows", hint="write one of them")\n'
        '    return "SELECT 1 FROM t"\n'
    }
    assert [(each.line, each.kind, each.text) for each in messages(texts)] == [
        (2, "hint", "say what is missing"),
        (5, "hint", "write one of them"),
        (5, "sentence", "the … has … rows"),
    ]


def test_the_list_of_texts_is_complete_enough_to_judge(found):
    assert len(found) > 2000


@pytest.mark.parametrize("phrase", PHRASES)
def test_no_text_has_a_phrase_that_reads_as_translated(found, phrase):
    bad = [f"{each.module}:{each.line}: {each.text}" for each in found if re.search(phrase, each.text)]
    assert bad == [], f"better: {PHRASES[phrase]}"


def test_sentences_fit_a_line_and_leave_the_remedy_to_the_hint(found):
    long = [
        f"{each.module}:{each.line}: {len(each.text)}: {each.text}"
        for each in found
        if each.kind == "sentence" and len(each.text) > MOST_CHARACTERS and not re.search(DESCRIPTIONS, each.module)
    ]
    assert long == []

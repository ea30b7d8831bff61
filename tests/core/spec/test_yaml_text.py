import pytest

from sparkassets.core.spec.yaml_text import NodeComposer, PurePythonComposer, compose_documents, split_lines
from sparkassets.errors import TextFault

TWICE = "a second ':' on the line, or a key that is not below its neighbours"
COLON = "text that contains ': ' must be quoted"


@pytest.mark.parametrize("composer", [NodeComposer, PurePythonComposer])
@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("schedule: @daily\n", TextFault(1, 11, 6, "text that begins with '@' must be quoted", 'write "@daily"')),
        (
            "schedule: */5 * * * *   # often\n",
            TextFault(1, 11, 11, "text that begins with '*' must be quoted", 'write "*/5 * * * *"'),
        ),
        ("s: * * * * *\n", TextFault(1, 4, 9, "text that begins with '*' must be quoted", 'write "* * * * *"')),
        (
            "s: {cron: @daily, timezone: UTC}\n",
            TextFault(1, 11, 6, "text that begins with '@' must be quoted", 'write "@daily"'),
        ),
        ("s: `x`\n", TextFault(1, 4, 3, "text that begins with '`' must be quoted", 'write "`x`"')),
        ('s: %"x"\n', TextFault(1, 4, 4, "text that begins with '%' must be quoted", "put it in quotes")),
        (
            "s: *daily\n",
            TextFault(1, 4, 6, "unknown anchor; text that begins with '*' must be quoted", 'write "*daily"'),
        ),
        ("s: & b\n", TextFault(1, 4, 3, "text that begins with '&' must be quoted", 'write "& b"')),
        ("a: &x 1\nb: &x 2\n", TextFault(2, 4, 1, "this anchor is defined twice")),
        ("a:\n\tb: 1\n", TextFault(2, 1, 1, "a tab cannot indent; expected spaces")),
        ("a: b: c\n", TextFault(1, 5, 1, TWICE, COLON)),
        ("a: 1\n b: 2\n", TextFault(2, 3, 1, TWICE, COLON)),
        ("a: 'x\nb: 1\n", TextFault(1, 4, 1, "this quote is not closed")),
        ("a: [1, 2\nb: 3\n", TextFault(1, 4, 1, "this list is not closed by ']', or a ',' is missing in it")),
        ("a: {x: 1\nb: 3\n", TextFault(1, 4, 1, "this map is not closed by '}', or a ',' is missing in it")),
        (
            "a: {x: ${Y:-1}}\n",
            TextFault(1, 8, 7, "'${…}' inside a flow map or list must be quoted", 'write "${Y:-1}"'),
        ),
        ("- a\nb: 1\n", TextFault(2, 1, 1, "this does not continue the list above; expected '- '")),
        (
            "a: |\n  x\n y\n",
            TextFault(3, 2, 1, "this does not continue the map above; expected a key below its other keys"),
        ),
        ("a: ]\n", TextFault(1, 4, 1, "expected a value", 'write "]"')),
        (" a: 1\nb: 2\n", TextFault(2, 1, 1, "this is indented less than the lines above")),
        ("a: 1\nb: \x01\n", TextFault(2, 4, 1, "the character U+0001 is not allowed in YAML")),
    ],
)
def test_what_is_broken(text, broken, composer):
    assert compose_documents(text, composer=composer).fault == broken


def test_an_escape_that_does_not_exist():
    broken = compose_documents('a: "x\\q"\n').fault
    assert broken is not None
    assert (broken.message, broken.hint) == (
        "this escape does not exist in double quotes",
        "in single quotes nothing is escaped",
    )


def test_directives_are_refused():
    assert compose_documents("%FOO bar\n---\na: 1\n").fault == TextFault(
        1, 1, 1, "a line that begins with '%' is not supported"
    )


def test_documents_before_the_broken_place_are_there():
    composed = compose_documents("a: 1\n---\nb: @x\n")
    assert len(composed.roots) == 1
    assert composed.fault is not None


@pytest.mark.parametrize("composer", [NodeComposer, PurePythonComposer])
@pytest.mark.parametrize("text", ["[" * 20_000, "a: " + "{b: " * 5_000, "- " * 5_000])
def test_what_would_overflow_the_stack(text, composer):
    broken = compose_documents(text, composer=composer).fault
    assert broken is not None
    assert broken.message == "nested more than 100 levels deep"


def test_a_long_list_is_not_deep():
    assert compose_documents("a:\n" + "- [x]\n" * 500).fault is None


def test_comments_alone_are_no_document():
    assert compose_documents("# nothing\n").roots == ()


def test_lines_end_as_yaml_ends_them():
    assert split_lines("a\r\nb\rc\nd\x0be") == ["a", "b", "c", "d\x0be"]

import pytest

from sparkassets.core.spec.sql_types import TypeNameError, check_type


@pytest.mark.parametrize(
    "text",
    [
        "int",
        "BIGINT",
        "decimal",
        "decimal(12,2)",
        "decimal( 38 , 38 )",
        "varchar(10)",
        "timestamp_ntz",
        "array<string>",
        "map<string, array<int>>",
        "struct<a: int, b: struct<c: string>>",
        "struct<a int, `odd name`: date>",
        "variant",
    ],
)
def test_types(text):
    assert check_type(text) == text


@pytest.mark.parametrize(
    ("text", "message", "position", "width"),
    [
        ("bigintt", "'bigintt' is not a Spark SQL type\n  hint: did you mean 'bigint'?", 0, 7),
        ("", "expected a type at the end", 0, 1),
        ("array<it>", "'it' is not a Spark SQL type\n  hint: did you mean 'int'?", 6, 2),
        ("array<int", "expected '>' at the end", 8, 1),
        ("array", "expected '<' at the end", 4, 1),
        ("int null", "unexpected 'null' after the type 'int'", 4, 4),
        (
            "decimal(40,2)",
            "invalid decimal(40,2); expected a precision of at most 38 digits, and a scale not above it",
            7,
            6,
        ),
        (
            "decimal(2,3)",
            "invalid decimal(2,3); expected a precision of at most 38 digits, and a scale not above it",
            7,
            5,
        ),
        ("decimal(a)", "expected a number, found 'a'", 8, 1),
        ("varchar", "expected '(' at the end", 6, 1),
        ("map<string>", "expected ',', found '>'", 10, 1),
        ("struct<: int>", "expected the name of a field", 7, 1),
    ],
)
def test_what_is_no_type(text, message, position, width):
    with pytest.raises(TypeNameError) as error:
        check_type(text)
    assert (str(error.value), error.value.position, error.value.width) == (message, position, width)

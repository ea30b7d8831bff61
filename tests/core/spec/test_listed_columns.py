"""`columns` that say something of some columns: description, type, checks and `pii`."""

import pytest

from sparkassets.core.derivation.query_checks import check_queries
from sparkassets.core.spec.column_inference import UNLISTED_HINT
from tests.core.spec.in_memory import FLIGHTS, compiled, errors_of, one

PEOPLE = """
asset: a
sql: SELECT id, email, CAST(amount AS DOUBLE) AS amount FROM {{ inlets.flights }}
columns:
"""


def test_columns_without_a_type_leave_the_list_open():
    text = f"{PEOPLE}  email: {{pii: true, description: 'Where  bills go'}}\n  amount: {{type: double}}\n"
    asset = one(text)
    assert (asset.columns, dict(asset.column_types), asset.private) == ({}, {"amount": "double"}, {"email"})
    assert asset.listed_columns["email"].description == "Where bills go"


def test_types_of_all_columns_are_all_columns():
    assert errors_of(f"{PEOPLE}  id: bigint\n  amount: double\n") == (
        """\
a.yml:3:1: the SELECT yields 'email', which 'columns' does not list
    columns:
    ^^^^^^^
  hint: list it, or leave out the type of any column: then others are allowed"""
    )


def test_a_column_that_the_select_lacks():
    assert errors_of(f"{PEOPLE}  emial: {{pii: true}}\n") == (
        """\
a.yml:4:3: the SELECT of asset 'a' yields no column 'emial'
      emial: {pii: true}
      ^^^^^
  hint: did you mean 'email'?"""
    )


CHECKS = """\
  id: {checks: [not_null, unique]}
  email: {checks: [{pattern: '.+@.+', severity: drop}, {not_null: true, severity: warn, name: has_mail}]}
  amount: {checks: [{range: {min: 0}}, {accepted: [1, 2]}, {foreign_key: flights.price}]}
"""
VALIDATIONS = """\
validations:
  - not_null: id
  - unique: id
  - {pattern: {email: '.+@.+'}, severity: drop}
  - {not_null: email, severity: warn, name: has_mail}
  - range: {amount: {min: 0}}
  - accepted: {amount: [1, 2]}
  - foreign_key: {amount: flights.price}
"""


def test_checks_of_columns_are_validations():
    by_column, by_rule = one(PEOPLE + CHECKS), one(PEOPLE.replace("columns:\n", VALIDATIONS))
    rules = [[(each.name, each.check, each.severity) for each in asset.rules] for asset in (by_column, by_rule)]
    assert rules[0] == rules[1]
    assert by_column.inlets["flights"].name == "flights"
    assert by_column.rules[2].place.line == 5


def test_a_check_that_takes_rows_away_is_part_of_the_definition():
    plain, dropping = one(PEOPLE + CHECKS.replace(", severity: drop", "")), one(PEOPLE + CHECKS)
    assert plain.definition.id != dropping.definition.id


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("  id: {checks: not_null}\n", "a.yml:4:16: 'checks' in 'id' is 'not_null'; expected a list such as"),
        ("  id: {checks: [nonull]}\n", "a.yml:4:17: "),
        ("  id: {checks: [{range: {min: 3, max: 1}}]}\n", "a.yml:4:39: 'max' is 1, below 'min' 3"),
        ("  id: {checks: [{rang: {min: 3}}]}\n", "a.yml:4:18: unknown key 'rang'"),
        ("  id: {checks: [{range: {min: 3}, pattern: x}]}\n", "a.yml:4:35: a validation has one check"),
        ("  id: {checks: [{severity: warn}]}\n", "a.yml:4:17: the validation has no check"),
        ("  id: {checks: [{foreign_key: fights.id}]}\n", "a.yml:4:31: unknown asset 'fights'"),
        ("  id: {checks: [not_null]}\nvalidations: [not_null: id]\n", "a.yml:4:17: two validations are called"),
        ("  id: {type: bigit}\n", "a.yml:4:14: "),
        ("  id: {discription: x}\n", "a.yml:4:8: unknown key 'discription'"),
    ],
)
def test_mistakes_are_told_where_they_stand(columns, message):
    assert message in errors_of(PEOPLE + columns)


def test_a_source_has_no_checks():
    text = "asset: a\nsource: csv\npath: a.csv\ncolumns:\n  id: {checks: [not_null]}\n"
    assert "a.yml:5:8: a source cannot have checks: others write it" in errors_of(text)


def test_columns_of_files_that_do_not_name_them_have_all_a_type_or_none():
    text = "asset: a\nsource: json\npath: a.json\ncolumns:\n  id: bigint\n  email: {pii: true}\n"
    assert "a.yml:6:3: the column 'email' has no type, but json files are read with the types of all" in errors_of(text)
    assert one(text.replace("json", "csv")).column_types == {"id": "bigint"}
    assert one(text.replace("id: bigint", "id: {description: x}")).private == {"email"}


def problems(sql, columns):
    text = f"asset: a\nsql: {sql}\ncolumns:\n{columns}"
    flights = f"{FLIGHTS}columns: {{id: bigint, email: string}}\n"
    found = check_queries(compiled({"a.yml": text, "flights.yml": flights}), lambda asset: None)
    return [f"{each.location.line}:{each.location.column}: {each.message} ({each.hint})" for each in found]


def test_columns_of_a_star_are_known_by_what_it_reads():
    assert problems("SELECT * FROM {{ inlets.flights }}", "  emial: {pii: true}\n") == [
        "4:3: the SELECT of asset 'a' yields no column 'emial' (did you mean 'email'?)"
    ]
    assert problems("SELECT * FROM {{ inlets.flights }}", "  id: bigint\n") == [
        "4:3: the SELECT yields 'email', 'day', which 'columns' does not list (" + UNLISTED_HINT + ")"
    ]


@pytest.mark.parametrize(
    ("cast", "declared", "found"),
    [
        ("BIGINT", "long", None),
        ("DECIMAL(10)", "decimal(10,0)", None),
        ("VARCHAR(3)", "string", None),
        ("ARRAY<INT>", "array<int>", None),
        ("INT", "bigint", "declared as bigint, but the SELECT casts it to int"),
        ("DECIMAL(10,2)", "decimal(12,2)", "declared as decimal(12,2), but the SELECT casts it to decimal(10,2)"),
    ],
)
def test_a_type_that_a_cast_excludes(cast, declared, found):
    sql = f"SELECT id, CAST(email AS {cast}) AS mail FROM {{{{ inlets.flights }}}}"  # noqa: S608  parsed, never run
    told = problems(sql, f"  mail: {{type: '{declared}'}}\n  id: {{}}\n")
    assert [str(found) in each for each in told] == ([] if found is None else [True])

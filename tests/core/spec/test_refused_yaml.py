"""What YAML allows and a project does not."""

import pytest

from tests.core.spec.in_memory import errors_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            """\
asset: a
owner: !!python/object:os.system x
retries: !!int 3
extra: !mine {}
""",
            """\
a.yml:2:8: the tag !!python/object:os.system is not allowed; types follow from the text alone
    owner: !!python/object:os.system x
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^
a.yml:3:10: the tag !!int is not allowed; types follow from the text alone
    retries: !!int 3
             ^^^^^^^
a.yml:4:8: the tag !mine is not allowed; types follow from the text alone
    extra: !mine {}
           ^^^^^^^^
""",
            id="a_tag",
        ),
        pytest.param(
            """\
asset: a
owner: x
extra: {b: 1, b: 2}
owner: y
""",
            """\
a.yml:3:15: the key 'b' is defined twice; first in line 3
    extra: {b: 1, b: 2}
                  ^
a.yml:4:1: the key 'owner' is defined twice; first in line 2
    owner: y
    ^^^^^
""",
            id="a_doubled_key",
        ),
        pytest.param(
            """\
asset: a
extra:
  <<: {a: 1}
""",
            """\
a.yml:3:3: merge keys '<<' are not supported
      <<: {a: 1}
      ^^
  hint: write the keys out, or use `defaults` in project.yml
""",
            id="a_merge_key",
        ),
        pytest.param(
            """\
asset: a
extra: &x {a: *x}
""",
            """\
a.yml:2:8: this value contains an alias of itself
    extra: &x {a: *x}
           ^^^^^^^^^^
""",
            id="an_alias_of_itself",
        ),
        pytest.param(
            """\
asset: a
extra: {[b]: 1}
""",
            """\
a.yml:2:9: a key must be text
    extra: {[b]: 1}
            ^^^
""",
            id="a_key_that_is_no_text",
        ),
        pytest.param(
            """\
- asset: a
""",
            """\
a.yml:1:1: expected a map of keys that begins with 'asset: <name>'
    - asset: a
    ^
""",
            id="no_map_at_all",
        ),
        pytest.param(
            """\
just text
""",
            """\
a.yml:1:1: expected a map of keys that begins with 'asset: <name>'
    just text
    ^
""",
            id="a_text",
        ),
        pytest.param(
            """\
asset: a
schedule: @daily
""",
            """\
a.yml:2:11: text that begins with '@' must be quoted
    schedule: @daily
              ^^^^^^
  hint: write "@daily"
""",
            id="no_yaml",
        ),
        pytest.param(
            """\
asset: a
retries: x
---
asset: b
owner: 'x
""",
            """\
a.yml:2:10: 'retries' is 'x'; expected a whole number of at least 0
    retries: x
             ^
a.yml:5:8: this quote is not closed
    owner: 'x
           ^
""",
            id="a_second_document_that_is_broken",
        ),
        pytest.param(
            """\
asset: a
owner: ${WHO}
description: "x ${1BAD} y"
extra: {b: ["${WHERE}"]}
""",
            """\
a.yml:2:8: the environment variable 'WHO' is not set
    owner: ${WHO}
           ^^^^^^
  hint: set it, give it by --set WHO=… or a profile's `variables`, or write ${WHO:-a default}
a.yml:3:17: expected ${NAME} or ${NAME:-default}
    description: "x ${1BAD} y"
                    ^^^^^^^
  hint: write '$${' for a literal '${'
a.yml:4:14: the environment variable 'WHERE' is not set
    extra: {b: ["${WHERE}"]}
                 ^^^^^^^^
  hint: set it, give it by --set WHERE=… or a profile's `variables`, or write ${WHERE:-a default}
""",
            id="variables",
        ),
        pytest.param(
            """\
asset: a
sql: |
  SELECT 1
    + ${NUMBER}
""",
            """\
a.yml:4:7: the environment variable 'NUMBER' is not set
        + ${NUMBER}
          ^^^^^^^^^
  hint: set it, give it by --set NUMBER=… or a profile's `variables`, or write ${NUMBER:-a default}
""",
            id="a_variable_in_a_block",
        ),
    ],
)
def test_refused(text, expected):
    assert errors_of(text) + "\n" == expected


def test_many_levels_by_indentation():
    text = "asset: a\nextra:\n" + "".join(f"{' ' * level}b:\n" for level in range(1, 120))
    assert errors_of(text).partition("\n")[0] == "a.yml:103:102: nested more than 100 levels deep"


def test_an_alias_that_explodes_is_told_once():
    levels = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    levels += [
        f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]" for before, name in zip("abcde", "bcdef", strict=True)
    ]
    text = "asset: a\nextra: {" + ", ".join(levels) + "}"
    assert errors_of(text).partition("\n")[0] == "a.yml:2:19: aliases of this value multiply to more than 10,000 copies"
    assert errors_of(text).count("multiply") == 1


def test_aliases_stand_for_a_number_of_values_whatever_their_shape():
    many = ", ".join(["x"] * 5_000)
    for copies in (f"[{', '.join(['*a'] * 5_000)}]", "{b: [*a], c: [*a], d: [*a]}"):
        assert "multiply to more than 10,000 copies" in errors_of(f"asset: a\nextra: {{a: &a [{many}], b: {copies}}}")

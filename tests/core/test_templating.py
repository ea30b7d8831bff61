import inspect
import sys

import pytest
from jinja2 import UndefinedError
from jinja2.exceptions import SecurityError

from sparkassets.core.query_outline import TemplateError, check_template, find_statement_fault
from sparkassets.core.sandbox import render
from sparkassets.core.suggestions import KnownColumns
from sparkassets.core.templating import MOST_NESTED, NAMES, Template, read_outline
from sparkassets.errors import TextFault


def faults(text, **given):
    closed = {"asset": "out", "columns": {}, "params": (), "dimensions": ("day",), "events": None}
    closed |= {"watermarked": False} | given
    outline, writes = read_outline(text), closed.pop("writes", False)
    statement = find_statement_fault(text, outline, writes=writes)
    return sorted([*check_template(outline, **closed), *([statement] if statement else [])])


def messages(text, **given):
    return [(fault.line, fault.column, fault.width, fault.message, fault.hint) for fault in faults(text, **given)]


def test_inlets_in_order_of_appearance():
    sql = "SELECT {{ inlets.b.x }} FROM {{ inlets.a }} JOIN {{ inlets['c'] }} {% if ds %}{{ inlets.d }}{% endif %}"
    assert list(Template.parse(sql).inlets) == ["b", "a", "c", "d"]


def test_events_are_of_what_can_trigger_the_asset():
    text = "SELECT {{ triggering_events.flihgts[0] }} {{ triggering_dataset_events['s3://b/y'] }}"
    assert messages(text, events=("flights", "s3://b/x")) == [
        (1, 29, 7, "no event of 'flihgts' can trigger asset 'out'", "did you mean 'flights'?"),
        (1, 73, 8, "no event of 's3://b/y' can trigger asset 'out'", "did you mean 's3://b/x'?"),
    ]
    known = "SELECT {{ triggering_events.flights[0] }} {{ triggering_events['s3://b/x'] | length }}"
    assert faults(known, events=("flights", "s3://b/x")) == []
    loop = "SELECT {% for name, found in triggering_events.items() %}{{ triggering_events[name] }}{% endfor %}"
    assert faults(loop, events=()) == []
    assert messages("SELECT {{ triggering_events.a }}", events=())[0][4] is None
    assert faults(text) == []


def test_the_column_of_what_a_message_quotes():
    template = Template.parse("SELECT {{ ds }},\n {{ a.b }}, {{ a['c d'].ds }}")
    assert template.quoted_in("'ds' has no value", line=1) == 11
    assert template.quoted_in("there is no 'c d'", line=2) == 19
    assert template.quoted_in("there is no 'e'", line=2) is None


def test_inlets_know_their_place():
    assert Template.parse("SELECT *\nFROM flights {{ inlets.flights }}").inlets == {"flights": (2, 24)}


def test_every_name_may_be_used():
    named = " ".join(f"{{{{ {name} }}}}" for name in sorted(NAMES - {"inlets", "outlets"}))
    assert faults("VALUES " + named + " --  {{ inlets.a }}, {{ outlets.out }}") == []


def test_what_a_template_sets_itself():
    sql = (
        "{% set x = 1 %}{% for y in range(3) %}{{ y + x }}{{ loop.index }}{% endfor %}"
        "{% macro m(z) %}{{ z }}{% endmacro %}SELECT {{ m(x) }}"
    )
    assert faults(sql) == []


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "SELECT *\nFROM {{ inlet.flights }}",
            (2, 9, 5, "unknown name 'inlet' in the template", "did you mean 'inlets'?"),
        ),
        (
            "SELECT {{ xyz }}",
            (
                1,
                11,
                3,
                "unknown name 'xyz' in the template",
                "known are inlets, outlets, partitions, params, watermark, run_id and the times of the run",
            ),
        ),
        (
            "SELECT * FROM {{ inlets }}",
            (1, 18, 6, "'inlets' must be followed by the name of an asset, such as inlets.a", None),
        ),
        (
            "SELECT {{ inlets.b.x }} FROM {{ inlets[ds] }}",
            (1, 11, 6, "'inlets' must be followed by the name of an asset, such as inlets.b", None),
        ),
        (
            "SELECT * FROM {{ outlets.other }}",
            (1, 26, 5, "'other' is not an outlet of asset 'out'", "known is out"),
        ),
        (
            "SELECT {{ partition.dya }}",
            (1, 21, 3, "'dya' is not a partition column of asset 'out'", "did you mean 'day'?"),
        ),
        (
            "SELECT {{ params.limit }}",
            (1, 18, 5, "unknown parameter 'limit'; 'params' has no such key", None),
        ),
        (
            "SELECT {{ watermark.low }}",
            (1, 21, 3, "'watermark' is undefined: no inlet has 'read: {after: …}'", None),
        ),
        (
            "{% include 'x.sql' %} SELECT 1",
            (
                1,
                4,
                7,
                "'include' is not supported: a template cannot use other templates",
                "name another asset as {{ inlets.<name> }}, or repeat the text",
            ),
        ),
        (
            "SELECT {{ ds|uper }}",
            (1, 14, 4, "unknown filter 'uper' in the template", "did you mean 'upper'?"),
        ),
        (
            "{% if ds is integr %}{% endif %}SELECT 1",
            (1, 13, 6, "unknown test 'integr' in the template", "did you mean 'integer'?"),
        ),
        (
            "SELECT {{ ds|attr('__class__') }}",
            (1, 14, 4, "unknown filter 'attr' in the template", None),
        ),
        (
            "SELECT {{ ''.__class__ }}",
            (1, 14, 9, "'__class__' is not allowed in the template's sandbox", None),
        ),
        (
            "SELECT {{ inlets.a._lsn }}",
            (
                1,
                20,
                4,
                "'_lsn' is not allowed in the template's sandbox",
                "write ['_lsn'] for a column of that name",
            ),
        ),
        (
            "{% block a %}{% endblock %}{% block a %}{% endblock %}SELECT 1",
            (1, 1, 62, "invalid template: block 'a' defined twice", None),
        ),
        (
            "{% set partitions = 1 %} SELECT 1",
            (1, 8, 10, "'partitions' is a built-in name and cannot be set", None),
        ),
        (
            "SELECT 1;\n-- {{ ds }}\n  DROP TABLE t",
            (3, 3, 4, "a second statement follows; expected one SELECT", None),
        ),
    ],
)
def test_faults(sql, expected):
    assert messages(sql) == [expected]


@pytest.mark.parametrize(
    "sql", ["(" * 5_000, "not " * 500 + "xyz", "ds" + "|upper" * 500, "[" * 200 + "ds" + "]" * 200]
)
def test_what_is_nested_too_deep(sql):
    try:
        found = faults(f"{{% if ds %}}{{% endif %}}SELECT {{{{ {sql} }}}}")
    except TemplateError as error:
        found = [error.fault]
    assert [fault.message for fault in found] in (["invalid template: it is nested too deeply"], [])


def test_unknown_names_beside_an_unknown_filter():
    sql = "{% set x = 1 %}SELECT {{ x|uper }}, {{ y }}"
    assert [fault.message for fault in faults(sql)] == [
        "unknown filter 'uper' in the template",
        "unknown name 'y' in the template",
    ]


def test_columns_of_inlets_that_declare_them():
    sql = "SELECT {{ inlets.a.dep_dely }}, {{ inlets.a['day'] }}, {{ inlets.b.anything }}, {{ inlets.a.x1 }}"
    assert messages(sql, columns={"a": KnownColumns.of_declaration("a", ("day", "dep_delay"))}) == [
        (1, 20, 8, "asset 'a' declares no column 'dep_dely'", "did you mean 'dep_delay'?"),
        (1, 93, 2, "asset 'a' declares no column 'x1'", "known are day, dep_delay"),
    ]


def test_known_members():
    sql = "SELECT {{ params.limit }}, {{ watermark.low }}, {{ params['a'] }} FROM {{ outlets.out }}"
    assert faults(sql, params=("limit", "a"), watermarked=True) == []
    assert messages("SELECT {{ watermark.lo }}", watermarked=True) == [
        (1, 21, 2, "'watermark' has no 'lo'", "did you mean 'low'?")
    ]


def test_broken_template():
    with pytest.raises(TemplateError) as error:
        Template.parse("SELECT 1\n  FROM {{ inlets. }}")
    assert error.value.fault == TextFault(2, 3, 18, "invalid template: expected name or number")
    assert str(error.value) == "invalid template: expected name or number"


def test_whoever_has_used_up_the_stack_is_told_so():
    def under(frames):
        if frames:
            return under(frames - 1)
        try:
            return [fault.message for fault in read_outline("{% set x = " + "-" * 37 + "1 %}SELECT 1").faults]
        except TemplateError as error:
            return [error.fault.message]

    used = len(inspect.stack(0))
    told = [under(sys.getrecursionlimit() - used - spare) for spare in range(60, 500, 20)]
    assert told[0] == ["invalid template: it is nested too deeply"]
    assert told[-1] == []
    assert all(each in (told[0], []) for each in told)


NESTED = {
    "+": lambda n: "{{ " + "ds + " * n + "ds }}",
    "not": lambda n: "{{ " + "not " * n + "ds }}",
    "(": lambda n: "{{ " + "[" * n + "ds" + "]" * n + " }}",
    "|": lambda n: "{{ ds" + "|upper" * n + " }}",
    ".": lambda n: "{{ ds" + "[0]" * n + " }}",
    "or": lambda n: "{{ " + "ds or " * n + "ds }}",
    "==": lambda n: "{{ " + "(ds == " * n + "ds" + ")" * n + " }}",
    "~": lambda n: "{{ " + "(ds ~ " * n + "ds" + ")" * n + " }}",
    "if": lambda n: "{% if ds %}" * n + "{% endif %}" * n,
    "for": lambda n: "{% for x in range(1) %}" * n + "{% endfor %}" * n,
    "with": lambda n: "{% with x = 1 %}" * n + "{% endwith %}" * n,
    "filter": lambda n: "{% filter upper %}" * n + "{% endfilter %}" * n,
    "macro": lambda n: "{% macro x() %}" * n + "{% endmacro %}" * n,
    "call": lambda n: "{% macro x() %}{{ caller() }}{% endmacro %}" + "{% call x() %}" * n + "{% endcall %}" * n,
    "set": lambda n: "{% set x %}" * n + "{% endset %}" * n,
    "loop": lambda n: "{% for x in range(1) recursive %}" * n + "{% endfor %}" * n,
    "elif": lambda n: "{% if ds %}" + "{% elif ds %}" * n + "{% endif %}",
}


@pytest.mark.parametrize("nested", NESTED.values(), ids=NESTED)
def test_what_is_not_nested_too_deep_can_be_compiled(nested):
    """Python's own compiler has limits of its own, which only the rendering would meet."""
    accepted = 0
    for depth in [1, *range(10, MOST_NESTED + 1), 300, 5_000]:
        try:
            template = Template.parse(nested(depth))
        except TemplateError as error:
            assert error.fault.message == "invalid template: it is nested too deeply"  # noqa: PT017  each may be one
            continue
        accepted += 1
        render(template.text, {"ds": "2025-01-01"})
    assert accepted


def test_a_number_may_be_too_long():
    with pytest.raises(TemplateError) as error:
        Template.parse("SELECT 1\n, {{ " + "9" * 5_000 + " }}")
    assert error.value.fault == TextFault(1, 1, 1, "invalid template: a number in it has more than 4,300 digits")


def test_the_sandbox():
    with pytest.raises(UndefinedError):
        render("{{ nothing }}", {})
    with pytest.raises(SecurityError):
        render("{{ x|map(attribute='__class__')|list }}{{ x.append(1) }}", {"x": [1]})
    assert render("{% for i in range(2) %}{{ i }}{% endfor %}\n", {}) == "01\n"


def test_an_asset_may_have_the_name_of_a_method_of_dicts():
    named = {"copy": "a", "items": "b"}
    assert render(
        "{{ inlets.copy }} {{ inlets.items }} {{ params.keys() | list }}", {"inlets": named, "params": {"x": 1}}
    ) == ("a b ['x']")

"""Whatever a template says: validating and rendering it take little memory and few steps, or it is refused."""

import random
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from jinja2 import TemplateAssertionError
from jinja2.exceptions import SecurityError

from sparkassets.core.sandbox import CostMeter, TooMuchError, render
from sparkassets.core.templating import TemplateError, read_outline

CHARACTERS = "the template produces more than 1,000,000 characters"
STEPS = "the template takes more than 50,000 steps"
MEGABYTES = 15
"""What a rendering at these limits takes: its text of up to 4 bytes a character, and its lists."""

NAMES = {
    "ds": "2025-01-01",
    "params": {"n": 10**10, "text": "x" * 1000, "list": ["x"] * 1000, "large": [["x"] * 100] * 100},
}


def rendered(text):
    return render(text, NAMES, meter=CostMeter(steps=50_000, characters=1_000_000))


def peak_of(work):
    """The megabytes that some work allocated at its worst."""
    tracemalloc.start()
    try:
        with suppress(Exception):
            work()
        return tracemalloc.get_traced_memory()[1] / 1_000_000
    finally:
        tracemalloc.stop()


def validated(text):
    with suppress(TemplateError):
        read_outline(text)


DOUBLING = "{% macro m(x, n) %}{% if n %}{{ m(%s, n - 1) }}{% else %}{{ x }}{% endif %}{% endmacro %}{{ m(%s, 200) }}"

GROWING = {
    "{% set x = 'a' * 20000000000 %}": CHARACTERS,
    "{{ 20000000000 * 'a' }}": CHARACTERS,
    "{{ ['a'] * 20000000000 }}": CHARACTERS,
    "{{ ('a' * 900000) ~ ('a' * 900000) }}": CHARACTERS,
    "{{ 'a' * params.n }}": CHARACTERS,
    "{{ 10 ** 10000000000 }}": "the template computes a number of more than 4,096 bits",
    "{{ 10 ** (10 ** 10) }}": "the template computes a number of more than 4,096 bits",
    "{{ (10 ** 600) * (10 ** 900) }}": "the template computes a number of more than 4,096 bits",
    "{{ 1.5 | round(10000000000, 'ceil') }}": CHARACTERS,
    "{{ '%20000000000d' % 1 }}": CHARACTERS,
    "{{ '%*d' % (20000000000, 1) }}": CHARACTERS,
    "{{ '%20000000000d' | format(1) }}": CHARACTERS,
    "{{ '%*d' | format(20000000000, 1) }}": CHARACTERS,
    "{{ '{:>20000000000}'.format(1) }}": CHARACTERS,
    "{{ '{:>{}}'.format(1, 20000000000) }}": CHARACTERS,
    "{{ ('{0}' * 100000).format('a' * 1000) }}": CHARACTERS,
    "{{ ('%(a)s' * 100000) % {'a': 'a' * 1000} }}": CHARACTERS,
    "{{ 'a'.ljust(20000000000) }}": CHARACTERS,
    "{{ 'a'.rjust(20000000000) }}": CHARACTERS,
    "{{ 'a'.zfill(20000000000) }}": CHARACTERS,
    "{{ ('a' * 100000).replace('a', 'a' * 100000) }}": CHARACTERS,
    "{{ ('a' * 100000) | replace('a', 'a' * 100000) }}": CHARACTERS,
    "{{ ('a' * 100000).join(('a' * 100000)) }}": None,
    "{{ ('a' * 100000).join(['a'] * 100000) }}": CHARACTERS,
    "{{ (['a'] * 100000) | join('a' * 100000) }}": CHARACTERS,
    "{{ ['a' * 1000000] | list | join }}{{ (['a' * 100000] * 1000) | join }}": CHARACTERS,
    "{{ 'a\nb' | indent(20000000000) }}": CHARACTERS,
    "{{ ('a\n' * 100000) | indent('a' * 100000) }}": CHARACTERS,
    "{{ [1] | batch(20000000000, 'x') | list }}": CHARACTERS,
    "{{ [1] | slice(20000000000) | list }}": CHARACTERS,
    "{{ [[1] * 1000] * 1000 | sum(start=[]) }}": None,
    "{{ ([[1] * 1000] * 1000) | sum(start=[]) | length }}": CHARACTERS,
    "{{ [[1]] | tojson(20000000000) }}": CHARACTERS,
    "{{ params.large * 100 }}": CHARACTERS,
    "{{ range(20000000000) | list }}": None,
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}": STEPS,
    "{% for a in range(99999) %}{{ params.list | join }}{% endfor %}": None,
    "{% for a in range(99999) %}" + "x" * 1000 + "{% endfor %}": CHARACTERS,
    "{% for a in range(99999) %}{% if params.large == [1] %}{% endif %}{% endfor %}": STEPS,
    "{% for a in range(99999) %}{% if params.large is eq [1] %}{% endif %}{% endfor %}": STEPS,
    "{% for a in range(99999) %}{% if 1 in params.large %}{% endif %}{% endfor %}": STEPS,
    "{% for a in range(99999) %}{% set x = params.list[1:] %}{% endfor %}": STEPS,
    "{% for a in range(999) %}{% set x = params.large | sort %}{% endfor %}": STEPS,
    "{% for a in [1, 2, 3] recursive %}{{ loop([1, 2, 3]) }}{% endfor %}": None,
    "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}": None,
    "{% block a %}{{ self.a() }}{{ self.a() }}{% endblock %}": None,
    DOUBLING.replace("%s", "x ~ x", 1).replace("%s", "'a'"): CHARACTERS,
    DOUBLING.replace("%s", "x + x", 1).replace("%s", "'a'"): CHARACTERS,
    DOUBLING.replace("%s", "x + x", 1).replace("%s", "[1]"): STEPS,
    DOUBLING.replace("%s", "[x, x]", 1).replace("%s", "'a'"): None,
    DOUBLING.replace("%s", "x * x", 1).replace("%s", "3"): "the template computes a number of more than 4,096 bits",
    "{% autoescape 'a' * 20000000000 %}{% endautoescape %}": CHARACTERS,
    "{% autoescape 'a' | indent(20000000000, true) %}{% endautoescape %}": CHARACTERS,
    "{% filter indent(20000000000, true) %}a{% endfilter %}": CHARACTERS,
    "{{ ['a'] | map('indent', 20000000000, true) | list }}": CHARACTERS,
    "{% set x %}{{ 'a' * 900000 }}{% endset %}{{ x }}": CHARACTERS,
}


@pytest.mark.parametrize(("text", "message"), GROWING.items(), ids=range(len(GROWING)))
def test_what_grows_is_stopped_before_it_does(text, message):
    assert peak_of(lambda: validated(text)) < 2
    assert peak_of(lambda: rendered(text)) < MEGABYTES
    if message:
        with pytest.raises(TooMuchError) as error:
            rendered(text)
        assert error.value.message == message


@pytest.mark.parametrize("name", ["wordwrap(1)", "center(9)", "random", "pprint", "safe", "escape", "urlize"])
def test_filters_that_lay_out_text_or_make_html_are_not_there(name):
    with pytest.raises(TemplateAssertionError, match="No filter named"):
        render("{{ params.text | " + name + " }}", NAMES)


@pytest.mark.parametrize(
    "call", ["'a'.center(9)", "'\t'.expandtabs(9)", "'a'.translate({97: 'b'})", "(1).to_bytes(9, 'big')"]
)
def test_methods_that_lay_out_text_or_make_bytes_are_not_there(call):
    with pytest.raises(SecurityError):
        render("{{ " + call + " }}", NAMES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ 'a' * 3 }}{{ 3 * 'a' }}{{ [1] * 2 }}{{ 2 ** 10 }}{{ -2 ** 3 }}{{ 7 * 6 }}", "aaaaaa[1, 1]1024-842"),
        ("{{ 'a' ~ 1 ~ none }}{{ 'a' + 'b' }}{{ [1] + [2] }}{{ 1 + 2 }}{{ 1.5 * 2 }}", "a1Noneab[1, 2]33.0"),
        ("{{ '%05.1f|%s' % (1.25, ds) }}{{ '%s' | format(ds) }}", "001.2|2025-01-012025-01-01"),
        ("{{ '{:02d}/{}'.format(7, 20250101) }}{{ '{{}}'.format() }}", "07/20250101{}"),
        ("{{ 'a'.rjust(3) }}{{ 'aba' | replace('a', 'cc') }}", "  accbcc"),
        ("{{ range(3) | map('string') | join(', ') }}{{ ', '.join(range(2) | map('string')) }}", "0, 1, 20, 1"),
        ("{{ [3, 1] | sort | first }}{{ [[1], [2]] | sum(start=[]) }}{{ 2.345 | round(2) }}", "1[1, 2]2.35"),
        ("{{ [1, 2, 3] | batch(2, 'x') | list }}", "[[1, 2], [3, 'x']]"),
        ("{{ {'a': [1]} | tojson }}{{ {'a': [1]} | tojson(indent=1) | length }}", '{"a": [1]}18'),
        (
            "{{ 1 in [1] }}{{ 1 is in [1] }}{{ 1 < 2 <= 2 }}{{ 'abc'[1:] }}{{ nothing | default('d') }}",
            "TrueTrueTruebcd",
        ),
        (
            "{% for a in [1, [2, 3]] recursive %}{{ '(' ~ loop(a) ~ ')' if a is iterable else a }}{% endfor %}",
            "1(23)",
        ),
        (
            "{% for a in 'xyz' %}{{ loop.index }}/{{ loop.length }}{{ loop.last }};{% endfor %}",
            "1/3False;2/3False;3/3True;",
        ),
        ("{% for a in [] %}x{% else %}none{% endfor %}{% filter upper %}a{{ ds[:4] }}{% endfilter %}", "noneA2025"),
        (
            "{% macro m(x='d') %}{{ x }}{{ caller() if x == 1 }}{% endmacro %}{{ m() }}{% call m(x=1) %}!{% endcall %}",
            "d1!",
        ),
        ("{% for n in range(20000) %}{{ n % 10 }}{% endfor %}", "0123456789" * 2000),
    ],
)
def test_what_does_not_grow_is_as_jinja_has_it(text, expected):
    assert render(text, NAMES) == expected


ENDLESS = {
    "macro": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "partition": "{% block a %}{{ self.a() }}{% endblock %}",
    "loop": "{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}",
    "caller": "{% macro m() %}{% call m() %}{{ caller() }}{% endcall %}{% endmacro %}{{ m() }}",
    "macros_in_turn": "{% macro m(f) %}{{ f(m) }}{% endmacro %}{% macro n(f) %}{{ f(n) }}{% endmacro %}{{ m(n) }}",
}


@pytest.fixture
def high_recursion_limit():
    """As a notebook or a library may have set it: Python then does not stop before the C stack overflows."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(200_000)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.usefixtures("high_recursion_limit")
@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS)
def test_a_template_that_calls_itself_without_end_is_stopped_before_the_stack_overflows(text):
    with ThreadPoolExecutor(1) as thread:
        error = thread.submit(rendered, text).exception()
    assert isinstance(error, TooMuchError)
    with pytest.raises(TooMuchError, match=r"^the template recurses too deeply$"):
        rendered(text)


def test_calls_are_counted_in_each_other_and_not_one_after_another():
    ninety = "{% macro m(n) %}{{ m(n - 1) if n else 'x' }}{% endmacro %}{{ m(90) }}"
    assert render(ninety + "{{ m(90) }}{{ m(90) }}", NAMES) == "xxx"


ATOMS = [
    "'a'",
    "ds",
    "7",
    "[1, 'b']",
    "params.text",
    "params.list",
    "params.n",
    "x",
    "y",
    "{'k': x}",
    "10000000",
    "none",
]
GROWTH = [
    "({0} * {1})",
    "({0} + {1})",
    "({0} ~ {1})",
    "({0} ** {1})",
    "({0} % {1})",
    "[{0}, {0}, {1}]",
    "({0}.rjust({1}))",
    "({0} | replace('a', {1}))",
    "({0} | join({1}))",
    "({0} | list)",
    "({0} | indent({1}))",
    "({0} | batch({1}, 0) | list)",
    "({0} | sum(start={1}))",
    "({0} | string)",
    "({0} | tojson({1}))",
    "({0}.ljust({1}))",
    "({0} | truncate({1}))",
    "('%s%s' % ({0}, {1}))",
    "('{{}}{{:>9}}'.format({0}, {1}))",
    "({0}.join({1}))",
    "({0} | map('indent', {1}) | list)",
    "{0}[1:]",
    "({0} == {1})",
    "({0} | format({1}))",
    "({0} | upper)",
    "({0} if {1} else {0})",
    "(range({0}) | list)",
]


def expression(source, depth):
    if depth == 0:
        return source.choice(ATOMS)
    return source.choice(GROWTH).format(expression(source, depth - 1), expression(source, source.randrange(depth)))


def template(source, depth):
    """A random template that has `x` and `y`."""
    if depth == 0:
        return "{{ " + expression(source, source.randrange(4)) + " }}"
    inner = "".join(template(source, depth - 1) for _ in range(source.randrange(1, 3)))
    value = expression(source, source.randrange(3))
    return source.choice(
        [
            "{% set x = " + value + " %}" + inner,
            "{% for y in " + value + " %}" + inner + "{% endfor %}",
            "{% set x %}" + inner + "{% endset %}{{ x }}",
            "{% macro m(x, n) %}{% if n %}{{ m("
            + value
            + ", n - 1) }}{% endif %}"
            + inner
            + "{% endmacro %}{{ m(ds, 30) }}",
            "{% filter upper %}" + inner + "{% endfilter %}",
            inner + inner,
        ]
    )


def test_no_random_template_takes_much_memory(fuzz_seed, fuzz_count):
    source = random.Random(fuzz_seed)  # noqa: S311  nothing is secret
    for _ in range(fuzz_count // 10):
        text = "{% set x = 'a' %}{% set y = [1] %}" + template(source, 4)
        assert peak_of(lambda text=text: validated(text)) < 20, text
        assert peak_of(lambda text=text: rendered(text)) < MEGABYTES, text

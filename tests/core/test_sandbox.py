"""A template that runs without end or grows without bounds is stopped."""

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

NAMES = {"ds": "2025-01-01", "params": {"n": 10**10, "text": "x" * 1000, "list": ["x"] * 1000}}


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
    "{{ 'a'.ljust(20000000000) }}": CHARACTERS,
    "{{ 'a'.rjust(20000000000) }}": CHARACTERS,
    "{{ 'a'.zfill(20000000000) }}": CHARACTERS,
    "{{ ('a' * 100000).replace('a', 'a' * 100000) }}": CHARACTERS,
    "{{ ('a' * 100000) | replace('a', 'a' * 100000) }}": CHARACTERS,
    "{{ ('a' * 100000).join(('a' * 100000)) }}": None,
    "{{ ('a' * 100000).join(['a'] * 100000) }}": CHARACTERS,
    "{{ (['a'] * 100000) | join('a' * 100000) }}": CHARACTERS,
    "{{ 'a\nb' | indent(20000000000) }}": CHARACTERS,
    "{{ ('a\n' * 100000) | indent('a' * 100000) }}": CHARACTERS,
    "{{ [1] | batch(20000000000, 'x') | list }}": CHARACTERS,
    "{{ [1] | slice(20000000000) | list }}": CHARACTERS,
    "{{ range(20000000000) | list }}": None,
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}": STEPS,
    "{% for a in range(99999) %}{{ params.list | join }}{% endfor %}": None,
    "{% for a in range(99999) %}" + "x" * 1000 + "{% endfor %}": CHARACTERS,
    "{% for a in [1, 2, 3] recursive %}{{ loop([1, 2, 3]) }}{% endfor %}": None,
    "{% block a %}{{ self.a() }}{{ self.a() }}{% endblock %}": None,
    DOUBLING.replace("%s", "x ~ x", 1).replace("%s", "'a'"): CHARACTERS,
    DOUBLING.replace("%s", "x + x", 1).replace("%s", "'a'"): CHARACTERS,
    DOUBLING.replace("%s", "x + x", 1).replace("%s", "[1]"): CHARACTERS,
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
        ("{{ (params.text * 9) | replace('y' * 50, 'z' * 50) | length }}{{ 1 ** 5000 }}", "90001"),
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

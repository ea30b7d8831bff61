"""Whatever is in a file: it compiles, or is refused with places; nothing else is ever raised."""

from contextlib import suppress

from hypothesis import example, given, settings
from hypothesis import strategies as st

from sparkassets.errors import SpecError
from tests.core.spec.in_memory import FLIGHTS, compiled
from tests.depth import examples

ASSET = """
asset: a
type: report
extra: {tier: 1, tags: [x, {y: z}]}
columns: {day: date, price: "decimal(12,2)"}
inlets: {flights: {window: [-6d, 0d], require: {at_least: 3}, on_update: rerun}}
schedule: {any: [flights, "flights & x-drop://inbox", {all: [flights, {uri: y}]}]}
partition: {by: day, column: day, timezone: Europe/Berlin, start: 2025-01-01}
strategy: {date_range: {lookback: 2d, max_partitions_per_run: 31}}
write: replace
params: {limit: 3}
owner: ${TEAM:-data}
retry_delay: 30s
"""
SQL = "SELECT {{ params.limit }}, {{ ds|upper }} FROM {{ inlets.flights }} {% if ds %} WHERE 1 = 1 {% endif %} -- x"
PROJECT = "project: p\nstate: ./state\ndefaults: {retries: 1, lease: 10m}\nspark: {a: 1}\nassets: [.]\n"

pieces = st.text(max_size=3) | st.sampled_from(
    [
        "{",
        "}",
        "[",
        "]",
        ": ",
        "- ",
        "*",
        "&x ",
        "!!int ",
        "@",
        "#",
        "\n",
        "\n  ",
        "'",
        '"',
        "|",
        "${",
        "{{",
        "%}",
        "~",
        "0",
    ]
)


@st.composite
def damaged(draw, text):
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 12)))
        text = text[:start] + draw(pieces) + text[end:]
    return text


@settings(deadline=None, max_examples=examples(150))
@given(damaged(ASSET), damaged(SQL), damaged(PROJECT))
@example("asset: a\nschedule: '" + "(" * 5_000 + "'", SQL, PROJECT)
@example("asset: a\ncolumns: {x: '" + "array<" * 5_000 + "'}", SQL, PROJECT)
@example(ASSET, SQL, "<project: p\nstate: s\n")
@example(ASSET, SQL, "<map>: p\n" + PROJECT)
@example(ASSET, "SELECT {{ " + "(" * 5_000 + " }}", PROJECT)
def test_no_error_but_the_projects(asset, sql, project):
    with suppress(SpecError):
        compiled({"project.yml": project, "a.yml": asset, "a.sql": sql, "flights.yml": FLIGHTS})

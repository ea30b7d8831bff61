"""Whatever a value holds, Spark reads it as it was, wherever it is printed and however its parser is set."""

import random
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from sparkassets.core.partitions.segments import encode_segment
from tests.integration.orders import computed, order, parses, save, segmented, sql, table

pytestmark = pytest.mark.spark

PIECES = [
    "'",
    '"',
    "`",
    "\\",
    "${",
    "$",
    "{",
    "}",
    "--",
    "/*",
    "*/",
    ";",
    "\n",
    "\r",
    "\t",
    "%",
    "_",
    "{{",
    "{%",
    "\u2028",
]
PIECES += [
    "a",
    "b c",
    "0",
    "12",
    "é",
    "漢",
    "\U0001f600",
    "\u202e",
    "\\u0041",
    "\\'",
    "''",
    "' OR '1'='1",
    "r'",
    "x'",
    ")",
]
PIECES += ["\x01", "${env:HOME}", "${spark.app.name}", "text.`/etc/passwd`", "reflect('java.lang.System', 'exit', 1)"]

SETTINGS = {
    "usual": {},
    "escaped": {"spark.sql.parser.escapedStringLiterals": "true"},
    "names": {"spark.sql.ansi.enabled": "true", "spark.sql.ansi.doubleQuotedIdentifiers": "true"},
}


@pytest.fixture(params=SETTINGS)
def settings(request, spark):
    chosen = SETTINGS[request.param]
    before = {key: spark.conf.get(key) for key in chosen}
    for key, value in chosen.items():
        spark.conf.set(key, value)
    yield request.param
    for key, value in before.items():
        spark.conf.set(key, value)


def test_random_texts_arrive_as_they_were(engine, tmp_path, settings, fuzz_seed):
    source = random.Random(fuzz_seed)  # noqa: S311  nothing is secret
    texts = ["".join(source.choices(PIECES, k=source.randrange(1, 6))) for _ in range(60)]
    quoted = "" if settings == "names" else ', "{{ v }}", "<{{ v }}>"'
    # with escaped literals, Spark itself takes the quote of r'<' as a part of the text
    raw = "'{{ v }}', '<{{ v }}>'" if settings == "escaped" else "r'{{ v }}', R'<{{ v }}>'"
    template = (
        "{% for v in params.texts %}{{ 'UNION ALL' | raw if not loop.first }} "
        "SELECT {{ loop.index0 }} AS n, array('{{ v }}', '<{{ v }}>', '{{ v }}{{ v }}', "
        f"{raw}, {{{{ v }}}}, lower({{{{ v }}}}) /* {{{{ v }}}} */{quoted}) AS found -- {{{{ v }}}}\n"
        "{% endfor %}"
    )
    report = table("report", tmp_path, params={"texts": texts}, **sql(template))
    found = dict(computed(engine, order(report)))
    for n, text in enumerate(texts):
        expected = [text, f"<{text}>", 2 * text, text, f"<{text}>", text, text.lower()]
        assert found[n][: len(expected) - 1] == expected[:-1], text
        assert found[n][len(expected) :] == ([] if settings == "names" else [text, f"<{text}>"]), text


def test_names_arrive_as_they_were(engine, spark, tmp_path, settings):
    names = ["a'b", "a`b", 'a"b', "a\\b", "a b; -- x", "é/*"]
    if settings == "names" and not parses(spark, 'SELECT 1 AS "a""b"'):
        names.remove('a"b')  # there is no other way to write it in double quotes
    quoted = ', 2 AS "_{{ v }}"' if settings == "names" else ""
    listed = "1 AS {{ v | identifier }}, 1 AS `<{{ v }}>`" + quoted
    template = f"SELECT {{% for v in params.names %}}{listed}, {{% endfor %}}0 AS z"
    report = table("report", tmp_path, params={"names": names}, **sql(template))
    columns = engine.compute(order(report), attempt=1).frame.columns
    expected = [name for each in names for name in (each, f"<{each}>", *([f"_{each}"] if quoted else []))]
    assert columns == [*expected, "z"]


def test_literals_are_of_the_type_of_their_value(engine, tmp_path, settings):
    values = [True, -7, 3_000_000_000, 10**20, 1.5, Decimal("1.50"), date(2025, 1, 2), b"\x00\x01"]
    values += [datetime(2025, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)]
    template = (
        "SELECT {% for v in params.values %}{{ v }} AS a{{ loop.index0 }}, {% endfor %}"
        "1 -{{ params.values[1] }} AS minus, 'b' IN ({{ params.list }}) AND {{ params.none }} IS NULL AS listed"
    )
    report = table("report", tmp_path, params={"values": values, "list": ["a'", "b"], "none": None}, **sql(template))
    ((*found, moment, minus, listed),) = computed(engine, order(report))
    assert found == values[:-1]
    assert (moment, minus, listed) == (values[-1].replace(tzinfo=None), 8, True)


KEYS = ["a'b", "a\\b", "'; x", '"', "${env:HOME}", "a' OR '1'='1", "-- a"]


def test_a_key_reads_just_its_own_rows(engine, spark, tmp_path, settings):
    source = table("landed", tmp_path)
    save(
        spark.createDataFrame([(key, n) for n, key in enumerate([*KEYS, "a", "b", "ab", "x"])], "seg string, n int"),
        source,
    )
    query = (
        "SELECT seg, n, seg = {{ partition.seg }} AS same FROM {{ inlets.landed }} WHERE seg = '{{ partition.seg }}'"
    )
    asset = segmented(table("spend", tmp_path, **sql(query, "landed")), seg=KEYS)
    for n, key in enumerate(KEYS):
        assert computed(engine, order(asset, source, keys=[encode_segment(key)])) == [(key, n, True)]


def test_what_an_event_tells_is_never_part_of_the_query(engine, tmp_path, settings):
    attacks = [
        "' UNION ALL SELECT value FROM text.`/etc/hostname` --",
        "1) UNION ALL SELECT reflect('java.lang.System', 'getenv', 'HOME') --",
        "${env:HOME}",
        "x\\' OR true --",
    ]
    query = "SELECT '{{ e.x }}' AS a, {{ e.x }} AS b -- {{ e.x }}"
    query = "{% set e = triggering_event.extra %}" + query
    for attack in attacks:
        event = {"uri": "flights", "extra": {"x": attack}, "source_run": None}
        run = order(table("report", tmp_path, **sql(query)), events={"flights": [event]})
        assert computed(engine, run) == [(attack, attack)]

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from sparkassets.errors import FileLocation, RunError
from tests.integration.orders import computed, execute, newest, order, span, sql, table

pytestmark = pytest.mark.spark

HINT = "  hint: where it may be missing, write {% if … is defined %} or {{ … | default('…') }}"


def failing(engine, run):
    with pytest.raises(RunError) as error:
        engine.compute(run, attempt=1)
    assert "\tat " not in str(error.value)
    return str(error.value)


def test_the_names_of_a_run(engine, tmp_path):
    query = """
        SELECT '{{ run_id }}' AS a, '{{ data_interval_start }}' AS b, '{{ data_interval_end }}' AS c,
        '{{ logical_date }}' AS d, '{{ schedule_date }}' AS e, '{{ ds }} {{ ds_nodash }}' AS f,
        '{{ ts }} {{ ts_nodash }} {{ ts_nodash_with_tz }}' AS g, {{ params.n }} AS h,
        '{{ triggering_events.flights[0].extra.rows }}' AS i, '{{ triggering_dataset_events.flights | length }}' AS j,
        '{{ triggering_event.source_run.data_interval_start }}' AS k,
        '{{ prev_data_interval_start_success }} {{ prev_data_interval_end_success }}' AS l
    """
    report = table("report", tmp_path, zone="Europe/Amsterdam", params={"n": 7}, **sql(query))
    interval = (datetime(2013, 1, 1, 23, tzinfo=UTC), datetime(2013, 1, 2, 23, tzinfo=UTC))
    before = (datetime(2012, 12, 31, 23, tzinfo=UTC), datetime(2013, 1, 1, 23, tzinfo=UTC))
    source_run = {"run_id": "flights-1", "data_interval_start": before[0], "data_interval_end": before[1]}
    event = {"uri": "flights", "extra": {"rows": 3}, "source_run": source_run}
    run = order(report, interval=interval, previous_interval=before, events={"flights": [event]})
    assert computed(engine, run) == [
        (
            run.run,
            "2013-01-02 00:00:00+01:00",
            "2013-01-03 00:00:00+01:00",
            "2013-01-02 00:00:00+01:00",
            "2013-02-01 01:00:00+01:00",
            "2013-01-02 20130102",
            "2013-01-02T00:00:00+01:00 20130102T000000 20130102T000000+0100",
            7,
            "3",
            "1",
            "2013-01-01 00:00:00+01:00",
            "2013-01-01 00:00:00+01:00 2013-01-02 00:00:00+01:00",
        )
    ]


def test_an_inlet_needs_no_alias_and_takes_one(engine, flights, tmp_path):
    query = """
        WITH late AS (SELECT {{ inlets.flights.DELAY }} AS delay FROM {{ inlets.flights }} f WHERE f.delay > 10)
        SELECT '{"a": {}}' AS json, sum(delay) AS delay -- a comment at the end
        FROM late JOIN {{ inlets.flights }} USING (delay);
    """
    run = order(table("report", tmp_path, **sql(query, "flights")), flights)
    assert computed(engine, run) == [('{"a": {}}', 200)]


def test_views_do_not_outlive_the_run(engine, spark, flights, tmp_path):
    run = order(table("report", tmp_path, **sql("SELECT * FROM {{ inlets.flights }}", "flights")), flights)
    before = {each.tableName for each in spark.sql("SHOW TABLES").collect()}
    assert len(computed(engine, run)) == 6
    assert {each.tableName for each in spark.sql("SHOW TABLES").collect()} == before


def test_the_partitions_of_a_run_are_a_relation(engine, flights, tmp_path):
    query = """
        SELECT p.day, count(f.day) AS n, p.start, p.end FROM {{ partitions }} p
        LEFT JOIN {{ inlets.flights }} f ON f.day BETWEEN date_sub(p.day, 1) AND p.day GROUP BY ALL
    """
    daily = table("daily", tmp_path, by="day", **sql(query, "flights"))
    read = computed(engine, order(daily, flights, keys="2013-01-03..2013-01-05"))
    assert [(day, n) for day, n, *_ in read] == [(date(2013, 1, 3), 4), (date(2013, 1, 4), 2), (date(2013, 1, 5), 0)]
    assert read[0][2:] == (datetime(2013, 1, 3), datetime(2013, 1, 4))  # noqa: DTZ001


def test_one_partition_is_a_value(engine, tmp_path):
    daily = table("daily", tmp_path, by="day", **sql("SELECT DATE'{{ partition.day }}' AS day"))
    assert computed(engine, order(daily, keys="2013-01-03")) == [(date(2013, 1, 3),)]
    assert failing(engine, order(daily, keys="2013-01-03..2013-01-04")) == (
        "query.sql:1:16: 'partition' has no single value: the run has 2 partitions; join {{ partitions }} instead"
    )


def test_the_outlet_is_the_target_before_the_run(engine, spark, tmp_path):
    query = "SELECT count(*) AS n FROM {{ outlets.report }}"
    report = table("report", tmp_path, **sql(query))
    assert failing(engine, order(report)) == (
        "query.sql:1:38: the outlet 'report' does not exist before its first run, so its columns are unknown\n  "
        "hint: declare its 'columns'"
    )
    execute(engine, order(table("report", tmp_path, columns={"n": "bigint"}, **sql(query))))
    execute(engine, order(report))
    assert [row[0] for row in spark.read.format("delta").load(report.storage.path).collect()] == [1]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            "SELECT\n  {{ inlets.flights.dely }}\nFROM {{ inlets.flights }}",
            "query.sql:2:21: inlet flights has no column 'dely'\n  hint: did you mean 'delay'?",
        ),
        ("SELECT 1\n, {{ nosuch }}", f"query.sql:2:6: 'nosuch' is undefined\n{HINT}"),
        ("SELECT {{ params.x }}", f"query.sql:1:18: 'x' is undefined; it is empty\n{HINT}"),
        ("SELECT '{{ ds }}'", f"query.sql:1:12: the run has no data interval, so 'ds' has no value\n{HINT}"),
        (
            "SELECT '{{ prev_data_interval_end_success }}'",
            (
                "query.sql:1:12: 'prev_data_interval_end_success' has no value: no earlier run of report with a "
                f"data interval has succeeded\n{HINT}"
            ),
        ),
        (
            "SELECT {{ triggering_event.extra.rows }}",
            (
                "query.sql:1:11: 'triggering_event' needs exactly one triggering dataset, but no event did; "
                "'triggering_events' is empty then"
            ),
        ),
        (
            "SELECT {{ triggering_events.flights[0].extra.rows }}",
            f"query.sql:1:29: no event of 'flights' triggered this run; no event did\n{HINT}",
        ),
        ("SELECT * FROM {{ partitions }}", "query.sql:1: report has no partitions"),
        ("SELECT {{ partition.day }}", "query.sql:1: report has no partitions"),
        (
            "SELECT {{ params.__class__.__mro__ }}",
            (
                "query.sql:1:18: the template tries to leave its sandbox: "
                "access to attribute '__class__' of 'dict' object is unsafe."
            ),
        ),
        ("SELECT {{ 1 / 0 }}", "query.sql:1: ZeroDivisionError: division by zero"),
        (
            "{% for row in inlets.flights %}{{ row }}{% endfor %}",
            "query.sql:1: inlet flights is a relation; it cannot be looped over in a template",
        ),
        (
            "{{ 'INSERT' | raw }} INTO x SELECT 1",
            (
                "query.sql:1: the SQL begins with 'INSERT'; expected one SELECT\n"
                "  hint: write the SELECT only, whose rows land as `write` says; "
                "with `write: self` statements write the target"
            ),
        ),
        ("SELECT 1 {{ ';' | raw }} DROP TABLE x", "query.sql:1: a second statement follows; expected one SELECT"),
    ],
)
def test_what_a_template_may_not_do_is_refused_with_its_line(engine, flights, tmp_path, query, message):
    run = order(table("report", tmp_path, **sql(query, "flights")), flights)
    assert failing(engine, run) == message


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            "SELECT\n  dely\nFROM {{ inlets.flights }}",
            "query.sql:2: [UNRESOLVED_COLUMN.WITH_SUGGESTION] A column",
        ),
        (
            "\n\nSELECT day\nday day FROM {{ inlets.flights }}\n",
            "query.sql:4: [PARSE_SYNTAX_ERROR] Syntax error at or near 'day'",
        ),
        (
            "SELECT nosuch(day)\nFROM {{ inlets.flights }}",
            "query.sql:1: [UNRESOLVED_ROUTINE] Cannot resolve ",
        ),
        (
            "SELECT * FROM\n flights",
            "query.sql:2: [TABLE_OR_VIEW_NOT_FOUND] The table or view `flights` cannot be found.",
        ),
    ],
)
def test_what_spark_refuses_has_the_line_of_the_file(engine, flights, tmp_path, query, message):
    run = order(table("report", tmp_path, **sql(query, "flights")), flights)
    said = failing(engine, run)
    assert said.startswith(message)
    assert "\n" not in said


def test_sql_in_a_yaml_file_has_its_place_there(engine, tmp_path):
    report = table("report", tmp_path, **sql("SELECT\n  {{ nosuch }}"))
    report = replace(report, body=replace(report.body, location=FileLocation("conf/report.yml", 7, 3)))
    assert failing(engine, order(report)) == f"conf/report.yml:8:8: 'nosuch' is undefined\n{HINT}"


def test_only_the_mapped_time_of_the_inlet_is_seen(engine, flights, tmp_path):
    daily = table("daily", tmp_path, by="day", **sql("SELECT DISTINCT day FROM {{ inlets.flights }}", "flights"))
    pins = {"flights": newest(flights, parts=span(flights, "2013-01-02..2013-01-03"))}
    read = computed(engine, order(daily, flights, keys="2013-01-02..2013-01-03", pins=pins))
    assert read == [(date(2013, 1, 2),), (date(2013, 1, 3),)]

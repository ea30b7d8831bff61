"""Messages as Spark, py4j, Spark Connect and Python workers write them; nothing is started."""

from __future__ import annotations

import pytest
from pyspark.errors.exceptions import connect

from sparkassets.errors import FileLocation
from sparkassets.spark.failures import (
    error_condition,
    error_mentions,
    first_line,
    is_conflict,
    is_final,
    is_refused_by_parquet,
    run_error,
)

pytestmark = pytest.mark.spark  # asks pyspark for its exceptions

READ = """An error occurred while calling o68.save.
: org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error reading file:/a.csv.  SQLSTATE: KD001
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.cannotReadFilesError(QueryExecutionErrors.scala:940)
Caused by: org.apache.spark.SparkException: [MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION] Malformed: [null].
Parse Mode: FAILFAST.  SQLSTATE: 22023
\t... 20 more
Caused by: java.lang.NumberFormatException: For input string: "NA"
\tat java.base/java.lang.NumberFormatException.forInputString(NumberFormatException.java:67)
"""
WORKER = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/lib/pyspark.zip/pyspark/worker.py", line 3602, in main
    process()
  File "/project/jobs/work.py", line 5, in broken
    raise ValueError("no")
  File "/lib/pyspark.zip/pyspark/sql/types.py", line 1, in x
jobs.work.OwnError: no
"""
CONFLICT = (
    "An error occurred while calling o1.save.\n: io.delta.exceptions.ConcurrentTransactionException: "
    "[DELTA_CONCURRENT_TRANSACTION] This error occurs when multiple streaming queries are using the same checkpoint"
)


@pytest.mark.parametrize(
    ("message", "line"),
    [
        (
            "[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012\n== SQL (line 1) ==\nselect",
            "[DIVIDE_BY_ZERO] Division by zero.",
        ),
        ("[X] no `a`. SQLSTATE: 42703; line 2 pos 7;\n'Project", "[X] no `a`."),
        ("[X] no `a`, did you mean `_pyspark_ab12_r0`.`b`", "[X] no `a`, did you mean `b`"),
        (READ, '[FAILED_READ_FILE.NO_HINT] Encountered error reading file:/a.csv. For input string: "NA"'),
        (WORKER, "/project/jobs/work.py:5: jobs.work.OwnError: no"),
        (
            "[DELTA_INVALID_CHARACTERS] Found invalid character(s) in your schema.\nInvalid column names: a b.\nPlease",
            "[DELTA_INVALID_CHARACTERS] Found invalid character(s) in your schema. Invalid column names: a b.",
        ),
        ("The org.delta.sources.DeltaDataSource@f2bb339 lacks `i`.", "The DeltaDataSource lacks `i`."),
        (
            'java.io.IOException: No table a (HTTP 401): {"message":"Invalid token."}',
            "No table a (HTTP 401): Invalid token.",
        ),
        ("", "Exception"),
    ],
)
def test_one_line_for_people(message, line):
    assert first_line(Exception(message)) == line


def test_a_message_that_only_wraps_gives_way_to_its_cause():
    wrapped = Exception("[TASK_WRITE_FAILED] Task failed while writing rows to file:/x. SQLSTATE: 58030")
    wrapped.__cause__ = Exception(READ)
    assert first_line(wrapped) == first_line(Exception(READ))
    assert is_final(wrapped)
    assert error_mentions(wrapped, "MALFORMED_RECORD_IN_PARSING")
    assert not error_mentions(wrapped, "anything else")
    assert (
        first_line(Exception("[TASK_WRITE_FAILED] Task failed. SQLSTATE: 58030")) == "[TASK_WRITE_FAILED] Task failed."
    )


def test_conditions_are_read_from_any_error():
    assert error_condition(Exception(CONFLICT)) == "DELTA_CONCURRENT_TRANSACTION"
    assert is_conflict(Exception(CONFLICT))
    assert not is_conflict(Exception(READ))
    assert error_condition(Exception("boom")) == ""
    wrapped = Exception("boom")
    wrapped.__cause__ = Exception(CONFLICT)
    assert error_condition(wrapped) == "DELTA_CONCURRENT_TRANSACTION"


@pytest.mark.parametrize(
    ("message", "final"),
    [
        *((READ, True), (CONFLICT, False), ("[X] syntax. SQLSTATE: 42601", True), ("Executor lost", False)),
        *((WORKER, False), ("org.apache.parquet.schema.InvalidSchemaException: Cannot write a schema", True)),
    ],
)
def test_what_a_second_attempt_would_meet_again(message, final):
    assert is_final(Exception(message)) is final
    assert run_error(Exception(message), what="x").retryable is not final


@pytest.mark.parametrize(
    ("kind", "message", "of_data"),
    [
        ("SparkRuntimeException", "Parser error: Error while parsing value 'x' as type 'Int32' for column 1", True),
        ("NumberFormatException", "Cannot cast string 'x' to value of Int32 type", True),
        ("ArithmeticException", "divide by zero", True),
        ("AnalysisException", "[CAST_INVALID_INPUT] The value '0x' of the type \"STRING\" cannot be cast", True),
        ("AnalysisException", "invalid timestamp: 0x", True),
        ("AnalysisException", "Division by zero", True),
        ("AnalysisException", "attribute no_col is missing from the schema", False),
        ("SparkRuntimeException", "[USER_RAISED_EXCEPTION] no SQLSTATE: P0001", False),
    ],
)
def test_an_error_in_values_that_states_nothing_is_known_by_its_class(kind, message, of_data):
    error = run_error(getattr(connect, kind)(message), what="x")
    assert (error.is_data_error, error.retryable) == (of_data, False)


def test_parquets_refusal_of_columns_is_known_by_its_class():
    refusal = Exception("Caused by: org.apache.parquet.schema.InvalidSchemaException: Cannot write a schema")
    assert is_refused_by_parquet(refusal)
    assert not is_refused_by_parquet(Exception(READ))


def test_a_session_that_cannot_reach_s3_names_the_jar_and_the_setting():
    lacking = "java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found"
    error = run_error(
        RuntimeError(f"An error occurred while calling o1.load.\n: java.lang.RuntimeException: {lacking}")
    )
    assert "`storage`" in (error.hint or "")
    assert "spark.jars.packages: org.apache.hadoop:hadoop-aws" in (error.hint or "")


def test_the_line_of_the_file_is_counted_from_where_the_sql_begins():
    error = Exception("[PARSE_SYNTAX_ERROR] Syntax error. SQLSTATE: 42601 (line 4, pos 3)\n\n== SQL ==")
    assert str(run_error(error, place=FileLocation("a.sql", 1, 1))) == "a.sql:3: [PARSE_SYNTAX_ERROR] Syntax error."
    assert str(run_error(error, place=FileLocation("a.yml", 7, 3))).startswith("a.yml:9: ")
    assert str(run_error(Exception("boom"), place=FileLocation("a.sql"))) == "a.sql: boom"


class ConnectError(Exception):
    """As pyspark has an error of Spark Connect: the causes stand in what the server traced alone."""

    def getStackTrace(self):  # noqa: N802  pyspark's name
        return (
            "org.apache.spark.SparkException\n\tat org.apache.spark.sql.X.y(X.scala:1)\n"
            "Caused by: org.apache.spark.SparkRuntimeException: [USER_RAISED_EXCEPTION] outside\n"
            "the partitions SQLSTATE: P0001\n"
            "\tat org.apache.spark.sql.Z.z(Z.scala:-1)"
        )


def test_causes_of_spark_connect_stand_in_the_servers_trace():
    error = ConnectError("[TASK_WRITE_FAILED] Task failed while writing rows to file:/tmp/daily. SQLSTATE: 58030")
    assert first_line(error) == "[USER_RAISED_EXCEPTION] outside"
    assert error_mentions(error, "outside\nthe partitions")
    assert not error_mentions(error, "scala")
    assert is_final(error)


@pytest.mark.parametrize(
    ("message", "hint"),
    [
        (READ, "declare the column as string and use try_cast"),
        (
            "[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file file:/t/a.parquet.",
            "`sparkassets backfill ASSET --rebuild` recomputes that",
        ),
        ("[MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION] of from_json in a query", "None"),
        ("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012", "None"),
    ],
)
def test_a_file_that_cannot_be_read_says_what_to_do(message, hint):
    assert str(run_error(Exception(message), what="a").hint).endswith(hint)

"""What a session says that it lacks, as Spark, gRPC and serverless platforms word it; nothing is started."""

from __future__ import annotations

from enum import Enum

import pytest

from sparkassets.spark.failures import ignore_lacking, is_lacking, is_out_of_reach

pytestmark = pytest.mark.spark  # asks pyspark for its exceptions


class Status(Enum):
    UNIMPLEMENTED = 12
    UNAVAILABLE = 14


class GrpcError(Exception):
    def __init__(self, status: Status) -> None:
        self.code = lambda: status


@pytest.mark.parametrize(
    "error",
    [
        Exception("[CONFIG_NOT_AVAILABLE] Configuration spark.databricks.x is not available. SQLSTATE: 42K0I"),
        Exception("[CANNOT_MODIFY_CONFIG] Cannot modify the value of the Spark config: x"),
        Exception("[NOT_SUPPORTED_WITH_SERVERLESS] PERSIST TABLE is not supported on serverless compute."),
        Exception("[UNSUPPORTED_FEATURE.X] no"),
        GrpcError(Status.UNIMPLEMENTED),
        AttributeError("'SparkSession' object has no attribute 'cloneSession'"),
        NotImplementedError(),
    ],
)
def test_what_is_lacking_is_gone_without(error):
    assert is_lacking(error)
    with ignore_lacking():
        raise error


@pytest.mark.parametrize(
    "error", [GrpcError(Status.UNAVAILABLE), ValueError("no"), Exception("[TABLE_OR_VIEW_NOT_FOUND] t")]
)
def test_what_failed_is_told(error):
    assert not is_lacking(error)
    with pytest.raises(type(error)), ignore_lacking():
        raise error


def test_a_server_that_does_not_answer_is_found_among_the_causes():
    made = ValueError("the query failed")
    made.__cause__ = GrpcError(Status.UNAVAILABLE)
    assert is_out_of_reach(made)
    assert not is_out_of_reach(GrpcError(Status.UNIMPLEMENTED))
    assert not is_out_of_reach(ValueError("no"))

"""What sessions on Databricks refuse, by documentation and issues, put over a session of Spark: none was tried there.

A refusal is what the call raises there; settings and calls that are not listed do what Spark does. Clients before
runtime 18 are of Spark 4.0 or older and have no `cloneSession`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import pytest
from pyspark.errors import AnalysisException

from sparkassets.frozen import frozen

CLONING: Final = "https://github.com/apache/spark/pull/52200"  # since Spark 4.1
PERSISTING: Final = "https://github.com/capitalone/datacompy/issues/407"
LIMITS: Final = "https://docs.databricks.com/aws/en/compute/serverless/limitations"
SETTINGS: Final = "https://docs.databricks.com/aws/en/spark/conf"
PROTOCOL: Final = "https://docs.databricks.com/en/archive/storage/dbio-commit.html"

SERVERLESS_SETTINGS: Final = frozenset(
    {
        *("spark.databricks.execution.timeout", "spark.sql.legacy.timeParserPolicy", "spark.sql.session.timeZone"),
        *("spark.sql.shuffle.partitions", "spark.sql.ansi.enabled", "spark.sql.files.maxPartitionBytes"),
    }
)
"""All that a serverless session takes, and tells. (`SETTINGS`)"""
_PERSIST: Final = (
    "[NOT_SUPPORTED_WITH_SERVERLESS] PERSIST TABLE is not supported on serverless compute. SQLSTATE: 0A000"
)
_STATEMENT: Final = "[NOT_SUPPORTED_WITH_SERVERLESS] {} is not supported on serverless compute. SQLSTATE: 0A000"
_SETTING: Final = "[CONFIG_NOT_AVAILABLE.WITHOUT_SUGGESTION] Configuration {} is not available. SQLSTATE: 42K0I"


@frozen
class SessionLimits:
    """What a kind of session lacks.

    Attributes:
        connect: Whether it is one of Spark Connect.
        sources: Where that stands.
        lacking: Names that its client has no attribute of.
        frames: What methods of frames raise.
        statements: Beginnings of SQL statements that are refused.
        settings: The only settings that it takes; None for all.
        told: Settings with values of the platform's own.
    """

    connect: bool
    sources: tuple[str, ...]
    lacking: tuple[str, ...] = ()
    frames: Mapping[str, str] = {}
    statements: tuple[str, ...] = ()
    settings: frozenset[str] | None = None
    told: Mapping[str, str] = {}


_STANDARD: Final = SessionLimits(connect=True, sources=(CLONING,), lacking=("cloneSession",))
_DEDICATED: Final = SessionLimits(
    connect=False,
    sources=(PROTOCOL,),
    told={
        "spark.sql.sources.commitProtocolClass": (
            "com.databricks.sql.transaction.directory.DirectoryAtomicCommitProtocol"
        )
    },
)


def _serverless(*lacking: str) -> SessionLimits:
    return SessionLimits(
        connect=True,
        sources=(LIMITS, SETTINGS, PERSISTING, CLONING),
        lacking=lacking,
        frames={"persist": _PERSIST, "cache": _PERSIST, "unpersist": _PERSIST},
        statements=("REFRESH TABLE", "CACHE TABLE", "CREATE GLOBAL TEMP", "CREATE OR REPLACE GLOBAL TEMP"),
        settings=SERVERLESS_SETTINGS,
    )


SESSIONS: Final[Mapping[str, SessionLimits]] = {
    "dbr-15.4-standard": _STANDARD,
    "dbr-16.4-standard": _STANDARD,
    "dbr-17.3-standard": _STANDARD,
    "dbr-15.4-dedicated": _DEDICATED,
    "dbr-16.4-dedicated": _DEDICATED,
    "dbr-17.3-dedicated": _DEDICATED,
    "serverless-env-2": _serverless("cloneSession"),
    "serverless-env-3": _serverless("cloneSession"),
    "serverless-env-4": _serverless("cloneSession"),
    "serverless-env-5": _serverless(),
}


@contextmanager
def limited(limits: SessionLimits) -> Iterator[None]:
    """Every session of this process refuses what the kind of session lacks, while the context lasts."""
    with pytest.MonkeyPatch.context() as patch:
        if limits.connect:
            from pyspark.sql.connect.conf import RuntimeConf as Settings
            from pyspark.sql.connect.dataframe import DataFrame
            from pyspark.sql.connect.session import SparkSession
        else:
            from pyspark.sql.classic.dataframe import DataFrame  # type: ignore[assignment]
            from pyspark.sql.conf import RuntimeConfig as Settings  # type: ignore[assignment]
            from pyspark.sql.session import SparkSession  # type: ignore[assignment]
        for name in limits.lacking:
            patch.delattr(SparkSession, name)
        for name, text in limits.frames.items():
            patch.setattr(DataFrame, name, _refuse(text))
        _limit_settings(patch, Settings, limits)
        run = SparkSession.sql

        def sql(self: Any, query: str, *rest: Any, **more: Any) -> Any:
            words = re.sub(r"\s+", " ", query.strip()).upper()
            if refused := next((each for each in limits.statements if words.startswith(each)), None):
                raise AnalysisException(_STATEMENT.format(refused))
            return run(self, query, *rest, **more)

        patch.setattr(SparkSession, "sql", sql)
        yield


def _limit_settings(patch: pytest.MonkeyPatch, kind: type, limits: SessionLimits) -> None:
    """Replaces what reads and changes settings."""
    for name in ("get", "set", "unset"):
        known = getattr(kind, name)

        def limit(self: Any, key: str, *rest: Any, _known: Any = known, _reads: bool = name == "get") -> Any:
            of_client = sys._getframe(1).f_globals["__name__"].startswith("pyspark.")  # theirs goes with their server
            if limits.settings is not None and key not in limits.settings and not of_client:
                raise AnalysisException(_SETTING.format(key))
            return limits.told[key] if _reads and key in limits.told else _known(self, key, *rest)

        patch.setattr(kind, name, limit)
    if limits.settings is not None:
        patch.setattr(kind, "getAll", property(_refuse(_SETTING.format("all"))))


def _refuse(text: str) -> Any:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AnalysisException(text)

    return refuse

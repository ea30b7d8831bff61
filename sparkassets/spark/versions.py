"""Which versions of Spark and Delta are supported, said before anything is read with another one."""

from __future__ import annotations

import re
import warnings
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Final

from sparkassets.errors import SparkUnavailableError

OLDEST: Final = (4, 0)
NEWEST: Final = (4, 2)
"""Of Spark, those that the tests run with."""
_DELTA_OF: Final = (((4, 1), (4, 1)), ((4, 0), (4, 0)))
"""From which Spark on which Delta is the oldest, the newest first: 4.0 asks for a Spark below 4.1."""
_KNOWN: Final = "sparkassets works with Spark 4.0 to 4.2"
_PARTS: Final = re.compile(r"(<=|>=|==|!=|<|>)\s*(\d+(?:\.\d+)*)")


def check_spark(spark: str) -> None:
    """Refuses a Spark that is too old, and warns of one that is newer than any that was tried.

    Args:
        spark: The version of a session, such as ``4.2.0``.

    Raises:
        SparkUnavailableError: It is too old.
    """
    found = numbers(spark)[:2]
    if found and found < OLDEST:
        hint = "pip install 'sparkassets[spark]' brings one; of Databricks take a runtime from 17.3 LTS on"
        raise SparkUnavailableError(f"Spark {spark} is too old: {_KNOWN}", hint=hint)
    if found > NEWEST:
        text = f"Spark {spark} is newer than what was tried: {_KNOWN}"
        warnings.warn(text, RuntimeWarning, stacklevel=2)


def check_delta(delta: str, *, spark: str) -> None:
    """Refuses jars of Delta that were made for an older Spark than the session's.

    Args:
        delta: Their version, such as ``4.4.0``; nothing is known of an empty one.
        spark: That of the session.

    Raises:
        SparkUnavailableError: They are too old.
    """
    found = numbers(delta)[:2]
    oldest = next((known for version, known in _DELTA_OF if version <= numbers(spark)[:2]), ())
    if found and found < oldest:
        wanted = ".".join(map(str, oldest))
        raise SparkUnavailableError(
            f"Delta {delta} in the session is too old: Spark {spark} takes Delta from {wanted} on",
            hint="start the session with newer jars, or stop it and let sparkassets start one",
        )


def check_installed() -> None:
    """Refuses packages of Spark and Delta that do not belong together or are not supported.

    Raises:
        SparkUnavailableError: With what is installed, and what is expected.
    """
    hint = "pip install 'sparkassets[spark]' brings versions that belong together"
    try:
        spark, delta = version("pyspark"), version("delta-spark")
    except PackageNotFoundError:
        return  # an installation of its own, or Delta among its jars: the session tells
    if not OLDEST <= numbers(spark)[:2] <= NEWEST:
        age = "old" if numbers(spark)[:2] < OLDEST else "new"
        raise SparkUnavailableError(f"pyspark {spark} is too {age}: {_KNOWN}", hint=hint)
    wanted = next((each for each in requires("delta-spark") or () if re.match(r"pyspark\b", each)), "")
    if not _is_within(spark, wanted):
        asked = wanted.removeprefix("pyspark").strip().strip("()")
        raise SparkUnavailableError(
            f"delta-spark {delta} does not go with pyspark {spark}: it is made for pyspark {asked}", hint=hint
        )


def numbers(text: str) -> tuple[int, ...]:
    """The numbers that a version begins with.

    >>> numbers("4.2.0.dev1"), numbers("client-5"), numbers("4.0")
    ((4, 2, 0), (), (4, 0))
    """
    found = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(map(int, found[0].split("."))) if found else ()


def _is_within(text: str, requirement: str) -> bool:
    """Whether a version is one that a requirement such as ``pyspark<=4.2.0,>=4.0.1`` allows."""
    for sign, bound in _PARTS.findall(requirement):
        one, other = numbers(text), numbers(bound)
        one, other = (each + (0,) * (4 - len(each)) for each in (one, other))
        if not {"<=": one <= other, ">=": one >= other, "==": one == other, "!=": one != other}.get(
            sign, one < other if sign == "<" else one > other
        ):
            return False
    return True

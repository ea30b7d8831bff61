"""Ids of runs and names of jobs in OpenLineage, derived from names so that they are the same after a crash."""

from __future__ import annotations

from typing import Final
from uuid import NAMESPACE_URL, UUID, uuid5

from sparkassets.frozen import frozen

_OWN: Final = uuid5(NAMESPACE_URL, "https://pypi.org/project/sparkassets/")


def run_id(project: str, run: str) -> str:
    """The id of a run, or of an invocation, by its name.

    >>> run_id("shop", "orders-1") == run_id("shop", "orders-1"), run_id("shop", "orders-1") == run_id("x", "orders-1")
    (True, False)
    """
    return str(uuid5(_OWN, f"{project}/{run}"))


def job_name(project: str, asset: str = "") -> str:
    """The job of an asset; of the project as a whole without one.

    >>> job_name("shop", "orders"), job_name("shop")
    ('shop.orders', 'shop')
    """
    return f"{project}.{asset}" if asset else project


@frozen
class RunName:
    """A run of another producer.

    Attributes:
        namespace, job: Namespace and name of its job.
        run: Its id.
    """

    namespace: str
    job: str
    run: str

    @classmethod
    def parse(cls, text: str) -> RunName | None:
        """Reads ``namespace/job/run``, as ``OPENLINEAGE_PARENT_ID`` has it; None for anything else.

        >>> RunName.parse("prod/etl.daily/01890a5d-ac96-774b-bcce-b302099a8057").job, RunName.parse("prod/etl")
        ('etl.daily', None)
        """
        head, _, run = text.rpartition("/")
        namespace, _, job = head.rpartition("/")
        try:
            return cls(namespace, job, str(UUID(run))) if namespace and job else None
        except ValueError:
            return None

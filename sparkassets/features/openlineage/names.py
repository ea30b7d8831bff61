"""Names of datasets, jobs and runs, as OpenLineage has them.

The rules are those of https://openlineage.io/docs/spec/naming, so that other producers give the data the same name.
"""

from __future__ import annotations

from typing import Final
from uuid import NAMESPACE_URL, UUID, uuid5

from sparkassets.core.patterns import PathPattern
from sparkassets.core.spec.model import AssetSpec
from sparkassets.frozen import frozen

_OWN: Final = uuid5(NAMESPACE_URL, "https://pypi.org/project/sparkassets/")


def run_id(project: str, run: str) -> str:
    """The UUID of a run, or of an invocation, by its name; the same in every process that reports on it.

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


_SCHEMES: Final = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "postgresql": "postgres", "wasb": "wasbs", "abfs": "abfss"}
"""Other spellings of a scheme, each with the canonical one."""
_DOTTED: Final = frozenset(
    {"mysql", "postgres", "redshift", "snowflake", "trino", "oracle", "sqlserver", "hive", "db2", "cassandra", "crate"}
)
"""Schemes of databases, whose tables have dotted names."""


@frozen
class DatasetName:
    """The namespace and the name of a dataset.

    >>> name_of_location("s3a://lake/bronze/orders/"), name_of_location("/data/orders")
    (DatasetName(namespace='s3://lake', name='bronze/orders'), DatasetName(namespace='file', name='/data/orders'))
    """

    namespace: str
    name: str


def dataset_name(asset: AssetSpec, *, namespace: str) -> DatasetName:
    """The dataset of an asset: its name in a catalog, else its place; where only its events are known, its URI.

    Args:
        asset: The asset.
        namespace: Used where the identity is not a URI.
    """
    if asset.storage is not None and asset.storage.table:
        return DatasetName(namespace, asset.storage.given)
    if asset.storage is not None:
        return name_of_location(dataset_folder(asset))
    return name_of_identity(asset.uri, namespace=namespace)


def dataset_folder(asset: AssetSpec) -> str:
    """The folder that holds an asset's data, without the fields and globs of a pattern."""
    path = asset.storage.path if asset.storage is not None else ""
    if asset.source is None or asset.source.kind in ("delta", "events"):
        return path
    pattern = PathPattern.parse(path, asset.path_partitioning.segment_columns)
    return pattern.root if pattern.is_pattern else path


def name_of_identity(uri: str, *, namespace: str) -> DatasetName:
    """The dataset of an identity in events; one without a scheme has no place of its own.

    >>> name_of_identity("postgresql://db:5432/shop/public/orders", namespace="x")
    DatasetName(namespace='postgres://db:5432', name='shop.public.orders')
    >>> name_of_identity("inbox", namespace="x")
    DatasetName(namespace='x', name='inbox')
    """
    if "://" in uri:
        return name_of_location(uri)
    return DatasetName("file", uri) if uri.startswith("/") else DatasetName(namespace, uri)


def name_of_location(location: str) -> DatasetName:
    """The dataset at an absolute local path or a URI.

    >>> name_of_location("abfss://raw@acc.dfs.core.windows.net/orders")
    DatasetName(namespace='abfss://raw@acc.dfs.core.windows.net', name='orders')
    >>> name_of_location("x-drop://inbox"), name_of_location("bigquery://p/d/t")
    (DatasetName(namespace='x-drop://inbox', name='/'), DatasetName(namespace='bigquery', name='p.d.t'))
    """
    scheme, found, rest = location.partition("://")
    if not found:
        return DatasetName("file", scheme.rstrip("/") or "/")
    scheme = _SCHEMES.get(scheme.lower(), scheme.lower())
    authority, _, path = rest.partition("/")
    path = path.strip("/")
    if scheme == "file":
        return DatasetName(f"file://{authority}" if authority else "file", f"/{path}")
    if scheme == "bigquery":
        return DatasetName("bigquery", ".".join(part for part in (authority, *path.split("/")) if part))
    if scheme == "hdfs":
        return DatasetName(f"hdfs://{authority}", f"/{path}")
    return DatasetName(f"{scheme}://{authority}", (path.replace("/", ".") if scheme in _DOTTED else path) or "/")

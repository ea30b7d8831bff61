"""Opens local folders and object stores, and holds the credentials of each bucket."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sparkassets.core.spec.project_spec import StoreOptions
from sparkassets.errors import SourceError
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

S3 = frozenset({"s3", "s3a", "s3n"})
"""Schemes that mean the same objects."""


@frozen
class StoreCredentials:
    """What signs requests to a bucket.

    Attributes:
        token: Of temporary ones.
    """

    access_key: str
    secret_key: str
    token: str | None = None

    def __repr__(self) -> str:
        """Nothing of what they are."""
        return "StoreCredentials(…)"


@frozen
class BucketAccess:
    """A bucket's options, and its credentials when they are asked for."""

    options: StoreOptions
    credentials: Callable[[], StoreCredentials | None] = lambda: None


class _BucketRegistry:
    """The buckets that were told of, by name; under the empty one all others."""

    def __init__(self) -> None:
        self.by_bucket: Mapping[str, BucketAccess] = {}


_BUCKETS = _BucketRegistry()


def set_bucket_access(buckets: Sequence[BucketAccess]) -> None:
    """Takes these from here on, and no others."""
    _BUCKETS.by_bucket = {each.options.bucket: each for each in buckets}


def find_bucket_access(place: str) -> BucketAccess | None:
    """How a place is reached of which something was told; None for a path on a disk, and where nothing was."""
    scheme, separator, rest = place.partition("://")
    if not separator or scheme.lower() not in S3:
        return None
    by_bucket = _BUCKETS.by_bucket
    return by_bucket.get(rest.partition("/")[0]) or by_bucket.get("")


def deltalake_options(place: str) -> dict[str, str]:
    """Deltalake's ``storage_options``; what they do not say it takes from the environment."""
    access = find_bucket_access(place)
    if access is None:
        return {}
    options, credentials = access.options, access.credentials()
    values = {
        "aws_endpoint": options.endpoint,
        "aws_allow_http": "true" if (options.endpoint or "").startswith("http://") else None,
        "aws_region": options.region,
        "aws_access_key_id": credentials and credentials.access_key,
        "aws_secret_access_key": credentials and credentials.secret_key,
        "aws_session_token": credentials and credentials.token,
        "aws_skip_signature": "true" if options.anonymous else None,
        "timeout": options.timeout_seconds and f"{options.timeout_seconds}s",
        "max_retries": None if options.retries is None else str(options.retries),
    }
    return _drop_unset(values)


def arrow_options(access: BucketAccess) -> dict[str, Any]:
    """Arguments of Arrow's file system for S3, which takes no endpoint from the environment where it is given any."""
    from pyarrow.fs import AwsStandardS3RetryStrategy

    options, credentials = access.options, access.credentials()
    endpoint = options.endpoint or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    values: dict[str, Any] = {
        "endpoint_override": endpoint,
        "scheme": "http" if (endpoint or "").startswith("http://") else None,
        "region": options.region,
        "access_key": credentials and credentials.access_key,
        "secret_key": credentials and credentials.secret_key,
        "session_token": credentials and credentials.token,
        "anonymous": options.anonymous or None,
        "request_timeout": options.timeout_seconds,
        "retry_strategy": None
        if options.retries is None
        else AwsStandardS3RetryStrategy(max_attempts=options.retries + 1),
    }
    return _drop_unset(values)


def _drop_unset(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def hadoop_settings(buckets: Sequence[BucketAccess]) -> dict[str, str]:
    """Settings of a Spark session whose Hadoop reaches the same buckets alike."""
    settings: dict[str, str] = {}
    for each in buckets:
        bucket = f"bucket.{each.options.bucket}." if each.options.bucket else ""
        settings |= {f"spark.hadoop.fs.s3a.{bucket}{key}": value for key, value in _make_hadoop_settings(each).items()}
    return settings


def _make_hadoop_settings(access: BucketAccess) -> dict[str, str]:
    options, credentials = access.options, access.credentials()
    provider = _find_credentials_provider(credentials, anonymous=options.anonymous)
    settings = {
        "endpoint": options.endpoint,
        "endpoint.region": options.region,
        "path.style.access": "true" if options.endpoint else None,
        "access.key": credentials and credentials.access_key,
        "secret.key": credentials and credentials.secret_key,
        "session.token": credentials and credentials.token,
        "aws.credentials.provider": provider,
        "connection.timeout": options.timeout_seconds and f"{options.timeout_seconds}s",
        "attempts.maximum": None if options.retries is None else str(options.retries + 1),
    }
    return _drop_unset(settings)


def _find_credentials_provider(credentials: StoreCredentials | None, *, anonymous: bool) -> str | None:
    """Hadoop's class for these credentials; None where it looks for some itself."""
    if credentials is not None:
        return f"org.apache.hadoop.fs.s3a.{'Temporary' if credentials.token else 'Simple'}AWSCredentialsProvider"
    return "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider" if anonymous else None


_ARROW_SCHEMES = {
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "gs": "gs",
    "gcs": "gs",
    **dict.fromkeys(("abfs", "abfss", "az", "azure"), "abfss"),
    "hdfs": "hdfs",
}
"""Hadoop's and deltalake's names of a store and Arrow's: all mean the same files."""
_AZURITE = "http://127.0.0.1:10000"
"""Where Azure's emulator is, for deltalake as well, if nothing else is said."""


def local_path(place: str) -> str | None:
    """The path on this machine's disk that ``place`` means, without decoding ``%`` escapes; None for an object store.

    >>> local_path("file:///data/100%"), local_path("/data"), local_path("s3a://bucket/data")
    ('/data/100%', '/data', None)
    """
    scheme, separator, rest = place.partition("://")
    if not separator:
        return place
    return rest if scheme.lower() == "file" else None


def open_store(uri: str) -> tuple[FileSystem, str]:
    """The store of a URI, and the path in it.

    Raises:
        SourceError: There is no such kind of store here.
    """
    from pyarrow import ArrowInvalid, ArrowNotImplementedError, fs

    scheme, _, rest = uri.partition("://")
    arrow_scheme = _ARROW_SCHEMES.get(scheme.lower())
    if arrow_scheme is None:
        raise SourceError(
            f"cannot read '{uri}': unsupported scheme '{scheme}://'",
            hint="supported are local paths, file://, s3:// and s3a://, gs://, abfss:// and az://, hdfs://",
        )
    access = find_bucket_access(uri)
    try:
        if access is not None:
            return fs.S3FileSystem(**arrow_options(access)), rest.rstrip("/")
        if arrow_scheme == "abfss":
            return _open_azure(uri, rest)
        store, path = fs.FileSystem.from_uri(f"{arrow_scheme}://{quote(rest, safe='/@:~')}")
    except (ArrowInvalid, ArrowNotImplementedError, OSError) as error:
        raise SourceError(f"cannot read '{uri}': {_first_line(error)}") from error
    return store, path


def _open_azure(uri: str, rest: str) -> tuple[FileSystem, str]:
    """A container by the credentials that deltalake takes from the environment, which Arrow does not look for.

    Without a key or a token there Arrow finds others itself: of an application, of the machine.

    Raises:
        SourceError: Neither the URI nor the environment names the account.
    """
    from pyarrow import fs

    authority, _, path = rest.partition("/")
    container, _, host = authority.partition("@")
    account, _, domain = host.partition(".")
    account = account or os.environ.get("AZURE_STORAGE_ACCOUNT_NAME", "")
    if not account:
        raise SourceError(
            f"cannot read '{uri}': the account of the container is unknown",
            hint=f"write abfss://{container}@<account>.dfs.core.windows.net/…, or set AZURE_STORAGE_ACCOUNT_NAME",
        )
    options: dict[str, Any] = {"account_key": os.environ.get("AZURE_STORAGE_ACCOUNT_KEY")}
    if options["account_key"] is None:
        options["sas_token"] = os.environ.get("AZURE_STORAGE_SAS_TOKEN") or os.environ.get("AZURE_STORAGE_SAS_KEY")
    return fs.AzureFileSystem(account, **options, **_find_azure_endpoints(domain)), f"{container}/{path}".rstrip("/")


def _find_azure_endpoints(domain: str) -> dict[str, str]:
    """Where an account's two services are: the emulator, or in a cloud such as that of ``dfs.core.windows.net``."""
    if os.environ.get("AZURE_STORAGE_USE_EMULATOR", "").lower() in ("true", "1"):
        scheme, _, authority = os.environ.get("AZURITE_BLOB_STORAGE_URL", _AZURITE).partition("://")
        services = {"blob": authority.rstrip("/"), "dfs": authority.rstrip("/")}
        return {
            **{f"{kind}_storage_scheme": scheme for kind in services},
            **{f"{kind}_storage_authority": place for kind, place in services.items()},
        }
    _, _, cloud = domain.partition(".")
    return {f"{kind}_storage_authority": f".{kind}.{cloud}" for kind in ("blob", "dfs")} if cloud else {}


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]

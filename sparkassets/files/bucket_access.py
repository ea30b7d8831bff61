"""How buckets of S3 are reached, in the words of deltalake, of Arrow and of Hadoop; known to this whole process.

As the environment is, whose credentials hold where nothing else is said. Each project that is opened says it anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sparkassets.core.spec.model import StoreOptions
from sparkassets.frozen import frozen

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


_KNOWN = _BucketRegistry()


def set_bucket_access(told: Sequence[BucketAccess]) -> None:
    """Takes these from here on, and no others."""
    _KNOWN.by_bucket = {each.options.bucket: each for each in told}


def find_bucket_access(place: str) -> BucketAccess | None:
    """How a place is reached of which something was told; None for a path on a disk, and where nothing was."""
    scheme, found, rest = place.partition("://")
    if not found or scheme.lower() not in S3:
        return None
    known = _KNOWN.by_bucket
    return known.get(rest.partition("/")[0]) or known.get("")


def deltalake_options(place: str) -> dict[str, str]:
    """Deltalake's ``storage_options``; what they do not say it takes from the environment."""
    found = find_bucket_access(place)
    if found is None:
        return {}
    options, signs = found.options, found.credentials()
    said: dict[str, Any] = {
        "aws_endpoint": options.endpoint,
        "aws_allow_http": "true" if (options.endpoint or "").startswith("http://") else None,
        "aws_region": options.region,
        "aws_access_key_id": signs and signs.access_key,
        "aws_secret_access_key": signs and signs.secret_key,
        "aws_session_token": signs and signs.token,
        "aws_skip_signature": "true" if options.anonymous else None,
        "timeout": options.timeout_seconds and f"{options.timeout_seconds}s",
        "max_retries": None if options.retries is None else str(options.retries),
    }
    return {key: value for key, value in said.items() if value is not None}


def arrow_options(found: BucketAccess) -> dict[str, Any]:
    """Arguments of Arrow's file system for S3, which takes no endpoint from the environment where it is given any."""
    from pyarrow.fs import AwsStandardS3RetryStrategy

    options, signs = found.options, found.credentials()
    endpoint = options.endpoint or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    said: dict[str, Any] = {
        "endpoint_override": endpoint,
        "scheme": "http" if (endpoint or "").startswith("http://") else None,
        "region": options.region,
        "access_key": signs and signs.access_key,
        "secret_key": signs and signs.secret_key,
        "session_token": signs and signs.token,
        "anonymous": options.anonymous or None,
        "request_timeout": options.timeout_seconds,
        "retry_strategy": None
        if options.retries is None
        else AwsStandardS3RetryStrategy(max_attempts=options.retries + 1),
    }
    return {key: value for key, value in said.items() if value is not None}


def hadoop_settings(told: Sequence[BucketAccess]) -> dict[str, str]:
    """Settings of a Spark session whose Hadoop reaches the same buckets alike."""
    settings: dict[str, str] = {}
    for each in told:
        bucket = f"bucket.{each.options.bucket}." if each.options.bucket else ""
        settings |= {f"spark.hadoop.fs.s3a.{bucket}{key}": value for key, value in _for_hadoop(each).items()}
    return settings


def _for_hadoop(told: BucketAccess) -> dict[str, str]:
    options, signs = told.options, told.credentials()
    provider = None
    if signs is not None:
        provider = "TemporaryAWSCredentialsProvider" if signs.token else "SimpleAWSCredentialsProvider"
    elif options.anonymous:
        provider = "AnonymousAWSCredentialsProvider"
    said = {
        "endpoint": options.endpoint,
        "endpoint.region": options.region,
        "path.style.access": "true" if options.endpoint else None,
        "access.key": signs and signs.access_key,
        "secret.key": signs and signs.secret_key,
        "session.token": signs and signs.token,
        "aws.credentials.provider": provider and f"org.apache.hadoop.fs.s3a.{provider}",
        "connection.timeout": options.timeout_seconds and f"{options.timeout_seconds}s",
        "attempts.maximum": None if options.retries is None else str(options.retries + 1),
    }
    return {key: str(value) for key, value in said.items() if value is not None}
